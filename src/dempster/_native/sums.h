/* Sums of products in an order that is written here: the same on every machine, and fast on all of them. */
#ifndef DEMPSTER_SUMS_H
#define DEMPSTER_SUMS_H

#include "native.h"

enum { LANES = 8 };

/* The next multiple of LANES. */
static inline index_t padded_to_lanes(index_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Sum of products of the first n elements, n a multiple of LANES. As many sums are kept apart, which the processor adds
 * at once; a compiler may not do that by itself, because it changes the last digit. */
static inline double lanes_dot(index_t n, const double *x, const double *y) {
    double s[LANES] = {0.0};
    for (index_t i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++) s[lane] += x[i + lane] * y[i + lane];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

#endif
