/* Tiles of TILE transposed objects, so that the lanes of a vector are different objects. Kernels include this file once
 * for each type `real`, first for double. */
#include "_native/exponential.h"

#ifndef TILE
#define TILE 64
enum { FEW = 4 }; /* number of vectors of objects that are compared with a center at once */
#endif

/* Write up to TILE rows of X (n, p) as columns of x (p, TILE); a tile with fewer rows is padded with zeros. */
static inline void TYPED(fill_tile)(index_t p, const real *X, index_t rows, real *x) {
    for (index_t d = 0; d < p; d++)
        for (index_t r = 0; r < TILE; r++) x[d * TILE + r] = r < rows ? X[r * p + d] : 0;
}

/* Compute the squared distances of FEW vectors of objects to the first `count` centers. */
ALWAYS_INLINE void TYPED(few_distances)(index_t p, const real *x, const int count, const real *centers, index_t k,
                                        real *out) {
    TYPED(Lanes) sums[2][FEW] = {{{0}}};
    for (index_t d = 0; d < p; d++) {
        const TYPED(Lanes) *column = (const TYPED(Lanes) *)(x + d * TILE);
        for (int s = 0; s < count; s++)
            for (int v = 0; v < FEW; v++) {
                const TYPED(Lanes) gap = column[v] - centers[d * k + s];
                sums[s][v] += gap * gap;
            }
    }
    for (int s = 0; s < count; s++) memcpy(out + s * TILE, sums[s], sizeof sums[s]);
}

/* Write the squared distances (count, TILE) of the objects x (p, TILE) to the first `count` of k centers (p, k). */
static inline void TYPED(tile_distances)(index_t p, const real *x, index_t count, const real *centers, index_t k,
                                         real *out) {
    for (index_t first = 0; first < TILE; first += FEW * VECTOR / (index_t)sizeof(real)) {
        index_t j = 0;
        for (; j + 1 < count; j += 2) TYPED(few_distances)(p, x + first, 2, centers + j, k, out + j * TILE + first);
        if (j < count) TYPED(few_distances)(p, x + first, 1, centers + j, k, out + j * TILE + first);
    }
}

/* Add sum_r a_qr m_jr to sums_qj for q < rows and j < sets, over the objects r of a tile. A sum consists of 32 bytes of
 * partial sums, the same on all machines. */
ALWAYS_INLINE void TYPED(add_few_products)(const int rows, const int sets, const real *a, const real *m, index_t g,
                                           double *sums) {
    enum { PARTS = 32 / VECTOR, WIDE = 32 / sizeof(real), LANES_OF_PART = VECTOR / sizeof(real) };
    TYPED(Lanes) parts[2][2][PARTS] = {{{{0}}}};
    for (index_t r = 0; r < TILE; r += WIDE)
        for (int part = 0; part < PARTS; part++)
            for (int q = 0; q < rows; q++)
                for (int s = 0; s < sets; s++)
                    parts[q][s][part] += *(const TYPED(Lanes) *)(a + q * TILE + r + part * LANES_OF_PART) *
                                         *(const TYPED(Lanes) *)(m + s * TILE + r + part * LANES_OF_PART);
    for (int q = 0; q < rows; q++)
        for (int s = 0; s < sets; s++) {
            real lanes[WIDE];
            memcpy(lanes, parts[q][s], sizeof lanes);
            for (int half = WIDE / 2; half > 0; half /= 2)
                for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
            sums[q * g + s] += lanes[0];
        }
}

/* Add the products of the rows of `a` (count, TILE) and of `m` (g, TILE) to `sums` (count, g). */
static inline void TYPED(add_products)(index_t count, const real *a, index_t g, const real *m, double *sums) {
    for (index_t q = 0; q < count; q += 2)
        for (index_t j = 0; j < g; j += 2) {
            const real *left = a + q * TILE, *right = m + j * TILE;
            double *out = sums + q * g + j;
            if (q + 1 < count && j + 1 < g) TYPED(add_few_products)(2, 2, left, right, g, out);
            else if (q + 1 < count) TYPED(add_few_products)(2, 1, left, right, g, out);
            else if (j + 1 < g) TYPED(add_few_products)(1, 2, left, right, g, out);
            else TYPED(add_few_products)(1, 1, left, right, g, out);
        }
}
