/* Masses of linked objects, computed by minimizing over one object after the other. */
#include "optimize/links.h"
#include "optimize/simplex_qp.h"

KERNEL settle_links(index_t f, index_t k, index_t n, index_t e, const double *H, const double *linear,
                    const index_t *rows, double *M, const index_t *indptr, const int32_t *indices,
                    const double *coefficients, const double *form, index_t max_iter, double tol) {
    (void)n, (void)e;
    Scratch scratch = {0};
    const Links links = {indptr, indices, coefficients, form};
    double *g = take(&scratch, f, sizeof *g), *x = take(&scratch, f, sizeof *x);
    double *linked = take(&scratch, f, sizeof *linked);
    SimplexQp qp = take_simplex_qp(&scratch, f);
    double largest = INFINITY; /* Largest change of a mass in a sweep. */
    for (index_t sweep = 0; sweep < max_iter && !(largest < tol) && !scratch.failed; sweep++) {
        largest = 0.0;
        for (index_t r = 0; r < k; r++) {
            double *m = M + rows[r] * f;
            for (index_t a = 0; a < f; a++) {
                g[a] = linear[r * f + a];
                x[a] = m[a];
            }
            add_links(rows[r], f, M, &links, linked, g);
            minimise_on_simplex(H, g, x, ample_iterations(f), &qp);
            for (index_t a = 0; a < f; a++) {
                largest = larger(largest, fabs(x[a] - m[a]));
                m[a] = x[a];
            }
        }
    }
    return release(&scratch);
}
