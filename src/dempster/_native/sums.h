/* Sums of products in a fixed order, so that the results are the same on all machines. */
#ifndef DEMPSTER_SUMS_H
#define DEMPSTER_SUMS_H

#include "native.h"

enum { LANES = 8 };

/* Return the smallest multiple of LANES that is at least n. */
static inline index_t padded_to_lanes(index_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Return the sum of x[i] y[i] for i < n, where n is a multiple of LANES. LANES separate sums can be computed by vector
 * operations. A compiler may not introduce them, because they change the rounding. */
static inline double lanes_dot(index_t n, const double *x, const double *y) {
    double s[LANES] = {0.0};
    for (index_t i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++) s[lane] += x[i + lane] * y[i + lane];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

#endif
