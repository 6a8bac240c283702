/* Expectation-maximization. The table is transposed, so that inner loops over its rows access contiguous memory.
 *
 * The rows of the table are processed in blocks that fit in the cache. One pass over all blocks computes the
 * responsibilities for the current parameters, the log-likelihood, and the weighted sums for the next parameters. The
 * sums are centered at the current means to avoid a loss of digits. */
#include "_native/native.h"
#include "_native/sums.h"
#include "covariances.h"
#include "linear_algebra.h"

enum { BLOCK = 256 };          /* Number of rows in a block, a multiple of the number of SIMD lanes. */
enum { FINE, LOST, SINGULAR }; /* Problems with a component, see em.py. */

static const double NEGLIGIBLE = -700.0; /* exp of smaller values is set to zero, because denormal numbers are slow. */
static const double MIN_SHARE = 1e-10; /* A component with a smaller share of the total weight is empty. */
static const double LOG_2PI = 1.8378770664093453;

typedef struct {
    index_t d, n;
    const double *X;       /* (d, n) */
    const double *weights; /* (n,) */
} Data;

typedef struct {
    index_t g;
    const double *means;     /* (g, d) */
    const double *inverses;  /* (g, d, d) inverse Cholesky factors of the covariances */
    const double *constants; /* (g,) terms of the log-densities that do not depend on the data */
    bool diagonal;           /* whether the covariances are diagonal */
} Densities;

typedef struct {
    double *sizes;  /* (g,) sums of the weights times responsibilities */
    double *first;  /* (g, d) weighted sums of the centered rows */
    double *second; /* (g, d, d) weighted sums of products of columns, lower triangles only */
} Sums;

/* Scratch memory for the rows of a block. */
typedef struct {
    double *gaps;        /* (d, BLOCK) rows minus a mean */
    double *part, *line; /* (BLOCK,) */
} Buffers;

static double *numbers(Scratch *scratch, index_t count) { return take(scratch, count, sizeof(double)); }

static Buffers new_buffers(Scratch *scratch, index_t d) {
    return (Buffers){numbers(scratch, d * BLOCK), numbers(scratch, BLOCK), numbers(scratch, BLOCK)};
}

static index_t block_size(index_t n, index_t start) { return n - start < BLOCK ? n - start : BLOCK; }

/* ---- expectation step ----------------------------------------------------------------------------------------- */

/* Write log(proportion * density) of component k for the b rows from `start` to `out`. */
static void log_joint(const Data *data, index_t start, index_t b, const Densities *densities, index_t k,
                      Buffers buffers, double *restrict out) {
    index_t d = data->d;
    const double *inverse = densities->inverses + k * d * d;
    double *restrict line = buffers.line;
    for (index_t i = 0; i < b; i++) out[i] = 0.0;
    for (index_t j = 0; j < d; j++) {
        const double *restrict row = data->X + j * data->n + start;
        double *restrict gap = buffers.gaps + j * BLOCK;
        double center = densities->means[k * d + j], scale = inverse[j * d + j];
        for (index_t i = 0; i < b; i++) gap[i] = row[i] - center;
        for (index_t i = 0; i < b; i++) line[i] = scale * gap[i];
        for (index_t s = 0; s < j && !densities->diagonal; s++) {
            double factor = inverse[j * d + s];
            const double *restrict other = buffers.gaps + s * BLOCK;
            for (index_t i = 0; i < b; i++) line[i] += factor * other[i];
        }
        for (index_t i = 0; i < b; i++) out[i] += line[i] * line[i];
    }
    double constant = densities->constants[k];
    for (index_t i = 0; i < b; i++) out[i] = constant - 0.5 * out[i];
}

/* Convert log(proportion * density) in Z (g, n) to responsibilities, for the b rows from `start`. Write the log-density
 * of each row (the logarithm of the sum over the components) to buffers.part. */
static void normalize(double *Z, index_t g, index_t n, index_t start, index_t b, Buffers buffers) {
    double *restrict top = buffers.part, *restrict sum = buffers.line;
    for (index_t i = 0; i < b; i++) {
        top[i] = Z[start + i];
        sum[i] = 0.0;
    }
    for (index_t k = 1; k < g; k++) {
        const double *restrict row = Z + k * n + start;
        for (index_t i = 0; i < b; i++) top[i] = larger(row[i], top[i]);
    }
    for (index_t k = 0; k < g; k++) {
        double *restrict row = Z + k * n + start;
        for (index_t i = 0; i < b; i++) {
            double value = row[i] - top[i];
            row[i] = value > NEGLIGIBLE ? exp(value) : 0.0;
            sum[i] += row[i];
        }
    }
    for (index_t i = 0; i < b; i++) {
        top[i] += log(sum[i]);
        sum[i] = 1.0 / sum[i];
    }
    for (index_t k = 0; k < g; k++) {
        double *restrict row = Z + k * n + start;
        for (index_t i = 0; i < b; i++) row[i] *= sum[i];
    }
}

/* ---- weighted sums --------------------------------------------------------------------------------------- */

/* Add the b rows from `start`, weighted by the responsibilities Z (g, n), to the sums of component k. */
static void add_sums(const Data *data, index_t start, index_t b, const double *Z, const double *means, bool diagonal,
                     index_t k, Buffers buffers, const Sums *sums) {
    index_t d = data->d, padded = padded_to_lanes(b);
    const double *weights = data->weights + start, *responsibilities = Z + k * data->n + start;
    double *first = sums->first + k * d, *second = sums->second + k * d * d;
    double *restrict part = buffers.part, *restrict line = buffers.line;
    for (index_t i = 0; i < b; i++) {
        part[i] = weights[i] * responsibilities[i];
        line[i] = 1.0;
    }
    for (index_t i = b; i < padded; i++) part[i] = line[i] = 0.0;
    sums->sizes[k] += lanes_dot(padded, part, line);
    for (index_t j = 0; j < d; j++) {
        const double *restrict row = data->X + j * data->n + start;
        double *restrict gap = buffers.gaps + j * BLOCK;
        double center = means[k * d + j];
        for (index_t i = 0; i < b; i++) gap[i] = row[i] - center;
        for (index_t i = b; i < padded; i++) gap[i] = 0.0;
        for (index_t i = 0; i < padded; i++) line[i] = part[i] * gap[i];
        first[j] += lanes_dot(padded, part, gap);
        second[j * d + j] += lanes_dot(padded, line, gap);
        for (index_t s = 0; s < j && !diagonal; s++)
            second[j * d + s] += lanes_dot(padded, line, buffers.gaps + s * BLOCK);
    }
}

static void clear(index_t g, index_t d, const Sums *sums) {
    for (index_t i = 0; i < g; i++) sums->sizes[i] = 0.0;
    for (index_t i = 0; i < g * d; i++) sums->first[i] = 0.0;
    for (index_t i = 0; i < g * d * d; i++) sums->second[i] = 0.0;
}

/* Compute the sums of all rows for given responsibilities Z (g, n), centered at the means. */
static void weighted_sums(const Data *data, index_t g, const double *Z, const double *means, bool diagonal,
                          Buffers buffers, const Sums *sums) {
    clear(g, data->d, sums);
    for (index_t start = 0; start < data->n; start += BLOCK) {
        index_t b = block_size(data->n, start);
        for (index_t k = 0; k < g; k++) add_sums(data, start, b, Z, means, diagonal, k, buffers, sums);
    }
}

/* Write the responsibilities Z (g, n) and the weighted sums; return the log-likelihood. */
static double expect(const Data *data, const Densities *densities, double *Z, Buffers buffers, const Sums *sums) {
    index_t g = densities->g;
    double likelihood = 0.0;
    clear(g, data->d, sums);
    for (index_t start = 0; start < data->n; start += BLOCK) {
        index_t b = block_size(data->n, start);
        for (index_t k = 0; k < g; k++) log_joint(data, start, b, densities, k, buffers, Z + k * data->n + start);
        normalize(Z, g, data->n, start, b, buffers);
        double of_block = 0.0;
        for (index_t i = 0; i < b; i++) of_block += data->weights[start + i] * buffers.part[i];
        likelihood += of_block;
        for (index_t k = 0; k < g; k++)
            add_sums(data, start, b, Z, densities->means, densities->diagonal, k, buffers, sums);
    }
    return likelihood;
}

/* ---- maximization step ---------------------------------------------------------------------------------------- */

/* Compute the inverses of the standard deviations on the diagonal of `inverse`; return the logarithm of the
 * determinant, or NAN if a variance is too small. Nothing else of `inverse` is written. */
static double inverse_deviations(index_t d, const double *matrix, const double *least, double *inverse) {
    double log_det = 0.0;
    for (index_t j = 0; j < d; j++) {
        const double variance = matrix[j * d + j];
        if (!(variance > least[j])) return NAN;
        log_det += log(variance);
        inverse[j * d + j] = 1.0 / sqrt(variance);
    }
    return log_det;
}

/* Compute the inverse Cholesky factors and the constants of the log-densities. Return -1, or the first component with
 * a singular covariance matrix. */
static index_t prepare(index_t g, index_t d, const double *proportions, const double *covariances, const double *least,
                       bool diagonal, double *inverses, double *constants) {
    for (index_t k = 0; k < g; k++) {
        const double *covariance = covariances + k * d * d;
        double *inverse = inverses + k * d * d;
        double log_det = diagonal ? inverse_deviations(d, covariance, least, inverse)
                                  : inverse_factor(d, covariance, least, inverse);
        if (!isfinite(log_det)) return k;
        constants[k] = log(proportions[k]) - 0.5 * ((double)d * LOG_2PI + log_det);
    }
    return -1;
}

/* Compute the proportions, the means and (in sums->second) the scatter matrices from the sums, which are centered at
 * the old means. `added` is added to the variances. Return -1, or the first empty component. */
static index_t new_moments(index_t g, index_t d, const double *added, bool diagonal, double *proportions,
                           double *means, const Sums *sums) {
    double total = 0.0;
    for (index_t k = 0; k < g; k++) total += sums->sizes[k];
    for (index_t k = 0; k < g; k++)
        if (!(sums->sizes[k] > MIN_SHARE * total)) return k;
    for (index_t k = 0; k < g; k++) {
        double size = sums->sizes[k], *first = sums->first + k * d, *second = sums->second + k * d * d;
        proportions[k] = size / total;
        for (index_t j = 0; j < d; j++) {
            first[j] /= size;
            means[k * d + j] += first[j];
        }
        for (index_t j = 0; j < d; j++) {
            for (index_t s = diagonal ? j : 0; s <= j; s++) {
                double value = second[j * d + s] - size * first[j] * first[s];
                if (j == s) value = larger(0.0, value) + size * added[j];
                second[j * d + s] = value;
                second[s * d + j] = value;
            }
        }
    }
    return -1;
}

/* Compute the weighted mean and variance of each column. The variance of a constant column is exactly zero. */
static void mean_and_variances(const Data *data, double *mean, double *variances) {
    const double *weights = data->weights;
    double total = 0.0;
    for (index_t i = 0; i < data->n; i++) total += weights[i];
    for (index_t j = 0; j < data->d; j++) {
        const double *row = data->X + j * data->n;
        double origin = data->n > 0 ? row[0] : 0.0, sum = 0.0, low = origin, high = origin;
        for (index_t i = 0; i < data->n; i++) {
            sum += weights[i] * (row[i] - origin); /* Centering avoids a loss of digits. */
            low = smaller(row[i], low);
            high = larger(row[i], high);
        }
        mean[j] = origin + sum / total;
        double squares = 0.0;
        for (index_t i = 0; low < high && i < data->n; i++) {
            double gap = row[i] - mean[j];
            squares += weights[i] * (gap * gap);
        }
        variances[j] = squares / total;
    }
}

/* Compute the minimum variance of each column, and the value added to its variance within components. */
static void variance_limits(index_t d, const double *variances, double share, double regularization, double *least,
                            double *added) {
    double mean = 0.0;
    for (index_t j = 0; j < d; j++) mean += variances[j];
    mean /= (double)d;
    for (index_t j = 0; j < d; j++) {
        least[j] = share * variances[j];
        added[j] = regularization * (variances[j] > 0.0 ? variances[j] : mean);
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------------- */

/* Write log(proportion * density) or, if `normalized`, the responsibilities to `out` (g, n). The result is -1, or the
 * first component whose covariance matrix is not positive definite. */
KERNEL mixture_densities(index_t d, index_t n, index_t g, const double *X, const double *proportions,
                         const double *means, const double *covariances, bool diagonal, bool normalized, double *out,
                         index_t *result) {
    Scratch scratch = {0};
    Buffers buffers = new_buffers(&scratch, d);
    double *inverses = numbers(&scratch, g * d * d), *constants = numbers(&scratch, g);
    double *none = take_zeros(&scratch, d, sizeof(double));
    if (scratch.failed) return release(&scratch);
    Data data = {d, n, X, NULL};
    Densities densities = {g, means, inverses, constants, diagonal};
    index_t singular = prepare(g, d, proportions, covariances, none, diagonal, inverses, constants);
    for (index_t start = 0; singular < 0 && start < n; start += BLOCK) {
        index_t b = block_size(n, start);
        for (index_t k = 0; k < g; k++) log_joint(&data, start, b, &densities, k, buffers, out + k * n + start);
        if (normalized) normalize(out, g, n, start, b, buffers);
    }
    *result = singular;
    return release(&scratch);
}

/* Positions in `outcome` of the number of iterations, convergence, the problem, and the component with the problem. */
enum { N_ITER, CONVERGED, FLAW, COMPONENT };

static void end(index_t *outcome, index_t n_iter, bool converged, index_t flaw, index_t component) {
    outcome[N_ITER] = n_iter;
    outcome[CONVERGED] = converged;
    outcome[FLAW] = flaw;
    outcome[COMPONENT] = component;
}

/* Run EM from initial responsibilities Z (g, n) or parameters, which are overwritten. See `dempster.mixture.em`. */
KERNEL run_em(index_t d, index_t n, index_t g, const double *X, const double *weights, double *Z, bool given_parameters,
              double *proportions, double *means, double *covariances, double *axes, index_t model, double absolute,
              double relative, double reference, index_t max_iter, double regularization, double share,
              double *history, index_t *outcome) {
    Scratch scratch = {0};
    Buffers buffers = new_buffers(&scratch, d);
    Sums sums = {numbers(&scratch, g), numbers(&scratch, g * d), numbers(&scratch, g * d * d)};
    double *inverses = numbers(&scratch, g * d * d), *constants = numbers(&scratch, g);
    double *mean = numbers(&scratch, d), *variances = numbers(&scratch, d);
    double *least = numbers(&scratch, d), *added = numbers(&scratch, d);
    Maximization step = {
        .model = model, .g = g, .d = d, .sizes = sums.sizes, .scatter = sums.second, .least = least,
        .covariances = covariances, .shape = numbers(&scratch, d), .axes = axes, .matrix = numbers(&scratch, d * d),
        .spectra = numbers(&scratch, g * d), .variances = numbers(&scratch, g * d),
        .matrices = numbers(&scratch, g * d * d), .volumes = numbers(&scratch, g),
        .factor = numbers(&scratch, d * d), .inverse = numbers(&scratch, d * d), .floors = numbers(&scratch, d),
    };
    if (scratch.failed) return release(&scratch);

    Data data = {d, n, X, weights};
    Densities densities = {g, means, inverses, constants, .diagonal = model <= VVI};
    mean_and_variances(&data, mean, variances);
    variance_limits(d, variances, share, regularization, least, added);
    if (!given_parameters) {
        for (index_t k = 0; k < g; k++)
            for (index_t j = 0; j < d; j++) means[k * d + j] = mean[j];
        weighted_sums(&data, g, Z, means, densities.diagonal, buffers, &sums);
    }
    end(outcome, max_iter, false, FINE, -1);
    for (index_t iteration = 0; iteration < max_iter; iteration++) {
        if (iteration > 0 || !given_parameters) {
            index_t lost = new_moments(g, d, added, densities.diagonal, proportions, means, &sums);
            if (lost >= 0) {
                end(outcome, iteration, false, LOST, lost);
                break;
            }
            if (iteration == (given_parameters ? 1 : 0)) initialize_state(&step, given_parameters);
            index_t unbounded = update_covariances(&step);
            if (unbounded >= 0) {
                end(outcome, iteration, false, SINGULAR, unbounded);
                break;
            }
        }
        index_t singular = prepare(g, d, proportions, covariances, least, densities.diagonal, inverses, constants);
        if (singular >= 0) {
            end(outcome, iteration, false, SINGULAR, singular);
            break;
        }
        double likelihood = expect(&data, &densities, Z, buffers, &sums);
        history[iteration] = likelihood;
        const double change = likelihood - history[iteration > 0 ? iteration - 1 : 0];
        if (iteration > 0 && fabs(change) <= absolute + relative * fabs(likelihood - reference)) {
            end(outcome, iteration + 1, true, FINE, -1);
            break;
        }
    }
    return release(&scratch);
}

/* Run EM on several samples of the rows, which are given by the weights (samples, n) of the rows, with the same initial
 * parameters for all samples. See `dempster.mixture.em`. */
KERNEL refit_em(index_t d, index_t n, index_t samples, index_t g, const double *X, const double *weights,
                const double *posterior, double *proportions, double *means, double *covariances, double *axes,
                index_t model, double absolute, index_t max_iter, double regularization, double share,
                double *overlaps, double *likelihoods, index_t *outcomes) {
    Scratch scratch = {0};
    double *rows = numbers(&scratch, d * n), *used = numbers(&scratch, n), *Z = numbers(&scratch, g * n);
    double *history = numbers(&scratch, max_iter);
    index_t *which = take(&scratch, n, sizeof *which);
    for (index_t b = 0; b < samples && !scratch.failed; b++) {
        index_t m = 0, *outcome = outcomes + b * (COMPONENT + 1);
        for (index_t i = 0; i < n; i++) {
            if (weights[b * n + i] > 0.0) {
                used[m] = weights[b * n + i];
                which[m++] = i;
            }
        }
        for (index_t j = 0; j < d; j++)
            for (index_t i = 0; i < m; i++) rows[j * m + i] = X[j * n + which[i]];
        if (run_em(d, m, g, rows, used, Z, true, proportions + b * g, means + b * g * d, covariances + b * g * d * d,
                   axes + b * d * d, model, absolute, 0.0, 0.0, max_iter, regularization, share, history,
                   outcome) != DONE) {
            scratch.failed = true;
            break;
        }
        likelihoods[b] = outcome[FLAW] == FINE ? history[outcome[N_ITER] - 1] : -INFINITY;
        for (index_t k = 0; k < g; k++) {
            for (index_t l = 0; l < g; l++) {
                double sum = 0.0;
                for (index_t i = 0; i < m; i++) sum += used[i] * posterior[k * n + which[i]] * Z[l * m + i];
                overlaps[(b * g + k) * g + l] = sum;
            }
        }
    }
    return release(&scratch);
}
