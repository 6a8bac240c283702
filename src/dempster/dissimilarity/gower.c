/* Sums of Gower's dissimilarity, on encoded tables (`dempster.dissimilarity.gower` states the formula). */
#include "_native/native.h"

enum { MISSING = -1, UNSEEN = -2 }; /* codes of a missing cell, and of a category that the encoder does not know */
enum { TILE = 512 };                /* columns of a block whose sums stay in the first cache */

#define real double
#define absolute fabs
#define SUFFIX f64
#include "dissimilarity/gower_sums.h"
#undef real
#undef absolute
#undef SUFFIX

#define real float
#define absolute fabsf
#define SUFFIX f32
#include "dissimilarity/gower_sums.h"
