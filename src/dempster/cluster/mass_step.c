/* The mass step for given costs; the formulas are in mass_step.h. */
#include "_native/native.h"

#define real double
#define SUFFIX f64
#include "cluster/mass_step.h"

/* Write the masses of n objects and return the objective. Negative costs are rounding errors and count as zero. */
KERNEL masses_from_costs(index_t n, index_t g, const double *costs, const double *weights, const double *factor,
                         const index_t *size, double delta2, double beta, double zero, double *masses, double *empty,
                         double *result) {
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    double *row = take(&scratch, g, sizeof *row), objective = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        for (index_t j = 0; j < g; j++) row[j] = costs[i * g + j] < 0 ? 0 : costs[i * g + j];
        const double minimum = masses_of_row_f64(&step, row, masses + i * g, empty + i);
        objective += minimum * (weights ? weights[i] : 1.0);
    }
    *result = objective;
    return release(&scratch);
}
