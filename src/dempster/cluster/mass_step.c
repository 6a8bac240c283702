/* The mass step for given costs; the formulas are in mass_step.h. */
#include "_native/native.h"
#include "_native/vectors.h"

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/mass_step.h"

/* Write the masses of n objects and return the objective. Negative costs are rounding errors and count as zero. */
KERNEL masses_from_costs(index_t n, index_t g, const double *costs, const double *weights, const double *factor,
                         const index_t *size, double delta2, double beta, double zero, double *masses, double *empty,
                         double *result) {
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    double *tile = take_zeros(&scratch, g * TILE, sizeof *tile), objective = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        for (index_t r = 0; r < rows; r++)
            for (index_t j = 0; j < g; j++) tile[j * TILE + r] = larger(costs[(i + r) * g + j], 0);
        find_masses_f64(&step, tile);
        objective += sum_minima_f64(&step, rows, weights ? weights + i : NULL);
        for (index_t r = 0; r < rows; r++)
            for (index_t j = 0; j < g; j++) masses[(i + r) * g + j] = step.shares[j * TILE + r];
        memcpy(empty + i, step.empty, sizeof(double) * (size_t)rows);
    }
    *result = objective;
    return release(&scratch);
}
