/* Quantiles of many pairs. pair_quantiles.c includes this file once for each type `real` of the quantiles.
 * P and Q (n, c, n_fits) contain the probabilities of the clusters for each object and each fit. */

/* Compute rows `start` to `stop` - 1 of the matrices of lower and upper quantiles for all pairs of objects. */
KERNEL TYPED(quantiles_within)(index_t n, index_t c, index_t n_fits, const float *P, index_t rank, double fraction,
                               real *lower, real *upper, index_t start, index_t stop) {
    Scratch scratch = {0};
    const Fits fits = take_fits(&scratch, c, n_fits, rank, fraction);
    const index_t size = c * n_fits;
    for (index_t i = start; i < stop && !scratch.failed; i++)
        for (index_t j = i + 1; j < n; j++) {
            double a, b;
            find_interval(&fits, P + i * size, P + j * size, &a, &b);
            lower[i * n + j] = lower[j * n + i] = (real)a;
            upper[i * n + j] = upper[j * n + i] = (real)b;
        }
    return release(&scratch);
}

/* Compute the lower and upper quantiles (n, p) for all pairs of an object of P and an object of Q. */
KERNEL TYPED(quantiles_between)(index_t n, index_t c, index_t n_fits, index_t p, const float *P, const float *Q,
                                index_t rank, double fraction, real *lower, real *upper) {
    Scratch scratch = {0};
    const Fits fits = take_fits(&scratch, c, n_fits, rank, fraction);
    const index_t size = c * n_fits;
    for (index_t i = 0; i < n && !scratch.failed; i++)
        for (index_t j = 0; j < p; j++) {
            double a, b;
            find_interval(&fits, P + i * size, Q + j * size, &a, &b);
            lower[i * p + j] = (real)a;
            upper[i * p + j] = (real)b;
        }
    return release(&scratch);
}

/* Compute the quantiles for rows `start` to `stop` - 1 of a list of pairs (p, 2). */
KERNEL TYPED(quantiles_of_pairs)(index_t n, index_t c, index_t n_fits, index_t p, const float *P, const index_t *pairs,
                                 index_t rank, double fraction, real *lower, real *upper, index_t start,
                                 index_t stop) {
    (void)n, (void)p;
    Scratch scratch = {0};
    const Fits fits = take_fits(&scratch, c, n_fits, rank, fraction);
    const index_t size = c * n_fits;
    for (index_t e = start; e < stop && !scratch.failed; e++) {
        double a, b;
        find_interval(&fits, P + pairs[2 * e] * size, P + pairs[2 * e + 1] * size, &a, &b);
        lower[e] = (real)a;
        upper[e] = (real)b;
    }
    return release(&scratch);
}

#undef real
#undef SUFFIX
