/* Part of affinity.c, included once for each type `real` of the dissimilarities. */
#include "_native/exponential.h"
#define Lanes TYPED(Lanes)
#define Bits TYPED(Bits)
#define Signed TYPED(Signed)
typedef bits_t Signed __attribute__((vector_size(VECTOR), may_alias, aligned(sizeof(real))));
#define LANES ((index_t)(VECTOR / sizeof(real)))
#define GROUP (PARTS * LANES) /* references in a group */

/* Round n up to a multiple of the group size. */
static index_t TYPED(whole_groups)(index_t n) { return (n + GROUP - 1) / GROUP * GROUP; }

/* Return the smallest value v such that the weights of the values up to v sum to at least `amount`, or the largest
 * value if all weights sum to less. Quickselect permutes the values and their weights. */
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
        /* Values low..j are at most the pivot, values i..high are at least the pivot, and values between are equal. */
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

/* Count the numbers that do not exceed a limit; n is a multiple of the vector length. The numbers are represented by
 * their bits, which have the same order for nonnegative numbers. */
static index_t TYPED(count_up_to)(const bits_t *bits, index_t n, bits_t limit) {
    Signed counts = {0};
    for (index_t j = 0; j < n; j += LANES) counts -= (Signed)(*(const Signed *)(bits + j) <= limit);
    bits_t count = 0;
    for (index_t lane = 0; lane < LANES; lane++) count += counts[lane];
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

/* Return the k-th smallest of n numbers, represented by their bits; n is a multiple of the vector length. `above` of
 * the numbers do not exceed the upper bound `high`. Each guess is tested by counting, which the compiler vectorizes.
 * The first guess is an argument, the next guesses assume evenly spread numbers, and every fourth guess bisects the
 * bits. */
static bits_t TYPED(kth_smallest)(const bits_t *bits, index_t n, index_t k, bits_t high, index_t above, bits_t guess) {
    bits_t low = -1;
    index_t below = 0; /* count up to `low`, less than k */
    for (int step = 1; high - low > 1; step++) {
        if (guess <= low || guess >= high) guess = low + (high - low) / 2;
        const index_t count = TYPED(count_up_to)(bits, n, guess);
        if (count == k) { /* The result is the largest number up to the guess. */
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
        else if (below > 0 && 4 * k < above) /* The upper bound is far from the result. */
            guess = TYPED(bits_of)(a * (real)sqrt((k + 0.5) / (double)below));
        else
            guess = TYPED(bits_of)(a + (b - a) * ((real)(k - below) + (real)0.5) / ((real)(above - below) + 1));
    }
    return high;
}

/* Data for finding the distances within which references of given total weights lie. */
typedef struct TYPED(Reach) {
    index_t r;
    const real *weights;
    double unit, near_amount, far_amount;
    index_t near_k, far_k; /* numbers of references if all weights are equal, otherwise 0 */
    real *value, *weight;  /* scratch */
    bits_t *bits;          /* scratch, in whole groups */
    real last; /* far distance of the previous object, a guess for the next */
} TYPED(Reach);

/* `places` is the maximum number of values, which exceeds r if there are gaps between the references. */
static TYPED(Reach) TYPED(prepared_reach)(Scratch *scratch, index_t r, index_t places, const real *weights, double unit,
                                          double near_amount, double far_amount) {
    TYPED(Reach) reach = {r, weights, unit, near_amount, far_amount, 0, 0, NULL, NULL, NULL, 1};
    reach.value = take(scratch, places, sizeof *reach.value);
    reach.weight = take(scratch, places, sizeof *reach.weight);
    reach.bits = take(scratch, TYPED(whole_groups)(places), sizeof *reach.bits);
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

/* Find the distances of the near_k-th and far_k-th nearest of n references with equal weights. `guess` is a guess of
 * the far distance, and `share` is a guess of near / far. The last group is padded with infinity. */
static void TYPED(reach_of_equals)(const TYPED(Reach) *reach, index_t n, real guess, real share, real *near, real *far) {
    const bits_t infinite = TYPED(bits_of)((real)INFINITY);
    const index_t places = TYPED(whole_groups)(n), near_k = reach->near_k, far_k = reach->far_k;
    for (index_t j = n; j < places; j++) reach->bits[j] = infinite;
    const bits_t distant = TYPED(kth_smallest)(reach->bits, places, far_k, infinite, n, TYPED(bits_of)(guess));
    *far = TYPED(value_of)(distant);
    const bits_t inner = TYPED(bits_of)(*far * share);
    *near = TYPED(value_of)(near_k == far_k ? distant
                                            : TYPED(kth_smallest)(reach->bits, places, near_k, distant, far_k, inner));
}

/* Find the two distances from an object within which references have the total weights near_amount and far_amount. If
 * the object is a reference, `own` is its index (otherwise -1), and the weight of this reference is less by `unit`. */
static void TYPED(reach_of)(TYPED(Reach) *reach, const real *distances, index_t own, real *near, real *far) {
    const index_t r = reach->r;
    real *value = reach->value, *weight = reach->weight;
    for (index_t j = 0; j < r; j++) value[j] = distances[j] + 0; /* Adding 0 turns -0 into +0. */
    if (reach->far_k > 0) {
        if (own >= 0) value[own] = (real)INFINITY;
        memcpy(reach->bits, value, sizeof(real) * (size_t)r);
        const real share = (real)sqrt((double)reach->near_k / (double)reach->far_k);
        TYPED(reach_of_equals)(reach, r, reach->last, share, near, far);
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

/* Find, for each object, the two distances within which references have the total weights near_amount and far_amount.
 * The references are the columns of D. */
KERNEL TYPED(reach)(index_t n, index_t r, const real *D, const real *weights, const index_t *itself, double unit,
                    double near_amount, double far_amount, real *near, real *far) {
    Scratch scratch = {0};
    TYPED(Reach) reach = TYPED(prepared_reach)(&scratch, r, r, weights, unit, near_amount, far_amount);
    for (index_t i = 0; i < n && !scratch.failed; i++)
        TYPED(reach_of)(&reach, D + i * r, itself ? itself[i] : -1, near + i, far + i);
    return release(&scratch);
}

/* Data for the sums over the references of each cluster. References are ordered by cluster, and each cluster fills
 * whole groups; gaps have weight zero. */
typedef struct TYPED(Clusters) {
    index_t places, c;
    const real *weights;
    const index_t *labels;
    double unit;
    double *total;   /* weight of each cluster */
    double *share;   /* one divided by the total weight, zero for empty clusters */
    index_t *place;  /* positions of the references */
    index_t *owner;  /* clusters of the groups */
    real *rate_in_place, *scale_in_place, *weight_in_place;
    Lanes *sums;   /* sums of the clusters, scratch */
    index_t *near; /* positions of near groups, scratch */
} TYPED(Clusters);

static TYPED(Clusters) TYPED(prepared_clusters)(Scratch *scratch, index_t r, index_t c, const real *scales,
                                                const real *weights, const index_t *labels, double unit, double rate) {
    TYPED(Clusters) all = {.c = c, .weights = weights, .labels = labels, .unit = unit};
    all.total = take_zeros(scratch, c, sizeof *all.total);
    all.share = take_zeros(scratch, c, sizeof *all.share);
    all.place = take(scratch, r, sizeof *all.place);
    all.sums = take(scratch, c * PARTS, sizeof *all.sums);
    index_t *next = take_zeros(scratch, c, sizeof *next);
    if (scratch->failed) return all;
    for (index_t j = 0; j < r; j++) next[labels[j]]++;
    for (index_t k = 0; k < c; k++) {
        const index_t begin = all.places;
        all.places += TYPED(whole_groups)(next[k]);
        next[k] = begin;
    }
    all.rate_in_place = take_zeros(scratch, all.places, sizeof *all.rate_in_place);
    all.scale_in_place = take_zeros(scratch, all.places, sizeof *all.scale_in_place);
    all.weight_in_place = take_zeros(scratch, all.places, sizeof *all.weight_in_place);
    all.owner = take(scratch, all.places / GROUP, sizeof *all.owner);
    all.near = take(scratch, all.places / LANES, sizeof *all.near);
    if (scratch->failed) return all;
    for (index_t j = 0; j < r; j++) {
        const index_t place = all.place[j] = next[labels[j]]++;
        all.rate_in_place[place] = (real)(rate * BINARY / scales[j]);
        all.scale_in_place[place] = scales[j];
        all.weight_in_place[place] = weights[j];
        all.total[labels[j]] += weights[j];
        all.owner[place / GROUP] = labels[j];
    }
    for (index_t k = 0; k < c; k++) all.share[k] = all.total[k] > 0 ? 1 / all.total[k] : 0;
    return all;
}

/* Compute the affinity of one object to each cluster, which is the weighted mean of exp(-rate d^2 / (s_i s_j)) over the
 * references j of the cluster. s_i and s_j are the scales of the object and the reference. `squares` contains the squared distances, infinite at gaps. `factor` is 1 / s_i, or 1 if
 * the squares are already divided by s_i. Groups of distant references are removed first, so that the second loop has
 * no data-dependent branches. */
static void TYPED(affinity_of)(const TYPED(Clusters) *all, const real *squares, real factor, index_t own, real *out) {
    index_t count = 0;
    for (index_t j = 0; j < all->places; j += GROUP) {
        bool near = false;
        for (index_t i = j; i < j + GROUP; i += LANES) {
            const Lanes power = *(const Lanes *)(squares + i) * factor * *(const Lanes *)(all->rate_in_place + i);
            const Bits counts = (Bits)(power < NEGLIGIBLE);
            near |= any_bit(&counts);
        }
        all->near[count] = j;
        count += near;
    }
    memset(all->sums, 0, sizeof(Lanes) * (size_t)(all->c * PARTS));
    for (index_t g = 0; g < count; g++) {
        const index_t j = all->near[g];
        Lanes *sums = all->sums + all->owner[(size_t)j / GROUP] * PARTS;
        for (index_t i = j; i < j + GROUP; i += LANES) {
            const Lanes power = *(const Lanes *)(squares + i) * factor * *(const Lanes *)(all->rate_in_place + i);
            const Bits counts = (Bits)(power < NEGLIGIBLE);
            const Lanes alike = (Lanes)((Bits)TYPED(power_of_half)(power) & counts);
            *sums++ += alike * *(const Lanes *)(all->weight_in_place + i);
        }
    }
    for (index_t k = 0; k < all->c; k++) {
        const real *lanes = (const real *)(all->sums + k * PARTS);
        real pairs[GROUP_MOST / 2];
        for (index_t lane = 0; lane < GROUP / 2; lane++) pairs[lane] = lanes[lane] + lanes[lane + GROUP / 2];
        double sum = 0;
        for (index_t lane = 0; lane < GROUP / 2; lane++) sum += pairs[lane];
        if (own < 0 || all->labels[own] != k) out[k] = (real)(sum * all->share[k]);
        else {
            /* The weight of the object itself is reduced by one unit, unless it is alone in its cluster. */
            const real weight = all->weights[own], left = weight > all->unit ? (real)(weight - all->unit) : 0;
            const double less = all->total[k] > weight - left ? weight - left : 0, total = all->total[k] - less;
            out[k] = total > 0 ? (real)(larger(sum - less, 0.0) / total) : 0;
        }
    }
}

/* Compute, for each object, its affinity to each cluster and the distance within which references have the total weight
 * near_amount. The scale of an object is the distance within which references have the total weight far_amount, but at
 * least `least`. */
KERNEL TYPED(affinity)(index_t n, index_t r, index_t c, const real *D, const real *scales, const real *weights,
                       const index_t *labels, const index_t *itself, double unit, double rate, double near_amount,
                       double far_amount, double least, real *near, real *out) {
    Scratch scratch = {0};
    TYPED(Reach) reach = TYPED(prepared_reach)(&scratch, r, r, weights, unit, near_amount, far_amount);
    TYPED(Clusters) all = TYPED(prepared_clusters)(&scratch, r, c, scales, weights, labels, unit, rate);
    real *squares = take(&scratch, all.places, sizeof *squares);
    if (scratch.failed) return release(&scratch);
    for (index_t j = 0; j < all.places; j++) squares[j] = (real)INFINITY;
    for (index_t i = 0; i < n; i++) {
        const index_t own = itself ? itself[i] : -1;
        real far;
        TYPED(reach_of)(&reach, D + i * r, own, near + i, &far);
        const real factor = 1 / (far > (real)least ? far : (real)least);
        for (index_t j = 0; j < r; j++) squares[all.place[j]] = D[i * r + j] * factor * D[i * r + j];
        if (own >= 0) squares[all.place[own]] = 0;
        TYPED(affinity_of)(&all, squares, 1, own, out + i * c);
    }
    return release(&scratch);
}

/* Compute the squared distances from a point x with d coordinates to `vectors` vectors of references, starting at
 * position `first`, and update the smallest distance in each lane and its position. */
ALWAYS_INLINE void TYPED(some_squares)(index_t d, index_t places, const real *x, const real *references, index_t first,
                                       const int vectors, real *squares, Lanes *least, Signed *where) {
    Lanes sums[AT_ONCE] = {{0}};
    for (index_t k = 0; k < d; k++)
        for (int v = 0; v < vectors; v++) {
            const Lanes gap = x[k] - *(const Lanes *)(references + k * places + first + v * LANES);
            sums[v] += gap * gap;
        }
    for (int v = 0; v < vectors; v++) {
        const index_t j = first + v * LANES;
        *(Lanes *)(squares + j) = sums[v];
        const Signed nearer = (Signed)(sums[v] < *least);
        *least = (Lanes)(((Signed)sums[v] & nearer) | ((Signed)*least & ~nearer));
        *where = ((bits_t)j & nearer) | (*where & ~nearer);
    }
}

/* Compute the squared distances from point x to all references, and return the position of the nearest reference. */
static index_t TYPED(all_squares)(index_t d, index_t places, const real *x, const real *references, real *squares) {
    Lanes least = (real)INFINITY - (Lanes){0};
    Signed where = {0};
    index_t j = 0;
    for (; j + AT_ONCE * LANES <= places; j += AT_ONCE * LANES)
        TYPED(some_squares)(d, places, x, references, j, AT_ONCE, squares, &least, &where);
    for (; j < places; j += LANES) TYPED(some_squares)(d, places, x, references, j, 1, squares, &least, &where);
    index_t best = 0;
    for (index_t lane = 1; lane < LANES; lane++) best = least[lane] < least[best] ? lane : best;
    return (index_t)where[best] + best;
}

/* Find the two distances from an object within which references have the total weights near_amount and far_amount, from
 * the squared distances. With equal weights, only references within the distance of the nearest reference plus its
 * scale are examined, because there are enough of them; if rounding leaves too few, all references are examined. */
static void TYPED(reach_by_squares)(TYPED(Reach) *reach, const TYPED(Clusters) *all, const real *squares, index_t nearest,
                                    real *near, real *far) {
    if (reach->far_k == 0) {
        memcpy(reach->value, squares, sizeof(real) * (size_t)all->places);
        memcpy(reach->weight, all->weight_in_place, sizeof(real) * (size_t)all->places);
        *far = TYPED(reached)(reach->value, reach->weight, all->places, reach->far_amount);
        *near = TYPED(reached)(reach->value, reach->weight, all->places, reach->near_amount);
    } else {
        const real within = ROOT(squares[nearest]) + all->scale_in_place[nearest];
        const real limit = within * within * (real)1.00001;
        index_t groups = 0, count = 0;
        for (index_t j = 0; j < all->places; j += LANES) {
            const Bits counts = (Bits)(*(const Lanes *)(squares + j) <= limit);
            all->near[groups] = j;
            groups += any_bit(&counts);
        }
        for (index_t g = 0; g < groups; g++)
            for (index_t j = all->near[g]; j < all->near[g] + LANES; j++) {
                reach->bits[count] = TYPED(bits_of)(squares[j]);
                count += squares[j] <= limit;
            }
        if (count < reach->far_k) {
            count = all->places;
            memcpy(reach->bits, squares, sizeof(real) * (size_t)count);
        }
        const real share = (real)reach->near_k / (real)reach->far_k;
        TYPED(reach_of_equals)(reach, count, limit * (real)reach->far_k / (real)count, share, near, far);
    }
    *far = ROOT(*far);
    *near = ROOT(*near);
}

/* Compute the results of `affinity` for Euclidean distances between points A (n, d) and references B (r, d). Distances
 * are computed by differences, so that the distance between equal rows is exactly zero. `nearest` contains the nearest
 * reference of each point, and `distance` the distance to it. */
KERNEL TYPED(affinity_of_points)(index_t n, index_t d, index_t r, index_t c, const real *A, const real *B,
                                 const real *scales, const real *weights, const index_t *labels, double unit,
                                 double rate, double near_amount, double far_amount, double least, real *near,
                                 index_t *nearest, real *distance, real *out) {
    Scratch scratch = {0};
    TYPED(Clusters) all = TYPED(prepared_clusters)(&scratch, r, c, scales, weights, labels, unit, rate);
    const index_t places = all.places;
    TYPED(Reach) reach = TYPED(prepared_reach)(&scratch, r, places, weights, unit, near_amount, far_amount);
    real *turned = take_zeros(&scratch, d * places, sizeof *turned), *squares = take(&scratch, places, sizeof *squares);
    index_t *reference = take_zeros(&scratch, places, sizeof *reference);
    if (scratch.failed) return release(&scratch);
    for (index_t j = 0; j < places; j++) turned[j] = (real)INFINITY;
    for (index_t j = 0; j < r; j++) reference[all.place[j]] = j;
    for (index_t j = 0; j < r; j++)
        for (index_t k = 0; k < d; k++) turned[k * places + all.place[j]] = B[j * d + k];
    for (index_t i = 0; i < n; i++) {
        const index_t closest = TYPED(all_squares)(d, places, A + i * d, turned, squares);
        nearest[i] = reference[closest];
        distance[i] = ROOT(squares[closest]);
        real far;
        TYPED(reach_by_squares)(&reach, &all, squares, closest, near + i, &far);
        TYPED(affinity_of)(&all, squares, 1 / (far > (real)least ? far : (real)least), -1, out + i * c);
    }
    return release(&scratch);
}

#undef ROOT
#undef Lanes
#undef Bits
#undef Signed
#undef LANES
#undef GROUP
#undef real
#undef whole
#undef bits_t
#undef SUFFIX
