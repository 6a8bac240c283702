/* Part of sampling.c, included once for each type `real` of the rows. */

/* Write the product of each row and the direction. Equal rows have equal products, unlike with a product of matrices. */
KERNEL TYPED(project_rows)(index_t n, index_t p, const real *X, const double *direction, double *out) {
    for (index_t i = 0; i < n; i++) {
        double sum = 0;
        for (index_t j = 0; j < p; j++) sum += direction[j] * X[i * p + j];
        out[i] = sum;
    }
    return DONE;
}

#undef real
#undef SUFFIX
