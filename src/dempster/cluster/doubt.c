/* Masses of doubt between two neighboring clusters; _doubt.py has the formulas. */
#include "_native/native.h"

#define real float
#define SUFFIX f32
#include "cluster/doubt.h"
#define real double
#define SUFFIX f64
#include "cluster/doubt.h"
