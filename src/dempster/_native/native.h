/* What every kernel shares.
 *
 * A kernel is a C function that a Python module declares (`dempster._native.binding`) and calls:
 *
 *     KERNEL scaled_sum(index_t n, const double *x, double factor, double *result) {
 *         ...
 *         return DONE;
 *     }
 *
 * First come the sizes, in the order in which the declaration first names them, then the arguments as declared, then,
 * where there is one, the place for the result. The door has checked types, shapes, memory layout and index ranges.
 * Kernels keep no state between calls and start no threads, so any number of them may run at once. Matrices are stored
 * row after row. */
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

enum { DONE = 0, NO_MEMORY = 1 }; /* what a kernel returns */

typedef int64_t index_t;

/* Join two names after replacing macros in them: `TYPED(sums)` is sums_f32 or sums_f64 where `SUFFIX` is f32 or f64. */
#define JOIN_NAMES(a, b) a##_##b
#define JOIN(a, b) JOIN_NAMES(a, b)
#define TYPED(name) JOIN(name, SUFFIX)

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* Memory that lives as long as one call. Take as many arrays as needed, ask once whether `failed`, release all at once:
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

/* `count` elements of `size` bytes, not set to anything; NULL, and `failed` set, if there is no memory for them. */
void *take(Scratch *scratch, index_t count, size_t size);

/* The same, all bits zero. */
void *take_zeros(Scratch *scratch, index_t count, size_t size);

/* Give all of it back. Returns DONE, or NO_MEMORY if some of it was not to be had. */
int release(Scratch *scratch);

#endif
