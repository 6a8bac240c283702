/* Agglomerative clustering by a Gaussian classification likelihood.
 *
 * The cost of a cluster with size n_k and scatter matrix W_k (d, d) is (Banfield and Raftery, 1993; Fraley, 1998)
 *
 *     EII:  tr W_k
 *     VII:  n_k log(tr W_k / n_k + a)
 *     VVV:  n_k log(|W_k / n_k| + tr W_k / n_k + a)
 *
 * where a is the mean variance of the columns of the data. The terms tr W_k / n_k and a keep the cost finite for small
 * clusters, whose scatter matrix is singular. Every step merges the two clusters whose union increases the total cost
 * least.
 */
#include "_native/native.h"

enum { EII, VII, VVV }; /* The order is that of dempster.mixture.gaussian_mixture. */

/* Clusters. Initially each of the m points is a cluster. The union of two clusters gets the lower of their indices. */
typedef struct {
    index_t model, m, d;
    double alpha;
    double *means;    /* (m, d) */
    double *sizes;    /* (m,) */
    double *traces;   /* (m,) */
    double *scatter;  /* (m, d, d) lower triangles, for VVV only */
    double *costs;    /* (m,) */
    double *rises;    /* (m, m) cost of the union of two clusters minus their costs, above the diagonal */
    double *best;     /* (m,) smallest rise for the union with a cluster of higher index */
    index_t *nearest; /* (m,) index of this cluster, or -1 if there is none */
    bool *active;     /* (m,) whether the cluster exists */
    double *matrix, *factor; /* (d, d) scratch memory */
} Clusters;

/* Return the log-determinant of a symmetric matrix (lower triangle), or -inf if it is not positive definite. */
static double log_determinant(index_t d, const double *matrix, double *factor) {
    double total = 0.0;
    for (index_t j = 0; j < d; j++) {
        double pivot = matrix[j * d + j];
        for (index_t s = 0; s < j; s++) pivot -= factor[j * d + s] * factor[j * d + s];
        if (!(pivot > 0.0)) return -INFINITY;
        total += log(pivot);
        pivot = sqrt(pivot);
        factor[j * d + j] = pivot;
        for (index_t i = j + 1; i < d; i++) {
            double value = matrix[i * d + j];
            for (index_t s = 0; s < j; s++) value -= factor[i * d + s] * factor[j * d + s];
            factor[i * d + j] = value / pivot;
        }
    }
    return total;
}

static double cost(const Clusters *clusters, double size, double trace, double log_det) {
    if (clusters->model == EII) return trace;
    double spherical = (trace + clusters->alpha) / size;
    if (clusters->model == VII || log_det == -INFINITY) return size * log(spherical);
    log_det -= (double)clusters->d * log(size);
    if (log_det > 0.0) return size * (log_det + log1p(exp(-log_det) * spherical)); /* This form avoids overflow. */
    return size * log(exp(log_det) + spherical);
}

/* Return the cost of the union of clusters i and j, whose scatter matrix is
 * W_i + W_j + n_i n_j / (n_i + n_j) (m_i - m_j)(m_i - m_j)', where m_i and m_j are the means. */
static double cost_of_union(const Clusters *clusters, index_t i, index_t j) {
    index_t d = clusters->d;
    const double *mean_i = clusters->means + i * d, *mean_j = clusters->means + j * d;
    double size = clusters->sizes[i] + clusters->sizes[j];
    double share = clusters->sizes[i] * clusters->sizes[j] / size;
    double gap = 0.0;
    for (index_t a = 0; a < d; a++) gap += (mean_i[a] - mean_j[a]) * (mean_i[a] - mean_j[a]);
    double trace = clusters->traces[i] + clusters->traces[j] + share * gap;
    if (clusters->model != VVV || size <= (double)d) return cost(clusters, size, trace, -INFINITY);
    const double *scatter_i = clusters->scatter + i * d * d, *scatter_j = clusters->scatter + j * d * d;
    for (index_t a = 0; a < d; a++) {
        for (index_t b = 0; b <= a; b++) {
            double product = (mean_i[a] - mean_j[a]) * (mean_i[b] - mean_j[b]);
            clusters->matrix[a * d + b] = scatter_i[a * d + b] + scatter_j[a * d + b] + share * product;
        }
    }
    return cost(clusters, size, trace, log_determinant(d, clusters->matrix, clusters->factor));
}

/* Replace cluster i by the union of clusters i and j. */
static void unite(const Clusters *clusters, index_t i, index_t j) {
    index_t d = clusters->d;
    double *mean_i = clusters->means + i * d, *mean_j = clusters->means + j * d;
    double size = clusters->sizes[i] + clusters->sizes[j];
    double share = clusters->sizes[i] * clusters->sizes[j] / size;
    clusters->costs[i] += clusters->costs[j] + clusters->rises[i * clusters->m + j];
    clusters->traces[i] += clusters->traces[j];
    for (index_t a = 0; a < d; a++) {
        for (index_t b = 0; b <= a; b++) {
            double product = share * (mean_i[a] - mean_j[a]) * (mean_i[b] - mean_j[b]);
            if (clusters->model == VVV)
                clusters->scatter[(i * d + a) * d + b] += clusters->scatter[(j * d + a) * d + b] + product;
            if (a == b) clusters->traces[i] += product;
        }
    }
    for (index_t a = 0; a < d; a++) mean_i[a] += clusters->sizes[j] / size * (mean_j[a] - mean_i[a]);
    clusters->sizes[i] = size;
    clusters->active[j] = false;
}

/* Set `best` and `nearest` of a cluster, the smallest rise with a cluster of higher index and that cluster. */
static void scan(const Clusters *clusters, index_t row) {
    const double *rises = clusters->rises + row * clusters->m;
    double best = INFINITY;
    index_t nearest = -1;
    for (index_t s = row + 1; s < clusters->m; s++) {
        if (!clusters->active[s]) continue;
        if (rises[s] < best) {
            best = rises[s];
            nearest = s;
        } else if (nearest < 0) {
            nearest = s; /* Use the first cluster if every rise is infinite. */
        }
    }
    clusters->best[row] = best;
    clusters->nearest[row] = nearest;
}

/* Return the cluster with the smallest value of `best`. */
static index_t cheapest(const Clusters *clusters) {
    index_t best = -1;
    for (index_t r = 0; r < clusters->m; r++)
        if (clusters->active[r] && clusters->nearest[r] >= 0 && (best < 0 || clusters->best[r] < clusters->best[best]))
            best = r;
    return best;
}

static void begin(const Clusters *clusters) {
    index_t m = clusters->m;
    for (index_t i = 0; i < m; i++) {
        clusters->active[i] = true;
        clusters->costs[i] = cost(clusters, clusters->sizes[i], 0.0, -INFINITY);
    }
    for (index_t i = 0; i < m; i++) {
        for (index_t j = i + 1; j < m; j++)
            clusters->rises[i * m + j] = cost_of_union(clusters, i, j) - clusters->costs[i] - clusters->costs[j];
        scan(clusters, i);
    }
}

/* Merge clusters i < j, and update the rises and the nearest clusters. */
static void merge(const Clusters *clusters, index_t i, index_t j) {
    index_t m = clusters->m;
    unite(clusters, i, j);
    for (index_t r = 0; r < m; r++) {
        if (!clusters->active[r] || r == i) continue;
        double rise = cost_of_union(clusters, i, r) - clusters->costs[i] - clusters->costs[r];
        clusters->rises[r < i ? r * m + i : i * m + r] = rise;
        if (r < i && rise < clusters->best[r]) {
            clusters->best[r] = rise;
            clusters->nearest[r] = i;
        } else if (r < j && (clusters->nearest[r] == j || clusters->nearest[r] == i)) {
            scan(clusters, r);
        }
    }
    scan(clusters, i);
}

static double *numbers(Scratch *scratch, index_t count) { return take(scratch, count, sizeof(double)); }

/* Write the two merged clusters of each step to `merges` (steps, 2). There are steps + 1 points with given weights. */
KERNEL agglomerate(index_t steps, index_t d, const double *points, const double *sizes, index_t model, double alpha,
                   index_t *merges) {
    index_t m = steps + 1;
    Scratch scratch = {0};
    Clusters clusters = {
        .model = model, .m = m, .d = d, .alpha = alpha,
        .means = numbers(&scratch, m * d), .sizes = numbers(&scratch, m),
        .traces = take_zeros(&scratch, m, sizeof(double)),
        .scatter = take_zeros(&scratch, model == VVV ? m * d * d : 0, sizeof(double)),
        .costs = numbers(&scratch, m), .rises = numbers(&scratch, m * m), .best = numbers(&scratch, m),
        .nearest = take(&scratch, m, sizeof(index_t)), .active = take(&scratch, m, sizeof(bool)),
        .matrix = numbers(&scratch, d * d), .factor = numbers(&scratch, d * d),
    };
    if (scratch.failed) return release(&scratch);
    memcpy(clusters.means, points, (size_t)(m * d) * sizeof(double));
    memcpy(clusters.sizes, sizes, (size_t)m * sizeof(double));
    begin(&clusters);
    for (index_t step = 0; step < steps; step++) {
        index_t i = cheapest(&clusters);
        merges[2 * step] = i;
        merges[2 * step + 1] = clusters.nearest[i];
        merge(&clusters, i, clusters.nearest[i]);
    }
    return release(&scratch);
}

/* Write the labels of the steps + 1 points after n_merges merges; clusters are numbered in order of appearance. */
KERNEL cut_merges(index_t steps, const index_t *merges, index_t n_merges, index_t *labels) {
    for (index_t i = 0; i <= steps; i++) labels[i] = i; /* Parent of each point. */
    for (index_t step = 0; step < n_merges; step++) labels[merges[2 * step + 1]] = merges[2 * step];
    index_t count = 0;
    for (index_t i = 0; i <= steps; i++) /* A parent has a lower index than its children. */
        labels[i] = labels[i] == i ? count++ : labels[labels[i]];
    return DONE;
}
