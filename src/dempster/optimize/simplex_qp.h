/* Quadratic programs on the probability simplex for other kernels; see simplex_qp.c. */
#ifndef DEMPSTER_OPTIMIZE_SIMPLEX_QP_H
#define DEMPSTER_OPTIMIZE_SIMPLEX_QP_H

#include "_native/native.h"

/* Scratch memory of the solver, for any number of problems with f variables. */
typedef struct {
    index_t f;
    double *gradient, *linear, *mass, *step, *slope, *pivot, *shift, *trial; /* (f,) each */
    double *block;    /* (f, f) H on the passive set (upper triangle) and its factorization (strict lower triangle) */
    index_t *passive; /* (f,) indices of the passive set */
    index_t *stored;  /* (f,) indices whose rows of the factorization are stored */
} SimplexQp;

/* Return scratch memory that uses given arrays of (f + 8) f numbers and 2 f integers. */
SimplexQp simplex_qp_in(index_t f, double *work, index_t *index);

SimplexQp take_simplex_qp(Scratch *scratch, index_t f);

/* Minimize 1/2 x'Hx + g'x over the simplex from the initial point x, in place. Return the number of iterations. */
index_t minimise_on_simplex(const double *H, const double *g, double *x, index_t max_iter, SimplexQp *w);

/* Return a limit on the number of iterations that is larger than necessary for any problem. */
static inline index_t ample_iterations(index_t f) { return 10 * f + 10; }

#endif
