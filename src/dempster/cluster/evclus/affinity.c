/* Affinities of objects to clusters, with local scales. */
#include "_native/native.h"
#include "_native/vectors.h"

static const double BINARY = 1.4426950408889634; /* log2(e) */
#define NEGLIGIBLE 58 /* Terms smaller than 2^-58 are set to zero. */

/* Number of vectors in parallel sums; the order of summation is the same on all processors. */
enum { PARTS = 32 / VECTOR, GROUP_MOST = 32 / sizeof(float), AT_ONCE = 4 /* vectors in registers */ };

#define real float
#define whole uint32_t
#define bits_t int32_t
#define SUFFIX f32
#define ROOT sqrtf
#include "cluster/evclus/affinity.h"
#define real double
#define whole uint64_t
#define bits_t int64_t
#define SUFFIX f64
#define ROOT sqrt
#include "cluster/evclus/affinity.h"
