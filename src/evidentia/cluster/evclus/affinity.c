/* How near objects are to clusters, each measured by the distances that are usual around it. */
#include "_native/native.h"
#include "_native/vectors.h"

#define NEGLIGIBLE 40 /* powers of e from which on nothing is added */

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
