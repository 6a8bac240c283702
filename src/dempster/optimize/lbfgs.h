/* L-BFGS for other kernels; see lbfgs.c and, for the sizes of the arrays, lbfgs.py. */
#ifndef DEMPSTER_LBFGS_H
#define DEMPSTER_LBFGS_H

#include "_native/native.h"

enum { EVALUATE, CONVERGED, OUT_OF_ITERATIONS }; /* Results of lbfgs_advance. */

enum { LBFGS_VECTORS = 4, LBFGS_LINE = 10, LBFGS_COUNTS = 6, LBFGS_ITERATIONS = 3 /* Index in `counts`. */ };

int lbfgs_advance(index_t n, index_t memory, double *x, double value, const double *gradient, double *vectors,
                  double *steps, double *changes, double *line, index_t *counts, index_t max_iter,
                  double tol, double gradient_tol, double *history, index_t *result);

#endif
