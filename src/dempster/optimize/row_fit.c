/* Sweep over the rows of the masses M (n, f) to minimize
 *
 *     sum over pairs i < j of w_ij sum_r (m_i' A_r m_j - t_ijr)^2  +  sum over linked pairs of a_ij m_i' Z m_j.
 *
 * If all other rows are fixed, row i is the solution of a quadratic program on the simplex with
 *
 *     H = 2 sum_r A_r G A_r,   g = -2 sum_r A_r h_r + Z sum_j a_ij m_j,
 *     G = sum_j w_ij m_j m_j',  h_r = sum_j w_ij t_ijr m_j.
 *
 * Few sets have positive mass, so that G and h are computed as sums over the nonzero masses. */
#include "optimize/links.h"
#include "optimize/simplex_qp.h"

static const double MIN_DISTANCE = 1e-6; /* Lower bound of the distances by which the weights are divided. */

typedef struct {
    index_t f, q;
    const index_t *indptr;  /* sparse matrix with each pair in both rows */
    const int32_t *indices;
    const double *weights;
    const double *targets; /* (entries, q) */
    const double *forms;   /* (q, f, f) */
    bool reweight;
    int32_t *nonzero, *count; /* (n, f) indices of the nonzero masses of every row, and (n,) their number */
    double *G, *half, *H;
    double *h, *image; /* (q, f) */
    double *g, *linked, *x;
} Rows;

static void find_nonzeros(Rows *p, index_t i, const double *M) {
    const index_t f = p->f;
    int32_t count = 0;
    for (index_t a = 0; a < f; a++)
        if (M[i * f + a] > 0) p->nonzero[i * f + count++] = (int32_t)a;
    p->count[i] = count;
}

/* Compute image_r = A_r m_i for every r. */
static void find_image(Rows *p, index_t i, const double *M) {
    const index_t f = p->f;
    memset(p->image, 0, sizeof(double) * (size_t)(p->q * f));
    for (index_t r = 0; r < p->q; r++)
        for (index_t t = 0; t < p->count[i]; t++) {
            const index_t a = p->nonzero[i * f + t];
            for (index_t b = 0; b < f; b++) p->image[r * f + b] += M[i * f + a] * p->forms[(r * f + a) * f + b];
        }
}

/* Return sqrt(sum_r residual_r^2 / 2) for entry e of the sparse matrix, which is in column j. */
static double distance(const Rows *p, index_t e, index_t j, const double *M) {
    const index_t f = p->f;
    double squared = 0.0;
    for (index_t r = 0; r < p->q; r++) {
        double residual = -p->targets[e * p->q + r];
        for (index_t t = 0; t < p->count[j]; t++) {
            const index_t a = p->nonzero[j * f + t];
            residual += p->image[r * f + a] * M[j * f + a];
        }
        squared += residual * residual;
    }
    return sqrt(squared / 2);
}

/* Compute G and h of row i. */
static void sum_neighbors(Rows *p, index_t i, const double *M) {
    const index_t f = p->f, q = p->q;
    memset(p->G, 0, sizeof(double) * (size_t)(f * f));
    memset(p->h, 0, sizeof(double) * (size_t)(q * f));
    if (p->reweight) find_image(p, i, M);
    for (index_t e = p->indptr[i]; e < p->indptr[i + 1]; e++) {
        const index_t j = p->indices[e];
        const double *m = M + j * f;
        const int32_t *nonzero = p->nonzero + j * f;
        double w = p->weights[e];
        if (p->reweight) w /= larger(distance(p, e, j, M), MIN_DISTANCE);
        for (index_t t = 0; t < p->count[j]; t++) {
            const index_t a = nonzero[t];
            const double share = w * m[a];
            for (index_t r = 0; r < q; r++) p->h[r * f + a] += share * p->targets[e * q + r];
            for (index_t u = 0; u <= t; u++) p->G[a * f + nonzero[u]] += share * m[nonzero[u]];
        }
    }
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < a; b++) p->G[b * f + a] = p->G[a * f + b];
}

/* Compute H = 2 sum_r A_r G A_r for symmetric A_r, with half = A_r G. */
static void find_hessian(Rows *p) {
    const index_t f = p->f;
    memset(p->H, 0, sizeof(double) * (size_t)(f * f));
    for (index_t r = 0; r < p->q; r++) {
        const double *form = p->forms + r * f * f;
        memset(p->half, 0, sizeof(double) * (size_t)(f * f));
        for (index_t a = 0; a < f; a++)
            for (index_t b = 0; b < f; b++) {
                const double value = form[a * f + b];
                if (value == 0) continue;
                for (index_t c = 0; c < f; c++) p->half[a * f + c] += value * p->G[b * f + c];
            }
        for (index_t a = 0; a < f; a++)
            for (index_t b = 0; b < f; b++) {
                const double value = 2 * p->half[a * f + b];
                if (value == 0) continue;
                for (index_t c = 0; c < f; c++) p->H[a * f + c] += value * form[b * f + c];
            }
    }
}

/* Compute g = -2 sum_r A_r h_r. */
static void find_linear_term(Rows *p) {
    const index_t f = p->f;
    for (index_t a = 0; a < f; a++) {
        p->g[a] = 0;
        for (index_t r = 0; r < p->q; r++)
            for (index_t b = 0; b < f; b++) p->g[a] -= 2 * p->forms[(r * f + a) * f + b] * p->h[r * f + b];
    }
}

KERNEL sweep_rows(index_t n, index_t f, index_t visits, index_t entries, index_t q, index_t e, double *M,
                  const index_t *order, const index_t *indptr, const int32_t *indices, const double *weights,
                  const double *targets, const double *forms, bool reweight, const index_t *link_indptr,
                  const int32_t *link_indices, const double *coefficients, const double *form) {
    (void)entries, (void)e;
    Scratch scratch = {0};
    const size_t number = sizeof(double);
    const Links links = {link_indptr, link_indices, coefficients, form};
    Rows p = {
        .f = f,
        .q = q,
        .indptr = indptr,
        .indices = indices,
        .weights = weights,
        .targets = targets,
        .forms = forms,
        .reweight = reweight,
        .nonzero = take(&scratch, n * f, sizeof(int32_t)),
        .count = take(&scratch, n, sizeof(int32_t)),
        .G = take(&scratch, f * f, number),
        .half = take(&scratch, f * f, number),
        .H = take(&scratch, f * f, number),
        .h = take(&scratch, q * f, number),
        .image = take(&scratch, q * f, number),
        .g = take(&scratch, f, number),
        .linked = take(&scratch, f, number),
        .x = take(&scratch, f, number),
    };
    SimplexQp qp = take_simplex_qp(&scratch, f);
    if (scratch.failed) return release(&scratch);
    for (index_t i = 0; i < n; i++) find_nonzeros(&p, i, M);
    for (index_t v = 0; v < visits; v++) {
        const index_t i = order[v];
        sum_neighbors(&p, i, M);
        find_hessian(&p);
        find_linear_term(&p);
        add_links(i, f, M, &links, p.linked, p.g);
        minimise_on_simplex(p.H, p.g, memcpy(p.x, M + i * f, number * (size_t)f), ample_iterations(f), &qp);
        memcpy(M + i * f, p.x, number * (size_t)f);
        find_nonzeros(&p, i, M);
    }
    return release(&scratch);
}

/* Compute sqrt(sum_r (m_i' A_r m_j - t_r)^2 / 2) for every pair. */
KERNEL pair_distances(index_t n, index_t f, index_t p, index_t q, const double *M, const index_t *pairs,
                      const double *targets, const double *forms, double *out) {
    (void)n;
    for (index_t e = 0; e < p; e++) {
        const double *x = M + pairs[2 * e] * f, *y = M + pairs[2 * e + 1] * f;
        double squared = 0.0;
        for (index_t r = 0; r < q; r++) {
            double residual = -targets[e * q + r];
            for (index_t a = 0; a < f; a++) {
                if (!(x[a] > 0)) continue;
                for (index_t b = 0; b < f; b++) residual += x[a] * forms[(r * f + a) * f + b] * y[b];
            }
            squared += residual * residual;
        }
        out[e] = sqrt(squared / 2);
    }
    return DONE;
}
