/* Part of ecm.c, included once for each type `real` of the data. */
#include "cluster/mass_step.h"

#define Lanes TYPED(Lanes)
#define LANES ((index_t)(VECTOR / sizeof(real)))

/* Barycenters and metrics of the sets, and work space. */
typedef struct {
    index_t p, g;            /* numbers of attributes and nonempty sets */
    const real *barycentres; /* (p, g) barycenters of the sets */
    const real *metrics;     /* (p, p, g) metric of each set, or NULL if Euclidean */
    real *x;                 /* (1 + p, TILE) a row of ones, then the transposed objects of a tile */
    real *costs;             /* (g, TILE) costs of the sets for the objects of a tile */
    real *gaps;              /* (p, FEW, LANES) objects minus a barycenter, for an adaptive metric */
} TYPED(Prototypes);
#define Prototypes TYPED(Prototypes)

static Prototypes TYPED(take_prototypes)(Scratch *scratch, index_t p, index_t g, const real *barycentres,
                                         const real *metrics) {
    const Prototypes v = {
        .p = p,
        .g = g,
        .barycentres = barycentres,
        .metrics = metrics,
        .x = take(scratch, (1 + p) * TILE, sizeof(real)),
        .costs = take(scratch, g * TILE, sizeof(real)),
        .gaps = metrics ? take(scratch, p * FEW * LANES, sizeof(real)) : NULL,
    };
    for (index_t r = 0; r < TILE && !scratch->failed; r++) v.x[r] = 1;
    return v;
}

/* ---- costs ---------------------------------------------------------------------------------------------------- */

/* Compute the squared distances sum_d gap_d (s_dd gap_d + 2 sum_e<d s_de gap_e) in the metric s of the set j. */
static void TYPED(adaptive_costs)(const Prototypes *v, index_t j, index_t first) {
    Lanes *gaps = (Lanes *)v->gaps, sums[FEW] = {{0}};
    for (index_t d = 0; d < v->p; d++) {
        const Lanes *x = (const Lanes *)(v->x + (1 + d) * TILE + first);
        Lanes images[FEW] = {{0}};
        for (index_t e = 0; e < d; e++) {
            const real twice = 2 * v->metrics[(d * v->p + e) * v->g + j];
            for (int k = 0; k < FEW; k++) images[k] += twice * gaps[e * FEW + k];
        }
        for (int k = 0; k < FEW; k++) {
            const Lanes gap = x[k] - v->barycentres[d * v->g + j];
            gaps[d * FEW + k] = gap;
            sums[k] += (images[k] + v->metrics[(d * v->p + d) * v->g + j] * gap) * gap;
        }
    }
    for (int k = 0; k < FEW; k++) sums[k] = TYPED(select)((TYPED(Bits))(sums[k] < 0), (Lanes){0}, sums[k]);
    memcpy(v->costs + j * TILE + first, sums, sizeof sums);
}

/* Compute the costs of up to TILE objects of X (n, p). */
static void TYPED(find_costs)(const Prototypes *v, const real *X, index_t rows) {
    TYPED(fill_tile)(v->p, X, rows, v->x + TILE);
    if (!v->metrics) TYPED(tile_distances)(v->p, v->x + TILE, v->g, v->barycentres, v->g, v->costs);
    for (index_t first = 0; v->metrics && first < TILE; first += FEW * LANES)
        for (index_t j = 0; j < v->g; j++) TYPED(adaptive_costs)(v, j, first);
}

/* Add the sums of m x_d x_e over a tile to `second` (p, p, g), for all attributes d >= e. */
static void TYPED(add_second)(const Prototypes *v, const real *m, real *products, double *second) {
    for (index_t d = 0; d < v->p; d++) {
        const real *restrict left = v->x + (1 + d) * TILE;
        for (index_t e = 0; e <= d; e++) {
            const real *restrict right = v->x + (1 + e) * TILE;
            real *restrict row = products + e * TILE;
            for (index_t r = 0; r < TILE; r++) row[r] = left[r] * right[r];
        }
        TYPED(add_products)(d + 1, products, v->g, m, second + d * v->p * v->g);
    }
}

/* ---- functions called from Python ----------------------------------------------------------------------------- */

/* Return the objective. Write the sums over objects x with masses m of m^beta, of m^beta x and, for an adaptive metric,
 * of m^beta x x' (lower triangle; the upper triangle is zero). */
KERNEL TYPED(prototype_sums)(index_t n, index_t p, index_t g, const real *X, const double *weights,
                             const real *barycentres, const real *metrics, const real *factor, const index_t *size,
                             double delta2, double beta, double zero, double *total, double *first, double *second,
                             double *result) {
    Scratch scratch = {0};
    const Prototypes v = TYPED(take_prototypes)(&scratch, p, g, barycentres, metrics);
    const TYPED(MassStep) step = TYPED(take_mass_step)(&scratch, g, factor, size, delta2, beta, zero);
    double *sums = take_zeros(&scratch, (1 + p) * g, sizeof *sums), objective = 0.0;
    real *products = metrics ? take(&scratch, p * TILE, sizeof *products) : NULL;
    if (metrics) memset(second, 0, sizeof(double) * (size_t)(p * p * g));
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        TYPED(find_costs)(&v, X + i * p, rows);
        objective += TYPED(find_powers)(&step, rows, v.costs, weights ? weights + i : NULL);
        TYPED(add_products)(1 + p, v.x, g, step.shares, sums);
        if (metrics) TYPED(add_second)(&v, step.shares, products, second);
    }
    if (!scratch.failed) {
        memcpy(total, sums, sizeof(double) * (size_t)g);
        memcpy(first, sums + g, sizeof(double) * (size_t)(p * g));
    }
    *result = objective;
    return release(&scratch);
}

/* Write the masses of the objects, one column for each focal set. */
KERNEL TYPED(prototype_masses)(index_t n, index_t p, index_t g, index_t f, const real *X, const real *barycentres,
                               const real *metrics, const real *factor, const index_t *size, double delta2, double beta,
                               double zero, const index_t *columns, index_t empty_column, real *out) {
    Scratch scratch = {0};
    const Prototypes v = TYPED(take_prototypes)(&scratch, p, g, barycentres, metrics);
    const TYPED(MassStep) step = TYPED(take_mass_step)(&scratch, g, factor, size, delta2, beta, zero);
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        TYPED(find_costs)(&v, X + i * p, rows);
        TYPED(find_masses)(&step, v.costs);
        for (index_t r = 0; r < rows; r++) {
            real *row = out + (i + r) * f;
            for (index_t j = 0; j < g; j++) row[columns[j]] = step.shares[j * TILE + r];
            if (empty_column >= 0) row[empty_column] = step.empty[r];
        }
    }
    return release(&scratch);
}

/* Write the (n, g) squared distances of all objects to all barycenters. */
KERNEL TYPED(squared_distances)(index_t n, index_t p, index_t g, const real *X, const real *barycentres,
                                const real *metrics, real *out) {
    Scratch scratch = {0};
    const Prototypes v = TYPED(take_prototypes)(&scratch, p, g, barycentres, metrics);
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        TYPED(find_costs)(&v, X + i * p, rows);
        for (index_t r = 0; r < rows; r++)
            for (index_t j = 0; j < g; j++) out[(i + r) * g + j] = v.costs[j * TILE + r];
    }
    return release(&scratch);
}

#undef Lanes
#undef LANES
#undef Prototypes
#undef real
#undef whole
#undef SUFFIX
