/* Squared distances to barycentres, masses, and sums over objects: the methods with prototypes.
 *
 * Objects are taken in tiles of 16. The sets run in the lanes of vectors, so that nothing has to be added up across a
 * vector, and the numbers of sets are padded to whole vectors: a set that is not there has its barycentre at infinity,
 * and gets no mass. What a tile adds to the sums is kept in registers; single precision is enough for so few terms. */
#include "_native/native.h"
#include "_native/vectors.h"

enum { ROWS = 16, FEW = 8 }; /* objects of a tile; objects whose costs, and attributes whose sums, are found at once */

#define real float
#define SUFFIX f32
#include "cluster/ecm.h"
#define real double
#define SUFFIX f64
#include "cluster/ecm.h"
