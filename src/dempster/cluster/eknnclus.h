/* Included by eknnclus.c once for each type `integer` of the indices. */

/* Do one sweep, in which every row in turn takes the label with the largest support of its neighbors.
 *
 * The support u_k of label k is the sum of the weights of the neighbors in cluster k, less the evidence against the
 * cluster, strengths[i] * (sum of the strengths of the other rows in cluster k). The plausibility that the row belongs
 * to cluster k is proportional to exp(u_k) (Denoeux, Kanjanatarakul and Sriboonchitta, 2015). A row changes its label
 * if its support increases. If `settle` is true, it also changes to a lower label with equal support.
 *
 * `labels`, `totals` (the sums of the strengths in the clusters) and `awake` are modified in place. In a symmetric
 * graph, a row is skipped until the label of a neighbor changes. `support` is work space with one zero for each label.
 * `gained` receives the total increase of the support. The result is the number of changed labels. */
KERNEL TYPED(relabel)(index_t n, index_t e, index_t visits, index_t n_labels, const integer *indptr,
                      const integer *indices, const double *weights, const double *strengths, bool symmetric,
                      const index_t *order, int32_t *labels, double *totals, bool *awake, double *support, bool settle,
                      double *gained, index_t *result) {
    (void)n, (void)e, (void)n_labels;
    index_t n_moves = 0;
    double total = 0.0;
    for (index_t v = 0; v < visits; v++) {
        const index_t i = order[v], begin = indptr[i], end = indptr[i + 1];
        if (v + PREFETCH_VISITS < visits) { /* The order is random, so the hardware cannot prefetch. */
            const index_t later = order[v + PREFETCH_VISITS];
            for (index_t a = indptr[later]; awake[later] && a < indptr[later + 1]; a += 8) {
                __builtin_prefetch(indices + a);
                __builtin_prefetch(weights + a);
            }
        }
        if (!awake[i]) continue;
        awake[i] = !symmetric;
        const int32_t own = labels[i];
        const double strength = strengths[i];
        int32_t best = begin == end && settle ? 0 : own; /* A row without neighbors has no support. */
        totals[own] -= strength;
        for (index_t a = begin; a < end; a++) support[labels[indices[a]]] += weights[a];
        double most = support[best] - strength * totals[best];
        const double previous = support[own] - strength * totals[own];
        for (index_t a = begin; a < end; a++) {
            const int32_t k = labels[indices[a]];
            if (support[k] == 0.0) continue; /* Another neighbor has this label. */
            const double found = support[k] - strength * totals[k];
            support[k] = 0.0;
            if (found > most || (found == most && k < best)) {
                most = found;
                best = k;
            }
        }
        const double gain = most - previous;
        const bool moves = gain > MIN_GAIN || (settle && gain >= 0 && best < own);
        if (moves) labels[i] = best;
        totals[labels[i]] += strength;
        if (!moves) continue;
        n_moves++;
        total += gain;
        for (index_t a = begin; a < end && symmetric; a++) awake[indices[a]] = true;
    }
    *gained = total;
    *result = n_moves;
    return DONE;
}

/* Return half the sum of the weights between rows with equal labels, which is the sum over pairs if symmetric. */
KERNEL TYPED(agreement)(index_t n, index_t e, const integer *indptr, const integer *indices, const double *weights,
                        const int32_t *labels, double *result) {
    (void)e;
    double total = 0.0;
    for (index_t i = 0; i < n; i++)
        for (index_t a = indptr[i]; a < indptr[i + 1]; a++)
            if (labels[indices[a]] == labels[i]) total += weights[a];
    *result = total / 2;
    return DONE;
}

/* Combine the evidence of the neighbors of n rows by Dempster's rule. The columns of `out` are the empty set, the
 * single clusters and the frame.
 *
 * Let r_k = exp(u_k) - 1, where u_k is the support of cluster k. The masses are m({k}) = r_k / (1 + sum r) and
 * m(frame) = 1 / (1 + sum r). All terms are divided by the largest exp(u_k) to avoid an overflow. */
KERNEL TYPED(neighbor_masses)(index_t n, index_t e, index_t m, const integer *indptr, const integer *indices,
                              const double *weights, const int32_t *labels, index_t n_clusters, double *out) {
    (void)e, (void)m;
    Scratch scratch = {0};
    double *support = take_zeros(&scratch, n_clusters, sizeof *support);
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        double *row = out + i * (n_clusters + 2), largest = 0.0;
        for (index_t a = indptr[i]; a < indptr[i + 1]; a++) {
            const int32_t k = labels[indices[a]];
            support[k] += weights[a];
            largest = larger(support[k], largest);
        }
        const double frame = exp(-largest);
        double total = frame;
        for (index_t k = 0; k < n_clusters; k++) {
            row[1 + k] = support[k] > 0 ? -expm1(-support[k]) * exp(support[k] - largest) : 0.0;
            support[k] = 0.0;
            total += row[1 + k];
        }
        row[0] = 0.0;
        row[n_clusters + 1] = frame;
        for (index_t k = 1; k < n_clusters + 2; k++) row[k] /= total;
    }
    return release(&scratch);
}

/* Transpose the graph by a counting sort. The entries of each new row are in the order of the original rows. */
KERNEL TYPED(transposed_rows)(index_t n, index_t e, const integer *indptr, const integer *indices,
                              const double *weights, integer *turned_indptr, integer *turned_indices,
                              double *turned_weights) {
    Scratch scratch = {0};
    integer *next = take(&scratch, n, sizeof *next);
    if (!scratch.failed) {
        memset(turned_indptr, 0, sizeof(integer) * (size_t)(n + 1));
        for (index_t a = 0; a < e; a++) turned_indptr[indices[a] + 1]++;
        for (index_t i = 0; i < n; i++) {
            turned_indptr[i + 1] += turned_indptr[i];
            next[i] = turned_indptr[i];
        }
        for (index_t i = 0; i < n; i++)
            for (index_t a = indptr[i]; a < indptr[i + 1]; a++) {
                const integer place = next[indices[a]]++;
                turned_indices[place] = (integer)i;
                turned_weights[place] = weights[a];
            }
    }
    return release(&scratch);
}

/* Count the entries in rows start, ..., stop - 1 of the union of the graph and its transpose. */
KERNEL TYPED(union_sizes)(index_t n, index_t e, const integer *indptr, const integer *indices,
                          const integer *turned_indptr, const integer *turned_indices, index_t start, index_t stop,
                          integer *sizes) {
    (void)e;
    Scratch scratch = {0};
    integer *last_row = take_zeros(&scratch, n, sizeof *last_row); /* 1 + the last row that has the neighbor */
    for (index_t i = start; i < stop && !scratch.failed; i++) {
        integer size = indptr[i + 1] - indptr[i];
        for (index_t a = indptr[i]; a < indptr[i + 1]; a++) last_row[indices[a]] = (integer)(i + 1);
        for (index_t a = turned_indptr[i]; a < turned_indptr[i + 1]; a++)
            size += last_row[turned_indices[a]] != (integer)(i + 1);
        sizes[i] = size;
    }
    return release(&scratch);
}

/* Compute rows start, ..., stop - 1 of the union of the graph and its transpose. The weight of an entry is the larger
 * of its two weights or, if `mean` is true, half their sum; an absent entry has weight zero. Entries of the original
 * graph come first in each row. */
KERNEL TYPED(union_rows)(index_t n, index_t e, index_t u, const integer *indptr, const integer *indices,
                         const double *weights, const integer *turned_indptr, const integer *turned_indices,
                         const double *turned_weights, bool mean, index_t start, index_t stop,
                         const integer *union_indptr, integer *union_indices, double *union_weights) {
    (void)e, (void)u;
    Scratch scratch = {0};
    integer *place_of = take(&scratch, n, sizeof *place_of);
    const double share = mean ? 0.5 : 1.0;
    if (!scratch.failed) memset(place_of, 0xff, sizeof(integer) * (size_t)n); /* -1 */
    for (index_t i = start; i < stop && !scratch.failed; i++) {
        const integer begin = union_indptr[i];
        integer place = begin;
        for (index_t a = indptr[i]; a < indptr[i + 1]; a++, place++) {
            union_indices[place] = indices[a];
            union_weights[place] = share * weights[a];
            place_of[indices[a]] = place;
        }
        for (index_t a = turned_indptr[i]; a < turned_indptr[i + 1]; a++) {
            const integer j = turned_indices[a], found = place_of[j];
            const double weight = share * turned_weights[a];
            if (found >= begin) {
                double *own = union_weights + found;
                *own = mean ? *own + weight : larger(*own, weight);
            } else {
                union_indices[place] = j;
                union_weights[place++] = weight;
            }
        }
    }
    return release(&scratch);
}

#undef integer
#undef SUFFIX
