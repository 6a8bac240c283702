/* One text for single and double precision: `real`, `SUFFIX` and `EXP` are set by affinity.c. */

/* The smallest of some values up to which the weights add up to `amount`, the largest if they do not. Quickselect: the
 * values change places, their weights with them. */
static real TYPED(reached)(real *value, real *weight, index_t n, double amount) {
    index_t low = 0, high = n - 1;
    while (low < high) {
        const real a = value[low], b = value[low + (high - low) / 2], c = value[high];
        const real pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        index_t i = low, j = high;
        double left = 0;
        while (i <= j) {
            while (value[i] < pivot) left += weight[i++];
            while (value[j] > pivot) j--;
            if (i > j) break;
            const real v = value[i], w = weight[i];
            value[i] = value[j];
            weight[i] = weight[j];
            value[j] = v;
            weight[j] = w;
            left += weight[i++];
            j--;
        }
        /* low..j are at most the pivot, i..high at least, what lies between equals it */
        double upper = left;
        for (index_t k = i - 1; k > j; k--) left -= weight[k];
        if (amount <= left) high = j;
        else if (amount <= upper) return pivot;
        else {
            amount -= upper;
            low = i;
        }
        if (high < low) return pivot;
    }
    return value[low];
}

/* Within which distance references (columns of D) of a given weight lie, for each object and two such amounts. An
 * object that is itself a reference does not count itself, but what it weighs beyond `unit` counts as others at its
 * place. */
KERNEL TYPED(reach)(index_t n, index_t r, const real *D, const real *weights, const index_t *itself, double unit,
                    double near_amount, double far_amount, real *near, real *far) {
    Scratch scratch = {0};
    real *value = take(&scratch, r, sizeof *value), *weight = take(&scratch, r, sizeof *weight);
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        const index_t own = itself ? itself[i] : -1;
        memcpy(value, D + i * r, r * sizeof *value);
        memcpy(weight, weights, r * sizeof *weight);
        if (own >= 0) {
            value[own] = 0;
            weight[own] = weight[own] > unit ? (real)(weight[own] - unit) : 0;
            if (weight[own] == 0) value[own] = (real)INFINITY;
        }
        far[i] = TYPED(reached)(value, weight, r, far_amount);
        near[i] = TYPED(reached)(value, weight, r, near_amount);
    }
    return release(&scratch);
}

/* Sum over the n_k references of each cluster of exp(-rate d^2 / (s_i s_j)), where s are the scales of the two objects,
 * divided by the root of n_k. */
KERNEL TYPED(affinity)(index_t n, index_t r, index_t c, const real *D, const real *own_scales, const real *scales,
                       const real *weights, const index_t *labels, const index_t *itself, double unit, double rate,
                       real *out) {
    Scratch scratch = {0};
    double *sum = take(&scratch, c, sizeof *sum), *total = take(&scratch, c, sizeof *total);
    real *inverse = take(&scratch, r, sizeof *inverse);
    for (index_t j = 0; j < r && !scratch.failed; j++) inverse[j] = (real)(rate / scales[j]);
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        const real *d = D + i * r;
        const index_t own = itself ? itself[i] : -1;
        const real mine = 1 / own_scales[i];
        for (index_t k = 0; k < c; k++) sum[k] = total[k] = 0;
        for (index_t j = 0; j < r; j++) {
            real weight = weights[j];
            if (j == own) weight = weight > unit ? (real)(weight - unit) : 0;
            total[labels[j]] += weight;
            const real power = j == own ? 0 : d[j] * inverse[j] * (d[j] * mine);
            if (power < NEGLIGIBLE) sum[labels[j]] += weight * EXP(-power);
        }
        for (index_t k = 0; k < c; k++) out[i * c + k] = total[k] > 0 ? (real)(sum[k] / sqrt(total[k])) : 0;
    }
    return release(&scratch);
}

#undef real
#undef SUFFIX
#undef EXP
