/* Masses from squared distances to barycenters, in which every attribute has a weight. */
#include "_native/native.h"
#include "_native/vectors.h"

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/mass_step.h"

typedef double Lanes __attribute__((vector_size(VECTOR), may_alias));
enum { LANES = VECTOR / sizeof(double), ROWS = 4, CLUSTERS = 2 * LANES }; /* compared at once, in registers */

typedef struct {
    index_t p, c, stride, g; /* numbers of attributes, clusters, clusters with padding, nonempty sets */
    const double *roots;     /* (p,) square roots of the weights of the attributes */
    const double *centers;   /* (p, stride) prototypes times roots */
    const index_t *offsets;  /* (g + 1,) index in `members` of the first cluster of each set */
    const index_t *members;  /* clusters of all sets, one set after another */
    const double *inside;    /* (g,) half the mean squared distance between the prototypes of each set */
    double *x;               /* (p, ROWS) transposed objects times roots */
    double *near;            /* (ROWS, stride) squared distances to the prototypes */
    double *costs;           /* (g, TILE) costs of the sets for the objects of a tile */
} Views;

static Views take_views(Scratch *scratch, index_t p, index_t c, index_t g, const double *roots, const double *centers,
                          const index_t *offsets, const index_t *members, const double *inside) {
    const index_t stride = (c + CLUSTERS - 1) / CLUSTERS * CLUSTERS;
    double *padded = take_zeros(scratch, p * stride, sizeof *padded);
    for (index_t d = 0; padded && d < p; d++) memcpy(padded + d * stride, centers + d * c, sizeof(double) * (size_t)c);
    return (Views){.p = p,
                   .c = c,
                   .stride = stride,
                   .g = g,
                   .roots = roots,
                   .centers = padded,
                   .offsets = offsets,
                   .members = members,
                   .inside = inside,
                   .x = take(scratch, p * ROWS, sizeof(double)),
                   .near = take(scratch, ROWS * stride, sizeof(double)),
                   .costs = take_zeros(scratch, g * TILE, sizeof(double))};
}

static inline Lanes load(const double *at) {
    Lanes out;
    memcpy(&out, at, sizeof out);
    return out;
}

/* Compute the squared distances of up to ROWS objects to the prototypes. */
static void compute_distances(const Views *v, index_t rows, const double *X) {
    const index_t p = v->p;
    for (index_t r = 0; r < ROWS; r++)
        for (index_t d = 0; d < p; d++) v->x[d * ROWS + r] = r < rows ? X[r * p + d] * v->roots[d] : 0.0;
    for (index_t k = 0; k < v->stride; k += CLUSTERS) {
        Lanes left[ROWS] = {{0.0}}, right[ROWS] = {{0.0}};
        for (index_t d = 0; d < p; d++) {
            const double *at = v->centers + d * v->stride + k;
            const Lanes a = load(at), b = load(at + LANES);
            for (int r = 0; r < ROWS; r++) {
                const double x = v->x[d * ROWS + r];
                left[r] += (x - a) * (x - a);
                right[r] += (x - b) * (x - b);
            }
        }
        for (int r = 0; r < ROWS; r++) {
            memcpy(v->near + r * v->stride + k, left + r, sizeof(Lanes));
            memcpy(v->near + r * v->stride + k + LANES, right + r, sizeof(Lanes));
        }
    }
}

/* Compute the squared distances of the objects of a tile to the barycenters of the sets. By Huygens' theorem, this is
 * the mean squared distance to the prototypes of a set minus the dispersion of the prototypes. */
static void compute_costs(const Views *v, index_t rows, const double *X) {
    for (index_t i = 0; i < rows; i++) {
        const double *near = v->near + i % ROWS * v->stride;
        if (i % ROWS == 0) compute_distances(v, rows - i < ROWS ? rows - i : ROWS, X + i * v->p);
        for (index_t j = 0; j < v->g; j++) {
            const index_t begin = v->offsets[j], end = v->offsets[j + 1];
            double sum = 0.0;
            for (index_t e = begin; e < end; e++) sum += near[v->members[e]];
            v->costs[j * TILE + i] = larger(sum / (double)(end - begin) - v->inside[j], 0.0);
        }
    }
}

/* Compute the objective, and m^beta times the weight of the object for the masses m of the nonempty sets. */
KERNEL view_powers(index_t n, index_t p, index_t c, index_t o, index_t t, index_t g, const double *X,
                   const double *weights, const double *roots, const double *centers, const index_t *offsets,
                   const index_t *members, const double *inside, const double *factor, const index_t *size,
                   double delta2, double beta, double zero, double *powers, double *result) {
    (void)o, (void)t;
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    const Views views = take_views(&scratch, p, c, g, roots, centers, offsets, members, inside);
    double objective = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        compute_costs(&views, rows, X + i * p);
        objective += find_powers_f64(&step, rows, views.costs, weights ? weights + i : NULL);
        for (index_t r = 0; r < rows; r++)
            for (index_t j = 0; j < g; j++) powers[(i + r) * g + j] = step.shares[j * TILE + r];
    }
    *result = objective;
    return release(&scratch);
}

/* Write the masses of the objects, one column for each focal set. */
KERNEL view_masses(index_t n, index_t p, index_t c, index_t o, index_t t, index_t g, index_t f, const double *X,
                   const double *roots, const double *centers, const index_t *offsets, const index_t *members,
                   const double *inside, const double *factor, const index_t *size, double delta2, double beta,
                   double zero, const index_t *columns, index_t empty_column, double *out) {
    (void)o, (void)t;
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    const Views views = take_views(&scratch, p, c, g, roots, centers, offsets, members, inside);
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        compute_costs(&views, rows, X + i * p);
        find_masses_f64(&step, views.costs);
        for (index_t r = 0; r < rows; r++) {
            double *row = out + (i + r) * f;
            for (index_t j = 0; j < g; j++) row[columns[j]] = step.shares[j * TILE + r];
            if (empty_column >= 0) row[empty_column] = step.empty[r];
        }
    }
    return release(&scratch);
}
