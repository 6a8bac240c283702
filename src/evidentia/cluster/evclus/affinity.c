/* How near objects are to clusters, each measured by the distances that are usual around it. */
#include "_native/native.h"

#define NEGLIGIBLE 40 /* powers of e from which on nothing is added */

#define real float
#define SUFFIX f32
#define EXP expf
#include "cluster/evclus/affinity.h"
#define real double
#define SUFFIX f64
#define EXP exp
#include "cluster/evclus/affinity.h"
