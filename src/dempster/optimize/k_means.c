/* Weighted k-means with greedy k-means++ initialization (Arthur and Vassilvitskii, 2007) and Lloyd's iterations.
 *
 * The table is transposed, so that the distances of many objects to a center are computed from contiguous memory. */
#include "_native/native.h"

enum { BLOCK = 256 };

typedef struct {
    index_t n, d, k;
    const double *weights; /* (n,) */
    const double *columns; /* (d, n) */
    double *centers;       /* (k, d) */
    index_t *labels;       /* (n,) */
    double *closest;       /* (n,) squared distances to the nearest center */
    double *distance;      /* (n,) scratch memory */
    double *sizes;         /* (k,) */
    double *sums;          /* (k, d) */
} Clustering;

/* Compute the squared distances from b objects, starting at `start`, to a point. */
static void distances(const Clustering *c, const double *point, index_t start, index_t b, double *restrict out) {
    for (index_t i = 0; i < b; i++) out[i] = 0.0;
    for (index_t j = 0; j < c->d; j++) {
        const double *restrict column = c->columns + j * c->n + start;
        double x = point[j];
        for (index_t i = 0; i < b; i++) out[i] += (column[i] - x) * (column[i] - x);
    }
}

static void object(const Clustering *c, index_t i, double *point) {
    for (index_t j = 0; j < c->d; j++) point[j] = c->columns[j * c->n + i];
}

/* ---- initial centers ---------------------------------------------------------------------------------------- */

/* Return the first object at which the cumulative sum of weight * closest exceeds `share` times the total. */
static index_t draw_object(const Clustering *c, double total, double share) {
    double sum = 0.0;
    index_t last = 0;
    for (index_t i = 0; i < c->n; i++) {
        double part = c->weights[i] * c->closest[i];
        if (!(part > 0.0)) continue;
        last = i;
        sum += part;
        if (sum > share * total) break;
    }
    return last;
}

static double potential(const Clustering *c) {
    double sum = 0.0;
    for (index_t i = 0; i < c->n; i++) sum += c->weights[i] * c->closest[i];
    return sum;
}

/* Return the weighted sum of squared distances to the centers after adding one with the distances `c->distance`. */
static double lowered_potential(const Clustering *c) {
    double sum = 0.0;
    for (index_t i = 0; i < c->n; i++) sum += c->weights[i] * smaller(c->distance[i], c->closest[i]);
    return sum;
}

/* Select the initial centers. Each center is the best of several objects, which are drawn with probabilities
 * proportional to their squared distances to the previous centers. */
static void first_centers(const Clustering *c, index_t trials, const double *draws) {
    for (index_t i = 0; i < c->n; i++) c->closest[i] = 1.0;
    object(c, draw_object(c, potential(c), draws[0]), c->centers);
    distances(c, c->centers, 0, c->n, c->closest);
    for (index_t k = 1; k < c->k; k++) {
        double *center = c->centers + k * c->d, total = potential(c), best = INFINITY;
        index_t chosen = 0;
        for (index_t t = 0; t < trials; t++) {
            index_t candidate = draw_object(c, total, draws[k * trials + t]);
            object(c, candidate, center);
            distances(c, center, 0, c->n, c->distance);
            double lowered = lowered_potential(c);
            if (lowered < best) {
                best = lowered;
                chosen = candidate;
            }
        }
        object(c, chosen, center);
        distances(c, center, 0, c->n, c->distance);
        for (index_t i = 0; i < c->n; i++) c->closest[i] = smaller(c->distance[i], c->closest[i]);
    }
}

/* ---- Lloyd's iterations --------------------------------------------------------------------------------------- */

static void take_nearer(index_t b, index_t k, const double *restrict distance, double *restrict closest,
                        index_t *restrict labels) {
    for (index_t i = 0; i < b; i++) {
        labels[i] = distance[i] < closest[i] ? k : labels[i];
        closest[i] = smaller(distance[i], closest[i]);
    }
}

/* Assign every object to its nearest center, the first one in case of ties. */
static void assign(const Clustering *c) {
    for (index_t start = 0; start < c->n; start += BLOCK) {
        index_t b = c->n - start < BLOCK ? c->n - start : BLOCK;
        for (index_t i = start; i < start + b; i++) c->closest[i] = INFINITY, c->labels[i] = 0;
        for (index_t k = 0; k < c->k; k++) {
            distances(c, c->centers + k * c->d, start, b, c->distance);
            take_nearer(b, k, c->distance, c->closest + start, c->labels + start);
        }
    }
}

/* Move the center of an empty cluster to the object that is farthest from its own center. */
static void relocate(const Clustering *c, index_t k) {
    index_t farthest = 0;
    for (index_t i = 1; i < c->n; i++)
        if (c->weights[i] * c->closest[i] > c->weights[farthest] * c->closest[farthest]) farthest = i;
    object(c, farthest, c->sums + k * c->d);
    c->closest[farthest] = 0.0;
}

/* Move each center to the mean of its objects; return the sum of the squared distances of the moves. */
static double move_centers(const Clustering *c) {
    for (index_t k = 0; k < c->k; k++) c->sizes[k] = 0.0;
    for (index_t e = 0; e < c->k * c->d; e++) c->sums[e] = 0.0;
    for (index_t i = 0; i < c->n; i++) c->sizes[c->labels[i]] += c->weights[i];
    for (index_t j = 0; j < c->d; j++)
        for (index_t i = 0; i < c->n; i++)
            c->sums[c->labels[i] * c->d + j] += c->weights[i] * c->columns[j * c->n + i];
    double moved = 0.0;
    for (index_t k = 0; k < c->k; k++) {
        double *mean = c->sums + k * c->d, *center = c->centers + k * c->d;
        if (!(c->sizes[k] > 0.0)) relocate(c, k);
        for (index_t j = 0; j < c->d; j++) {
            if (c->sizes[k] > 0.0) mean[j] /= c->sizes[k];
            moved += (mean[j] - center[j]) * (mean[j] - center[j]);
            center[j] = mean[j];
        }
    }
    return moved;
}

/* Partition n objects into k clusters. `draws` (k, trials) contains uniform random numbers. The iterations end when the
 * sum of the squared distances of the moves of the centers is at most `tol`. */
KERNEL k_means(index_t n, index_t d, index_t k, index_t trials, const double *X, const double *weights,
               const double *draws, index_t max_iter, double tol, double *centers, index_t *labels) {
    Scratch scratch = {0};
    double *columns = take(&scratch, n * d, sizeof(double));
    Clustering c = {
        n, d, k, weights, columns, centers, labels,
        .closest = take(&scratch, n, sizeof(double)), .distance = take(&scratch, n, sizeof(double)),
        .sizes = take(&scratch, k, sizeof(double)), .sums = take(&scratch, k * d, sizeof(double)),
    };
    if (scratch.failed) return release(&scratch);
    for (index_t i = 0; i < n; i++)
        for (index_t j = 0; j < d; j++) columns[j * n + i] = X[i * d + j];
    first_centers(&c, trials, draws);
    assign(&c);
    for (index_t iteration = 0; iteration < max_iter; iteration++) {
        double moved = move_centers(&c);
        assign(&c);
        if (moved <= tol) break;
    }
    return release(&scratch);
}
