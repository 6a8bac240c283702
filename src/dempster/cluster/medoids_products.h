/* Products of rows of dissimilarities with the weights of prototypes. Included by medoids.c once for each type `real`
 * of the dissimilarities. The number of partial sums is the same on every machine, so results are identical. */
typedef real TYPED(Wide) __attribute__((vector_size(32), may_alias, aligned(sizeof(real))));
#define Wide TYPED(Wide)
#define WIDE ((index_t)(32 / sizeof(real)))

/* Write the products of `rows` rows of D and `means` prototypes P to `out`. Both numbers are compile-time constants. */
ALWAYS_INLINE void TYPED(few_products)(index_t m, index_t c, const int rows, const int means, const real *D,
                                       const real *P, double *out) {
    Wide sums[ROWS][MEANS] = {{{0}}};
    const index_t whole = m - m % WIDE;
    for (index_t l = 0; l < whole; l += WIDE)
        for (int k = 0; k < means; k++) {
            const Wide weights = *(const Wide *)(P + k * m + l);
            for (int i = 0; i < rows; i++) sums[i][k] += *(const Wide *)(D + i * m + l) * weights;
        }
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < means; k++) {
            double total = 0.0;
            for (index_t lane = 0; lane < WIDE; lane++) total += sums[i][k][lane];
            for (index_t l = whole; l < m; l++) total += D[i * m + l] * P[k * m + l];
            out[i * c + k] = total;
        }
}

/* Write the products of `rows` rows of D and all c prototypes to `out`. */
ALWAYS_INLINE void TYPED(row_products)(index_t m, index_t c, const int rows, const real *D, const real *P,
                                       double *out) {
    index_t k = 0;
    for (; k + MEANS <= c; k += MEANS) TYPED(few_products)(m, c, rows, MEANS, D, P + k * m, out + k);
    for (; k < c; k++) TYPED(few_products)(m, c, rows, 1, D, P + k * m, out + k);
}

KERNEL TYPED(relational_products)(index_t n, index_t m, index_t c, const real *D, const double *P, double *out) {
    Scratch scratch = {0};
    real *weights = take(&scratch, c * m, sizeof *weights);
    for (index_t l = 0; l < c * m && !scratch.failed; l++) weights[l] = (real)P[l];
    if (!scratch.failed) {
        index_t i = 0;
        for (; i + ROWS <= n; i += ROWS) TYPED(row_products)(m, c, ROWS, D + i * m, weights, out + i * c);
        for (; i < n; i++) TYPED(row_products)(m, c, 1, D + i * m, weights, out + i * c);
    }
    return release(&scratch);
}
#undef Wide
#undef WIDE
#undef real
#undef SUFFIX
