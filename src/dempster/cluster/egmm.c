/* Kernels of mixtures of Gaussian and t distributions.
 *
 * The objects are given in coordinates in which the covariances of the components are the identity. The logarithms of
 * densities have base 2. */
#include "_native/native.h"
#include "_native/vectors.h"

static const double LN_2 = 0.6931471805599453;

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/egmm.h"
#define real float
#define whole uint32_t
#define SUFFIX f32
#include "cluster/egmm.h"
