/* Kernels of categorical evidential c-means; the attributes of an object are category numbers. */
#include "_native/native.h"
#include "_native/vectors.h"

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/mass_step.h"

/* Compute the mismatches (g, TILE) of the objects of a tile with each set: the number of attributes in which an object
 * differs from a prototype, averaged over the clusters of the set. The number -1 is an unknown category, which differs
 * from all prototypes. */
static void find_mismatches(index_t p, index_t g, index_t rows, const index_t *codes, const double *table,
                            double *restrict costs) {
    memset(costs, 0, sizeof *costs * (size_t)(g * TILE));
    for (index_t r = 0; r < rows; r++)
        for (index_t d = 0; d < p; d++) {
            const index_t code = codes[r * p + d];
            for (index_t j = 0; j < g; j++) costs[j * TILE + r] += code < 0 ? 1.0 : table[code * g + j];
        }
}

/* Return the objective. Write to `counts` how much the cost decreases if the prototype of a cluster has a category. */
KERNEL category_sums(index_t n, index_t p, index_t categories, index_t g, index_t c, const index_t *codes,
                     const double *weights, const double *table, const double *share, const double *factor,
                     const index_t *size, double delta2, double beta, double zero, double *counts, double *result) {
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    double *costs = take(&scratch, g * TILE, sizeof *costs);
    double *restrict pull = take(&scratch, c, sizeof *pull), objective = 0.0;
    for (index_t k = 0; k < categories * c; k++) counts[k] = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        const index_t r = i % TILE, rows = n - i < TILE ? n - i : TILE;
        if (r == 0) {
            find_mismatches(p, g, rows, codes + i * p, table, costs);
            objective += find_powers_f64(&step, rows, costs, weights + i);
        }
        for (index_t k = 0; k < c; k++) pull[k] = 0.0;
        for (index_t j = 0; j < g; j++) {
            const double power = step.shares[j * TILE + r];
            if (!(power > 0)) continue;
            for (index_t k = 0; k < c; k++) pull[k] += share[j * c + k] * power;
        }
        for (index_t d = 0; d < p; d++) {
            double *restrict row = counts + codes[i * p + d] * c;
            for (index_t k = 0; k < c; k++) row[k] += pull[k];
        }
    }
    *result = objective;
    return release(&scratch);
}

/* Write the masses of the objects, one column for each focal set. */
KERNEL category_masses(index_t n, index_t p, index_t categories, index_t g, index_t f, const index_t *codes,
                       const double *table, const double *factor, const index_t *size, double delta2, double beta,
                       double zero, const index_t *columns, index_t empty_column, double *out) {
    (void)categories;
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    double *costs = take(&scratch, g * TILE, sizeof *costs);
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        double *row = out + i * f;
        const index_t r = i % TILE, rows = n - i < TILE ? n - i : TILE;
        if (r == 0) {
            find_mismatches(p, g, rows, codes + i * p, table, costs);
            find_masses_f64(&step, costs);
        }
        for (index_t j = 0; j < g; j++) row[columns[j]] = step.shares[j * TILE + r];
        if (empty_column >= 0) row[empty_column] = step.empty[r];
    }
    return release(&scratch);
}
