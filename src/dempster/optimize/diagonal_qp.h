/* Quadratic program on the simplex with a diagonal Hessian; see diagonal_qp.c. */
#ifndef DEMPSTER_OPTIMIZE_DIAGONAL_QP_H
#define DEMPSTER_OPTIMIZE_DIAGONAL_QP_H

#include "_native/native.h"

/* Write the minimizer of sum_q (h_q x_q^2 + g_q x_q) over the simplex to x. `heap` (f,) is scratch memory. */
void minimise_diagonal(index_t f, const double *h, const double *g, double *x, index_t *heap);

#endif
