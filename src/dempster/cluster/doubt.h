/* Part of doubt.c, included once for each type `real` of the plausibilities. */

/* Write `masses` (n, f) for the plausibilities `contour` (n, c). The empty set gets the mass `outlying`. The most
 * plausible cluster, and the pair of this cluster and its most plausible neighbor, share the rest. `single_of`,
 * `pair_of` and `empty` are columns of `masses`; -1 means that two clusters are not neighbors, or that the family lacks
 * the empty set. */
KERNEL TYPED(doubtful_masses)(index_t n, index_t c, index_t f, const real *contour, const index_t *single_of,
                              const index_t *pair_of, index_t empty, const real *outlying, real *masses) {
    for (index_t i = 0; i < n; i++) {
        const real *plausible = contour + i * c;
        real *out = masses + i * f;
        index_t best = 0, column = -1;
        for (index_t k = 1; k < c; k++) best = plausible[k] > plausible[best] ? k : best;
        const real top = plausible[best];
        real next = 0;
        for (index_t k = 0; k < c; k++)
            if (pair_of[best * c + k] >= 0 && plausible[k] > next) {
                next = plausible[k];
                column = pair_of[best * c + k];
            }
        real ratio = column >= 0 ? next / top : 0, rest = 1;
        memset(out, 0, sizeof(real) * (size_t)f);
        if (empty >= 0) {
            out[empty] = top > 0 ? (outlying ? outlying[i] : 0) : 1;
            rest = 1 - out[empty];
        }
        out[single_of[best]] = (1 - ratio) * rest;
        if (column >= 0) out[column] = ratio * rest;
    }
    return DONE;
}

#undef real
#undef SUFFIX
