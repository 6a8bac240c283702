/* Kernels of median evidential c-means and of relational evidential c-means.
 *
 * In median evidential c-means, the cost of a set of clusters for an object is
 *
 *     (gamma mean(d_k^2) + gaps / (eta spread) min(d_k^2)) / (1 + gamma)
 *
 * where d_k is the dissimilarity between the object and the medoid of cluster k, gaps is the sum of |d_k - d_m| over
 * pairs of clusters, and spread is the sum of the dissimilarities between the medoids. The cost of a single cluster is
 * d_k^2. */
#include "_native/native.h"
#include "_native/vectors.h"

enum {
    BLOCK = 256, /* number of objects that fit in the cache, a multiple of LANES */
    LANES = 8,
    ROWS = 6, /* ROWS rows are multiplied by MEANS prototypes at once. */
    MEANS = 2,
};

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/mass_step.h"
#undef whole
#include "cluster/medoids_products.h"
#define real float
#define SUFFIX f32
#include "cluster/medoids_products.h"

/* The clusters of all sets. The clusters of set j are members[begins[j]], ..., members[begins[j + 1] - 1]. */
typedef struct {
    index_t *begins, *members;
} Sets;

static Sets take_sets(Scratch *scratch, index_t g, index_t c, const bool *sets) {
    Sets out = {take(scratch, g + 1, sizeof(index_t)), take(scratch, g * c, sizeof(index_t))};
    if (scratch->failed) return out;
    index_t count = 0;
    for (index_t j = 0; j < g; j++) {
        out.begins[j] = count;
        for (index_t k = 0; k < c; k++)
            if (sets[j * c + k]) out.members[count++] = k;
    }
    out.begins[g] = count;
    return out;
}

/* Return the sum of the dissimilarities `between` (c, c) over the pairs of clusters of a set. */
static double spread_of(const index_t *members, index_t size, index_t c, const double *between) {
    double spread = 0.0;
    for (index_t a = 0; a < size; a++)
        for (index_t b = 0; b < a; b++) spread += between[members[a] * c + members[b]];
    return spread;
}

/* Compute `costs` (n, g). `near` (n, c) are dissimilarities to the medoids, `between` (c, c) those between medoids. */
KERNEL median_costs(index_t n, index_t c, index_t g, const double *near, const double *between, const bool *sets,
                    double gamma, double eta, double *costs) {
    Scratch scratch = {0};
    const Sets of = take_sets(&scratch, g, c, sets);
    for (index_t j = 0; j < g && !scratch.failed; j++) {
        const index_t *members = of.members + of.begins[j], size = of.begins[j + 1] - of.begins[j];
        const double spread = spread_of(members, size, c, between);
        for (index_t i = 0; i < n; i++) {
            const double *d = near + i * c;
            double total = 0.0, least = INFINITY, gaps = 0.0;
            for (index_t a = 0; a < size; a++) {
                const double own = d[members[a]];
                total += own * own;
                least = smaller(own * own, least);
                for (index_t b = 0; b < a; b++) gaps += fabs(own - d[members[b]]);
            }
            const double ratio = spread > 0 ? gaps / (eta * spread) : 0.0;
            costs[i * g + j] = size == 1 ? total : (gamma * total / (double)size + ratio * least) / (1 + gamma);
        }
    }
    return release(&scratch);
}

/* ---- candidates for a medoid ---------------------------------------------------------------------------------- */

/* Terms of the costs that do not depend on the candidate: sums and minima over the other medoids of a set. */
typedef struct {
    double total[BLOCK], least[BLOCK], gaps[BLOCK];
} Others;

/* Compute the terms in `Others` for b objects. `near` points to the first of these objects in an array (c, n). */
static void compute_others(index_t b, index_t n, const index_t *members, index_t size, const double *near,
                        Others *restrict out) {
    for (index_t i = 0; i < b; i++) {
        out->total[i] = out->gaps[i] = 0.0;
        out->least[i] = INFINITY;
    }
    for (index_t m = 0; m < size; m++) {
        const double *u = near + members[m] * n;
        for (index_t i = 0; i < b; i++) {
            const double square = u[i] * u[i];
            out->total[i] += square;
            out->least[i] = smaller(square, out->least[i]);
        }
        for (index_t o = 0; o < m; o++) {
            const double *v = near + members[o] * n;
            for (index_t i = 0; i < b; i++) out->gaps[i] += fabs(u[i] - v[i]);
        }
    }
}

/* Return the sum of b numbers. The order of the additions is the same on every machine. */
static double sum_of(const double *x, index_t b) {
    double s[LANES] = {0.0};
    const index_t whole = b - b % LANES;
    for (index_t i = 0; i < whole; i += LANES)
        for (int lane = 0; lane < LANES; lane++) s[lane] += x[i + lane];
    for (index_t i = whole; i < b; i++) s[i - whole] += x[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* Add to `totals`, for each candidate, the terms of the objective that depend on the medoid of one cluster, if the
 * candidate is the medoid. `rows` contains the dissimilarities from each candidate to all objects.
 *
 * `weights` (h, n) are |A|^alpha m_i(A)^beta for the h sets A that contain the cluster, and `sets` (h, c) are the other
 * clusters of these sets. The dissimilarities are `near` (c, n) from the medoids to all objects, `between` (c, c)
 * between the medoids, and `to_candidates` (c, candidates) from the medoids to the candidates. */
KERNEL median_totals(index_t candidates, index_t n, index_t h, index_t c, const double *rows, const double *weights,
                     const double *near, const double *to_candidates, const double *between, const bool *sets,
                     double gamma, double eta, double *totals) {
    Scratch scratch = {0};
    const Sets of = take_sets(&scratch, h, c, sets);
    double *shares = take(&scratch, candidates, sizeof *shares); /* coefficients 1 / (eta spread) of the gaps */
    Others *others = take(&scratch, 1, sizeof *others);
    double terms[BLOCK], gaps[BLOCK];
    for (index_t j = 0; j < h && !scratch.failed; j++) {
        const index_t *members = of.members + of.begins[j], size = of.begins[j + 1] - of.begins[j];
        const double apart = spread_of(members, size, c, between), mean = gamma / (double)(1 + size);
        for (index_t o = 0; o < candidates; o++) {
            double spread = apart;
            for (index_t m = 0; m < size; m++) spread += to_candidates[members[m] * candidates + o];
            shares[o] = spread > 0 ? 1 / (eta * spread) : 0.0;
        }
        for (index_t start = 0; start < n; start += BLOCK) {
            const index_t b = n - start < BLOCK ? n - start : BLOCK;
            const double *weight = weights + j * n + start;
            compute_others(b, n, members, size, near + start, others);
            for (index_t o = 0; o < candidates; o++) {
                const double *row = rows + o * n + start, share = shares[o];
                if (size == 0) {
                    for (index_t i = 0; i < b; i++) terms[i] = weight[i] * (row[i] * row[i]);
                    totals[o] += sum_of(terms, b);
                    continue;
                }
                memcpy(gaps, others->gaps, sizeof(double) * (size_t)b);
                for (index_t m = 0; m < size; m++) {
                    const double *u = near + members[m] * n + start;
                    for (index_t i = 0; i < b; i++) gaps[i] += fabs(row[i] - u[i]);
                }
                for (index_t i = 0; i < b; i++) {
                    const double square = row[i] * row[i];
                    const double least = square < others->least[i] ? square : others->least[i];
                    terms[i] = weight[i] * (mean * (square + others->total[i]) + gaps[i] * share * least);
                }
                totals[o] += sum_of(terms, b) / (1 + gamma);
            }
        }
    }
    return release(&scratch);
}

/* ---- relational evidential c-means ---------------------------------------------------------------------------- */

/* Solve H x = r for every row r of R (n, c), and overwrite r by x. H (c, c) is symmetric and positive semidefinite, and
 * is overwritten by its Cholesky factor. Return whether all pivots were positive. */
static bool solve_rows(index_t c, index_t n, double *H, double *R) {
    for (index_t k = 0; k < c; k++) {
        for (index_t l = 0; l <= k; l++) {
            double s = H[k * c + l];
            for (index_t q = 0; q < l; q++) s -= H[k * c + q] * H[l * c + q];
            if (l == k && !(s > 0.0)) return false;
            H[k * c + l] = l < k ? s / H[l * c + l] : sqrt(s);
        }
    }
    for (index_t i = 0; i < n; i++) {
        double *x = R + i * c;
        for (index_t k = 0; k < c; k++) {
            for (index_t l = 0; l < k; l++) x[k] -= H[k * c + l] * x[l];
            x[k] /= H[k * c + k];
        }
        for (index_t k = c - 1; k >= 0; k--) {
            for (index_t l = k + 1; l < c; l++) x[k] -= H[l * c + k] * x[l];
            x[k] /= H[k * c + k];
        }
    }
    return true;
}

/* Compute, for each set, the offset that is added to the mean product of its clusters. It depends on p' Delta p, where
 * p is the mean of the prototypes P (c, n) of the clusters. `inner` (c, c) is work space for P Delta P'. */
static void compute_offsets(index_t n, index_t c, index_t g, const double *P, const double *products, const Sets *of,
                         double shift, double *inner, double *offset) {
    for (index_t k = 0; k < c * c; k++) inner[k] = 0.0;
    for (index_t k = 0; k < c; k++)
        for (index_t i = 0; i < n; i++)
            for (index_t l = 0; l < c; l++)
                inner[k * c + l] += P[k * n + i] * (products[i * c + l] - shift * P[l * n + i]);
    for (index_t j = 0; j < g; j++) {
        const index_t *members = of->members + of->begins[j], size = of->begins[j + 1] - of->begins[j];
        double total = 0.0;
        for (index_t a = 0; a < size; a++)
            for (index_t b = 0; b < size; b++) total += inner[members[a] * c + members[b]];
        offset[j] = shift / 2 - total / (double)(2 * size * size);
    }
}

/* Do one iteration of relational evidential c-means (Masson and Denoeux, 2009) from the prototypes P (c, n). Compute
 * the objective, the smallest squared distance, and the next prototypes. `products` are the products of the
 * dissimilarities, without the shift, and the prototypes. A squared distance below `negative` is replaced by -negative.
 * Values from `negative` to 0 are rounding errors, set to 0. The prototype of a cluster in no set with mass stays. */
KERNEL relational_step(index_t n, index_t c, index_t g, const double *products, const double *P, const bool *sets,
                       const double *weights, const double *factor, const index_t *size, double delta2, double beta,
                       double zero, double negative, double shift, double alpha, double *following, double *least,
                       double *result) {
    Scratch scratch = {0};
    const Sets of = take_sets(&scratch, g, c, sets);
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    double *inner = take(&scratch, c * c, sizeof *inner), *H = take_zeros(&scratch, c * c, sizeof *H);
    double *offset = take(&scratch, g, sizeof *offset), *share = take(&scratch, g, sizeof *share);
    double *pull = take(&scratch, g, sizeof *pull), *sums = take_zeros(&scratch, g, sizeof *sums);
    double *costs = take_zeros(&scratch, g * TILE, sizeof *costs);
    double *row = take(&scratch, c, sizeof *row), *right = take_zeros(&scratch, n * c, sizeof *right);
    double *again = take(&scratch, n * c, sizeof *again);
    if (scratch.failed) return release(&scratch);
    compute_offsets(n, c, g, P, products, &of, shift, inner, offset);
    for (index_t j = 0; j < g; j++) {
        share[j] = 1.0 / (double)size[j];
        pull[j] = pow((double)size[j], alpha - 1);
    }
    double objective = 0.0;
    *least = INFINITY;
    for (index_t i = 0; i < n; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        for (index_t r = 0; r < rows; r++) {
            for (index_t k = 0; k < c; k++) row[k] = products[(i + r) * c + k] - shift * P[k * n + i + r];
            for (index_t j = 0; j < g; j++) {
                double total = 0.0;
                for (index_t e = of.begins[j]; e < of.begins[j + 1]; e++) total += row[of.members[e]];
                const double cost = total * share[j] + offset[j];
                *least = smaller(cost, *least);
                costs[j * TILE + r] = cost < negative ? -negative : larger(cost, 0.0);
            }
        }
        objective += find_powers_f64(&step, rows, costs, weights ? weights + i : NULL);
        for (index_t r = 0; r < rows; r++)
            for (index_t j = 0; j < g; j++) {
                const double power = step.shares[j * TILE + r], pulled = power * pull[j];
                sums[j] += power;
                for (index_t e = of.begins[j]; e < of.begins[j + 1]; e++) right[(i + r) * c + of.members[e]] += pulled;
            }
    }
    double trace = 0.0;
    for (index_t j = 0; j < g; j++)
        for (index_t a = of.begins[j]; a < of.begins[j + 1]; a++)
            for (index_t b = of.begins[j]; b < of.begins[j + 1]; b++)
                H[of.members[a] * c + of.members[b]] += pull[j] * share[j] * sums[j];
    for (index_t k = 0; k < c; k++) trace += H[k * (c + 1)];
    memcpy(inner, H, sizeof(double) * (size_t)(c * c));
    memcpy(again, right, sizeof(double) * (size_t)(n * c));
    if (!solve_rows(c, n, H, right)) { /* H is singular if a cluster has no mass. */
        for (index_t k = 0; k < c; k++) inner[k * (c + 1)] += 1e-10 * trace / (double)c + 1e-300;
        solve_rows(c, n, inner, again);
        right = again;
    }
    for (index_t k = 0; k < c; k++) {
        double total = 0.0;
        for (index_t i = 0; i < n; i++) total += right[i * c + k];
        for (index_t i = 0; i < n; i++)
            following[k * n + i] = total > 0.5 ? right[i * c + k] / total : P[k * n + i];
    }
    *result = objective;
    return release(&scratch);
}
