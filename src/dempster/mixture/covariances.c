/* The functions of the covariance models return -1, or the index of a component for which no maximum exists, because
 * its scatter matrix is singular. */
#include "covariances.h"

#include "linear_algebra.h"

static const double INNER_TOLERANCE = 1e-12;
static const double TURN_TOLERANCE = 1e-9;
enum { INNER_STEPS = 100 };

static double total(index_t n, const double *values) {
    double sum = 0.0;
    for (index_t i = 0; i < n; i++) sum += values[i];
    return sum;
}

static double geometric_mean(index_t n, const double *values) {
    double sum = 0.0;
    for (index_t i = 0; i < n; i++) sum += log(values[i]);
    return exp(sum / (double)n);
}

static void scaled(index_t n, const double *values, double factor, double *out) {
    for (index_t i = 0; i < n; i++) out[i] = factor * values[i];
}

static void diagonals(index_t g, index_t d, const double *matrices, double *out) {
    for (index_t k = 0; k < g; k++)
        for (index_t j = 0; j < d; j++) out[k * d + j] = matrices[k * d * d + j * d + j];
}

static void pooled(const Maximization *step, double *matrix) {
    index_t size = step->d * step->d;
    for (index_t e = 0; e < size; e++) {
        double value = 0.0;
        for (index_t k = 0; k < step->g; k++) value += step->scatter[k * size + e];
        matrix[e] = value;
    }
}

static void write_diagonal(index_t d, const double *values, double *matrix) {
    for (index_t i = 0; i < d; i++)
        for (index_t j = 0; j < d; j++) matrix[i * d + j] = i == j ? values[j] : 0.0;
}

static void divide_by_mean(index_t d, double *shape) {
    double mean = geometric_mean(d, shape);
    for (index_t j = 0; j < d; j++) shape[j] /= mean;
}

/* Compute the volumes (g,) and the common shape (d,) of the components by alternating maximization.
 *
 * `spectra` (g, d) contains the variances times the sizes of the components. The problem is convex in the logarithms,
 * so the solution does not depend on the initial shape. */
static index_t volumes_and_common_shape(index_t g, index_t d, const double *sizes, const double *spectra, double *shape,
                                        double *volumes) {
    divide_by_mean(d, shape);
    for (int step = 0; step < INNER_STEPS; step++) {
        double change = 0.0;
        for (index_t k = 0; k < g; k++) {
            double volume = 0.0;
            for (index_t j = 0; j < d; j++) volume += spectra[k * d + j] / shape[j];
            volume /= (double)d * sizes[k];
            if (!(volume > 0.0)) return k;
            if (step == 0)
                change = 1.0;
            else if (fabs(volume - volumes[k]) > change * volume)
                change = fabs(volume - volumes[k]) / volume;
            volumes[k] = volume;
        }
        for (index_t j = 0; j < d; j++) {
            shape[j] = 0.0;
            for (index_t k = 0; k < g; k++) shape[j] += spectra[k * d + j] / volumes[k];
            if (!(shape[j] > 0.0)) return 0;
        }
        divide_by_mean(d, shape);
        if (change <= INNER_TOLERANCE) break;
    }
    return -1;
}

/* Compute the variances (g, d) of components with a common volume and different shapes. */
static index_t common_volume(index_t g, index_t d, const double *sizes, const double *spectra, const double *floors,
                             double *out) {
    double volume = 0.0;
    for (index_t k = 0; k < g; k++) {
        const double *row = spectra + k * d;
        for (index_t j = 0; j < d; j++)
            if (!(row[j] > floors[j] * sizes[k])) return k;
        double mean = geometric_mean(d, row);
        volume += mean;
        for (index_t j = 0; j < d; j++) out[k * d + j] = row[j] / mean;
    }
    volume /= total(g, sizes);
    for (index_t e = 0; e < g * d; e++) out[e] *= volume;
    return -1;
}

/* Models EII and EEI. All components have the same variances, which are equal for all columns in EII. */
static void common_variances(const Maximization *step, const double *spectra, double *variances) {
    index_t g = step->g, d = step->d;
    double n = total(g, step->sizes);
    for (index_t j = 0; j < d; j++) {
        step->shape[j] = 0.0;
        for (index_t k = 0; k < g; k++) step->shape[j] += spectra[k * d + j] / n;
    }
    double mean = total(d, step->shape) / (double)d;
    for (index_t k = 0; k < g; k++)
        for (index_t j = 0; j < d; j++) variances[k * d + j] = step->model == EII ? mean : step->shape[j];
}

static index_t diagonal_models(const Maximization *step) {
    index_t g = step->g, d = step->d, failed = -1;
    double *spectra = step->spectra, *variances = step->variances, *volumes = step->volumes;
    diagonals(g, d, step->scatter, spectra);
    if (step->model == EII || step->model == EEI) {
        common_variances(step, spectra, variances);
    } else if (step->model == VII) {
        for (index_t k = 0; k < g; k++) {
            double mean = total(d, spectra + k * d) / (step->sizes[k] * (double)d);
            for (index_t j = 0; j < d; j++) variances[k * d + j] = mean;
        }
    } else if (step->model == VEI) {
        failed = volumes_and_common_shape(g, d, step->sizes, spectra, step->shape, volumes);
        if (failed >= 0) return failed;
        for (index_t k = 0; k < g; k++)
            for (index_t j = 0; j < d; j++) variances[k * d + j] = volumes[k] * step->shape[j];
    } else if (step->model == EVI) {
        failed = common_volume(g, d, step->sizes, spectra, step->least, variances);
        if (failed >= 0) return failed;
    } else {
        for (index_t k = 0; k < g; k++)
            for (index_t j = 0; j < d; j++) variances[k * d + j] = spectra[k * d + j] / step->sizes[k];
    }
    for (index_t k = 0; k < g; k++) write_diagonal(d, variances + k * d, step->covariances + k * d * d);
    return -1;
}

/* Model EEE. */
static index_t common_covariance(const Maximization *step) {
    index_t size = step->d * step->d;
    pooled(step, step->covariances);
    scaled(size, step->covariances, 1.0 / total(step->g, step->sizes), step->covariances);
    for (index_t k = 1; k < step->g; k++) scaled(size, step->covariances, 1.0, step->covariances + k * size);
    return -1;
}

/* Write the inverse of matrix / scale, given the inverse Cholesky factor of the matrix. */
static void inverse_of_scaled(index_t d, const double *factor, double scale, double *inverse) {
    for (index_t i = 0; i < d; i++) {
        for (index_t j = 0; j <= i; j++) {
            double value = 0.0;
            for (index_t s = i; s < d; s++) value += factor[s * d + i] * factor[s * d + j];
            inverse[i * d + j] = value * scale;
            inverse[j * d + i] = value * scale;
        }
    }
}

/* Model VEE. The initial value is the common matrix of the previous call, `step->matrix`. */
static index_t volumes_and_common_matrix(const Maximization *step) {
    index_t g = step->g, d = step->d, size = d * d;
    double *matrix = step->matrix, *volumes = step->volumes, *factor = step->factor, *inverse = step->inverse;
    double *none = step->floors;
    for (index_t j = 0; j < d; j++) none[j] = 0.0;
    for (int turn = 0; turn < INNER_STEPS; turn++) {
        double log_det = inverse_factor(d, matrix, none, factor);
        if (isnan(log_det)) return 0;
        inverse_of_scaled(d, factor, exp(log_det / (double)d), inverse);
        double change = 0.0;
        for (index_t k = 0; k < g; k++) {
            double volume = 0.0;
            for (index_t e = 0; e < size; e++) volume += step->scatter[k * size + e] * inverse[e];
            volume /= (double)d * step->sizes[k];
            if (!(volume > 0.0)) return k;
            change = turn == 0 ? 1.0 : larger(fabs(volume - volumes[k]) / volume, change);
            volumes[k] = volume;
        }
        if (change <= INNER_TOLERANCE) break;
        for (index_t e = 0; e < size; e++) {
            double value = 0.0;
            for (index_t k = 0; k < g; k++) value += step->scatter[k * size + e] / volumes[k];
            matrix[e] = value;
        }
    }
    double log_det = inverse_factor(d, matrix, none, factor);
    if (isnan(log_det)) return 0;
    for (index_t k = 0; k < g; k++)
        scaled(size, matrix, volumes[k] / exp(log_det / (double)d), step->covariances + k * size);
    return -1;
}

/* Minimize sum_k tr(W_k D V_k^-1 D') over rotations of the common axes D, exactly in one plane after the other.
 *
 * W_k are the scatter matrices and V_k the diagonal matrices of `variances` (g, d). `turned` (g, d, d) contains the
 * scatter matrices in the coordinates of the axes (rows of `axes`). In the plane of axes j and i the sum is
 * P cos 2t + Q sin 2t plus a constant, where t is the angle. Return the sine of the largest angle. */
static double turn_common_axes(index_t g, index_t d, double *turned, double *axes, const double *variances) {
    double largest = 0.0;
    for (index_t j = 0; j < d - 1; j++) {
        for (index_t i = j + 1; i < d; i++) {
            double even = 0.0, odd = 0.0;
            for (index_t k = 0; k < g; k++) {
                const double *W = turned + k * d * d;
                double gap = 1.0 / variances[k * d + j] - 1.0 / variances[k * d + i];
                even += 0.5 * (W[j * d + j] - W[i * d + i]) * gap;
                odd += W[j * d + i] * gap;
            }
            if (even == 0.0 && odd == 0.0) continue;
            double angle = 0.5 * atan2(-odd, -even);
            double c = cos(angle), s = sin(angle);
            largest = larger(fabs(s), largest);
            if (s == 0.0) continue;
            for (index_t k = 0; k < g; k++) rotate_matrix(d, turned + k * d * d, j, i, c, s);
            rotate_rows(d, axes, j, i, c, s);
        }
    }
    return largest;
}

/* Models EVE and VVE. Compute the axes for given variances and the variances for given axes in turn. */
static index_t common_axes(const Maximization *step) {
    index_t g = step->g, d = step->d, size = d * d;
    double *axes = step->axes, *turned = step->matrices;
    double *spectra = step->spectra, *variances = step->variances, *floors = step->floors;
    for (index_t k = 0; k < g; k++) in_axes(d, step->scatter + k * size, axes, step->factor, turned + k * size);
    for (int turn = 0; turn < INNER_STEPS; turn++) {
        diagonals(g, d, turned, spectra);
        for (index_t j = 0; j < d; j++) {
            floors[j] = 0.0;
            for (index_t i = 0; i < d; i++) floors[j] += axes[j * d + i] * axes[j * d + i] * step->least[i];
        }
        index_t failed = common_volume(g, d, step->sizes, spectra, floors, variances);
        if (failed >= 0) return failed;
        if (step->model == VVE)
            for (index_t k = 0; k < g; k++)
                for (index_t j = 0; j < d; j++) variances[k * d + j] = spectra[k * d + j] / step->sizes[k];
        if (turn == INNER_STEPS - 1 || turn_common_axes(g, d, turned, axes, variances) < TURN_TOLERANCE) break;
    }
    for (index_t k = 0; k < g; k++) from_axes(d, variances + k * d, axes, step->covariances + k * size);
    return -1;
}

/* Models EEV and VEV. Each component has its own axes; the common shape is in decreasing order. */
static index_t own_axes(const Maximization *step) {
    index_t g = step->g, d = step->d, size = d * d;
    double *shape = step->shape, *spectra = step->spectra, *axes = step->matrices, *volumes = step->volumes;
    for (index_t k = 0; k < g; k++) {
        scaled(size, step->scatter + k * size, 1.0, step->factor);
        eigenvectors(d, step->factor, spectra + k * d, axes + k * size);
    }
    if (step->model == EEV) {
        double n = total(g, step->sizes);
        for (index_t k = 0; k < g; k++) volumes[k] = 1.0;
        for (index_t j = 0; j < d; j++) {
            shape[j] = 0.0;
            for (index_t k = 0; k < g; k++) shape[j] += spectra[k * d + j] / n;
        }
    } else {
        index_t failed = volumes_and_common_shape(g, d, step->sizes, spectra, shape, volumes);
        if (failed >= 0) return failed;
    }
    for (index_t k = 0; k < g; k++) {
        for (index_t j = 0; j < d; j++) spectra[k * d + j] = volumes[k] * shape[j];
        from_axes(d, spectra + k * d, axes + k * size, step->covariances + k * size);
    }
    return -1;
}

/* Model EVV. */
static index_t common_volume_own_matrix(const Maximization *step) {
    index_t g = step->g, d = step->d, size = d * d;
    double *floors = step->floors;
    double volume = 0.0;
    for (index_t k = 0; k < g; k++) {
        for (index_t j = 0; j < d; j++) floors[j] = step->least[j] * step->sizes[k];
        double log_det = inverse_factor(d, step->scatter + k * size, floors, step->factor);
        if (isnan(log_det)) return k;
        double mean = exp(log_det / (double)d);
        volume += mean;
        scaled(size, step->scatter + k * size, 1.0 / mean, step->covariances + k * size);
    }
    scaled(g * size, step->covariances, volume / total(g, step->sizes), step->covariances);
    return -1;
}

void initialize_state(const Maximization *step, bool has_axes) {
    index_t d = step->d;
    bool common = (step->model == EVE || step->model == VVE) && !has_axes;
    pooled(step, step->matrix);
    if (step->model == VEV || common) {
        scaled(d * d, step->matrix, 1.0, step->factor);
        eigenvectors(d, step->factor, step->shape, step->axes);
    } else {
        diagonals(1, d, step->matrix, step->shape);
    }
    for (index_t j = 0; j < d; j++)
        if (!(step->shape[j] > 0.0)) step->shape[j] = 1.0; /* The inner loop reports the singular component. */
}

index_t update_covariances(const Maximization *step) {
    index_t size = step->d * step->d;
    switch (step->model) {
    case EEE: return common_covariance(step);
    case VEE: return volumes_and_common_matrix(step);
    case EVE: case VVE: return common_axes(step);
    case EEV: case VEV: return own_axes(step);
    case EVV: return common_volume_own_matrix(step);
    case VVV:
        for (index_t k = 0; k < step->g; k++)
            scaled(size, step->scatter + k * size, 1.0 / step->sizes[k], step->covariances + k * size);
        return -1;
    default: return diagonal_models(step);
    }
}
