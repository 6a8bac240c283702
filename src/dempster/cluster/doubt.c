/* Masses on pairs of neighboring clusters; the formulas are in _mass_step.py. */
#include "_native/native.h"

#define real float
#define SUFFIX f32
#include "cluster/doubt.h"
#define real double
#define SUFFIX f64
#include "cluster/doubt.h"
