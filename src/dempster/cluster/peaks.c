/* Kernels of belief peaks. A table of neighbors has one row for each row of X, with the nearest neighbor first. */
#include "_native/native.h"

/* Compute Bel_i = 1 - prod_j (1 - exp(-(d_ij / scale_j)^2) / K), where d_ij is the distance from row i to each of its K
 * neighbors j (Su and Denoeux, 2019). A neighbor whose scale is zero contributes only if its distance is zero. */
KERNEL add_up_belief(index_t rows, index_t K, index_t n, const int32_t *index, const double *distance,
                     const double *scale, double *belief) {
    (void)n;
    for (index_t i = 0; i < rows; i++) {
        double doubt = 1.0;
        for (index_t k = i * K; k < (i + 1) * K; k++) {
            const double ratio = distance[k] / scale[index[k]];
            const double support = !(distance[k] > 0) ? 1.0 : scale[index[k]] > 0 ? exp(-(ratio * ratio)) : 0.0;
            doubt *= 1 - support / (double)K;
        }
        belief[i] = 1 - doubt;
    }
    return DONE;
}

/* Find the nearest neighbor of higher belief and its distance, or -1 if there is none. Among equally near neighbors,
 * select the one with the highest belief. */
KERNEL first_higher(index_t rows, index_t K, index_t n, const index_t *objects, const int32_t *index,
                    const double *distance, const index_t *rank, index_t *nearest, double *delta) {
    (void)n;
    for (index_t r = 0; r < rows; r++) {
        const index_t i = objects[r];
        index_t best = -1;
        for (index_t k = r * K; k < (r + 1) * K; k++) {
            const index_t j = index[k];
            if (best >= 0 && distance[k] > delta[i]) break;
            if (rank[j] < rank[i] && (best < 0 || rank[j] < rank[best])) {
                best = j;
                delta[i] = distance[k];
            }
        }
        nearest[i] = best;
    }
    return DONE;
}

/* Give every row without a label the label of its nearest row of higher belief. */
KERNEL follow(index_t n, const index_t *order, const index_t *nearest, index_t *labels) {
    for (index_t v = 0; v < n; v++) {
        const index_t i = order[v];
        if (labels[i] < 0 && nearest[i] >= 0) labels[i] = labels[nearest[i]];
    }
    return DONE;
}
