/* Part of nearest.c, included once for each type `real` of the costs. */
#include "_native/tiles.h"

/* Insert a cost and its column into sorted costs, the largest of which, at the index `last`, is overwritten. */
static inline void TYPED(insert)(real cost, index_t column, index_t last, real *best, index_t *columns) {
    index_t t = last;
    for (; t > 0 && cost < best[t - 1]; t--) {
        best[t] = best[t - 1];
        columns[t] = columns[t - 1];
    }
    best[t] = cost;
    columns[t] = column;
}

/* Return whether one of AT_ONCE costs is below a limit. */
static inline bool TYPED(has_smaller)(const real *costs, real limit) {
    TYPED(Bits) found = {0};
    for (int j = 0; j < AT_ONCE; j += VECTOR / (int)sizeof(real))
        found |= (TYPED(Bits))(*(const TYPED(Lanes) *)(costs + j) < limit);
    return any_bit(&found);
}

/* Write the columns of the k smallest costs of each row, in increasing order of the costs. In case of ties, the first
 * columns are selected. Most costs are larger than the k smallest so far, so that AT_ONCE of them are compared without
 * a branch. */
KERNEL TYPED(smallest_costs)(index_t n, index_t c, index_t k, const real *costs, index_t *columns) {
    Scratch scratch = {0};
    real *best = take(&scratch, k, sizeof *best);
    for (index_t i = 0; i < n && !scratch.failed; i++) {
        const real *row = costs + i * c;
        index_t *out = columns + i * k;
        for (index_t j = 0; j < k; j++) TYPED(insert)(row[j], j, j, best, out);
        for (index_t start = k; start < c; start += AT_ONCE) {
            const index_t stop = c - start < AT_ONCE ? c : start + AT_ONCE;
            if (stop < c && !TYPED(has_smaller)(row + start, best[k - 1])) continue;
            for (index_t j = start; j < stop; j++)
                if (row[j] < best[k - 1]) TYPED(insert)(row[j], j, k - 1, best, out);
        }
    }
    return release(&scratch);
}

/* Write the nearest of k centers (p, k) to each row, the first one in case of ties, and its squared distance. */
KERNEL TYPED(nearest_center)(index_t n, index_t p, index_t k, const real *X, const real *centers, index_t *labels,
                             real *squares) {
    enum { LANES = VECTOR / sizeof(real) };
    Scratch scratch = {0};
    real *x = take(&scratch, p * TILE, sizeof *x), *costs = take(&scratch, k * TILE, sizeof *costs);
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        TYPED(fill_tile)(p, X + i * p, rows, x);
        TYPED(tile_distances)(p, x, k, centers, k, costs);
        for (index_t first = 0; first < rows; first += LANES) {
            TYPED(Lanes) least = *(const TYPED(Lanes) *)(costs + first);
            TYPED(Bits) best = {0};
            for (index_t j = 1; j < k; j++) {
                const TYPED(Lanes) cost = *(const TYPED(Lanes) *)(costs + j * TILE + first);
                const TYPED(Bits) nearer = (TYPED(Bits))(cost < least);
                least = TYPED(select)(nearer, cost, least);
                best = ((whole)j & nearer) | (best & ~nearer);
            }
            for (index_t r = first; r < rows && r < first + LANES; r++) {
                labels[i + r] = (index_t)best[r - first];
                squares[i + r] = least[r - first];
            }
        }
    }
    return release(&scratch);
}

#undef real
#undef whole
#undef SUFFIX
