/* Part of ecm.c, included once for each type `real` of the data. */
#include "cluster/mass_step.h"

typedef real TYPED(Lanes) __attribute__((vector_size(VECTOR), may_alias));
#define Lanes TYPED(Lanes)
#define LANES ((index_t)(VECTOR / sizeof(real)))

/* Barycenters and metrics of the sets, and work space. */
typedef struct {
    index_t p, g, stride;    /* numbers of attributes, nonempty sets, and sets with padding */
    const real *barycentres; /* (p, stride) barycenters of the sets */
    const real *metrics;     /* (pairs, stride) metric of each set, or NULL if Euclidean */
    real *x;                 /* (1 + p, ROWS) a row of ones, then the transposed objects of a tile */
    real *costs;             /* (ROWS, stride) costs of the sets for the objects of a tile */
    real *gaps;              /* (p, FEW, LANES) objects minus barycenters, for an adaptive metric */
} TYPED(Prototypes);
#define Prototypes TYPED(Prototypes)

/* ---- preparations --------------------------------------------------------------------------------------------- */

/* Copy rows of g numbers into rows of `stride` numbers, padded with `filling`. */
static real *TYPED(padded)(Scratch *scratch, index_t rows, index_t g, index_t stride, const real *values,
                           real filling) {
    real *out = take(scratch, rows * stride, sizeof *out);
    for (index_t i = 0; out && i < rows; i++)
        for (index_t j = 0; j < stride; j++) out[i * stride + j] = j < g ? values[i * g + j] : filling;
    return out;
}

/* Return the lower triangles of `metrics` (p, p, g) by rows. Values off the diagonal are doubled, because the upper
 * triangles are left out. */
static real *TYPED(packed_metrics)(Scratch *scratch, index_t p, index_t g, index_t stride, const real *metrics) {
    real *out = take(scratch, p * (p + 1) / 2 * stride, sizeof *out), *row = out;
    for (index_t d = 0; out && d < p; d++)
        for (index_t e = 0; e <= d; e++, row += stride)
            for (index_t j = 0; j < stride; j++) row[j] = j < g ? (d == e ? 1 : 2) * metrics[(d * p + e) * g + j] : 1;
    return out;
}

static Prototypes TYPED(take_prototypes)(Scratch *scratch, index_t p, index_t g, const real *barycentres,
                                         const real *metrics) {
    const index_t stride = (g + TYPED(WIDE) - 1) / TYPED(WIDE) * TYPED(WIDE);
    return (Prototypes){
        .p = p,
        .g = g,
        .stride = stride,
        .barycentres = TYPED(padded)(scratch, p, g, stride, barycentres, (real)INFINITY),
        .metrics = metrics ? TYPED(packed_metrics)(scratch, p, g, stride, metrics) : NULL,
        .x = take(scratch, (1 + p) * ROWS, sizeof(real)),
        .costs = take(scratch, ROWS * stride, sizeof(real)),
        .gaps = metrics ? take(scratch, p * FEW * LANES, sizeof(real)) : NULL,
    };
}

/* Return the parameters of the mass step for sets with padding. */
static TYPED(MassStep) TYPED(take_padded_step)(Scratch *scratch, const Prototypes *v, const real *factor,
                                               const index_t *size, double delta2, double beta, double zero) {
    index_t *sizes = take(scratch, v->stride, sizeof *sizes);
    for (index_t j = 0; sizes && j < v->stride; j++) sizes[j] = j < v->g ? size[j] : INT64_MAX;
    factor = TYPED(padded)(scratch, 1, v->g, v->stride, factor, 1);
    if (scratch->failed) return (TYPED(MassStep)){0};
    return TYPED(take_mass_step)(scratch, v->stride, factor, sizes, delta2, beta, zero);
}

/* ---- costs ---------------------------------------------------------------------------------------------------- */

/* Compute the squared Euclidean distances of objects first, ..., first + FEW - 1 of the tile. */
static void TYPED(euclidean_costs)(const Prototypes *v, index_t first) {
    const index_t stride = v->stride;
    for (index_t j = 0; j < stride; j += LANES) {
        Lanes sums[FEW] = {{0}};
        for (index_t d = 0; d < v->p; d++) {
            const real *x = v->x + (1 + d) * ROWS + first;
            const Lanes center = *(const Lanes *)(v->barycentres + d * stride + j);
            for (int r = 0; r < FEW; r++) {
                const Lanes gap = x[r] - center;
                sums[r] += gap * gap;
            }
        }
        for (int r = 0; r < FEW; r++) *(Lanes *)(v->costs + (first + r) * stride + j) = sums[r];
    }
}

/* Compute the squared distances sum_d gap_d (sum_e<=d s_de gap_e) in the metric s of each set. */
static void TYPED(adaptive_costs)(const Prototypes *v, index_t first) {
    const index_t stride = v->stride;
    Lanes *gaps = (Lanes *)v->gaps;
    for (index_t j = 0; j < stride; j += LANES) {
        Lanes sums[FEW] = {{0}};
        const real *metric = v->metrics + j;
        for (index_t d = 0; d < v->p; d++) {
            const Lanes center = *(const Lanes *)(v->barycentres + d * stride + j);
            Lanes images[FEW] = {{0}};
            for (int r = 0; r < FEW; r++) gaps[d * FEW + r] = v->x[(1 + d) * ROWS + first + r] - center;
            for (index_t e = 0; e <= d; e++, metric += stride)
                for (int r = 0; r < FEW; r++) images[r] += *(const Lanes *)metric * gaps[e * FEW + r];
            for (int r = 0; r < FEW; r++) sums[r] += images[r] * gaps[d * FEW + r];
        }
        for (int r = 0; r < FEW; r++) *(Lanes *)(v->costs + (first + r) * stride + j) = sums[r];
    }
    real *costs = v->costs + first * stride;
    for (index_t j = 0; j < FEW * stride; j++) costs[j] = costs[j] < 0 ? 0 : costs[j];
}

/* Compute the costs of up to ROWS objects of X (n, p); a tile with fewer objects is padded with zeros. */
static void TYPED(find_costs)(const Prototypes *v, const real *X, index_t rows) {
    for (index_t r = 0; r < ROWS; r++) {
        v->x[r] = 1;
        for (index_t d = 0; d < v->p; d++) v->x[(1 + d) * ROWS + r] = r < rows ? X[r * v->p + d] : 0;
    }
    for (index_t first = 0; first < rows; first += FEW)
        (v->metrics ? TYPED(adaptive_costs) : TYPED(euclidean_costs))(v, first);
}

/* ---- sums ----------------------------------------------------------------------------------------------------- */

/* Compute parts_q = sum_r a_qr m_r over the objects r of a tile, for q < count. `count` is a compile-time constant, so
 * that the compiler keeps the sums in registers. */
ALWAYS_INLINE void TYPED(sum_tile)(int count, const real *a, const real *m, index_t stride, real *parts) {
    for (index_t j = 0; j < stride; j += LANES) {
        Lanes sums[FEW] = {{0}};
        for (int r = 0; r < ROWS; r++) {
            const Lanes row = *(const Lanes *)(m + r * stride + j);
            for (int q = 0; q < count; q++) sums[q] += a[q * ROWS + r] * row;
        }
        for (int q = 0; q < count; q++) *(Lanes *)(parts + q * stride + j) = sums[q];
    }
}

/* Add sum_r a_qr m_r to row q of `sums`. The shape of `a` is (count, ROWS), the shape of `m` is (ROWS, stride). */
static void TYPED(add_products)(index_t count, const real *a, const real *m, index_t stride, real *restrict parts,
                                double *restrict sums) {
    while (count > 0) {
        const index_t some = count >= FEW ? FEW : count >= 4 ? 4 : count >= 2 ? 2 : 1;
        if (some == FEW)
            TYPED(sum_tile)(FEW, a, m, stride, parts);
        else if (some == 4)
            TYPED(sum_tile)(4, a, m, stride, parts);
        else if (some == 2)
            TYPED(sum_tile)(2, a, m, stride, parts);
        else
            TYPED(sum_tile)(1, a, m, stride, parts);
        for (index_t j = 0; j < some * stride; j++) sums[j] += parts[j];
        count -= some;
        a += some * ROWS;
        sums += some * stride;
    }
}

/* Add the sums of m x_d x_e over a tile to `second`, for all attributes d >= e. */
static void TYPED(add_second)(const Prototypes *v, const real *m, real *parts, double *second) {
    real products[FEW * ROWS];
    index_t held = 0;
    for (index_t d = 1; d <= v->p; d++)
        for (index_t e = 1; e <= d; e++) {
            for (int r = 0; r < ROWS; r++) products[held * ROWS + r] = v->x[d * ROWS + r] * v->x[e * ROWS + r];
            if (++held < FEW) continue;
            TYPED(add_products)(FEW, products, m, v->stride, parts, second);
            second += FEW * v->stride;
            held = 0;
        }
    TYPED(add_products)(held, products, m, v->stride, parts, second);
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
    const TYPED(MassStep) step = TYPED(take_padded_step)(&scratch, &v, factor, size, delta2, beta, zero);
    const index_t stride = v.stride, pairs = metrics ? p * (p + 1) / 2 : 0;
    real *m = take(&scratch, ROWS * stride, sizeof *m), *parts = take(&scratch, FEW * stride, sizeof *parts);
    double *sums = take_zeros(&scratch, (1 + p + pairs) * stride, sizeof *sums), objective = 0.0;
    if (scratch.failed) return release(&scratch);
    for (index_t i = 0; i < n; i += ROWS) {
        const index_t rows = n - i < ROWS ? n - i : ROWS;
        TYPED(find_costs)(&v, X + i * p, rows);
        for (index_t r = 0; r < ROWS; r++) {
            const double weight = r >= rows ? 0.0 : weights ? weights[i + r] : 1.0;
            if (weight == 0)
                memset(m + r * stride, 0, sizeof(real) * (size_t)stride);
            else
                objective += TYPED(powers_of_row)(&step, v.costs + r * stride, weight, m + r * stride);
        }
        TYPED(add_products)(1 + p, v.x, m, stride, parts, sums);
        if (metrics) TYPED(add_second)(&v, m, parts, sums + (1 + p) * stride);
    }
    for (index_t j = 0; j < g; j++) {
        total[j] = sums[j];
        for (index_t d = 0; d < p; d++) {
            first[d * g + j] = sums[(1 + d) * stride + j];
            for (index_t e = 0; metrics && e < p; e++)
                second[(d * p + e) * g + j] = e <= d ? sums[(1 + p + d * (d + 1) / 2 + e) * stride + j] : 0;
        }
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
    const TYPED(MassStep) step = TYPED(take_padded_step)(&scratch, &v, factor, size, delta2, beta, zero);
    real *masses = take(&scratch, v.stride, sizeof *masses);
    for (index_t i = 0; i < n && !scratch.failed; i += ROWS) {
        const index_t rows = n - i < ROWS ? n - i : ROWS;
        TYPED(find_costs)(&v, X + i * p, rows);
        for (index_t r = 0; r < rows; r++) {
            real *row = out + (i + r) * f, empty;
            TYPED(masses_of_row)(&step, v.costs + r * v.stride, masses, &empty);
            for (index_t j = 0; j < g; j++) row[columns[j]] = masses[j];
            if (empty_column >= 0) row[empty_column] = empty;
        }
    }
    return release(&scratch);
}

/* Write the (n, g) squared distances of all objects to all barycenters. */
KERNEL TYPED(squared_distances)(index_t n, index_t p, index_t g, const real *X, const real *barycentres,
                                const real *metrics, real *out) {
    Scratch scratch = {0};
    const Prototypes v = TYPED(take_prototypes)(&scratch, p, g, barycentres, metrics);
    for (index_t i = 0; i < n && !scratch.failed; i += ROWS) {
        const index_t rows = n - i < ROWS ? n - i : ROWS;
        TYPED(find_costs)(&v, X + i * p, rows);
        for (index_t r = 0; r < rows; r++)
            memcpy(out + (i + r) * g, v.costs + r * v.stride, sizeof(real) * (size_t)g);
    }
    return release(&scratch);
}

#undef Lanes
#undef LANES
#undef Prototypes
#undef real
#undef SUFFIX
