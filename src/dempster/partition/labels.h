/* Part of labels.c, included once for each type `real` of the masses. */

/* Write the cluster with the largest plausibility of each object, the first one in case of ties. The plausibilities are
 * sums of masses in the order of the sets. */
KERNEL TYPED(most_plausible)(index_t n, index_t f, index_t c, const real *masses, const bool *membership,
                             index_t *labels) {
    Scratch scratch = {0};
    index_t *ends = take(&scratch, f, sizeof *ends), *members = take(&scratch, f * c, sizeof *members), count = 0;
    real *contour = take(&scratch, c * TILE, sizeof *contour);
    for (index_t j = 0; j < f && !scratch.failed; j++) {
        for (index_t k = 0; k < c; k++)
            if (membership[j * c + k]) members[count++] = k;
        ends[j] = count;
    }
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        memset(contour, 0, sizeof *contour * (size_t)(c * TILE));
        for (index_t j = 0, e = 0; j < f; j++) {
            real mass[TILE];
            for (index_t r = 0; r < TILE; r++) mass[r] = masses[(i + r < n ? i + r : i) * f + j];
            for (; e < ends[j]; e++) {
                real *restrict sums = contour + members[e] * TILE;
                for (index_t r = 0; r < TILE; r++) sums[r] += mass[r];
            }
        }
        for (index_t r = 0; r < TILE && i + r < n; r++) {
            index_t best = 0;
            for (index_t k = 1; k < c; k++) best = contour[k * TILE + r] > contour[best * TILE + r] ? k : best;
            labels[i + r] = best;
        }
    }
    return release(&scratch);
}

#undef real
#undef SUFFIX
