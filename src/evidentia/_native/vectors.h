/* Vectors of numbers, for loops that compilers do not turn into vectors by themselves. */
#ifndef EVIDENTIA_VECTORS_H
#define EVIDENTIA_VECTORS_H

#if defined(__AVX__)
enum { VECTOR = 32 }; /* bytes that the processor handles at once */
#else
enum { VECTOR = 16 };
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
