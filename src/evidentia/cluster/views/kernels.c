/* Squared distances to barycentres in which every attribute has a weight, and the masses that follow. */
#include "_native/native.h"

#define real double
#define SUFFIX f64
#include "cluster/mass_step.h"

enum { ROWS = 4, SETS = 8 }; /* objects and sets that are compared at once, in registers */

typedef struct {
    index_t p, g;
    const double *roots;       /* (p,) square roots of the weights of the attributes */
    const double *barycentres; /* (p, g) times these roots */
    double *x;                 /* (ROWS, p) objects, times these roots */
    double *costs;             /* (ROWS, g) */
} Places;

static Places take_places(Scratch *scratch, index_t p, index_t g, const double *roots, const double *barycentres) {
    double *x = take(scratch, ROWS * p, sizeof *x), *costs = take(scratch, ROWS * g, sizeof *costs);
    return (Places){p, g, roots, barycentres, x, costs};
}

/* Costs of a few objects, of which there are `rows`. */
static void find_costs(const Places *v, index_t rows, const double *X) {
    const index_t p = v->p, g = v->g, whole = g - g % SETS;
    for (index_t r = 0; r < ROWS; r++)
        for (index_t d = 0; d < p; d++) v->x[r * p + d] = r < rows ? X[r * p + d] * v->roots[d] : 0.0;
    for (index_t j = 0; j < whole; j += SETS) {
        double sums[ROWS][SETS] = {{0.0}};
        for (index_t d = 0; d < p; d++) {
            const double *restrict at = v->barycentres + d * g + j;
            for (int r = 0; r < ROWS; r++)
                for (int lane = 0; lane < SETS; lane++) {
                    const double gap = v->x[r * p + d] - at[lane];
                    sums[r][lane] += gap * gap;
                }
        }
        for (int r = 0; r < ROWS; r++) memcpy(v->costs + r * g + j, sums[r], sizeof sums[r]);
    }
    for (index_t j = whole; j < g; j++)
        for (int r = 0; r < ROWS; r++) {
            double sum = 0.0;
            for (index_t d = 0; d < p; d++) {
                const double gap = v->x[r * p + d] - v->barycentres[d * g + j];
                sum += gap * gap;
            }
            v->costs[r * g + j] = sum;
        }
}

/* The objective, and the masses of the nonempty sets to the power beta, times the weights of the objects. */
KERNEL view_powers(index_t n, index_t p, index_t g, const double *X, const double *weights, const double *roots,
                   const double *barycentres, const double *factor, const index_t *size, double delta2, double beta,
                   double zero, double *powers, double *result) {
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    const Places places = take_places(&scratch, p, g, roots, barycentres);
    double objective = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i += ROWS) {
        const index_t rows = n - i < ROWS ? n - i : ROWS;
        find_costs(&places, rows, X + i * p);
        for (index_t r = 0; r < rows; r++)
            objective += powers_of_row_f64(&step, places.costs + r * g, weights ? weights[i + r] : 1.0,
                                           powers + (i + r) * g);
    }
    *result = objective;
    return release(&scratch);
}

/* Masses of the objects, into the columns of the family. */
KERNEL view_masses(index_t n, index_t p, index_t g, index_t f, const double *X, const double *roots,
                   const double *barycentres, const double *factor, const index_t *size, double delta2, double beta,
                   double zero, const index_t *columns, index_t empty_column, double *out) {
    Scratch scratch = {0};
    const MassStep_f64 step = take_mass_step_f64(&scratch, g, factor, size, delta2, beta, zero);
    const Places places = take_places(&scratch, p, g, roots, barycentres);
    double *masses = take(&scratch, g, sizeof *masses), empty;
    for (index_t i = 0; i < n && !scratch.failed; i += ROWS) {
        const index_t rows = n - i < ROWS ? n - i : ROWS;
        find_costs(&places, rows, X + i * p);
        for (index_t r = 0; r < rows; r++) {
            double *row = out + (i + r) * f;
            masses_of_row_f64(&step, places.costs + r * g, masses, &empty);
            for (index_t j = 0; j < g; j++) row[columns[j]] = masses[j];
            if (empty_column >= 0) row[empty_column] = empty;
        }
    }
    return release(&scratch);
}
