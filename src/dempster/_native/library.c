/* Information about the library, memory for the kernels, and checks of index arrays for binding.py. */
#include "native.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef FINGERPRINT
#define FINGERPRINT ""
#endif

/* ---- the library ---------------------------------------------------------------------------------------------- */

/* Write the hash of the C sources (`fingerprint.py`), 16 characters and a zero, to `result`. */
KERNEL library_fingerprint(char *result) {
    strncpy(result, FINGERPRINT, 17);
    return DONE;
}

/* Return 1 if the processor and the operating system support AVX2 and the other extensions of x86-64-v3. */
KERNEL library_has_avx2(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const unsigned wanted = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
    if ((c & wanted) != wanted) return 0;
    unsigned low, high; /* whether the operating system saves the AVX registers */
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (!(b & bit_AVX2) || !(b & bit_BMI) || !(b & bit_BMI2)) return 0;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
#else
    return 0;
#endif
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* The smallest alignment of malloc on any platform. That of Emscripten is below _Alignof(max_align_t). */
enum { MALLOC_ALIGNMENT = 8 };

/* Arrays are aligned to cache lines, so that no vector crosses a line. With the address sanitizer, they have the
 * alignment of malloc. An array then ends at the end of its allocation, and every access beyond it is detected. */
#if defined(__SANITIZE_ADDRESS__)
enum { ALIGNMENT = MALLOC_ALIGNMENT };
#else
enum { ALIGNMENT = 64 };
#endif

typedef struct Piece {
    struct Piece *before;
    _Alignas(MALLOC_ALIGNMENT) char content[];
} Piece;

static void *new_piece(Scratch *scratch, index_t count, size_t size, bool zeros) {
    if (scratch->failed) return NULL;
    const size_t around = sizeof(Piece) + ALIGNMENT - MALLOC_ALIGNMENT, most = (SIZE_MAX / 2 - around) / size;
    Piece *piece = NULL;
    if (count >= 0 && (size_t)count <= most) {
        const size_t bytes = around + (size_t)count * size;
        piece = zeros ? calloc(1, bytes) : malloc(bytes);
    }
    if (!piece) {
        scratch->failed = true;
        return NULL;
    }
    piece->before = scratch->last;
    scratch->last = piece;
    const uintptr_t content = (uintptr_t)piece->content;
    return piece->content + (ALIGNMENT - content % ALIGNMENT) % ALIGNMENT;
}

void *take(Scratch *scratch, index_t count, size_t size) { return new_piece(scratch, count, size, false); }

void *take_zeros(Scratch *scratch, index_t count, size_t size) { return new_piece(scratch, count, size, true); }

int release(Scratch *scratch) {
    for (Piece *piece = scratch->last, *before; piece; piece = before) {
        before = piece->before;
        free(piece);
    }
    scratch->last = NULL;
    return scratch->failed ? NO_MEMORY : DONE;
}

/* ---- checks of index arrays ------------------------------------------------------------------------------------- */

/* Return 1 if first <= values < end, where first is 0 or -1, and 0 otherwise. The loop has no branches, so that it can
 * be vectorized. Converted to unsigned integers, negative numbers are larger than all others. */
#define WITHIN(name, integer, unsigned_integer)                                           \
    KERNEL name(const integer *values, index_t n, index_t first, index_t end) {           \
        const unsigned_integer shift = (unsigned_integer)(-first);                        \
        unsigned_integer largest = 0;                                                     \
        for (index_t i = 0; i < n; i++) {                                                 \
            const unsigned_integer value = (unsigned_integer)values[i] + shift;           \
            largest = value > largest ? value : largest;                                  \
        }                                                                                 \
        return n == 0 || (end > first && (uint64_t)largest < (uint64_t)(end - first));    \
    }
WITHIN(all_within_i16, int16_t, uint16_t)
WITHIN(all_within_i32, int32_t, uint32_t)
WITHIN(all_within_i64, int64_t, uint64_t)

/* Return 1 if first <= offsets[0] <= offsets[1] <= ... <= end (row offsets of a CSR matrix), and 0 otherwise. */
#define OFFSETS(name, integer)                                               \
    KERNEL name(const integer *offsets, index_t n, index_t first, index_t end) { \
        bool good = n == 0 || (offsets[0] >= first && offsets[n - 1] <= end);    \
        for (index_t i = 1; i < n; i++) good &= offsets[i] >= offsets[i - 1];    \
        return good;                                                             \
    }
OFFSETS(are_offsets_i32, int32_t)
OFFSETS(are_offsets_i64, int64_t)
