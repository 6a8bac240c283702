/* Penalty for linked pairs, the sum of a_ij m_i' Z m_j. The sparse matrix of a_ij contains each pair in both rows. */
#ifndef DEMPSTER_OPTIMIZE_LINKS_H
#define DEMPSTER_OPTIMIZE_LINKS_H

#include "_native/native.h"

typedef struct {
    const index_t *indptr;      /* (n + 1,) */
    const int32_t *indices;     /* j */
    const double *coefficients; /* a_ij */
    const double *form;         /* (f, f) symmetric matrix Z */
} Links;

/* Add the linear term of row i, Z sum_j a_ij m_j, to g. `linked` (f,) is scratch memory. */
static inline void add_links(index_t i, index_t f, const double *M, const Links *links, double *linked, double *g) {
    if (links->indptr[i + 1] <= links->indptr[i]) return;
    memset(linked, 0, sizeof(double) * (size_t)f);
    for (index_t e = links->indptr[i]; e < links->indptr[i + 1]; e++) {
        const double *m = M + links->indices[e] * f;
        for (index_t q = 0; q < f; q++) linked[q] += links->coefficients[e] * m[q];
    }
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < f; b++) g[a] += links->form[a * f + b] * linked[b];
}

/* Return the penalty, with each linked pair counted once. */
static inline double links_value(index_t n, index_t f, const double *M, const Links *links) {
    double total = 0.0;
    for (index_t i = 0; i < n; i++)
        for (index_t e = links->indptr[i]; e < links->indptr[i + 1]; e++) {
            const index_t j = links->indices[e];
            if (j <= i) continue;
            for (index_t a = 0; a < f; a++) {
                if (M[i * f + a] == 0) continue;
                double s = 0.0;
                for (index_t b = 0; b < f; b++) s += links->form[a * f + b] * M[j * f + b];
                total += links->coefficients[e] * M[i * f + a] * s;
            }
        }
    return total;
}

#endif
