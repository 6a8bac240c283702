/* Kernels of the methods with prototypes: squared distances to barycenters, masses, and sums over objects.
 *
 * Objects are processed in tiles of TILE objects, which are transposed, so that the lanes of a vector are different
 * objects. The sums over a tile are kept in registers. Single precision is sufficient for so few terms. */
#include "_native/native.h"
#include "_native/vectors.h"

enum { FEW = 4 }; /* vectors of objects compared with a set at once */

#define real double
#define whole uint64_t
#define SUFFIX f64
#include "cluster/ecm.h"
#define real float
#define whole uint32_t
#define SUFFIX f32
#include "cluster/ecm.h"
