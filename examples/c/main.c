/*
 * Calls a kernel that was compiled ahead of time, on this program's own arrays.
 *
 *     fiberloom build examples/c/product.loom -o product.o --header product.h --name product
 *     cc -std=c99 -I. examples/c/main.c product.o -lm -o product && ./product
 *
 * It is C++ as well: c++ -x c++ -I. examples/c/main.c -x none product.o -o product
 */
#include "product.h"
#include <stdio.h>

/*      1 . 2        . 5
 *  A = . . .    B = 6 .
 *      . 3 4        . 7   */
static const int32_t a_pos[] = {0, 2, 2, 4}, a_crd[] = {0, 2, 1, 2};
static const double a_vals[] = {1, 2, 3, 4};
static const int32_t b_pos[] = {0, 1, 2, 3}, b_crd[] = {1, 0, 1};
static const double b_vals[] = {5, 6, 7};

int main(void)
{
    struct product_A A = {a_pos, a_crd, a_vals};
    struct product_B B = {b_pos, b_crd, b_vals};
    struct product_C C;
    struct product_s s;
    double total = 0;
    int64_t i, p;

    /* Extents in the order of the header's parameters: rows of A, columns of A, columns of B. */
    int32_t code = product_call(3, 3, 2, A, B, &C, &s);
    if (code != 0) {
        fprintf(stderr, "product stopped: %s\n", code == FL_MEMORY ? "not enough memory" : "see FL_… in product.h");
        return 2;
    }
    for (i = 0; i < s.s_vals_len; i++) {
        printf("row %d:", (int)i);
        for (p = C.C1_pos[i]; p < C.C1_pos[i + 1]; p++) {
            printf(" C[%d,%d] = %g", (int)i, (int)C.C1_crd[p], C.C_vals[p]);
            total += C.C_vals[p];
        }
        printf(" sum %g\n", s.s_vals[i]);
        total -= s.s_vals[i];
    }
    product_free_C(&C);
    product_free_s(&s);
    return total == 0 ? 0 : 1;
}
