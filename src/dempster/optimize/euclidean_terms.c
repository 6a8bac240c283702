/* Objects compared with references by the conflicts 1 - exp(-gamma |x - y|^2) that they should have: the linear terms
 *
 *     linear_q = sum_l (1 - exp(-gamma |x - y_l|^2)) image_lq
 *
 * of their quadratic programs. Objects run in the lanes of vectors, a tile of them at once; the similarities of a tile
 * to some of the references stay in the cache, and their products with the image in registers, which are added up in
 * double precision. */
#include "_native/native.h"
#include "_native/vectors.h"

enum {
    WIDTH = 2,     /* vectors of objects in a tile */
    FEW = 4,       /* references whose distances are summed at once */
    SETS = 6,      /* terms that are summed at once */
    AT_ONCE = 128, /* references whose similarities are kept */
};

#define real float
#define whole uint32_t
#define SUFFIX f32
#include "optimize/euclidean_terms.h"
#define real double
#define whole uint64_t
#define SUFFIX f64
#include "optimize/euclidean_terms.h"
