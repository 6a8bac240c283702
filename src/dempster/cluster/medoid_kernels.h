/* Included by medoid_kernels.c once for each type `real` of the dissimilarities. */

static inline real TYPED(nearer)(real a, real b) { return a < b ? a : b; }

/* Compute, for each candidate, the sum of the dissimilarities to the nearest seed if the candidate becomes a seed. */
static void TYPED(sums_after)(index_t n, const real *delta, const real *nearest, const index_t *candidates,
                              double *after) {
    double sums[TRIALS] = {0.0};
    const real *rows[TRIALS];
    for (int t = 0; t < TRIALS; t++) rows[t] = delta + candidates[t] * n;
    for (index_t i = 0; i < n; i++)
        for (int t = 0; t < TRIALS; t++) sums[t] += TYPED(nearer)(nearest[i], rows[t][i]);
    memcpy(after, sums, sizeof sums);
}

/* Draw several candidates for each seed, with probabilities proportional to the dissimilarity to the nearest previous
 * seed, and keep the best candidate (greedy k-means++; Arthur and Vassilvitskii, 2007). `uniform` (c, trials) contains
 * one row of random numbers for each seed. */
KERNEL TYPED(far_seeds)(index_t n, index_t c, index_t trials, const real *delta, const double *uniform,
                        index_t *seeds) {
    Scratch scratch = {0};
    const index_t padded = (trials + TRIALS - 1) / TRIALS * TRIALS;
    real *nearest = take(&scratch, n, sizeof *nearest);
    double *reach = take(&scratch, n, sizeof *reach), *after = take(&scratch, padded, sizeof *after);
    index_t *candidates = take(&scratch, padded, sizeof *candidates);
    if (scratch.failed || n == 0 || c == 0 || trials == 0) return release(&scratch);
    seeds[0] = object_at(uniform[0], n);
    memcpy(nearest, delta + seeds[0] * n, sizeof(real) * (size_t)n);
    for (index_t k = 1; k < c; k++) {
        double total = 0.0;
        for (index_t i = 0; i < n; i++) reach[i] = total += nearest[i];
        for (index_t t = 0; t < padded; t++) {
            const double draw = uniform[k * trials + (t < trials ? t : 0)];
            const index_t below = count_up_to(reach, n, draw * total);
            /* If every object is equal to a seed, draw any object. */
            candidates[t] = !(total > 0) ? object_at(draw, n) : below < n ? below : n - 1;
        }
        for (index_t t = 0; t < padded; t += TRIALS)
            TYPED(sums_after)(n, delta, nearest, candidates + t, after + t);
        index_t best = 0;
        for (index_t t = 1; t < trials; t++)
            if (after[t] < after[best]) best = t;
        seeds[k] = candidates[best];
        for (index_t i = 0; i < n; i++) nearest[i] = TYPED(nearer)(nearest[i], delta[seeds[k] * n + i]);
    }
    return release(&scratch);
}

/* Sort the objects by their nearest medoid, the first one in case of ties. The objects of medoid k are
 * members[ends[k - 1]], ..., members[ends[k] - 1], in increasing order. */
static void TYPED(group)(index_t n, index_t c, const real *delta, const index_t *medoids, index_t *labels,
                         index_t *members, index_t *ends) {
    memset(ends, 0, sizeof *ends * (size_t)(c + 1));
    for (index_t i = 0; i < n; i++) {
        labels[i] = 0;
        for (index_t k = 1; k < c; k++)
            if (delta[medoids[k] * n + i] < delta[medoids[labels[i]] * n + i]) labels[i] = k;
        ends[labels[i] + 1]++;
    }
    for (index_t k = 0; k < c; k++) ends[k + 1] += ends[k];
    for (index_t i = 0; i < n; i++) members[ends[labels[i]]++] = i; /* ends[k] moves to the end of group k. */
}

/* Improve `medoids` in place. Each step assigns the objects to medoids, then selects the central objects of groups. */
KERNEL TYPED(to_medoids)(index_t n, index_t c, const real *delta, index_t *medoids, index_t steps) {
    Scratch scratch = {0};
    index_t *labels = take(&scratch, n, sizeof *labels), *members = take(&scratch, n, sizeof *members);
    index_t *ends = take(&scratch, c + 1, sizeof *ends);
    bool moved = c > 0 && !scratch.failed;
    for (index_t step = 0; step < steps && moved; step++) {
        TYPED(group)(n, c, delta, medoids, labels, members, ends);
        moved = false;
        for (index_t k = 0, begin = 0; k < c; begin = ends[k++]) {
            double lowest = INFINITY;
            index_t central = medoids[k];
            for (index_t m = begin; m < ends[k]; m++) {
                const real *row = delta + members[m] * n;
                double total = 0.0;
                for (index_t o = begin; o < ends[k]; o++) total += row[members[o]];
                if (total < lowest) {
                    lowest = total;
                    central = members[m];
                }
            }
            moved |= central != medoids[k];
            medoids[k] = central;
        }
    }
    return release(&scratch);
}

#undef real
#undef SUFFIX
