/* Degrees of conflict of pairs of mass functions. */
#include "optimize/conflict_fit.h"

/* Compute m_i' C m_j for every pair (i, j). */
KERNEL conflicts_of_pairs(index_t n, index_t f, index_t p, const double *M, const double *conflict,
                          const index_t *first, const index_t *second, double *out) {
    (void)n;
    for (index_t e = 0; e < p; e++) {
        const double *x = M + first[e] * f, *y = M + second[e] * f;
        double total = 0.0;
        for (index_t a = 0; a < f; a++) {
            if (!(x[a] > 0)) continue;
            double s = 0.0;
            for (index_t b = 0; b < f; b++) s += conflict[a * f + b] * y[b];
            total += x[a] * s;
        }
        out[e] = total;
    }
    return DONE;
}

/* Compute C v (used only by tests). */
KERNEL product_with_conflict(index_t f, const double *C, bool simple, const double *v, double *out) {
    times_conflict(&(Conflict){f, C, simple}, v, out);
    return DONE;
}
