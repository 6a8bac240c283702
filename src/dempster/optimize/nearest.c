/* Selection of the nearest clusters of many objects. */
#include "_native/native.h"
#include "_native/vectors.h"

enum { AT_ONCE = 16 };

#define real float
#define whole uint32_t
#define SUFFIX f32
#include "optimize/nearest.h"
#define real double
#define whole uint64_t
#define SUFFIX f64
#include "optimize/nearest.h"
