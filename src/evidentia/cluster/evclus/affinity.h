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

static bits_t TYPED(bits_of)(real value) {
    bits_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static real TYPED(value_of)(bits_t bits) {
    real value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The k-th smallest of n numbers (as bits); one of at least that is known, which `above` of them do not exceed. A guess
 * is tried by a count, a pass that the compiler turns into vector instructions: the first one is given, the next lie
 * where the k-th would be if the numbers were spread evenly, or in the middle of the bits where that gets on slowly. */
static bits_t TYPED(kth_smallest)(const bits_t *bits, index_t n, index_t k, bits_t high, index_t above, bits_t guess) {
    bits_t low = -1;
    index_t below = 0; /* of them are at most `low`, and fewer than k */
    for (int step = 1; high - low > 1; step++) {
        if (guess <= low || guess >= high) guess = low + (high - low) / 2;
        const index_t count = TYPED(count_up_to)(bits, n, guess);
        if (count == k) { /* the largest of these */
            bits_t best = 0;
            for (index_t j = 0; j < n; j++) {
                const bits_t inside = bits[j] <= guess ? bits[j] : 0;
                best = inside > best ? inside : best;
            }
            return best;
        }
        if (count < k) {
            low = guess;
            below = count;
        } else {
            high = guess;
            above = count;
        }
        const real a = low < 0 ? 0 : TYPED(value_of)(low), b = TYPED(value_of)(high);
        if (step % 4 == 0)
            guess = low + (high - low) / 2;
        else if (below > 0 && 4 * k < above) /* the upper end says little */
            guess = TYPED(bits_of)(a * (real)sqrt((k + 0.5) / (double)below));
        else
            guess = TYPED(bits_of)(a + (b - a) * ((real)(k - below) + (real)0.5) / ((real)(above - below) + 1));
    }
    return high;
}

/* Both distances of an object where all references weigh the same: those to the k-th nearest ones. `guess` is a good one
 * for the far distance. */
static void TYPED(reach_of_equals)(const bits_t *bits, index_t r, index_t near_k, index_t far_k, real guess, real *near,
                                   real *far) {
    const bits_t infinite = TYPED(bits_of)((real)INFINITY);
    const bits_t distant = TYPED(kth_smallest)(bits, r, far_k, infinite, r, TYPED(bits_of)(guess));
    *far = TYPED(value_of)(distant);
    const bits_t inner = TYPED(bits_of)(*far * (real)sqrt((double)near_k / (double)far_k));
    *near = TYPED(value_of)(near_k == far_k ? distant
                                            : TYPED(kth_smallest)(bits, r, near_k, distant, far_k, inner));
}

/* What is needed to find the distances within which references of given weights lie. */
typedef struct TYPED(Reach) {
    index_t r;
    const real *weights;
    double unit, near_amount, far_amount;
    index_t near_k, far_k; /* as many references, where all weigh the same; else 0 */
    real *value, *weight;  /* places to work in */
    bits_t *bits;
    real last; /* the far distance of the object before, a guess for the next */
} TYPED(Reach);

static TYPED(Reach) TYPED(prepared_reach)(Scratch *scratch, index_t r, const real *weights, double unit,
                                          double near_amount, double far_amount) {
    TYPED(Reach) reach = {r, weights, unit, near_amount, far_amount, 0, 0, NULL, NULL, NULL, 1};
    reach.value = take(scratch, r, sizeof *reach.value);
    reach.weight = take(scratch, r, sizeof *reach.weight);
    reach.bits = take(scratch, r, sizeof *reach.bits);
    bool equal = r > 0 && weights[0] > 0;
    for (index_t j = 0; j < r; j++) equal = equal && weights[j] == weights[0] && weights[j] <= (real)unit;
    if (equal) {
        const index_t near_k = (index_t)ceil(near_amount / weights[0]), far_k = (index_t)ceil(far_amount / weights[0]);
        if (1 <= near_k && near_k <= far_k && far_k <= r) {
            reach.near_k = near_k;
            reach.far_k = far_k;
        }
    }
    return reach;
}

/* The same for references that stand in other places, with gaps between them, whose weight is zero. */
static void TYPED(widen)(Scratch *scratch, TYPED(Reach) *reach, index_t wide, const real *weight_in_place) {
    reach->r = wide;
    reach->weights = weight_in_place;
    reach->value = take(scratch, wide, sizeof *reach->value);
    reach->weight = take(scratch, wide, sizeof *reach->weight);
    reach->bits = take(scratch, wide, sizeof *reach->bits);
}

/* The smallest of n distances; by their bits, whose order a compiler may change. */
static real TYPED(smallest)(const real *distances, index_t n, bits_t *bits) {
    memcpy(bits, distances, sizeof(real) * (size_t)n);
    bits_t least = n > 0 ? bits[0] : 0;
    for (index_t j = 0; j < n; j++) least = bits[j] < least ? bits[j] : least;
    return TYPED(value_of)(least);
}

/* Within which distances of an object references of two given weights lie. An object that is itself the reference `own`
 * (else -1) does not count itself, but what it weighs beyond `unit` counts as others at its place. */
static void TYPED(reach_of)(TYPED(Reach) *reach, const real *distances, index_t own, real *near, real *far) {
    const index_t r = reach->r;
    real *value = reach->value, *weight = reach->weight;
    for (index_t j = 0; j < r; j++) value[j] = distances[j] + 0; /* there is one zero only */
    if (reach->far_k > 0) {
        if (own >= 0) value[own] = (real)INFINITY;
        memcpy(reach->bits, value, sizeof(real) * (size_t)r);
        TYPED(reach_of_equals)(reach->bits, r, reach->near_k, reach->far_k, reach->last, near, far);
        reach->last = *far;
        return;
    }
    memcpy(weight, reach->weights, sizeof(real) * (size_t)r);
    if (own >= 0) {
        value[own] = 0;
        weight[own] = weight[own] > reach->unit ? (real)(weight[own] - reach->unit) : 0;
        if (weight[own] == 0) value[own] = (real)INFINITY;
    }
    *far = TYPED(reached)(value, weight, r, reach->far_amount);
    *near = TYPED(reached)(value, weight, r, reach->near_amount);
}

/* Within which distances references (columns of D) of two given weights lie, for each object. */
KERNEL TYPED(reach)(index_t n, index_t r, const real *D, const real *weights, const index_t *itself, double unit,
                    double near_amount, double far_amount, real *near, real *far) {
    Scratch scratch = {0};
    TYPED(Reach) reach = TYPED(prepared_reach)(&scratch, r, weights, unit, near_amount, far_amount);
    for (index_t i = 0; i < n && !scratch.failed; i++)
        TYPED(reach_of)(&reach, D + i * r, itself ? itself[i] : -1, near + i, far + i);
    return release(&scratch);
}

/* What is needed to sum up how near the references of each cluster are. They stand cluster by cluster, and each cluster
 * fills whole vectors: there are gaps, whose weight is zero. */
typedef struct TYPED(Clusters) {
    index_t padded, c;
    const real *weights;
    const index_t *labels;
    double unit;
    double *total;  /* weight of each cluster */
    index_t *begins; /* of the clusters */
    index_t *place;  /* of the references */
    real *rate_in_place, *weight_in_place;
} TYPED(Clusters);

static TYPED(Clusters) TYPED(prepared_clusters)(Scratch *scratch, index_t r, index_t c, const real *scales,
                                                const real *weights, const index_t *labels, double unit, double rate) {
    TYPED(Clusters) all = {0, c, weights, labels, unit, NULL, NULL, NULL, NULL, NULL};
    all.total = take_zeros(scratch, c, sizeof *all.total);
    all.begins = take_zeros(scratch, c + 1, sizeof *all.begins);
    all.place = take(scratch, r, sizeof *all.place);
    index_t *next = take(scratch, c, sizeof *next);
    if (scratch->failed) return all;
    for (index_t j = 0; j < r; j++) all.begins[labels[j] + 1]++;
    for (index_t k = 0; k < c; k++) {
        next[k] = all.begins[k];
        all.begins[k + 1] = all.begins[k] + (all.begins[k + 1] + LANES - 1) / LANES * LANES;
    }
    all.padded = all.begins[c];
    all.rate_in_place = take_zeros(scratch, all.padded, sizeof *all.rate_in_place);
    all.weight_in_place = take_zeros(scratch, all.padded, sizeof *all.weight_in_place);
    if (scratch->failed) return all;
    for (index_t j = 0; j < r; j++) {
        const index_t place = all.place[j] = next[labels[j]]++;
        all.rate_in_place[place] = (real)(rate / scales[j]);
        all.weight_in_place[place] = weights[j];
        all.total[labels[j]] += weights[j];
    }
    return all;
}

/* Whether any bit of a vector is set. */
ALWAYS_INLINE bool TYPED(any)(Bits bits) {
    uint64_t part[VECTOR / sizeof(uint64_t)], all = 0;
    memcpy(part, &bits, sizeof part);
    for (size_t i = 0; i < VECTOR / sizeof(uint64_t); i++) all |= part[i];
    return all != 0;
}

/* Sum over the n_k references of each cluster of exp(-rate d^2 / (s_i s_j)), where s are the scales of the two objects,
 * divided by the root of n_k. The distances are in place; those at gaps are infinite. */
static void TYPED(affinity_of)(const TYPED(Clusters) *all, const real *in_place, real scale, index_t own, real *out) {
    const real mine = 1 / scale;
    for (index_t k = 0; k < all->c; k++) {
        Lanes sums = {0};
        for (index_t j = all->begins[k]; j < all->begins[k + 1]; j += LANES) {
            const Lanes gap = *(const Lanes *)(in_place + j);
            const Lanes power = gap * *(const Lanes *)(all->rate_in_place + j) * (gap * mine);
            const Bits counts = (Bits)(power < NEGLIGIBLE);
            if (!TYPED(any)(counts)) continue;
            const Lanes alike = (Lanes)((Bits)TYPED(exponential)(-power) & counts);
            sums += alike * *(const Lanes *)(all->weight_in_place + j);
        }
        double sum = 0, total = all->total[k];
        for (index_t lane = 0; lane < LANES; lane++) sum += sums[lane];
        if (own >= 0 && all->labels[own] == k) {
            /* it counts as what it weighs beyond itself, unless nobody else is in its cluster */
            const real weight = all->weights[own], left = weight > all->unit ? (real)(weight - all->unit) : 0;
            const double less = total > weight - left ? weight - left : 0;
            sum -= less;
            total -= less;
        }
        out[k] = total > 0 ? (real)(larger(sum, 0.0) / sqrt(total)) : 0;
    }
}

/* For each object the distance within which near references lie, and how near it is to each cluster by its own scale, the
 * distance within which more of them lie (at least `least`). */
KERNEL TYPED(affinity)(index_t n, index_t r, index_t c, const real *D, const real *scales, const real *weights,
                       const index_t *labels, const index_t *itself, double unit, double rate, double near_amount,
                       double far_amount, double least, real *near, real *out) {
    Scratch scratch = {0};
    TYPED(Reach) reach = TYPED(prepared_reach)(&scratch, r, weights, unit, near_amount, far_amount);
    TYPED(Clusters) all = TYPED(prepared_clusters)(&scratch, r, c, scales, weights, labels, unit, rate);
    real *in_place = take(&scratch, all.padded, sizeof *in_place);
    if (scratch.failed) return release(&scratch);
    for (index_t j = 0; j < all.padded; j++) in_place[j] = (real)INFINITY;
    for (index_t i = 0; i < n; i++) {
        const index_t own = itself ? itself[i] : -1;
        real far;
        TYPED(reach_of)(&reach, D + i * r, own, near + i, &far);
        for (index_t j = 0; j < r; j++) in_place[all.place[j]] = D[i * r + j];
        if (own >= 0) in_place[all.place[own]] = 0;
        TYPED(affinity_of)(&all, in_place, far > (real)least ? far : (real)least, own, out + i * c);
    }
    return release(&scratch);
}

/* The same for Euclidean distances between points A (n, d) and references B (r, d), which are found row by row, by
 * differences: zero between equal rows. `nearest` is the smallest of them. */
KERNEL TYPED(affinity_of_points)(index_t n, index_t d, index_t r, index_t c, const real *A, const real *B,
                                 const real *scales, const real *weights, const index_t *labels, double unit,
                                 double rate, double near_amount, double far_amount, double least, real *near,
                                 real *nearest, real *out) {
    Scratch scratch = {0};
    TYPED(Clusters) all = TYPED(prepared_clusters)(&scratch, r, c, scales, weights, labels, unit, rate);
    TYPED(Reach) reach = TYPED(prepared_reach)(&scratch, r, weights, unit, near_amount, far_amount);
    TYPED(widen)(&scratch, &reach, all.padded, all.weight_in_place);
    const index_t wide = all.padded;
    real *turned = take_zeros(&scratch, d * wide, sizeof *turned), *distance = take(&scratch, wide, sizeof *distance);
    if (scratch.failed) return release(&scratch);
    for (index_t j = 0; j < wide; j++) turned[j] = (real)INFINITY;
    for (index_t j = 0; j < r; j++)
        for (index_t k = 0; k < d; k++) turned[k * wide + all.place[j]] = B[j * d + k];
    for (index_t i = 0; i < n; i++) {
        for (index_t j = 0; j < wide; j += LANES) {
            Lanes sum = {0};
            for (index_t k = 0; k < d; k++) {
                const Lanes gap = A[i * d + k] - *(const Lanes *)(turned + k * wide + j);
                sum += gap * gap;
            }
            *(Lanes *)(distance + j) = sum;
        }
        for (index_t j = 0; j < wide; j++) distance[j] = ROOT(distance[j]);
        nearest[i] = TYPED(smallest)(distance, wide, reach.bits);
        real far;
        if (reach.far_k > 0) { /* the bits are there already */
            TYPED(reach_of_equals)(reach.bits, wide, reach.near_k, reach.far_k, reach.last, near + i, &far);
            reach.last = far;
        } else
            TYPED(reach_of)(&reach, distance, -1, near + i, &far);
        TYPED(affinity_of)(&all, distance, far > (real)least ? far : (real)least, -1, out + i * c);
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
