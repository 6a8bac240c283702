/* Outer loop of the minimization over one row of masses at a time; see row_descent.c. */
#ifndef DEMPSTER_OPTIMIZE_ROW_DESCENT_H
#define DEMPSTER_OPTIMIZE_ROW_DESCENT_H

#include "_native/native.h"

/* Interface of a problem. `self` is the first argument of its functions and contains arrays that depend on M. */
typedef struct {
    void *self;
    index_t n, f; /* number of rows and columns of M */

    /* Move every row of M to its minimizer, or beyond it (see `finish_row`). `objective` is the value before the sweep;
     * return the value after it. The arrays of the problem must be valid for M, and are updated. */
    double (*sweep)(void *self, double *M, bool beyond, double objective);

    /* Return the objective for any masses. This may change the arrays of the problem. */
    double (*value)(void *self, const double *M);

    /* Recompute the arrays of the problem for M. */
    void (*restart)(void *self, const double *M);

    bool drifts;    /* whether rounding errors accumulate in the arrays, so that they must be recomputed */
    double squares; /* sum of the squared targets, to which the objective is compared */
} RowProblem;

/* Stopping criteria and results. */
typedef struct {
    index_t max_iter; /* maximum number of sweeps */
    double tol;
    double *history; /* (max_iter,) objective after every sweep */
    index_t *ending; /* (2,) number of sweeps, and 1 if they converged, else 0 */
} Descent;

/* Sweep over all rows of M until the smoothed relative change of the objective is below `tol`. */
int descend_rows(const RowProblem *problem, double *M, double objective, const Descent *descent);

/* Accept the minimizer x of the quadratic program of a row or, if `beyond`, move x further away from `old`. Set `moved`
 * to whether x differs from `old`. Return the change of 1/2 x'Hx + g'x. */
double finish_row(index_t f, const double *H, const double *g, const double *old, double *x, bool beyond, bool *moved);

#endif
