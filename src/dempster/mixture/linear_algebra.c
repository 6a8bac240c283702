#include "linear_algebra.h"

static const double EPSILON2 = 2.220446049250313e-16 * 2.220446049250313e-16;
enum { SWEEPS = 60 };

double inverse_factor(index_t d, const double *matrix, const double *least, double *inverse) {
    double log_det = 0.0;
    for (index_t j = 0; j < d; j++) {
        double *row = inverse + j * d;
        double pivot = matrix[j * d + j];
        for (index_t s = 0; s < j; s++) pivot -= row[s] * row[s];
        if (!(pivot > least[j])) return NAN;
        log_det += log(pivot);
        pivot = sqrt(pivot);
        row[j] = pivot;
        for (index_t i = j + 1; i < d; i++) {
            double value = matrix[i * d + j];
            for (index_t s = 0; s < j; s++) value -= inverse[i * d + s] * row[s];
            inverse[i * d + j] = value / pivot;
        }
    }
    for (index_t j = 0; j < d; j++) { /* Replace the factor by its inverse, column by column. */
        inverse[j * d + j] = 1.0 / inverse[j * d + j];
        for (index_t i = j + 1; i < d; i++) {
            double value = 0.0;
            for (index_t s = j; s < i; s++) value -= inverse[i * d + s] * inverse[s * d + j];
            inverse[i * d + j] = value / inverse[i * d + i];
        }
    }
    return log_det;
}

/* Apply a Jacobi rotation in every plane; return whether any rotation was necessary. */
static bool jacobi_sweep(index_t d, double *matrix, double *vectors) {
    bool rotated = false;
    for (index_t p = 0; p < d - 1; p++) {
        for (index_t q = p + 1; q < d; q++) {
            double off = matrix[p * d + q], pp = matrix[p * d + p], qq = matrix[q * d + q];
            if (off * off <= EPSILON2 * fabs(pp * qq)) continue;
            rotated = true;
            double half = (qq - pp) / (2.0 * off);
            double root = sqrt(1.0 + half * half);
            double t = half > 0.0 ? 1.0 / (half + root) : 1.0 / (half - root);
            double c = 1.0 / sqrt(1.0 + t * t);
            rotate_matrix(d, matrix, p, q, c, -t * c);
            rotate_rows(d, vectors, p, q, c, -t * c);
        }
    }
    return rotated;
}

static void swap(double *x, double *y) {
    double old = *x;
    *x = *y;
    *y = old;
}

static void sort_descending(index_t d, double *values, double *vectors) {
    for (index_t j = 0; j < d - 1; j++) { /* selection sort, because d is small */
        index_t largest = j;
        for (index_t i = j + 1; i < d; i++)
            if (values[i] > values[largest]) largest = i;
        if (largest == j) continue;
        swap(&values[j], &values[largest]);
        for (index_t i = 0; i < d; i++) swap(&vectors[j * d + i], &vectors[largest * d + i]);
    }
}

void eigenvectors(index_t d, double *matrix, double *values, double *vectors) {
    for (index_t i = 0; i < d; i++)
        for (index_t j = 0; j < d; j++) vectors[i * d + j] = i == j ? 1.0 : 0.0;
    for (int sweep = 0; sweep < SWEEPS && jacobi_sweep(d, matrix, vectors); sweep++) {
    }
    for (index_t j = 0; j < d; j++) values[j] = matrix[j * d + j];
    sort_descending(d, values, vectors);
}

void rotate_matrix(index_t d, double *matrix, index_t p, index_t q, double c, double s) {
    for (index_t i = 0; i < d; i++) {
        double x = matrix[i * d + p], y = matrix[i * d + q];
        matrix[i * d + p] = c * x + s * y;
        matrix[i * d + q] = c * y - s * x;
    }
    rotate_rows(d, matrix, p, q, c, s);
}

void rotate_rows(index_t d, double *vectors, index_t p, index_t q, double c, double s) {
    for (index_t i = 0; i < d; i++) {
        double x = vectors[p * d + i], y = vectors[q * d + i];
        vectors[p * d + i] = c * x + s * y;
        vectors[q * d + i] = c * y - s * x;
    }
}

void in_axes(index_t d, const double *matrix, const double *vectors, double *product, double *rotated) {
    for (index_t i = 0; i < d; i++) {
        for (index_t j = 0; j < d; j++) {
            double value = 0.0;
            for (index_t s = 0; s < d; s++) value += vectors[i * d + s] * matrix[s * d + j];
            product[i * d + j] = value;
        }
    }
    for (index_t i = 0; i < d; i++) {
        for (index_t j = 0; j < d; j++) {
            double value = 0.0;
            for (index_t s = 0; s < d; s++) value += product[i * d + s] * vectors[j * d + s];
            rotated[i * d + j] = value;
        }
    }
}

void from_axes(index_t d, const double *values, const double *vectors, double *matrix) {
    for (index_t i = 0; i < d; i++) {
        for (index_t j = 0; j <= i; j++) {
            double value = 0.0;
            for (index_t s = 0; s < d; s++) value += values[s] * vectors[s * d + i] * vectors[s * d + j];
            matrix[i * d + j] = value;
            matrix[j * d + i] = value;
        }
    }
}
