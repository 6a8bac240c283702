/* Projection of rows on a direction. */
#include "_native/native.h"

#define real float
#define SUFFIX f32
#include "data/sampling.h"
#define real double
#define SUFFIX f64
#include "data/sampling.h"
