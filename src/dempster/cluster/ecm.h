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

/* Compute the squared Euclidean distances of FEW vectors of objects to the sets j, ..., j + sets - 1. */
ALWAYS_INLINE void TYPED(euclidean_costs)(const Prototypes *v, index_t j, const int sets, index_t first) {
    Lanes sums[2][FEW] = {{{0}}};
    for (index_t d = 0; d < v->p; d++) {
        const Lanes *x = (const Lanes *)(v->x + (1 + d) * TILE + first);
        for (int s = 0; s < sets; s++)
            for (int k = 0; k < FEW; k++) {
                const Lanes gap = x[k] - v->barycentres[d * v->g + j + s];
                sums[s][k] += gap * gap;
            }
    }
    for (int s = 0; s < sets; s++) memcpy(v->costs + (j + s) * TILE + first, sums[s], sizeof sums[s]);
}

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

/* Compute the costs of up to TILE objects of X (n, p); a tile with fewer objects is padded with zeros. */
static void TYPED(find_costs)(const Prototypes *v, const real *X, index_t rows) {
    for (index_t d = 0; d < v->p; d++) {
        real *column = v->x + (1 + d) * TILE;
        for (index_t r = 0; r < TILE; r++) column[r] = r < rows ? X[r * v->p + d] : 0;
    }
    for (index_t first = 0; first < TILE; first += FEW * LANES) {
        index_t j = 0;
        for (; v->metrics && j < v->g; j++) TYPED(adaptive_costs)(v, j, first);
        for (; j + 1 < v->g; j += 2) TYPED(euclidean_costs)(v, j, 2, first);
        if (j < v->g) TYPED(euclidean_costs)(v, j, 1, first);
    }
}

/* ---- sums ----------------------------------------------------------------------------------------------------- */

/* Add sum_r a_qr m_jr to sums_qj for q < rows and j < sets, over the objects r of a tile. A sum consists of 32 bytes
 * of partial sums, the same on all machines. */
ALWAYS_INLINE void TYPED(add_few_products)(const int rows, const int sets, const real *a, const real *m, index_t g,
                                           double *sums) {
    enum { PARTS = 32 / VECTOR, WIDE = 32 / sizeof(real) };
    Lanes parts[2][2][PARTS] = {{{{0}}}};
    for (index_t r = 0; r < TILE; r += WIDE)
        for (int part = 0; part < PARTS; part++)
            for (int q = 0; q < rows; q++)
                for (int s = 0; s < sets; s++)
                    parts[q][s][part] += *(const Lanes *)(a + q * TILE + r + part * LANES) *
                                         *(const Lanes *)(m + s * TILE + r + part * LANES);
    for (int q = 0; q < rows; q++)
        for (int s = 0; s < sets; s++) {
            real lanes[WIDE];
            memcpy(lanes, parts[q][s], sizeof lanes);
            for (int half = WIDE / 2; half > 0; half /= 2)
                for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
            sums[q * g + s] += lanes[0];
        }
}

/* Add the products of `count` rows of `a` (count, TILE) and of all rows of `m` (g, TILE) to `sums` (count, g). */
static void TYPED(add_products)(index_t count, const real *a, index_t g, const real *m, double *sums) {
    for (index_t q = 0; q < count; q += 2) {
        const bool two = q + 1 < count;
        index_t j = 0;
        for (; j + 1 < g; j += 2) {
            if (two) TYPED(add_few_products)(2, 2, a + q * TILE, m + j * TILE, g, sums + q * g + j);
            else TYPED(add_few_products)(1, 2, a + q * TILE, m + j * TILE, g, sums + q * g + j);
        }
        for (; j < g; j++) {
            if (two) TYPED(add_few_products)(2, 1, a + q * TILE, m + j * TILE, g, sums + q * g + j);
            else TYPED(add_few_products)(1, 1, a + q * TILE, m + j * TILE, g, sums + q * g + j);
        }
    }
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
