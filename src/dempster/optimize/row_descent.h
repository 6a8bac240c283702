/* Outer loop of descents over one row of masses at a time; see row_descent.c. */
#ifndef DEMPSTER_OPTIMIZE_ROW_DESCENT_H
#define DEMPSTER_OPTIMIZE_ROW_DESCENT_H

#include "_native/native.h"

/* Interface of a problem; `self` is the argument of its functions. */
typedef struct {
    void *self;
    index_t n, f; /* rows and columns of M */

    /* Set every row of M to its minimum, or beyond it (`finish_row`). Takes the objective before the sweep and returns
     * the objective after it. The state of the problem must match M, and is updated. */
    double (*sweep)(void *self, double *M, bool beyond, double objective);

    /* Return the objective of any masses. May overwrite the state. */
    double (*value)(void *self, const double *M);

    /* Recompute the state for M. */
    void (*restart)(void *self, const double *M);

    bool drifts;    /* whether rounding errors accumulate, so that state and objective must be recomputed */
    double squares; /* sum of the squared targets, the scale of the objective */
} RowProblem;

/* Limits and results of a descent. */
typedef struct {
    index_t max_iter; /* maximum number of sweeps */
    double tol;
    double *history; /* (max_iter,) the objective after every sweep */
    index_t *ending; /* (2,) the number of sweeps, and 1 if it converged */
} Descent;

/* Sweep over all rows of M until the smoothed relative change of the objective is below `tol`. */
int descend_rows(const RowProblem *problem, double *M, double objective, const Descent *descent);

/* Move a row from `old` to the minimiser x of its quadratic program, or beyond it.
 * Returns the change of 1/2 x'Hx + g'x; sets `moved`. */
double finish_row(index_t f, const double *H, const double *g, const double *old, double *x, bool beyond, bool *moved);

#endif
