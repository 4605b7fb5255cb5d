/* The default runtime: memory from malloc, functions from the C library (link with -lm). */

static inline int32_t fl_default_alloc(fl_runtime *rt, fl_buffer *b, int64_t len, int32_t bytes, int32_t filled, uint64_t fill)
{
    (void)rt;
    if (len < 0) len = 0;
    if ((uint64_t)len > (uint64_t)INT64_MAX / (uint64_t)bytes) return FL_MEMORY;
    size_t size = (size_t)len * (size_t)bytes;
    if (len > b->capacity || b->data == NULL) {
        void *data = filled && fill == 0 ? calloc(size ? size : 1, 1) : malloc(size ? size : 1);
        if (data == NULL) return FL_MEMORY;
        free(b->data);
        b->data = data;
        if (fill == 0) filled = 0;
    }
    b->capacity = len;
    if (filled) {
        for (int64_t i = 0; i < len; i++) {
            switch (bytes) {
            case 1: ((uint8_t *)b->data)[i] = (uint8_t)fill; break;
            case 2: ((uint16_t *)b->data)[i] = (uint16_t)fill; break;
            case 4: ((uint32_t *)b->data)[i] = (uint32_t)fill; break;
            default: ((uint64_t *)b->data)[i] = fill; break;
            }
        }
    }
    return 0;
}

static inline int32_t fl_default_reserve(fl_runtime *rt, fl_buffer *b, int64_t len, int32_t bytes)
{
    (void)rt;
    if (len <= b->capacity) return 0;
    if (b->capacity > INT64_MAX / 2 || (uint64_t)len > (uint64_t)INT64_MAX / (uint64_t)bytes) return FL_MEMORY;
    int64_t room = len > 2 * b->capacity ? len : 2 * b->capacity;
    if (room < 16) room = 16;
    if ((uint64_t)room > (uint64_t)INT64_MAX / (uint64_t)bytes) return FL_MEMORY;
    void *data = realloc(b->data, (size_t)room * (size_t)bytes);
    if (data == NULL) return FL_MEMORY;
    b->data = data;
    b->capacity = room;
    return 0;
}

static inline int32_t fl_default_finish(fl_runtime *rt, fl_buffer *b, int64_t len, int32_t bytes)
{
    (void)rt;
    (void)bytes;
    b->len = len;
    return 0;
}

typedef struct fl_keyed {
    int64_t key, place;
} fl_keyed;

static inline int fl_compare_keyed(const void *a, const void *b)
{
    const fl_keyed *x = (const fl_keyed *)a, *y = (const fl_keyed *)b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static inline int32_t fl_default_sort(fl_runtime *rt, fl_buffer *keys, fl_buffer *order, int64_t len)
{
    (void)rt;
    if (len <= 0) return 0;
    int64_t *k = (int64_t *)keys->data, *o = (int64_t *)order->data;
    fl_keyed *both = (fl_keyed *)malloc((size_t)len * sizeof(fl_keyed));
    if (both == NULL) return FL_MEMORY;
    for (int64_t i = 0; i < len; i++) {
        both[i].key = k[i];
        both[i].place = i;
    }
    qsort(both, (size_t)len, sizeof(fl_keyed), fl_compare_keyed);
    for (int64_t i = 0; i < len; i++) {
        k[i] = both[i].key;
        o[i] = both[i].place;
    }
    free(both);
    return 0;
}

static inline int32_t fl_default_move(fl_runtime *rt, fl_buffer *to, fl_buffer *from)
{
    (void)rt;
    fl_buffer had = *to;
    *to = *from;
    *from = had;
    return 0;
}

static inline int32_t fl_default_parallel(fl_runtime *rt, fl_buffer *buffers, const int64_t *params, int64_t *frame, const fl_loop *loop)
{
    return loop->turns(rt, buffers, params, frame, loop->lo, loop->hi);
}

static inline uint64_t fl_default_gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static inline uint64_t fl_default_pow_int(uint64_t base, uint64_t exponent)
{
    uint64_t power = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
        if (exponent & 1) power *= base;
    return power;
}

/* Division rounded down, and its rest, which has the divisor's sign. */
static inline double fl_default_floordiv(double x, double y)
{
    if (y == 0) return x / y;
    double rest = fmod(x, y);
    double lower = rest != 0 && (rest < 0) != (y < 0) ? 1 : 0;
    double quotient = (x - rest) / y - lower;
    if (quotient == 0) return copysign(0, x / y);
    double below = floor(quotient);
    return quotient - below > (double)0.5 ? below + 1 : below;
}

static inline double fl_default_floormod(double x, double y)
{
    double rest = fmod(x, y);
    if (rest == 0) return copysign(0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Division rounded down, and its rest, which has the divisor's sign. */
static inline float fl_default_floordivf(float x, float y)
{
    if (y == 0) return x / y;
    float rest = fmodf(x, y);
    float lower = rest != 0 && (rest < 0) != (y < 0) ? 1 : 0;
    float quotient = (x - rest) / y - lower;
    if (quotient == 0) return copysignf(0, x / y);
    float below = floorf(quotient);
    return quotient - below > (float)0.5 ? below + 1 : below;
}

static inline float fl_default_floormodf(float x, float y)
{
    float rest = fmodf(x, y);
    if (rest == 0) return copysignf(0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}
