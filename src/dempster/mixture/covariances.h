/* Maximization step of EM for the 14 covariance models (Celeux and Govaert, 1995; the names are those of mclust).
 *
 * Given the sizes n_k and scatter matrices W_k of the components, `update_covariances` writes the covariances that
 * maximize
 *
 *     -1/2 sum_k  n_k log |S_k| + tr(W_k S_k^-1),   S_k = volume_k * D_k diag(shape_k) D_k'   with |diag(shape_k)| = 1,
 *
 * within a model. Matrices are full and symmetric. */
#ifndef DEMPSTER_MIXTURE_COVARIANCES_H
#define DEMPSTER_MIXTURE_COVARIANCES_H

#include "_native/native.h"

/* The order is that of dempster.mixture.em.MODELS. */
enum { EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV };

typedef struct {
    index_t model, g, d;
    const double *sizes;   /* (g,) */
    const double *scatter; /* (g, d, d) */
    const double *least;   /* (d,) minimum variance of each column */
    double *covariances;   /* (g, d, d) */
    /* Final values of the inner loops, which are the initial values of the next call. */
    double *shape;  /* (d,) */
    double *axes;   /* (d, d) common axes, in rows */
    double *matrix; /* (d, d) */
    /* Scratch memory. */
    double *spectra, *variances; /* (g, d) */
    double *matrices;            /* (g, d, d) */
    double *volumes;             /* (g,) */
    double *factor, *inverse;    /* (d, d) */
    double *floors;              /* (d,) */
} Maximization;

/* Set `matrix`, `shape` and, unless `has_axes`, `axes` to the pooled scatter matrix, its shape and its axes. */
void initialize_state(const Maximization *step, bool has_axes);

/* Write the covariances. Return -1, or the index of a component for which no maximum exists. */
index_t update_covariances(const Maximization *step);

#endif
