/* A part of affinity.c, once for each type `real` of the dissimilarities. */
#include "_native/exponential.h"
#define Lanes TYPED(Lanes)
#define Bits TYPED(Bits)
#define LANES ((index_t)(VECTOR / sizeof(real)))

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

/* How many of n numbers are at most a limit. They are given by their bits: numbers that are not negative are ordered
 * like these. */
static index_t TYPED(count_up_to)(const bits_t *bits, index_t n, bits_t limit) {
    bits_t count = 0;
    for (index_t j = 0; j < n; j++) count += bits[j] <= limit;
    return (index_t)count;
}

/* The k-th smallest of n numbers, whose smallest and largest are known: bisection on the value, where a count is a pass
 * that the compiler turns into vector instructions. */
static bits_t TYPED(kth_smallest)(const bits_t *bits, index_t n, index_t k, bits_t smallest, bits_t largest) {
    bits_t low = smallest - 1, high = largest; /* low: fewer than k are at most that; high: at least k */
    while (high - low > 1) {
        const bits_t middle = low + (high - low) / 2;
        const index_t count = TYPED(count_up_to)(bits, n, middle);
        if (count == k) {
            bits_t best = smallest;
            for (index_t j = 0; j < n; j++) {
                const bits_t inside = bits[j] <= middle ? bits[j] : smallest;
                best = inside > best ? inside : best;
            }
            return best;
        }
        if (count < k)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Both distances of an object where all references weigh the same: those to the k-th nearest ones. */
static void TYPED(reach_of_equals)(const real *values, index_t r, index_t near_k, index_t far_k, bits_t *bits,
                                   real *near, real *far) {
    memcpy(bits, values, sizeof(real) * (size_t)r);
    bits_t smallest = bits[0], largest = bits[0];
    for (index_t j = 0; j < r; j++) {
        smallest = bits[j] < smallest ? bits[j] : smallest;
        largest = bits[j] > largest ? bits[j] : largest;
    }
    const bits_t distant = TYPED(kth_smallest)(bits, r, far_k, smallest, largest);
    const bits_t close = TYPED(kth_smallest)(bits, r, near_k, smallest, distant);
    memcpy(far, &distant, sizeof *far);
    memcpy(near, &close, sizeof *near);
}

/* Within which distance references (columns of D) of a given weight lie, for each object and two such amounts. An
 * object that is itself a reference does not count itself, but what it weighs beyond `unit` counts as others at its
 * place. */
KERNEL TYPED(reach)(index_t n, index_t r, const real *D, const real *weights, const index_t *itself, double unit,
                    double near_amount, double far_amount, real *near, real *far) {
    Scratch scratch = {0};
    real *value = take(&scratch, r, sizeof *value), *weight = take(&scratch, r, sizeof *weight);
    bits_t *bits = take(&scratch, r, sizeof *bits);
    bool equal = r > 0 && weights[0] > 0;
    for (index_t j = 0; j < r; j++) equal = equal && weights[j] == weights[0] && weights[j] <= (real)unit;
    const index_t near_k = equal ? (index_t)ceil(near_amount / weights[0]) : 0;
    const index_t far_k = equal ? (index_t)ceil(far_amount / weights[0]) : 0;
    equal = equal && 1 <= near_k && near_k <= far_k && far_k <= r;
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        const index_t own = itself ? itself[i] : -1;
        memcpy(value, D + i * r, sizeof(real) * (size_t)r);
        if (equal) {
            if (own >= 0) value[own] = (real)INFINITY;
            for (index_t j = 0; j < r; j++) value[j] += 0; /* there is one zero only */
            TYPED(reach_of_equals)(value, r, near_k, far_k, bits, near + i, far + i);
            continue;
        }
        memcpy(weight, weights, sizeof(real) * (size_t)r);
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
    const index_t padded = (r + LANES - 1) / LANES * LANES;
    double *sum = take(&scratch, c, sizeof *sum), *total = take_zeros(&scratch, c, sizeof *total);
    real *inverse = take(&scratch, padded, sizeof *inverse), *d = take(&scratch, padded, sizeof *d);
    index_t *place = take(&scratch, r, sizeof *place), *begins = take_zeros(&scratch, c + 2, sizeof *begins);
    if (scratch.failed) return release(&scratch);
    for (index_t j = 0; j < r; j++) begins[labels[j] + 2]++;
    for (index_t k = 1; k < c + 2; k++) begins[k] += begins[k - 1];
    for (index_t j = 0; j < r; j++) place[begins[labels[j] + 1]++] = j; /* the references, cluster by cluster */
    for (index_t j = 0; j < padded; j++) {
        inverse[j] = j < r ? (real)(rate / scales[j]) : 0;
        d[j] = 0;
        if (j < r) total[labels[j]] += weights[j];
    }
    for (index_t i = 0; i < n; i++) {
        const index_t own = itself ? itself[i] : -1;
        const real mine = 1 / own_scales[i];
        memcpy(d, D + i * r, sizeof(real) * (size_t)r);
        if (own >= 0) d[own] = 0;
        for (index_t j = 0; j < padded; j += LANES) {
            const Lanes gap = *(const Lanes *)(d + j);
            const Lanes power = gap * *(const Lanes *)(inverse + j) * (gap * mine);
            const Bits counts = (Bits)(power < NEGLIGIBLE);
            *(Lanes *)(d + j) = (Lanes)((Bits)TYPED(exponential)(-power) & counts);
        }
        for (index_t k = 0; k < c; k++) {
            double even = 0.0, odd = 0.0; /* two sums, or each addition would wait for the one before */
            index_t a = begins[k];
            for (; a + 1 < begins[k + 1]; a += 2) {
                even += weights[place[a]] * d[place[a]];
                odd += weights[place[a + 1]] * d[place[a + 1]];
            }
            if (a < begins[k + 1]) even += weights[place[a]] * d[place[a]];
            sum[k] = even + odd;
        }
        if (own >= 0) { /* it counts as what it weighs beyond itself, unless nobody else is in its cluster */
            const real left = weights[own] > unit ? (real)(weights[own] - unit) : 0;
            const real less = total[labels[own]] > weights[own] - left ? weights[own] - left : 0;
            sum[labels[own]] -= less;
            for (index_t k = 0; k < c; k++) {
                const double there = k == labels[own] ? total[k] - less : total[k];
                out[i * c + k] = there > 0 ? (real)(larger(sum[k], 0.0) / sqrt(there)) : 0;
            }
            continue;
        }
        for (index_t k = 0; k < c; k++) out[i * c + k] = total[k] > 0 ? (real)(sum[k] / sqrt(total[k])) : 0;
    }
    return release(&scratch);
}

/* Euclidean distances of the rows of A (n, d) to those of B (r, d), by their differences: zero between equal rows. */
KERNEL TYPED(distances_between)(index_t n, index_t d, index_t r, const real *A, const real *B, real *out) {
    Scratch scratch = {0};
    real *turned = take(&scratch, d * r, sizeof *turned);
    for (index_t k = 0; k < d && !scratch.failed; k++)
        for (index_t j = 0; j < r; j++) turned[k * r + j] = B[j * d + k];
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        real *restrict row = out + i * r;
        for (index_t j = 0; j < r; j++) row[j] = 0;
        for (index_t k = 0; k < d; k++) {
            const real x = A[i * d + k], *restrict y = turned + k * r;
            for (index_t j = 0; j < r; j++) row[j] += (x - y[j]) * (x - y[j]);
        }
        for (index_t j = 0; j < r; j++) row[j] = ROOT(row[j]);
    }
    return release(&scratch);
}

#undef ROOT
#undef Lanes
#undef Bits
#undef LANES
#undef real
#undef whole
#undef bits_t
#undef SUFFIX
