/* Part of euclidean_terms.c, which includes this file once for each type `real` of the data. */
#include "_native/exponential.h"
#define Lanes TYPED(Lanes)
#define Bits TYPED(Bits)
#define LANES ((index_t)(VECTOR / sizeof(real)))
#define TILE (WIDTH * LANES) /* Number of objects in a tile. */

/* Compute the similarities exp(-gamma |x - y|^2) between the objects x of a tile (d, TILE) and a few reference
 * objects y (few, d), the first of which has the index `first`. Update the smallest squared distance of each object and
 * the index of the nearest reference object. */
ALWAYS_INLINE void TYPED(find_similarities)(index_t d, const int few, const real *x, const real *references,
                                            index_t first, real gamma, real *similarities, Lanes *least,
                                            Bits *nearest) {
    const Lanes *column = (const Lanes *)x;
    Lanes *out = (Lanes *)similarities, squares[FEW][WIDTH] = {{{0}}};
    for (index_t k = 0; k < d; k++, column += WIDTH)
        for (int l = 0; l < few; l++)
            for (int v = 0; v < WIDTH; v++) {
                const Lanes gap = column[v] - references[l * d + k];
                squares[l][v] += gap * gap;
            }
    for (int l = 0; l < few; l++)
        for (int v = 0; v < WIDTH; v++) {
            const Bits nearer = (Bits)(squares[l][v] < least[v]);
            least[v] = (Lanes)(((Bits)squares[l][v] & nearer) | ((Bits)least[v] & ~nearer));
            nearest[v] = ((whole)(first + l) & nearer) | (nearest[v] & ~nearer);
            out[l * WIDTH + v] = TYPED(exponential)(squares[l][v] * -gamma);
        }
}

/* Subtract sum_l similarity_l image_lq from the terms of a tile, for `sets` sets q from the first one in `image`. */
ALWAYS_INLINE void TYPED(subtract_products)(index_t f, index_t count, const int sets, const real *similarities,
                                   const real *image, double *terms) {
    const Lanes *column = (const Lanes *)similarities;
    Lanes sums[SETS][WIDTH] = {{{0}}};
    for (index_t l = 0; l < count; l++, column += WIDTH, image += f)
        for (int q = 0; q < sets; q++)
            for (int v = 0; v < WIDTH; v++) sums[q][v] += image[q] * column[v];
    for (int q = 0; q < sets; q++)
        for (index_t i = 0; i < TILE; i++) terms[q * TILE + i] -= sums[q][i / LANES][i % LANES];
}

KERNEL TYPED(euclidean_terms)(index_t n, index_t d, index_t p, index_t f, const real *rows, const real *references,
                              const real *image, double gamma, double *linear, index_t *nearest, real *distance) {
    Scratch scratch = {0};
    real *x = take(&scratch, d * TILE, sizeof *x);
    real *similarities = take(&scratch, AT_ONCE * TILE, sizeof *similarities);
    double *terms = take(&scratch, f * TILE, sizeof *terms), *constant = take_zeros(&scratch, f, sizeof *constant);
    for (index_t l = 0; l < p && !scratch.failed; l++)
        for (index_t q = 0; q < f; q++) constant[q] += image[l * f + q];
    for (index_t first = 0; first < n && !scratch.failed; first += TILE) {
        const index_t count = n - first < TILE ? n - first : TILE;
        const real *objects = rows + first * d;
        Bits where[WIDTH] = {{0}};
        Lanes least[WIDTH];
        for (int v = 0; v < WIDTH; v++) least[v] = (real)INFINITY - (Lanes){0};
        for (index_t i = 0; i < TILE; i++) /* An incomplete tile is filled with copies of the last object. */
            for (index_t k = 0; k < d; k++) x[k * TILE + i] = objects[(i < count ? i : count - 1) * d + k];
        for (index_t q = 0; q < f; q++)
            for (index_t i = 0; i < TILE; i++) terms[q * TILE + i] = constant[q];
        for (index_t l = 0; l < p; l += AT_ONCE) {
            const index_t some = p - l < AT_ONCE ? p - l : AT_ONCE;
            const real *near = references + l * d, *part = image + l * f;
            index_t j = 0, q = 0;
            for (; j + FEW <= some; j += FEW)
                TYPED(find_similarities)(d, FEW, x, near + j * d, l + j, (real)gamma, similarities + j * TILE, least,
                                         where);
            for (; j < some; j++)
                TYPED(find_similarities)(d, 1, x, near + j * d, l + j, (real)gamma, similarities + j * TILE, least,
                                         where);
            for (; q + SETS <= f; q += SETS)
                TYPED(subtract_products)(f, some, SETS, similarities, part + q, terms + q * TILE);
            for (; q < f; q++) TYPED(subtract_products)(f, some, 1, similarities, part + q, terms + q * TILE);
        }
        for (index_t i = 0; i < count; i++) {
            for (index_t q = 0; q < f; q++) linear[(first + i) * f + q] = terms[q * TILE + i];
            nearest[first + i] = (index_t)where[i / LANES][i % LANES];
            distance[first + i] = (real)sqrt((double)least[i / LANES][i % LANES]);
        }
    }
    return release(&scratch);
}
#undef Lanes
#undef Bits
#undef LANES
#undef TILE
#undef real
#undef whole
#undef SUFFIX
