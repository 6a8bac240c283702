/* Quadratic programs on the probability simplex for other kernels; see simplex_qp.c. */
#ifndef DEMPSTER_OPTIMIZE_SIMPLEX_QP_H
#define DEMPSTER_OPTIMIZE_SIMPLEX_QP_H

#include "_native/native.h"

/* Scratch of a solver, for any number of problems with f variables. */
typedef struct {
    index_t f;
    double *gradient, *linear, *mass, *step, *slope, *pivot, *shift, *trial; /* (f,) each */
    double *block;    /* (f, f): H on the passive set (upper triangle) and its factorisation (strict lower triangle) */
    index_t *passive; /* (f,) the passive set */
    index_t *stored;  /* (f,) the indices whose rows of the factorisation are stored */
} SimplexQp;

/* Return scratch in arrays of (f + 8) f numbers and 2 f integers. */
SimplexQp simplex_qp_in(index_t f, double *work, index_t *index);

/* Allocate scratch. */
SimplexQp take_simplex_qp(Scratch *scratch, index_t f);

/* Minimise 1/2 x'Hx + g'x on the simplex, starting from x, into x. Returns the number of iterations. */
index_t minimise_on_simplex(const double *H, const double *g, double *x, index_t max_iter, SimplexQp *w);

/* Limit on the iterations, more than any problem should need. */
static inline index_t ample_iterations(index_t f) { return 10 * f + 10; }

#endif
