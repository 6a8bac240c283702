/* Vector types for loops that compilers do not vectorize automatically. */
#ifndef DEMPSTER_VECTORS_H
#define DEMPSTER_VECTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX__)
#include <immintrin.h>
enum { VECTOR = 32 }; /* number of bytes in a vector register */
#else
enum { VECTOR = 16 };
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Return whether any bit of a vector is set. */
ALWAYS_INLINE bool any_bit(const void *vector) {
#if defined(__AVX__)
    const __m256i bits = _mm256_loadu_si256(vector);
    return !_mm256_testz_si256(bits, bits);
#else
    uint64_t part[VECTOR / sizeof(uint64_t)], all = 0;
    memcpy(part, vector, sizeof part);
    for (size_t i = 0; i < VECTOR / sizeof(uint64_t); i++) all |= part[i];
    return all != 0;
#endif
}

#endif
