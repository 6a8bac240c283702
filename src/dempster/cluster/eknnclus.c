/* EK-NNclus over a sparse graph of neighbours, in compressed rows: the neighbours of object i are indices[indptr[i]],
 * ..., indices[indptr[i + 1] - 1], and `weights` are the weights of evidence w = -log(1 - phi(d)) that they lend to the
 * cluster they are in. */
#include "_native/native.h"

static const double MIN_GAIN = 1e-12; /* less may be rounding, and objects would move to and fro */
enum { SOON = 4 }; /* visits ahead */

#define integer int32_t
#define SUFFIX i32
#include "cluster/eknnclus.h"
#define integer int64_t
#define SUFFIX i64
#include "cluster/eknnclus.h"
