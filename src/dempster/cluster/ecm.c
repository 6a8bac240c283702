/* Kernels of the methods with prototypes: squared distances to barycenters, masses, and sums over objects.
 *
 * Objects are processed in tiles of 16. The lanes of a vector are different sets, so no sums across a vector are
 * needed. The number of sets is padded to whole vectors. The barycenter of a padding set is at infinity, so the set
 * gets no mass. The sums of a tile are kept in registers. Single precision is sufficient for so few terms. */
#include "_native/native.h"
#include "_native/vectors.h"

enum { ROWS = 16, FEW = 8 }; /* objects in a tile; objects or attributes processed together */

#define real float
#define SUFFIX f32
#include "cluster/ecm.h"
#define real double
#define SUFFIX f64
#include "cluster/ecm.h"
