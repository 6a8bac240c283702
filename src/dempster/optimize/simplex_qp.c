/* Quadratic programs on the probability simplex, solved exactly by an active set method. The problem is to
 *
 *     minimize  1/2 x'Hx + g'x   subject to   x >= 0,  sum(x) = 1,
 *
 * with a small positive semidefinite matrix H, which is often singular. The minimizer usually has very few nonzero
 * entries, and a good guess of their indices is available (from the previous masses, or from the best vertex), so that
 * an active set method is fast.
 *
 * Algorithm. The *passive set* P contains the indices of the entries that may be positive. One of them, r, is
 * eliminated by x_r = 1 - (sum of the other entries). The remaining problem is unconstrained and has the Hessian H_ij -
 * H_ir - H_jr + H_rr. Adding a constant to H or to g does not change it. Its LDL' factorization gives the Newton step.
 * If the step leaves the simplex, it is shortened or projected to the boundary, and the indices of entries that become
 * zero are removed from P. Otherwise the index outside P with the largest predicted decrease is added to P. If there is
 * none, the point is the minimizer. Row j of the factorization depends only on the first j indices of P, so that rows
 * of the previous factorization can be reused. Adding an index costs O(|P|^2), and consecutive rows of a batch with the
 * same P share one factorization.
 *
 * Singular Hessians. If a pivot is zero up to rounding errors, a small ridge is added to the diagonal. The step is
 * then very long in directions of zero curvature, so that it reaches the boundary. It is zero at a minimizer, so
 * that repeated steps remove the effect of the ridge. */
#include "optimize/simplex_qp.h"

static const double FLAT = 1e-6;        /* A pivot below this share of its diagonal elements requires a ridge. */
static const double RIDGE = 1e-12;      /* Ridge, relative to these diagonal elements. */
static const double STATIONARY = 1e-13; /* Maximum relative difference of gradients at a stationary point. */
static const double ENTER = 1e-12;      /* An index is added if its relative reduced gradient is below -ENTER. */
static const double NEGLIGIBLE = 2e-16; /* A decreasing entry below this value is set to zero. */
enum { CROWD = 6 }; /* Initial points with more nonzero entries are compared with the best vertex. */

SimplexQp simplex_qp_in(index_t f, double *work, index_t *index) {
    return (SimplexQp){
        .f = f,
        .gradient = work,
        .linear = work + f,
        .mass = work + 2 * f,
        .step = work + 3 * f,
        .slope = work + 4 * f,
        .pivot = work + 5 * f,
        .shift = work + 6 * f,
        .trial = work + 7 * f,
        .block = work + 8 * f,
        .passive = index,
        .stored = index + f,
    };
}

SimplexQp take_simplex_qp(Scratch *scratch, index_t f) {
    double *work = take(scratch, (f + 8) * f, sizeof *work);
    index_t *index = take(scratch, 2 * f, sizeof *index);
    return scratch->failed ? (SimplexQp){0} : simplex_qp_in(f, work, index);
}

/* Return a value that replaces a pivot that is not positive despite the ridge. `shift` is set to the same value. */
static double replaced_pivot(const double *H, index_t f, double scale, double *shift) {
    if (scale > 0.0) { /* H is not positive semidefinite; a large pivot gives a short step. */
        *shift = scale;
    } else { /* H is zero here; a small pivot gives a long step. */
        for (index_t q = 0; q < f; q++) *shift = larger(*shift, RIDGE * H[q * f + q]);
        if (!(*shift > 0.0)) *shift = 1.0;
    }
    return *shift;
}

/* Compute the LDL' factorization of the reduced Hessian on the passive set, and reuse the first `known` rows. Return
 * the number of valid rows, which is m, or 0 if a pivot is too small and there is no ridge. */
static index_t factorise(const double *H, index_t m, index_t known, double ridge, SimplexQp *w) {
    const index_t f = w->f;
    double *B = w->block;
    index_t j = 0;
    while (j < known && j < m && w->stored[j] == w->passive[j]) j++;
    for (; j < m; j++) {
        const index_t p = w->passive[j];
        for (index_t i = 0; i <= j; i++) B[i * f + j] = H[p * f + w->passive[i]];
        if (j > 0) {
            const double corner = B[0], edge = B[j] - corner, scale = B[j * f + j] + corner;
            double shift = ridge * scale;
            double pivot = B[j * f + j] - B[j] - edge + shift;
            for (index_t i = 1; i < j; i++) {
                double u = B[i * f + j] - B[i] - edge;
                for (index_t k = 1; k < i; k++) u -= B[j * f + k] * B[i * f + k];
                B[j * f + i] = u;
            }
            for (index_t i = 1; i < j; i++) {
                const double u = B[j * f + i];
                B[j * f + i] = u * w->pivot[i];
                pivot -= u * B[j * f + i];
            }
            const bool lost = ridge == 0.0 && !(pivot > FLAT * scale);
            if (ridge != 0.0 && !(pivot > 0.0)) pivot = replaced_pivot(H, f, scale, &shift);
            w->pivot[j] = pivot > 0.0 ? 1.0 / pivot : 0.0;
            w->shift[j] = shift;
            if (lost) return 0;
        }
        w->stored[j] = p;
    }
    return j;
}

/* Move the index with the smallest H_pp to the first position, which is eliminated, if this avoids a loss of digits.
 * Return the number of rows of the factorization that are still valid. */
static index_t lead(const double *H, index_t m, index_t known, SimplexQp *w) {
    const index_t f = w->f;
    index_t least = 0;
    double smallest = INFINITY;
    for (index_t i = 0; i < m; i++) {
        const double h = H[w->passive[i] * (f + 1)];
        if (h < smallest) {
            smallest = h;
            least = i;
        }
    }
    if (least > 0 && (known == 0 || smallest < 0.1 * H[w->passive[0] * (f + 1)])) {
        const index_t p = w->passive[0];
        const double x = w->mass[0];
        w->passive[0] = w->passive[least];
        w->mass[0] = w->mass[least];
        w->passive[least] = p;
        w->mass[least] = x;
        known = 0;
    }
    return known;
}

/* Compute the Newton step on the passive set. Return its slope, which is 0 at a stationary point, and set
 * `curvature`. */
static double newton_step(index_t m, SimplexQp *w, double *curvature) {
    const index_t f = w->f;
    const double *B = w->block;
    double total = 0.0;
    for (index_t i = 0; i < m; i++) {
        double s = w->linear[w->passive[i]];
        const double size = fabs(s) + B[i * f + i];
        for (index_t j = 0; j < i; j++) s += B[j * f + i] * w->mass[j];
        for (index_t j = i; j < m; j++) s += B[i * f + j] * w->mass[j];
        w->slope[i] = s;
        w->trial[i] = size + fabs(s);
        total += w->mass[i] * w->trial[i];
    }
    total += w->trial[0];
    bool moving = false;
    for (index_t i = 1; i < m; i++) moving |= fabs(w->slope[i] - w->slope[0]) > STATIONARY * (total + w->trial[i]);
    double slope = 0.0, shifted = 0.0;
    if (moving) {
        total = 0.0;
        for (index_t i = 1; i < m; i++) {
            double s = w->slope[0] - w->slope[i];
            for (index_t k = 1; k < i; k++) s -= B[i * f + k] * w->step[k];
            w->step[i] = s;
        }
        for (index_t i = m - 1; i > 0; i--) {
            double d = w->step[i] * w->pivot[i];
            for (index_t k = i + 1; k < m; k++) d -= B[k * f + i] * w->step[k];
            w->step[i] = d;
            total += d;
            slope += (w->slope[i] - w->slope[0]) * d;
            shifted += w->shift[i] * d * d;
        }
        w->step[0] = -total;
    }
    *curvature = -slope - shifted;
    return slope;
}

/* Write the full step, projected onto the simplex, to `trial`. Return the change of the objective. */
static double bend(index_t m, SimplexQp *w) {
    const index_t f = w->f;
    const double *B = w->block;
    double total = 0.0, change = 0.0;
    for (index_t i = 0; i < m; i++) {
        w->trial[i] = larger(0.0, w->mass[i] + w->step[i]);
        total += w->trial[i];
    }
    for (index_t i = 0; i < m; i++) {
        w->trial[i] /= total;
        const double e = w->trial[i] - w->mass[i];
        double s = w->slope[i] + 0.5 * B[i * f + i] * e;
        for (index_t j = 0; j < i; j++) s += B[j * f + i] * (w->trial[j] - w->mass[j]);
        change += e * s;
    }
    return change;
}

/* Take the step within the simplex and remove entries that become zero. Return the size of the passive set. */
static index_t move(index_t m, double slope, double curvature, SimplexQp *w) {
    double length = curvature > -1e-14 * slope ? 1.0 : INFINITY; /* Without curvature the step ends at the boundary. */
    double limit = INFINITY;
    for (index_t i = 0; i < m; i++)
        if (w->step[i] < 0.0) limit = smaller(limit, w->mass[i] / -w->step[i]);
    bool bent = false;
    if (limit < length) {
        if (m > 2 && length == 1.0) bent = bend(m, w) < limit * (slope + 0.5 * limit * curvature);
        length = limit;
    }
    index_t kept = 0;
    double total = 0.0;
    for (index_t i = 0; i < m; i++) {
        const double d = w->step[i], y = bent ? w->trial[i] : w->mass[i] + length * d;
        if (y > NEGLIGIBLE || (y > 0.0 && d >= 0.0)) {
            w->mass[kept] = y;
            w->passive[kept] = w->passive[i];
            total += y;
            kept++;
        }
    }
    if (total != 1.0)
        for (index_t i = 0; i < kept; i++) w->mass[i] /= total;
    return kept;
}

/* Return the index outside the passive set with the largest predicted decrease, or -1 if there is none. */
static index_t entering(const double *H, index_t m, SimplexQp *w) {
    const index_t f = w->f;
    double *restrict gradient = w->gradient;
    for (index_t q = 0; q < f; q++) gradient[q] = w->linear[q];
    for (index_t i = 0; i < m; i++) {
        const double x = w->mass[i], *row = H + w->passive[i] * f;
        for (index_t q = 0; q < f; q++) gradient[q] += x * row[q];
    }
    double mean = 0.0, linear = 0.0, scale = 0.0;
    for (index_t i = 0; i < m; i++) {
        const index_t p = w->passive[i];
        const double x = w->mass[i];
        mean += x * gradient[p];
        linear += x * w->linear[p];
        scale += x * (fabs(w->linear[p]) + fabs(gradient[p]) + H[p * (f + 1)]);
    }
    for (index_t i = 0; i < m; i++) gradient[w->passive[i]] = INFINITY;
    index_t best = -1;
    double best_gain = 0.0;
    for (index_t q = 0; q < f; q++) {
        const double r = gradient[q] - mean;
        if (!(r < 0.0)) continue;
        const double h = H[q * (f + 1)];
        if (r < -ENTER * (fabs(w->linear[q]) + fabs(gradient[q]) + h + scale)) {
            const double curvature = h - 2.0 * (gradient[q] - w->linear[q]) + mean - linear;
            const double gain = curvature > -r ? 0.5 * r * r / curvature : -r - 0.5 * curvature;
            if (gain > best_gain) {
                best_gain = gain;
                best = q;
            }
        }
    }
    return best;
}

/* Run the active set method from the point in `passive` and `mass`. `known` is the number of valid rows of the
 * factorization, which is updated. `used` is set to the number of iterations. Return the size of the passive set. */
static index_t minimise(const double *H, index_t m, index_t *known, index_t max_iter, SimplexQp *w, index_t *used) {
    double ridge = 0.0;
    index_t refined = 0, entered = -1, iteration = 0;
    bool done = false;
    while (iteration < max_iter && !done) {
        iteration++;
        const index_t before = m;
        bool settled = true;
        if (m > 1) {
            if (ridge > 0.0) *known = lead(H, m, *known, w);
            *known = factorise(H, m, *known, ridge, w);
            if (*known == 0) {
                ridge = RIDGE;
                *known = lead(H, m, *known, w);
                *known = factorise(H, m, *known, ridge, w);
            }
            double curvature;
            const double slope = newton_step(m, w, &curvature);
            if (-INFINITY < slope && slope < 0.0) {
                m = move(m, slope, curvature, w);
                refined++;
                settled = m == before && (ridge == 0.0 || refined > 3);
            }
        }
        if (settled) {
            entered = entering(H, m, w);
            refined = 0;
            if (entered < 0) {
                done = true;
            } else {
                w->passive[m] = entered;
                w->mass[m] = 0.0;
                m++;
            }
        } else if (m < before) {
            /* If rounding removed the index that was just added, no further decrease is possible. */
            done = entered >= 0 && w->passive[m - 1] != entered && w->passive[0] != entered;
            entered = -1;
        }
    }
    if (ridge > 0.0) *known = 0;
    *used = iteration;
    return m;
}

/* Return the vertex with the smallest objective, or -1 if it is not below `value`. */
static index_t best_vertex(const double *H, double value, const SimplexQp *w) {
    index_t vertex = -1;
    for (index_t q = 0; q < w->f; q++) {
        const double at = w->linear[q] + 0.5 * H[q * (w->f + 1)];
        if (at < value) {
            value = at;
            vertex = q;
        }
    }
    return vertex;
}

/* Set the initial point to the rescaled positive entries of `gradient`, or to the best vertex if there are no positive
 * entries, or if there are many and the vertex is better. Return the size of the passive set. */
static index_t start_point(const double *H, SimplexQp *w) {
    const index_t f = w->f;
    index_t m = 0;
    double total = 0.0;
    for (index_t q = 0; q < f; q++) { /* There is no branch, because it would be unpredictable. */
        double y = w->gradient[q];
        y = y > 0.0 ? y : 0.0;
        w->passive[m] = q;
        w->mass[m] = y;
        total += y;
        m += y > 0.0;
    }
    if (m > 0 && fabs(total - 1.0) > 1e-15)
        for (index_t i = 0; i < m; i++) w->mass[i] /= total;
    if (m == 0 || m > CROWD) {
        double value = m > 0 ? 0.0 : INFINITY;
        for (index_t i = 0; i < m; i++) {
            const index_t p = w->passive[i];
            double s = 0.0;
            for (index_t j = 0; j < m; j++) s += H[p * f + w->passive[j]] * w->mass[j];
            value += w->mass[i] * (w->linear[p] + 0.5 * s);
        }
        const index_t vertex = best_vertex(H, value, w);
        if (vertex >= 0 || m == 0) {
            w->passive[0] = vertex > 0 ? vertex : 0;
            w->mass[0] = 1.0;
            m = 1;
        }
    }
    return m;
}

index_t minimise_on_simplex(const double *H, const double *g, double *x, index_t max_iter, SimplexQp *w) {
    index_t known = 0, used = 0;
    if (w->f == 0) return 0;
    for (index_t q = 0; q < w->f; q++) {
        w->linear[q] = g[q];
        w->gradient[q] = x[q];
    }
    index_t m = start_point(H, w);
    m = minimise(H, m, &known, max_iter, w, &used);
    for (index_t q = 0; q < w->f; q++) x[q] = 0.0;
    for (index_t i = 0; i < m; i++) x[w->passive[i]] = w->mass[i];
    return used;
}

KERNEL simplex_qp(index_t f, const double *H, const double *g, double *x, index_t max_iter, double *work,
                  index_t *index, index_t *result) {
    SimplexQp w = simplex_qp_in(f, work, index);
    *result = minimise_on_simplex(H, g, x, max_iter, &w);
    return DONE;
}

/* Batch kernels for every combination of the types of the linear terms and of the points. */
#define LINEAR double
#define POINT double
#define BATCH simplex_qp_batch_f64_f64
#include "optimize/simplex_qp_batch.h"
#define LINEAR double
#define POINT float
#define BATCH simplex_qp_batch_f64_f32
#include "optimize/simplex_qp_batch.h"
#define LINEAR float
#define POINT double
#define BATCH simplex_qp_batch_f32_f64
#include "optimize/simplex_qp_batch.h"
#define LINEAR float
#define POINT float
#define BATCH simplex_qp_batch_f32_f32
#include "optimize/simplex_qp_batch.h"
