/* Gower's dissimilarity of encoded tables. The formula is in gower.py. */
#include "_native/native.h"

enum { MISSING = -1, UNSEEN = -2 }; /* codes of a missing value and of a category that did not occur in fit */
enum { TILE = 512 };                /* number of objects whose sums fit into the first-level cache */

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
