/* The mass step for numbers of type `real`; kernels include this file once for each type, first for double.
 *
 * Let w_j = |A_j|^alpha costs_j be the weighted costs of the nonempty sets A_j, and w_0 = delta^2 the cost of the empty
 * set. The masses that minimize sum_j w_j m_j^beta on the simplex are (Masson and Denoeux, 2008, eq. 17)
 *
 *     m_j = s_j / sum(s),   s_j = r_j^(1 / (beta - 1)),   r_j = w / w_j,   and the minimum is w sum(s)^(1 - beta),
 *
 * where w is the smallest of the w_j, so that nothing overflows. Very small shares s_j are set to zero. Objects are
 * processed in tiles. */
#include "_native/tiles.h"

typedef struct {
    index_t g;           /* number of nonempty sets */
    const real *factor;  /* (g,) |A_j|^alpha */
    const index_t *size; /* (g,) |A_j| */
    double delta2;       /* w_0, infinite if the family lacks the empty set */
    double beta;
    real zero; /* costs up to this value count as zero */
    /* Results for the objects of a tile. */
    real *ratios, *shares; /* (g, TILE) r_j and s_j */
    real *empty;           /* (TILE,) s_0 */
    real *least;           /* (TILE,) w */
    real *total;           /* (TILE,) sum(s) */
    double *powers;        /* (TILE,) sum(s)^-beta */
} TYPED(MassStep);

static TYPED(MassStep) TYPED(take_mass_step)(Scratch *scratch, index_t g, const real *factor, const index_t *size,
                                             double delta2, double beta, double zero) {
    return (TYPED(MassStep)){
        .g = g,
        .factor = factor,
        .size = size,
        .delta2 = delta2,
        .beta = beta,
        .zero = (real)zero,
        .ratios = take(scratch, g * TILE, sizeof(real)),
        .shares = take(scratch, g * TILE, sizeof(real)),
        .empty = take(scratch, TILE, sizeof(real)),
        .least = take(scratch, TILE, sizeof(real)),
        .total = take(scratch, TILE, sizeof(real)),
        .powers = take(scratch, TILE, sizeof(double)),
    };
}

/* ---- shares --------------------------------------------------------------------------------------------------- */

/* Return x^exponent for 0 <= x <= 1, or zero for small results and small x. */
ALWAYS_INLINE TYPED(Lanes) TYPED(power)(TYPED(Lanes) x, real exponent) {
    if (exponent == 1) return x;
    if (exponent == 2) return x * x;
    const real normal = (real)(sizeof(real) == sizeof(float) ? 0x1p-126 : 0x1p-1022);
    const TYPED(Lanes) share = TYPED(vanishing_power)(TYPED(binary_logarithm)(x) * -exponent);
    return (TYPED(Lanes))((TYPED(Bits))share & (TYPED(Bits))(x >= normal));
}

/* Give equal shares to the smallest sets with zero cost. The object r of the tile coincides with a prototype. */
static void TYPED(share_on_prototype)(const TYPED(MassStep) *step, const real *costs, index_t r) {
    index_t few = INT64_MAX, count = 0;
    for (index_t j = 0; j < step->g; j++)
        if (costs[j * TILE + r] <= step->zero && step->size[j] < few) few = step->size[j];
    for (index_t j = 0; j < step->g; j++) {
        const bool chosen = costs[j * TILE + r] <= step->zero && step->size[j] == few;
        step->ratios[j * TILE + r] = step->shares[j * TILE + r] = chosen;
        count += chosen;
    }
    step->empty[r] = step->least[r] = 0;
    step->total[r] = (real)count;
}

/* Compute the shares for the nonnegative costs (g, TILE) of a tile. */
static void TYPED(find_shares)(const TYPED(MassStep) *step, const real *costs) {
    enum { LANES = VECTOR / sizeof(real) };
    const real exponent = (real)(1 / (step->beta - 1));
    for (index_t first = 0; first < TILE; first += LANES) {
        TYPED(Bits) is_zero = {0};
        TYPED(Lanes) least = (real)step->delta2 - (TYPED(Lanes)){0}, total = {0};
        for (index_t j = 0; j < step->g; j++) {
            const TYPED(Lanes) cost = *(const TYPED(Lanes) *)(costs + j * TILE + first), w = step->factor[j] * cost;
            is_zero |= (TYPED(Bits))(cost <= step->zero);
            least = TYPED(select)((TYPED(Bits))(w < least), w, least);
        }
        if (step->delta2 < INFINITY) total = TYPED(power)(least / (real)step->delta2, exponent);
        *(TYPED(Lanes) *)(step->empty + first) = total;
        for (index_t j = 0; j < step->g; j++) {
            const index_t at = j * TILE + first;
            const TYPED(Lanes) ratio = least / (step->factor[j] * *(const TYPED(Lanes) *)(costs + at));
            const TYPED(Lanes) share = TYPED(power)(ratio, exponent);
            *(TYPED(Lanes) *)(step->ratios + at) = ratio;
            *(TYPED(Lanes) *)(step->shares + at) = share;
            total += share;
        }
        *(TYPED(Lanes) *)(step->least + first) = least;
        *(TYPED(Lanes) *)(step->total + first) = total;
        for (index_t r = first; any_bit(&is_zero) && r < first + LANES; r++)
            if (is_zero[r - first]) TYPED(share_on_prototype)(step, costs, r);
    }
}

/* ---- masses and their powers ---------------------------------------------------------------------------------- */

/* Write the masses to `shares` and `empty` for the costs of a tile. */
static inline void TYPED(find_masses)(const TYPED(MassStep) *step, const real *costs) {
    TYPED(find_shares)(step, costs);
    const real *restrict total = step->total;
    real *restrict empty = step->empty;
    for (index_t r = 0; r < TILE; r++) empty[r] /= total[r];
    for (index_t j = 0; j < step->g; j++) {
        real *restrict shares = step->shares + j * TILE;
        for (index_t r = 0; r < TILE; r++) shares[r] /= total[r];
    }
}

/* Return the weighted sum of the minima of the first `rows` objects of a tile, and write `powers`. */
static inline double TYPED(sum_minima)(const TYPED(MassStep) *step, index_t rows, const double *weights) {
    enum { COUNT = VECTOR / sizeof(double) };
    double minima[TILE];
    for (index_t r = 0; r < TILE; r++) step->powers[r] = step->total[r];
    for (index_t r = 0; r < TILE; r += COUNT) {
        Lanes_f64 *total = (Lanes_f64 *)(step->powers + r);
        const Lanes_f64 lost = binary_logarithm_f64(*total) * step->beta, most = 1020 - (Lanes_f64){0};
        *total = power_of_half_f64(select_f64((Bits_f64)(lost < most), lost, most));
    }
    for (index_t r = 0; r < TILE; r++) minima[r] = (double)step->least[r] * step->total[r] * step->powers[r];
    for (index_t r = 0; weights && r < rows; r++) minima[r] *= weights[r];
    for (index_t r = rows; r < TILE; r++) minima[r] = 0;
    for (int half = TILE / 2; half > 0; half /= 2)
        for (int r = 0; r < half; r++) minima[r] += minima[r + half];
    return minima[0];
}

/* Write m_j^beta times the weight of the object to `shares` for the first `rows` objects of a tile, and zero for the
 * others. Return the sum of the weighted minima. Because s_j^(beta - 1) = r_j, the power m_j^beta = s_j r_j /
 * sum(s)^beta needs no further power of s_j. */
static inline double TYPED(find_powers)(const TYPED(MassStep) *step, index_t rows, const real *costs,
                                        const double *weights) {
    TYPED(find_shares)(step, costs);
    const double objective = TYPED(sum_minima)(step, rows, weights);
    real *restrict scale = step->total;
    for (index_t r = 0; r < TILE; r++) scale[r] = r < rows ? (real)((weights ? weights[r] : 1) * step->powers[r]) : 0;
    for (index_t j = 0; j < step->g; j++) {
        const real *restrict ratios = step->ratios + j * TILE;
        real *restrict shares = step->shares + j * TILE;
        for (index_t r = 0; r < TILE; r++) shares[r] *= ratios[r] * scale[r];
    }
    return objective;
}
