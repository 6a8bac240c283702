/* EK-NNclus on a sparse graph of neighbors in compressed rows. The neighbors of row i are indices[indptr[i]], ...,
 * indices[indptr[i + 1] - 1]. `weights` are the weights of evidence -log(1 - phi(d)) of neighbors at distance d. */
#include "_native/native.h"

static const double MIN_GAIN = 1e-12; /* smaller gains may be rounding errors, with which the sweeps would never end */
enum { PREFETCH_VISITS = 4 };

#define integer int32_t
#define SUFFIX i32
#include "cluster/eknnclus.h"
#define integer int64_t
#define SUFFIX i64
#include "cluster/eknnclus.h"
