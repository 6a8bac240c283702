/* Most plausible clusters of objects. */
#include "_native/native.h"

enum { TILE = 16 }; /* number of objects processed together */

#define real float
#define SUFFIX f32
#include "partition/labels.h"
#define real double
#define SUFFIX f64
#include "partition/labels.h"
