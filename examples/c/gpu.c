/*
 * Launches a kernel on an NVIDIA GPU, on this program's own arrays.
 *
 *     fiberloom build examples/c/spmv.loom --ptx spmv.ptx --header spmv.h --name spmv
 *     cc -std=c99 -I. examples/c/gpu.c -lcuda -o spmv && ./spmv spmv.ptx
 *
 * All that it knows of the kernel is in the header.
 */
#include "spmv.h"
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*      1 . 2
 *  A = . . .
 *      . 3 4   */
static const int32_t a_pos[] = {0, 2, 2, 4}, a_crd[] = {0, 2, 1, 2};
static const double a_vals[] = {1, 2, 3, 4}, x_vals[] = {1, 10, 100};

static void check(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "the driver answers %d\n", (int)result);
        exit(1);
    }
}

/* The text of a file, with a 0 behind it. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long length;

    if (!file || fseek(file, 0, SEEK_END) || (length = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
        exit(1);
    text = malloc((size_t)length + 1);
    if (!text || fread(text, 1, (size_t)length, file) != (size_t)length)
        exit(1);
    text[length] = 0;
    fclose(file);
    return text;
}

/* Elements in the GPU's memory. */
static CUdeviceptr on_gpu(const void *elements, size_t bytes)
{
    CUdeviceptr address;

    check(cuMemAlloc(&address, bytes));
    check(cuMemcpyHtoDAsync(address, elements, bytes, 0));
    return address;
}

int main(int count, char **words)
{
    double y_vals[3] = {0, 0, 0};
    uint64_t arguments[spmv_0_arguments_];
    void *pointers[spmv_0_arguments_];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    int n;

    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    check(cuModuleLoadData(&module, text_of(count > 1 ? words[1] : "spmv.ptx")));
    check(cuModuleGetFunction(&function, module, "spmv_0"));

    arguments[spmv_0_A1_pos_] = on_gpu(a_pos, sizeof a_pos);
    arguments[spmv_0_A1_crd_] = on_gpu(a_crd, sizeof a_crd);
    arguments[spmv_0_A_vals_] = on_gpu(a_vals, sizeof a_vals);
    arguments[spmv_0_x_vals_] = on_gpu(x_vals, sizeof x_vals);
    arguments[spmv_0_y_vals_] = on_gpu(y_vals, sizeof y_vals);
    arguments[spmv_0_first_] = 0;
    arguments[spmv_0_last_] = 3;
    for (n = 0; n < spmv_0_arguments_; n++)
        pointers[n] = &arguments[n];
    check(cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, 0, pointers, 0));
    check(cuMemcpyDtoHAsync(y_vals, arguments[spmv_0_y_vals_], sizeof y_vals, 0));
    check(cuStreamSynchronize(0));
    for (n = 0; n < 3; n++)
        printf("y[%d] = %g\n", n, y_vals[n]);
    return 0;
}
