/* Initial medoids from a matrix of dissimilarities: objects far from each other, improved by k-medoids. */
#include "_native/native.h"

enum { TRIALS = 4 }; /* Sums of several candidates are computed at once to hide the latency of additions. */

/* Return the index share * n, rounded down and limited to 0, ..., n - 1. */
static index_t object_at(double share, index_t n) {
    const double place = share * (double)n;
    return !(place > 0) ? 0 : place < (double)n ? (index_t)place : n - 1;
}

/* Return the number of elements of an increasing array that are at most `value`. */
static index_t count_up_to(const double *rising, index_t n, double value) {
    index_t low = 0, high = n;
    while (low < high) {
        const index_t middle = low + (high - low) / 2;
        if (rising[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define real float
#define SUFFIX f32
#include "cluster/medoid_kernels.h"
#define real double
#define SUFFIX f64
#include "cluster/medoid_kernels.h"
