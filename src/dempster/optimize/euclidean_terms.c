/* Linear terms of the quadratic programs of objects with target conflicts 1 - exp(-gamma |x - y|^2) with references:
 *
 *     linear_q = sum_l (1 - exp(-gamma |x - y_l|^2)) image_lq
 *
 * Vector lanes contain different objects, and a tile of objects is computed at the same time. The similarities of a
 * tile to some of the references stay in the cache, their products with the image in registers; the sums are in double
 * precision. */
#include "_native/native.h"
#include "_native/vectors.h"

enum {
    WIDTH = 2,     /* vectors of objects in a tile */
    FEW = 4,       /* references in one call of find_similarities */
    SETS = 6,      /* terms in one call of subtract_products */
    AT_ONCE = 128, /* references whose similarities are stored */
};

#define real float
#define whole uint32_t
#define SUFFIX f32
#include "optimize/euclidean_terms.h"
#define real double
#define whole uint64_t
#define SUFFIX f64
#include "optimize/euclidean_terms.h"
