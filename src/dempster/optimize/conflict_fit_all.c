/* EVCLUS with all pairs. Minimize over the masses M (n, f), whose rows m_i are on the simplex,
 *
 *     sum over pairs i < j of w_i w_j (m_i' C m_j - delta_ij)^2  +  penalty for linked pairs
 *
 * (Denoeux, Sriboonchitta and Kanjanatarakul, 2016, with weights w_i of the objects). If all other rows are fixed,
 * row i is the solution of a quadratic program with H = 2 w_i (K - w_i C m_i m_i' C) and g = -2 w_i C T[:, i]. The
 * matrices K = C M'WM C and T = M'W Delta are updated after every row, so that a row costs O(f^2) plus n additions
 * for each mass that changed. */
#include "optimize/conflict_fit.h"
#include "optimize/links.h"
#include "optimize/row_descent.h"
#include "optimize/simplex_qp.h"

typedef struct {
    index_t n, f;
    const double *delta;   /* (n, n) symmetric with zero diagonal */
    const double *weights; /* (n,) */
    Conflict conflict;
    Links links;
    const index_t *order; /* (visits,) rows in the order of a sweep */
    index_t visits;
    double constant; /* constant term of the objective (squared targets and penalty) */
    double *K, *T;   /* (f, f) and (f, n), updated after every row */
    double *G, *half, *H;
    double *h, *g, *x, *old, *y, *y_new, *linked; /* (f,) */
    index_t *where;                               /* (f + 1,) */
    SimplexQp qp;
} AllPairs;

static inline void add_multiple(index_t n, double *restrict sum, double factor, const double *restrict row) {
    for (index_t j = 0; j < n; j++) sum[j] += factor * row[j];
}

/* Compute G = M'WM and T = M'W Delta. */
static void sum_products(AllPairs *p, const double *M) {
    const index_t n = p->n, f = p->f;
    memset(p->G, 0, sizeof(double) * (size_t)(f * f));
    memset(p->T, 0, sizeof(double) * (size_t)(f * n));
    for (index_t i = 0; i < n; i++) {
        const double *m = M + i * f;
        const double w = p->weights[i];
        index_t count = 0;
        for (index_t q = 0; q < f; q++) {
            p->where[count] = q;
            count += m[q] > 0;
        }
        for (index_t s = 0; s < count; s++) {
            const index_t a = p->where[s];
            for (index_t t = 0; t < count; t++) p->G[a * f + p->where[t]] += w * m[a] * m[p->where[t]];
            add_multiple(n, p->T + a * n, w * m[a], p->delta + i * n);
        }
    }
}

/* Recompute K and T; return the objective. */
static double value_of(void *self, const double *M) {
    AllPairs *p = self;
    const index_t n = p->n, f = p->f;
    sum_products(p, M);
    conflict_gram(&p->conflict, p->G, p->half, p->K);
    double squared = 0.0, cross = 0.0;
    for (index_t a = 0; a < f * f; a++) squared += p->K[a] * p->G[a];
    for (index_t i = 0; i < n; i++) {
        times_conflict(&p->conflict, M + i * f, p->y);
        const double w = p->weights[i];
        double own = 0.0;
        for (index_t a = 0; a < f; a++) {
            own += M[i * f + a] * p->y[a];
            cross += w * p->y[a] * p->T[a * n + i];
        }
        squared -= (w * own) * (w * own);
    }
    return 0.5 * squared - cross + links_value(n, f, M, &p->links) + p->constant;
}

static void restart(void *self, const double *M) { value_of(self, M); }

/* Compute H and g of row i, whose masses are in x, and y = C x. */
static void row_problem(AllPairs *p, index_t i, const double *M) {
    const index_t n = p->n, f = p->f;
    const double w = p->weights[i];
    for (index_t a = 0; a < f; a++) p->h[a] = p->T[a * n + i];
    times_conflict(&p->conflict, p->x, p->y);
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < f; b++) p->H[a * f + b] = 2 * w * (p->K[a * f + b] - w * p->y[a] * p->y[b]);
    times_conflict(&p->conflict, p->h, p->g);
    for (index_t a = 0; a < f; a++) p->g[a] *= -2 * w;
    add_links(i, f, M, &p->links, p->linked, p->g);
}

/* Update M, T and K after row i changed from `old` to x. */
static void correct(AllPairs *p, index_t i, double *M) {
    const index_t n = p->n, f = p->f;
    const double w = p->weights[i];
    for (index_t a = 0; a < f; a++)
        if (p->x[a] != p->old[a]) {
            add_multiple(n, p->T + a * n, w * (p->x[a] - p->old[a]), p->delta + i * n);
            M[i * f + a] = p->x[a];
        }
    times_conflict(&p->conflict, p->x, p->y_new);
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < f; b++) p->K[a * f + b] += w * (p->y_new[a] * p->y_new[b] - p->y[a] * p->y[b]);
}

static double sweep(void *self, double *M, bool beyond, double objective) {
    AllPairs *p = self;
    const index_t f = p->f;
    const size_t row = sizeof(double) * (size_t)f;
    for (index_t r = 0; r < p->visits; r++) {
        const index_t i = p->order[r];
        memcpy(p->x, M + i * f, row);
        memcpy(p->old, M + i * f, row);
        row_problem(p, i, M);
        minimise_on_simplex(p->H, p->g, p->x, ample_iterations(f), &p->qp);
        bool moved;
        const double change = finish_row(f, p->H, p->g, p->old, p->x, beyond, &moved);
        if (moved) {
            objective += change;
            correct(p, i, M);
        }
    }
    return objective;
}

KERNEL descend_all_pairs(index_t n, index_t f, index_t visits, index_t e, double *M, const double *delta,
                         const double *weights, const double *conflict, bool simple, const index_t *order,
                         index_t max_iter, double tol, double constant, const index_t *link_indptr,
                         const int32_t *link_indices, const double *coefficients, const double *form, double *history,
                         index_t *ending) {
    (void)e;
    Scratch scratch = {0};
    const size_t number = sizeof(double);
    AllPairs p = {
        .n = n,
        .f = f,
        .delta = delta,
        .weights = weights,
        .conflict = {f, conflict, simple},
        .links = {link_indptr, link_indices, coefficients, form},
        .order = order,
        .visits = visits,
        .K = take(&scratch, f * f, number),
        .T = take(&scratch, f * n, number),
        .G = take(&scratch, f * f, number),
        .half = take(&scratch, f * f, number),
        .H = take(&scratch, f * f, number),
        .h = take(&scratch, f, number),
        .g = take(&scratch, f, number),
        .x = take(&scratch, f, number),
        .old = take(&scratch, f, number),
        .y = take(&scratch, f, number),
        .y_new = take(&scratch, f, number),
        .linked = take(&scratch, f, number),
        .where = take(&scratch, f + 1, sizeof(index_t)),
        .qp = take_simplex_qp(&scratch, f),
    };
    if (scratch.failed) return release(&scratch);
    double squares = 0.0;
    for (index_t i = 0; i < n; i++)
        for (index_t j = 0; j < n; j++) squares += weights[i] * weights[j] * (delta[i * n + j] * delta[i * n + j]);
    squares *= 0.5;
    p.constant = constant + squares;
    const RowProblem problem = {&p, n, f, sweep, value_of, restart, .drifts = true, .squares = squares};
    const Descent descent = {max_iter, tol, history, ending};
    scratch.failed = descend_rows(&problem, M, value_of(&p, M), &descent) != DONE;
    return release(&scratch);
}
