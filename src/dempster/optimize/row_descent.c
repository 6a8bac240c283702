/* Minimization over the masses M (n, f), whose rows are on the simplex, one row at a time.
 *
 * A sweep sets every row to the minimizer of its quadratic program, which does not increase the objective. Two methods
 * accelerate the convergence.
 *
 * - After the first sweeps, rows are moved beyond their minimizer x, to old + w (x - old) with w < 2 (successive
 *   over-relaxation). The value of a convex quadratic function is not larger there than at `old`.
 * - Every few sweeps, the masses are extrapolated in the direction of the last sweeps. The step is doubled while the
 *   objective decreases.
 *
 * The sweeps end when e_t = (e_{t-1} + relative change of the objective) / 2 is below `tol`, with e_0 = 1 (Denoeux,
 * 2020, eq. 18), or when the objective is zero up to rounding errors. */
#include "optimize/row_descent.h"

enum { EXACT_FIRST = 3 };           /* Number of sweeps before rows are moved beyond their minimizer. */
enum { EVERY = 4 };                 /* Number of sweeps between two extrapolations. */
static const double BEYOND = 1.75;  /* Factor w; 1 is coordinate descent, and 2 would not decrease the objective. */
static const double LONGEST = 64.0; /* Maximum step of an extrapolation. */
static const double PERFECT = 1e-13; /* An objective below this share of the squared targets is zero. */

/* Move a row beyond its minimizer x, within the simplex. */
static void go_beyond(index_t f, const double *old, double *x) {
    double limit = BEYOND, total = 0.0;
    for (index_t a = 0; a < f; a++) {
        const double change = x[a] - old[a];
        if (change < 0 && old[a] < -limit * change) limit = old[a] / -change;
    }
    if (limit <= 1) return;
    for (index_t a = 0; a < f; a++) {
        x[a] = larger(old[a] + limit * (x[a] - old[a]), 0.0);
        total += x[a];
    }
    for (index_t a = 0; a < f; a++) x[a] /= total;
}

/* Return 1/2 x'Hx + g'x. */
static double quadratic(index_t f, const double *H, const double *g, const double *x) {
    double value = 0.0;
    for (index_t a = 0; a < f; a++) {
        if (x[a] == 0) continue;
        double s = 0.0;
        for (index_t b = 0; b < f; b++) s += H[a * f + b] * x[b];
        value += x[a] * (g[a] + 0.5 * s);
    }
    return value;
}

double finish_row(index_t f, const double *H, const double *g, const double *old, double *x, bool beyond, bool *moved) {
    if (beyond) go_beyond(f, old, x);
    *moved = false;
    for (index_t a = 0; a < f; a++) *moved |= x[a] != old[a];
    return *moved ? quadratic(f, H, g, x) - quadratic(f, H, g, old) : 0.0;
}

/* Compute trial = M + step (M - before), with negative masses set to zero and rows rescaled. */
static void extrapolate_masses(index_t n, index_t f, const double *M, const double *before, double step,
                               double *trial) {
    for (index_t i = 0; i < n; i++) {
        double total = 0.0;
        for (index_t a = i * f; a < (i + 1) * f; a++) {
            trial[a] = larger(M[a] + step * (M[a] - before[a]), 0.0);
            total += trial[a];
        }
        for (index_t a = i * f; a < (i + 1) * f; a++) trial[a] /= total;
    }
}

/* Scratch memory and step of the extrapolation. */
typedef struct {
    double *before; /* (n, f) masses after the last extrapolation */
    double *trial, *chosen;
    double step; /* first step to try */
} Ahead;

/* Extrapolate in the direction from `before` to M while the objective decreases. Return the objective. */
static double look_ahead(const RowProblem *p, double *M, double objective, Ahead *ahead) {
    const size_t bytes = sizeof(double) * (size_t)(p->n * p->f);
    bool found = false;
    if (p->drifts) objective = p->value(p->self, M);
    while (ahead->step <= LONGEST) {
        extrapolate_masses(p->n, p->f, M, ahead->before, ahead->step, ahead->trial);
        const double value = p->value(p->self, ahead->trial);
        if (!(value < objective)) break;
        objective = value;
        found = true;
        double *spare = ahead->chosen;
        ahead->chosen = ahead->trial;
        ahead->trial = spare;
        ahead->step *= 2;
    }
    ahead->step = larger(ahead->step / 2, 1.0);
    if (found) memcpy(M, ahead->chosen, bytes);
    if (found || p->drifts) p->restart(p->self, M);
    memcpy(ahead->before, M, bytes);
    return objective;
}

int descend_rows(const RowProblem *p, double *M, double objective, const Descent *descent) {
    const index_t size = p->n * p->f;
    Scratch scratch = {0};
    Ahead ahead = {
        .before = take(&scratch, size, sizeof(double)),
        .trial = take(&scratch, size, sizeof(double)),
        .chosen = take(&scratch, size, sizeof(double)),
        .step = 1.0,
    };
    if (scratch.failed) return release(&scratch);
    memcpy(ahead.before, M, sizeof(double) * (size_t)size);
    double error = 1.0;
    bool converged = false;
    index_t sweep = 0;
    for (; sweep < descent->max_iter && !converged; sweep++) {
        const double previous = objective;
        objective = p->sweep(p->self, M, sweep >= EXACT_FIRST, objective);
        if (sweep % EVERY == EVERY - 1) objective = look_ahead(p, M, objective, &ahead);
        descent->history[sweep] = objective;
        error = 0.5 * error + 0.5 * fabs(objective - previous) / larger(fabs(previous), 1e-300);
        converged = error < descent->tol || objective <= PERFECT * p->squares;
    }
    descent->ending[0] = sweep;
    descent->ending[1] = converged;
    return release(&scratch);
}

/* ---- kernels for tests ---------------------------------------------------------------------------------------- */

KERNEL overshoot(index_t f, const double *old, double *x) {
    go_beyond(f, old, x);
    return DONE;
}

KERNEL extrapolate(index_t n, index_t f, const double *M, const double *before, double step, double *trial) {
    extrapolate_masses(n, f, M, before, step, trial);
    return DONE;
}
