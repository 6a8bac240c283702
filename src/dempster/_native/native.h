/* Definitions for all kernels.
 *
 * A kernel is a C function that is declared in a Python module (`dempster._native.binding`) and called from it:
 *
 *     KERNEL scaled_sum(index_t n, const double *x, double factor, double *result) {
 *         ...
 *         return DONE;
 *     }
 *
 * The first arguments are the lengths of the arrays, in the order of their first occurrence in the declaration. The
 * declared arguments follow, and then a pointer to the result if there is one. Types, shapes, memory layout and index
 * ranges are checked before the call. Kernels keep no state between calls and start no threads, so several calls can
 * run at the same time. Matrices are stored row by row. */
#ifndef DEMPSTER_NATIVE_H
#define DEMPSTER_NATIVE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define KERNEL __declspec(dllexport) int
#else
#define KERNEL __attribute__((visibility("default"))) int
#endif

enum { DONE = 0, NO_MEMORY = 1 }; /* return values of a kernel */

typedef int64_t index_t;

/* Join two names after macro expansion. If `SUFFIX` is f32, `TYPED(sums)` is sums_f32. */
#define JOIN_NAMES(a, b) a##_##b
#define JOIN(a, b) JOIN_NAMES(a, b)
#define TYPED(name) JOIN(name, SUFFIX)

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* Memory for the duration of one call. Allocate all arrays, check `failed` once, and release all arrays at the end:
 *
 *     Scratch scratch = {0};
 *     double *x = take(&scratch, n, sizeof *x), *y = take(&scratch, n, sizeof *y);
 *     if (!scratch.failed) { ... }
 *     return release(&scratch);
 */
typedef struct Scratch {
    struct Piece *last;
    bool failed;
} Scratch;

/* Return an uninitialized array of `count` elements of `size` bytes, or set `failed` and return NULL. */
void *take(Scratch *scratch, index_t count, size_t size);

/* Do the same as `take`, and set all bytes to zero. */
void *take_zeros(Scratch *scratch, index_t count, size_t size);

/* Release all arrays. Return DONE, or NO_MEMORY if an array could not be allocated. */
int release(Scratch *scratch);

#endif
