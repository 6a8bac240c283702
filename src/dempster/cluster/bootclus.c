/* Posterior probabilities of the components of many fitted mixtures. The inner loops run over a block of fits, whose
 * parameters stay in the cache for all rows. */
#include "_native/native.h"

enum { BLOCK = 128 };

typedef struct {
    index_t d, g, fits, width;
    const double *whiteners; /* (g, d, width, fits) inverse Cholesky factors of the covariances, or, if width is 1 and d
                              * is larger, only their diagonals */
    const double *means;     /* (g, d, fits) means of the components */
    const double *constants; /* (g, fits) constant terms of the log-densities */
} Mixtures;

/* Write log(proportion times density) of component k at the row x, for the fits first, ..., first + b - 1. */
static void log_joint(const Mixtures *of, index_t k, index_t first, index_t b, const double *x, double *restrict out) {
    const index_t d = of->d, fits = of->fits;
    for (index_t f = 0; f < b; f++) out[f] = of->constants[k * fits + first + f];
    for (index_t r = 0; r < d; r++) {
        const index_t start = of->width < d ? r : 0; /* Factors of diagonal matrices are diagonal. */
        const double *whitener = of->whiteners + (k * d + r) * of->width * fits + first;
        const double *mean = of->means + (k * d + start) * fits + first;
        double part[BLOCK];
        for (index_t f = 0; f < b; f++) part[f] = whitener[f] * (x[start] - mean[f]);
        for (index_t s = start + 1; s <= r; s++) {
            whitener += fits;
            mean += fits;
            for (index_t f = 0; f < b; f++) part[f] += whitener[f] * (x[s] - mean[f]);
        }
        for (index_t f = 0; f < b; f++) out[f] -= 0.5 * part[f] * part[f];
    }
}

/* Write the posterior probabilities (n, g, fits) of the components for each row of X (n, d). */
KERNEL bootstrap_posteriors(index_t n, index_t d, index_t g, index_t width, index_t fits, const double *X,
                            const double *whiteners, const double *means, const double *constants, float *out) {
    Scratch scratch = {0};
    const Mixtures of = {d, g, fits, width, whiteners, means, constants};
    double *logs = take(&scratch, g * BLOCK, sizeof *logs);
    for (index_t first = 0; first < fits && !scratch.failed; first += BLOCK) {
        const index_t b = fits - first < BLOCK ? fits - first : BLOCK;
        for (index_t i = 0; i < n; i++) {
            double top[BLOCK], sum[BLOCK];
            for (index_t f = 0; f < b; f++) {
                top[f] = -INFINITY;
                sum[f] = 0.0;
            }
            for (index_t k = 0; k < g; k++) {
                log_joint(&of, k, first, b, X + i * d, logs + k * BLOCK);
                for (index_t f = 0; f < b; f++) top[f] = larger(logs[k * BLOCK + f], top[f]);
            }
            for (index_t k = 0; k < g; k++)
                for (index_t f = 0; f < b; f++) {
                    const double below = logs[k * BLOCK + f] - top[f]; /* zero for the most probable component */
                    logs[k * BLOCK + f] = below == 0 ? 1.0 : exp(below);
                    sum[f] += logs[k * BLOCK + f];
                }
            for (index_t k = 0; k < g; k++) {
                float *row = out + (i * g + k) * fits + first;
                for (index_t f = 0; f < b; f++) row[f] = (float)(logs[k * BLOCK + f] / sum[f]);
            }
        }
    }
    return release(&scratch);
}
