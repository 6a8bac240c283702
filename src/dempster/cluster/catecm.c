/* Kernels of categorical evidential c-means; the attributes of an object are category numbers. */
#include "_native/native.h"

#define real double
#define SUFFIX f64
#include "cluster/mass_step.h"

/* Compute the mismatch of an object with each set: the number of attributes in which it differs from a prototype,
 * averaged over the clusters of the set. The number -1 is an unknown category, which differs from all prototypes. */
static void find_mismatches(index_t p, index_t g, const index_t *row, const double *table, double *restrict costs) {
    for (index_t j = 0; j < g; j++) costs[j] = 0.0;
    for (index_t d = 0; d < p; d++) {
        const double *level = row[d] < 0 ? NULL : table + row[d] * g;
        for (index_t j = 0; j < g; j++) costs[j] += level ? level[j] : 1.0;
    }
}

/* Return the objective. Write to `counts` how much the cost decreases if the prototype of a cluster has a category. */
KERNEL category_sums(index_t n, index_t p, index_t categories, index_t g, index_t c, const index_t *codes,
                     const double *weights, const double *table, const double *share, const double *factor,
                     const index_t *size, double delta2, double beta, double zero, double *counts, double *result) {
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    double *costs = take(&scratch, g, sizeof *costs), *powers = take(&scratch, g, sizeof *powers);
    double *restrict pull = take(&scratch, c, sizeof *pull), objective = 0.0;
    for (index_t k = 0; k < categories * c; k++) counts[k] = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        find_mismatches(p, g, codes + i * p, table, costs);
        objective += powers_of_row_f64(&step, costs, weights[i], powers);
        for (index_t k = 0; k < c; k++) pull[k] = 0.0;
        for (index_t j = 0; j < g; j++) {
            if (!(powers[j] > 0)) continue;
            for (index_t k = 0; k < c; k++) pull[k] += share[j * c + k] * powers[j];
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
    double *costs = take(&scratch, g, sizeof *costs), *masses = take(&scratch, g, sizeof *masses);
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        double *row = out + i * f, empty;
        find_mismatches(p, g, codes + i * p, table, costs);
        masses_of_row_f64(&step, costs, masses, &empty);
        for (index_t j = 0; j < g; j++) row[columns[j]] = masses[j];
        if (empty_column >= 0) row[empty_column] = empty;
    }
    return release(&scratch);
}
