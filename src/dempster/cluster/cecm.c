/* Masses of objects with constraints, updated one object at a time.
 *
 * If the masses of all other objects are fixed, the best masses of an object are the solution of a diagonal quadratic
 * program on the simplex. Its linear term is the gradient of the constraint terms, which is the cost of the must-links
 * and cannot-links of the object for a unit of mass on each set. */
#include "optimize/diagonal_qp.h"

typedef struct {
    index_t f;
    const index_t *indptr, *indices; /* objects linked to each object */
    const double *sign;              /* positive for must-links */
    const double *must, *cannot;     /* (f, f) costs of a link, for unit masses of its objects on two sets */
    double *around;                  /* (2, f) work space for sums of the masses of linked objects */
} Links;

static Links take_links(Scratch *scratch, index_t f, const index_t *indptr, const index_t *indices, const double *sign,
                        const double *must, const double *cannot) {
    return (Links){f, indptr, indices, sign, must, cannot, take(scratch, 2 * f, sizeof(double))};
}

/* Add factor * row to `out`. Many factors are zero, because many masses are zero. */
static inline void add_row(index_t f, double factor, const double *row, double *restrict out) {
    if (factor == 0) return;
    for (index_t q = 0; q < f; q++) out[q] += factor * row[q];
}

/* Compute the gradient of the constraint terms with respect to the masses of object i. */
static void find_gradient(const Links *links, index_t i, const double *masses, double *out) {
    const index_t f = links->f;
    double *required = links->around, *forbidden = links->around + f;
    memset(links->around, 0, sizeof(double) * (size_t)(2 * f));
    for (index_t e = links->indptr[i]; e < links->indptr[i + 1]; e++)
        add_row(f, 1.0, masses + links->indices[e] * f, links->sign[e] > 0 ? required : forbidden);
    memset(out, 0, sizeof(double) * (size_t)f);
    for (index_t r = 0; r < f; r++) {
        add_row(f, required[r], links->must + r * f, out);
        add_row(f, forbidden[r], links->cannot + r * f, out);
    }
}

/* Sweep over the objects until no mass changes by more than `settled`, and return the number of sweeps. `costs` (n, f)
 * are the costs of the squared masses, and `penalty` (n, f) the costs of the masses. */
KERNEL sweep_links(index_t n, index_t f, index_t e, const double *costs, const double *penalty, const index_t *indptr,
                   const index_t *indices, const double *sign, const double *must, const double *cannot, double *masses,
                   index_t max_sweeps, double settled, index_t *result) {
    (void)e;
    Scratch scratch = {0};
    const Links links = take_links(&scratch, f, indptr, indices, sign, must, cannot);
    double *linear = take(&scratch, f, sizeof *linear), *best = take(&scratch, f, sizeof *best);
    index_t *heap = take(&scratch, f, sizeof *heap), done = 0;
    if (scratch.failed) return release(&scratch);
    for (double change = INFINITY; done < max_sweeps && change > settled; done++) {
        change = 0.0;
        for (index_t i = 0; i < n; i++) {
            double *row = masses + i * f;
            find_gradient(&links, i, masses, linear);
            for (index_t q = 0; q < f; q++) linear[q] += penalty[i * f + q];
            minimise_diagonal(f, costs + i * f, linear, best, heap);
            for (index_t q = 0; q < f; q++) {
                change = larger(fabs(best[q] - row[q]), change);
                row[q] = best[q];
            }
        }
    }
    *result = done;
    return release(&scratch);
}

/* Return the sum of the constraint terms and the penalties. Each pair occurs twice, hence the factor 1/2. */
KERNEL link_terms(index_t n, index_t f, index_t e, const double *masses, const double *penalty, const index_t *indptr,
                  const index_t *indices, const double *sign, const double *must, const double *cannot,
                  double *result) {
    (void)e;
    Scratch scratch = {0};
    const Links links = take_links(&scratch, f, indptr, indices, sign, must, cannot);
    double *linear = take(&scratch, f, sizeof *linear), total = 0.0;
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        find_gradient(&links, i, masses, linear);
        for (index_t q = 0; q < f; q++) total += masses[i * f + q] * (0.5 * linear[q] + penalty[i * f + q]);
    }
    *result = total;
    return release(&scratch);
}
