/* Quantiles of the probability that two objects are in the same cluster, over many fits of a mixture model.
 *
 * Let p_ikb be the probability of cluster k for object i in fit b. In this fit, objects i and j are in the same cluster
 * with probability sum_k p_ikb p_jkb.
 *
 * The order statistics are computed by bisection. Each step counts the values above a threshold and moves the
 * threshold. The compiler vectorizes the count, so that a dozen counts are faster than one partial sort. Nonnegative
 * floating-point numbers have the same order as the integers with the same bits, and bisection of these integers is
 * exact after at most 31 steps. */
#include "_native/native.h"

static const float NOTHING = 1e-9f; /* If all probabilities are smaller, the quantiles are not computed exactly. */

/* Ranks of the quantiles, and scratch memory for the values of a pair. */
typedef struct {
    index_t c, n_fits;
    index_t rank;    /* rank, from 0, of the lower quantile among the sorted values */
    double fraction; /* weight of the next value in the interpolation */
    float *values;   /* (n_fits,) */
    int32_t *bits;   /* (padded,) bits of the values, padded with zeros */
    index_t padded;  /* n_fits rounded up to a multiple of four vector lengths */
} Fits;

static Fits take_fits(Scratch *scratch, index_t c, index_t n_fits, index_t rank, double fraction) {
    const index_t padded = (n_fits + 31) / 32 * 32;
    return (Fits){
        .c = c,
        .n_fits = n_fits,
        .rank = rank,
        .fraction = fraction,
        .values = take(scratch, n_fits, sizeof(float)),
        .bits = take_zeros(scratch, padded, sizeof(int32_t)),
        .padded = padded,
    };
}

static inline float value_of(int32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Compute values_b = sum_k p_kb q_kb. */
static void multiply(index_t c, index_t n_fits, const float *p, const float *q, float *restrict values) {
    for (index_t b = 0; b < n_fits; b++) values[b] = c > 0 ? p[b] * q[b] : 0;
    for (index_t k = 1; k < c; k++) {
        p += n_fits;
        q += n_fits;
        for (index_t b = 0; b < n_fits; b++) values[b] += p[b] * q[b];
    }
}

/* Count the values above a nonnegative limit (the padding zeros are not above it). Sums and comparisons use 32 bits to
 * fill the vectors. Four independent sums allow the processor to work in parallel. */
static index_t count_above(const Fits *fits, int32_t limit) {
    const index_t quarter = fits->padded / 4;
    const int32_t *a = fits->bits, *b = a + quarter, *c = b + quarter, *d = c + quarter;
    int32_t in_a = 0, in_b = 0, in_c = 0, in_d = 0;
    for (index_t i = 0; i < quarter; i++) {
        in_a += a[i] > limit;
        in_b += b[i] > limit;
        in_c += c[i] > limit;
        in_d += d[i] > limit;
    }
    return in_a + in_b + in_c + in_d;
}

/* Bits of the values of two consecutive ranks. */
typedef struct {
    int32_t lower, upper;
} Neighbors;

/* Return the bits of the largest value up to a limit, and of the smallest value above it. */
static Neighbors around(const Fits *fits, int32_t limit) {
    const int32_t *bits = fits->bits;
    int32_t below = 0, above = INT32_MAX;
    for (index_t b = 0; b < fits->padded; b++) {
        const int32_t outside = -(bits[b] > limit); /* All bits are 1 or 0, which avoids a branch. */
        const int32_t in = bits[b] & ~outside, out = bits[b] | (INT32_MAX & ~outside);
        below = in > below ? in : below;
        above = out < above ? out : above;
    }
    return (Neighbors){below, above};
}

/* Return the bits of the value with a given rank, which are above `low` and at most `high`, and of the next value. */
static Neighbors order_statistics(const Fits *fits, index_t rank, int64_t low, int64_t high) {
    while (high - low > 1) {
        const int32_t middle = (int32_t)(low + ((high - low) >> 1));
        const index_t count = fits->n_fits - count_above(fits, middle);
        if (count == rank + 1) return around(fits, middle);
        if (count <= rank)
            low = middle;
        else
            high = middle;
    }
    return (Neighbors){(int32_t)high, (int32_t)high}; /* The next value is equal, or there is none. */
}

/* Compute the quantiles for two objects with the cluster probabilities p and q (c, n_fits). */
static void find_interval(const Fits *fits, const float *p, const float *q, double *lower, double *upper) {
    const index_t n = fits->n_fits, rank = fits->rank, last = n - 1;
    const double fraction = fits->fraction;
    const int32_t *bits = fits->bits;
    multiply(fits->c, n, p, q, fits->values);
    memcpy(fits->bits, fits->values, sizeof(float) * (size_t)n);
    int32_t smallest = bits[0], largest = bits[0];
    for (index_t b = 0; b < n; b++) {
        smallest = bits[b] < smallest ? bits[b] : smallest;
        largest = bits[b] > largest ? bits[b] : largest;
    }
    if (value_of(largest) < NOTHING) {
        *lower = value_of(smallest);
        *upper = value_of(largest);
        return;
    }
    Neighbors at = order_statistics(fits, rank, (int64_t)smallest - 1, largest);
    *lower = (1 - fraction) * value_of(at.lower) + fraction * value_of(at.upper);
    /* If the values are sorted in decreasing order, the upper bound is also between ranks `rank` and rank + 1. */
    const index_t mirrored = fraction == 0 ? last - rank : last - rank - 1;
    const int64_t low = mirrored < rank ? (int64_t)smallest - 1 : (int64_t)at.lower - 1;
    at = order_statistics(fits, mirrored, low, largest);
    *upper = fraction == 0 ? value_of(at.lower) : fraction * value_of(at.lower) + (1 - fraction) * value_of(at.upper);
}

#define real float
#define SUFFIX f32
#include "optimize/pair_quantiles_kernels.h"
#define real double
#define SUFFIX f64
#include "optimize/pair_quantiles_kernels.h"

/* Compute the probability of "same cluster" in every fit, for the given pairs of objects. */
KERNEL probabilities_of_pairs(index_t n, index_t c, index_t n_fits, index_t p, const float *P, const index_t *pairs,
                              float *out) {
    (void)n;
    const index_t size = c * n_fits;
    for (index_t e = 0; e < p; e++)
        multiply(c, n_fits, P + pairs[2 * e] * size, P + pairs[2 * e + 1] * size, out + e * n_fits);
    return DONE;
}
