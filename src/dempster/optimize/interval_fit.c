/* Minimize over the masses M (n, f), whose rows m_i are on the simplex,
 *
 *     J(M) = sum over pairs i < j of  sum_r (m_i' A_r m_j - t_ijr)^2
 *
 * for a few symmetric matrices A_r (Denoeux, 2020, eq. 7). If all other rows are fixed, row i is the solution of a
 * quadratic program with
 *
 *     H = 2 sum_r (A_r M'M A_r - A_r m_i m_i' A_r),   g = -2 sum_r A_r T_r[:, i],   T_r = M' t_r,
 *
 * where t_r is the matrix of the targets t_ijr. The matrices K = sum_r A_r M'M A_r and T_r are updated when a row
 * changes. */
#include "optimize/row_descent.h"
#include "optimize/simplex_qp.h"

typedef struct {
    index_t n, f, q;
    const float *targets; /* (q, n, n) */
    const double *forms;  /* (q, f, f) */
    const index_t *order; /* (visits,) rows in the order of a sweep */
    index_t visits;
    double squares; /* sum of the squared targets over the pairs i < j */
    double *K, *T;  /* (f, f) and (q, f, n), updated after every row */
    double *H, *y, *y_new, *g, *x, *old;
    SimplexQp qp;
} Intervals;

/* Compute out_r = A_r v for every r. */
static void images(const Intervals *p, const double *v, double *out) {
    const index_t f = p->f;
    for (index_t a = 0; a < p->q * f; a++) {
        double s = 0.0;
        for (index_t b = 0; b < f; b++) s += p->forms[a * f + b] * v[b];
        out[a] = s;
    }
}

/* Add factor * t_r[i] to row a of T_r. */
static void add_targets(Intervals *p, index_t r, index_t a, double factor, index_t i) {
    const index_t n = p->n;
    double *restrict sum = p->T + (r * p->f + a) * n;
    const float *restrict row = p->targets + (r * n + i) * n;
    for (index_t j = 0; j < n; j++) sum[j] += factor * row[j];
}

/* Recompute K and T. */
static void sum_products(Intervals *p, const double *M) {
    const index_t n = p->n, f = p->f, q = p->q;
    memset(p->T, 0, sizeof(double) * (size_t)(q * f * n));
    memset(p->K, 0, sizeof(double) * (size_t)(f * f));
    for (index_t i = 0; i < n; i++) {
        images(p, M + i * f, p->y);
        for (index_t r = 0; r < q; r++) {
            const double *y = p->y + r * f;
            for (index_t a = 0; a < f; a++) {
                if (M[i * f + a] > 0) add_targets(p, r, a, M[i * f + a], i);
                for (index_t b = 0; b < f; b++) p->K[a * f + b] += y[a] * y[b];
            }
        }
    }
}

/* Recompute K and T; return the objective. */
static double value_of(void *self, const double *M) {
    Intervals *p = self;
    const index_t n = p->n, f = p->f, q = p->q;
    sum_products(p, M);
    double twice = 0.0; /* sum of (m_i' A_r m_j)^2 - 2 t_ijr m_i' A_r m_j over all i != j */
    for (index_t i = 0; i < n; i++) {
        const double *m = M + i * f;
        images(p, m, p->y);
        for (index_t a = 0; a < f; a++)
            for (index_t b = 0; b < f; b++) twice += m[a] * p->K[a * f + b] * m[b];
        for (index_t r = 0; r < q; r++) {
            double own = 0.0;
            for (index_t a = 0; a < f; a++) {
                own += m[a] * p->y[r * f + a];
                twice -= 2 * p->y[r * f + a] * p->T[(r * f + a) * n + i];
            }
            twice -= own * own;
        }
    }
    return 0.5 * twice + p->squares;
}

static void restart(void *self, const double *M) { sum_products(self, M); }

/* Compute H and g of row i, whose masses are in x, and y_r = A_r x. */
static void row_problem(Intervals *p, index_t i) {
    const index_t n = p->n, f = p->f, q = p->q;
    images(p, p->x, p->y);
    memset(p->g, 0, sizeof(double) * (size_t)f);
    for (index_t r = 0; r < q; r++)
        for (index_t b = 0; b < f; b++) {
            const double value = -2 * p->T[(r * f + b) * n + i];
            for (index_t a = 0; a < f; a++) p->g[a] += p->forms[(r * f + b) * f + a] * value;
        }
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < f; b++) {
            double s = p->K[a * f + b];
            for (index_t r = 0; r < q; r++) s -= p->y[r * f + a] * p->y[r * f + b];
            p->H[a * f + b] = 2 * s;
        }
}

/* Update M, T and K after row i changed from `old` to x. */
static void correct(Intervals *p, index_t i, double *M) {
    const index_t f = p->f, q = p->q;
    for (index_t a = 0; a < f; a++)
        if (p->x[a] != p->old[a]) {
            for (index_t r = 0; r < q; r++) add_targets(p, r, a, p->x[a] - p->old[a], i);
            M[i * f + a] = p->x[a];
        }
    images(p, p->x, p->y_new);
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < f; b++)
            for (index_t r = 0; r < q; r++)
                p->K[a * f + b] += p->y_new[r * f + a] * p->y_new[r * f + b] - p->y[r * f + a] * p->y[r * f + b];
}

static double sweep(void *self, double *M, bool beyond, double objective) {
    Intervals *p = self;
    const index_t f = p->f;
    const size_t row = sizeof(double) * (size_t)f;
    double total = 0.0;
    for (index_t v = 0; v < p->visits; v++) {
        const index_t i = p->order[v];
        memcpy(p->x, M + i * f, row);
        memcpy(p->old, M + i * f, row);
        row_problem(p, i);
        minimise_on_simplex(p->H, p->g, p->x, ample_iterations(f), &p->qp);
        bool moved;
        const double change = finish_row(f, p->H, p->g, p->old, p->x, beyond, &moved);
        if (moved) {
            total += change;
            correct(p, i, M);
        }
    }
    return objective + total;
}

KERNEL descend_intervals(index_t n, index_t f, index_t q, index_t visits, double *M, const float *targets,
                         const double *forms, const index_t *order, double squares, index_t max_iter, double tol,
                         double *history, index_t *ending) {
    Scratch scratch = {0};
    const size_t number = sizeof(double);
    Intervals p = {
        .n = n,
        .f = f,
        .q = q,
        .targets = targets,
        .forms = forms,
        .order = order,
        .visits = visits,
        .squares = squares,
        .K = take(&scratch, f * f, number),
        .T = take(&scratch, q * f * n, number),
        .H = take(&scratch, f * f, number),
        .y = take(&scratch, q * f, number),
        .y_new = take(&scratch, q * f, number),
        .g = take(&scratch, f, number),
        .x = take(&scratch, f, number),
        .old = take(&scratch, f, number),
        .qp = take_simplex_qp(&scratch, f),
    };
    if (scratch.failed) return release(&scratch);
    const RowProblem problem = {&p, n, f, sweep, value_of, restart, .drifts = true, .squares = squares};
    const Descent descent = {max_iter, tol, history, ending};
    scratch.failed = descend_rows(&problem, M, value_of(&p, M), &descent) != DONE;
    return release(&scratch);
}
