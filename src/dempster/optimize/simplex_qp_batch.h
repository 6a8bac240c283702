/* Solve rows `start` to `stop` - 1 of a batch of problems with a common Hessian, in double precision. simplex_qp.c
 * includes this file once for every pair of types. */
KERNEL BATCH(index_t f, index_t n, const double *H, const LINEAR *G, POINT *X, index_t start, index_t stop,
             index_t *result) {
    (void)n;
    Scratch scratch = {0};
    SimplexQp w = take_simplex_qp(&scratch, f);
    index_t known = 0, capped = 0;
    const index_t max_iter = ample_iterations(f);
    for (index_t b = start; b < stop && f > 0 && !scratch.failed; b++) {
        for (index_t q = 0; q < f; q++) {
            w.linear[q] = G[b * f + q];
            w.gradient[q] = X[b * f + q];
        }
        index_t used, m = start_point(H, &w);
        m = minimise(H, m, &known, max_iter, &w, &used);
        capped += used == max_iter;
        for (index_t q = 0; q < f; q++) X[b * f + q] = 0;
        for (index_t i = 0; i < m; i++) X[b * f + w.passive[i]] = (POINT)w.mass[i];
    }
    *result = capped;
    return release(&scratch);
}
#undef LINEAR
#undef POINT
#undef BATCH
