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

static const double INVERSE_FACTORIALS[] = {
    1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
    1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
};

/* The smallest numbers whose exponentials are normal, and ln 2 in two parts: products of the first with k are exact. */
#define real float
#define whole uint32_t
#define SUFFIX f32
#define LEAST -87.0
#define SHIFT 12582912.0 /* 3 2^22 */
#define LN2_HIGH 0.693359375
#define LN2_LOW -2.12194440054690583e-4
#define TERMS 7
#define BIAS 127
#define MANTISSA 23
#include "optimize/euclidean_terms.h"
#define real double
#define whole uint64_t
#define SUFFIX f64
#define LEAST -708.0
#define SHIFT 6755399441055744.0 /* 3 2^51 */
#define LN2_HIGH 6.93147180369123816490e-1
#define LN2_LOW 1.90821492927058770002e-10
#define TERMS 13
#define BIAS 1023
#define MANTISSA 52
#include "optimize/euclidean_terms.h"
