/* Linear terms of the quadratic programs of objects x for target conflicts with reference objects y_l,
 *
 *     linear_q = sum_l (1 - exp(-gamma |x - y_l|^2)) image_lq.
 *
 * A tile of several objects is computed at the same time, with different objects in the lanes of a vector. The
 * similarities of a tile to a block of reference objects fit in the cache, and their products with `image` are kept in
 * registers. The final sums are in double precision. */
#include "_native/native.h"
#include "_native/vectors.h"

enum {
    WIDTH = 2,     /* number of vectors in a tile */
    FEW = 4,       /* maximum number of reference objects in a call of find_similarities */
    SETS = 6,      /* maximum number of sets in a call of subtract_products */
    AT_ONCE = 128, /* number of reference objects in a block */
};

#define real float
#define whole uint32_t
#define SUFFIX f32
#include "optimize/euclidean_terms.h"
#define real double
#define whole uint64_t
#define SUFFIX f64
#include "optimize/euclidean_terms.h"
