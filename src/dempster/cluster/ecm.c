/* Kernels of the methods with prototypes: squared distances to barycenters, masses, and sums over objects.
 *
 * The sums over a tile are kept in registers. Single precision is sufficient for so few terms. */
#include "_native/native.h"
#include "_native/vectors.h"

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/ecm.h"
#define real float
#define whole uint32_t
#define SUFFIX f32
#include "cluster/ecm.h"
