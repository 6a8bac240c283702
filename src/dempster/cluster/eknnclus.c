/* EK-NNclus on a sparse graph of neighbors in compressed rows: the neighbors of row i are indices[indptr[i]], ...,
 * indices[indptr[i + 1] - 1], and `weights` are their weights of evidence w = -log(1 - phi(d)). */
#include "_native/native.h"

static const double MIN_GAIN = 1e-12; /* smaller gains may be rounding errors, and rows would move forever */
enum { PREFETCH_VISITS = 4 };

#define integer int32_t
#define SUFFIX i32
#include "cluster/eknnclus.h"
#define integer int64_t
#define SUFFIX i64
#include "cluster/eknnclus.h"
