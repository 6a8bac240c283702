/* The outer loop of every descent that minimises over one row of masses at a time; see row_descent.c. */
#ifndef DEMPSTER_OPTIMIZE_ROW_DESCENT_H
#define DEMPSTER_OPTIMIZE_ROW_DESCENT_H

#include "_native/native.h"

/* A problem, seen from the outer loop. `self` is what the functions know of it. */
typedef struct {
    void *self;
    index_t n, f; /* rows and columns of M */

    /* Set every row of M to its minimum, or beyond it (`finish_row`). Returns the objective after them, given the one
     * before. What the problem keeps from row to row must be that of M before, and is that of M afterwards. */
    double (*sweep)(void *self, double *M, bool beyond, double objective);

    /* The objective of any masses. May overwrite what the problem keeps. */
    double (*value)(void *self, const double *M);

    /* Make what the problem keeps that of M. */
    void (*restart)(void *self, const double *M);

    bool drifts;    /* whether rounding gathers in what is kept and in the objective, so that both start again at times */
    double squares; /* of the targets: with an objective far below this only rounding is left */
} RowProblem;

/* How far a descent goes, and what it leaves behind. */
typedef struct {
    index_t max_iter; /* sweeps */
    double tol;
    double *history; /* (max_iter,) the objective after every sweep */
    index_t *ending; /* (2,) the number of sweeps, and 1 if it converged */
} Descent;

/* Sweep over all rows of M, whose objective is given, until the smoothed relative change of it is below `tol`. */
int descend_rows(const RowProblem *problem, double *M, double objective, const Descent *descent);

/* Where a row goes whose quadratic program has the minimiser x: there, or beyond. `old` is where it was.
 * Returns the change of 1/2 x'Hx + g'x; sets `moved`. */
double finish_row(index_t f, const double *H, const double *g, const double *old, double *x, bool beyond, bool *moved);

#endif
