/* Selection of the nearest clusters of many objects. */
#include "_native/native.h"

enum { AT_ONCE = 16 };

#define real float
#define SUFFIX f32
#include "optimize/nearest.h"
#define real double
#define SUFFIX f64
#include "optimize/nearest.h"
