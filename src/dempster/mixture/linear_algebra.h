/* Cholesky factors and eigenvectors of small symmetric matrices, without the overhead of LAPACK calls.
 *
 * Matrices have shape (d, d), in row-major order. */
#ifndef DEMPSTER_MIXTURE_LINEAR_ALGEBRA_H
#define DEMPSTER_MIXTURE_LINEAR_ALGEBRA_H

#include "_native/native.h"

/* Write the inverse of the lower Cholesky factor of a matrix. Return its log-determinant, or NaN if it is singular.
 *
 * The square of diagonal element j of the factor is the conditional variance of column j given the previous columns.
 * If it is at most least[j], the matrix is singular. Elements above the diagonal are neither read nor written. */
double inverse_factor(index_t d, const double *matrix, const double *least, double *inverse);

/* Compute the eigenvalues, in decreasing order, and the eigenvectors (rows) of a symmetric matrix (overwritten).
 *
 * With cyclic Jacobi rotations, even small eigenvalues of a positive definite matrix have a small relative error. */
void eigenvectors(index_t d, double *matrix, double *values, double *vectors);

/* Replace axes p and q of a symmetric matrix by c p + s q and c q - s p. */
void rotate_matrix(index_t d, double *matrix, index_t p, index_t q, double c, double s);

/* Replace rows p and q of `vectors` by c p + s q and c q - s p. */
void rotate_rows(index_t d, double *vectors, index_t p, index_t q, double c, double s);

/* Write vectors * matrix * vectors', a symmetric matrix in the axes given by the rows of `vectors`, to `rotated`.
 * `product` is scratch memory. */
void in_axes(index_t d, const double *matrix, const double *vectors, double *product, double *rotated);

/* Write the symmetric matrix with the given eigenvalues and eigenvectors (rows). */
void from_axes(index_t d, const double *values, const double *vectors, double *matrix);

#endif
