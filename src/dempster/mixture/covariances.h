/* The maximization step of the 14 covariance models (Celeux and Govaert, 1995; the names are those of mclust).
 *
 * Given the sizes n_k and scatter matrices W_k of the components, `update_covariances` writes the covariances that
 * maximize
 *
 *     -1/2 sum_k  n_k log |S_k| + tr(W_k S_k^-1),     S_k = volume_k * D_k diag(shape_k) D_k'   with |diag(shape_k)| = 1,
 *
 * within a model. Matrices are full and symmetric. */
#ifndef DEMPSTER_MIXTURE_COVARIANCES_H
#define DEMPSTER_MIXTURE_COVARIANCES_H

#include "_native/native.h"

/* In the order of dempster.mixture.em.MODELS. */
enum { EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV };

typedef struct {
    index_t model, g, d;
    const double *sizes;   /* (g,) */
    const double *scatter; /* (g, d, d) */
    const double *least;   /* (d,) the smallest variance that an attribute may have */
    double *covariances;   /* (g, d, d) */
    /* what inner loops go on with at the next call */
    double *shape;  /* (d,) */
    double *axes;   /* (d, d) common axes, in rows */
    double *matrix; /* (d, d) */
    /* scratch */
    double *spectra, *variances; /* (g, d) */
    double *matrices;            /* (g, d, d) */
    double *volumes;             /* (g,) */
    double *factor, *inverse;    /* (d, d) */
    double *floors;              /* (d,) */
} Maximization;

/* Where inner loops begin when nothing is known: the pooled scatter matrix, its shape and its axes. */
void first_state(const Maximization *step, bool axes_known);

/* Write the covariances; -1, or the number of a component whose scatter matrix leaves no maximum. */
index_t update_covariances(const Maximization *step);

#endif
