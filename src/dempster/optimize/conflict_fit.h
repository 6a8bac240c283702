/* Products with the conflict matrix C, for the fit of degrees of conflict m_i' C m_j. */
#ifndef DEMPSTER_OPTIMIZE_CONFLICT_FIT_H
#define DEMPSTER_OPTIMIZE_CONFLICT_FIT_H

#include "_native/native.h"

/* C (f, f) is 1 for disjoint sets. `simple` is true if the focal sets are the empty set, the singletons and the
 * frame, in this order. Products with C then have closed forms. */
typedef struct {
    index_t f;
    const double *C;
    bool simple;
} Conflict;

/* Compute out = C v. */
static inline void times_conflict(const Conflict *conflict, const double *v, double *out) {
    const index_t f = conflict->f;
    if (conflict->simple) {
        double total = 0.0;
        for (index_t q = 1; q < f - 1; q++) total += v[q];
        out[0] = v[0] + total + v[f - 1];
        for (index_t q = 1; q < f - 1; q++) out[q] = v[0] + total - v[q];
        out[f - 1] = v[0];
        return;
    }
    for (index_t a = 0; a < f; a++) {
        double s = 0.0;
        for (index_t b = 0; b < f; b++) s += conflict->C[a * f + b] * v[b];
        out[a] = s;
    }
}

/* Compute K = C G C for symmetric G. `half` (f, f) is scratch memory. */
static inline void conflict_gram(const Conflict *conflict, const double *G, double *restrict half, double *restrict K) {
    const index_t f = conflict->f;
    for (index_t a = 0; a < f; a++) {
        double *restrict row = half + a * f;
        for (index_t c = 0; c < f; c++) row[c] = 0;
        for (index_t b = 0; b < f; b++) {
            const double value = G[a * f + b];
            if (value == 0) continue;
            for (index_t c = 0; c < f; c++) row[c] += value * conflict->C[b * f + c];
        }
    }
    for (index_t a = 0; a < f; a++) {
        double *restrict row = K + a * f;
        for (index_t c = 0; c < f; c++) row[c] = 0;
        for (index_t b = 0; b < f; b++) {
            if (conflict->C[a * f + b] == 0) continue;
            for (index_t c = 0; c < f; c++) row[c] += half[b * f + c];
        }
    }
}

#endif
