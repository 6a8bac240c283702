/* The mass step for numbers of type `real`; kernels include this file once for each type.
 *
 * Let w_j = |A_j|^alpha costs_j be the weighted costs of the nonempty sets A_j, and w_0 = delta^2 the cost of the empty
 * set. The masses that minimize sum_j w_j m_j^beta on the simplex are (Masson and Denoeux, 2008, eq. 17)
 *
 *     m_j = s_j / sum(s),   s_j = r_j^(1 / (beta - 1)),   r_j = w / w_j,   and the minimum is w sum(s)^(1 - beta),
 *
 * for any w > 0. If w is the smallest of the w_j, nothing overflows. If w = 1 and beta = 2, one pass over a row of
 * costs is sufficient, and sum(s) shows whether an overflow occurred. */

enum { TYPED(WIDE) = 32 / sizeof(real) }; /* number of partial sums, the same on all machines */

typedef struct {
    index_t g;           /* number of nonempty sets */
    const real *factor;  /* (g,) |A_j|^alpha */
    const index_t *size; /* (g,) |A_j| */
    double delta2;       /* w_0, infinite if the family lacks the empty set */
    double beta;
    double zero;        /* costs up to this value count as zero */
    double empty;       /* 1 / w_0 */
    double least, most; /* If sum_j 1 / w_j is between these bounds, there was no overflow. */
    double negligible;  /* Smaller ratios r_j have shares below 2^-64, which are zero for very many sets. */
    real *ratios;       /* (g,) work space for r_j */
} TYPED(MassStep);

/* Results for one row: w, s_0 and sum(s). */
typedef struct {
    double scale, empty, total;
} TYPED(Shares);

static TYPED(MassStep) TYPED(take_mass_step)(Scratch *scratch, index_t g, const real *factor, const index_t *size,
                                             double delta2, double beta, double zero) {
    const double smallest = sizeof(real) == sizeof(float) ? 1e-30 : 1e-290; /* Sums from here ... */
    double largest = sizeof(real) == sizeof(float) ? 1e30 : 1e290;          /* ... to here are precise. */
    for (index_t j = 0; j < g; j++) largest = smaller(largest, 1 / ((real)zero * factor[j]));
    const double negligible = g > 100 ? pow(0x1p-64, beta - 1) : 0;
    real *ratios = take(scratch, g, sizeof *ratios);
    return (TYPED(MassStep)){g, factor, size, delta2, beta, zero, 1 / delta2, smallest, largest, negligible, ratios};
}

/* Return x^exponent. The common values beta = 3/2 and beta = 3 need no logarithm. */
static inline double TYPED(raised)(double x, double exponent) {
    if (exponent == 2) return x * x;
    if (exponent == 0.5) return sqrt(x);
    return exponent == 1.5 ? x * sqrt(x) : pow(x, exponent);
}

/* Write 1 / w_j and return their sum. */
static inline real TYPED(inverses)(const TYPED(MassStep) *step, const real *restrict costs, real *restrict shares) {
    const real *restrict factor = step->factor;
    const index_t whole = step->g - step->g % TYPED(WIDE);
    real sums[TYPED(WIDE)] = {0};
    for (index_t j = 0; j < whole; j += TYPED(WIDE))
        for (int lane = 0; lane < TYPED(WIDE); lane++) {
            shares[j + lane] = 1 / (factor[j + lane] * costs[j + lane]);
            sums[lane] += shares[j + lane];
        }
    for (index_t j = whole; j < step->g; j++) {
        shares[j] = 1 / (factor[j] * costs[j]);
        sums[j - whole] += shares[j];
    }
    for (int half = TYPED(WIDE) / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++) sums[lane] += sums[lane + half];
    return sums[0];
}

/* Write equal shares s_j for the smallest sets with zero cost. The object coincides with a prototype. */
static TYPED(Shares) TYPED(shares_on_prototype)(const TYPED(MassStep) *step, const real *costs, real *shares) {
    index_t few = INT64_MAX;
    double count = 0;
    for (index_t j = 0; j < step->g; j++)
        if (costs[j] <= step->zero && step->size[j] < few) few = step->size[j];
    for (index_t j = 0; j < step->g; j++) {
        const bool chosen = costs[j] <= step->zero && step->size[j] == few;
        step->ratios[j] = shares[j] = chosen;
        count += chosen;
    }
    return (TYPED(Shares)){0, 0, count};
}

/* Compute the shares s_j for any row of costs, with the smallest w_j as w. */
static TYPED(Shares) TYPED(careful_shares)(const TYPED(MassStep) *step, const real *costs, real *shares) {
    double smallest = step->delta2;
    for (index_t j = 0; j < step->g; j++) {
        if (costs[j] <= step->zero) return TYPED(shares_on_prototype)(step, costs, shares);
        smallest = smaller((double)step->factor[j] * costs[j], smallest);
    }
    const double power = 1 / (step->beta - 1);
    const double empty = TYPED(raised)(smallest / step->delta2, power);
    double total = empty;
    for (index_t j = 0; j < step->g; j++) {
        const double ratio = smallest / ((double)step->factor[j] * costs[j]);
        double share = step->beta == 2 ? ratio : 0;
        if (step->beta != 2 && ratio >= step->negligible) share = TYPED(raised)(ratio, power);
        step->ratios[j] = (real)ratio;
        shares[j] = (real)share;
        total += share;
    }
    return (TYPED(Shares)){smallest, empty, total};
}

/* Compute the shares s_j of the nonempty sets, for nonnegative costs. */
static inline TYPED(Shares) TYPED(find_shares)(const TYPED(MassStep) *step, const real *costs, real *shares) {
    if (step->beta == 2) {
        const double total = step->empty + TYPED(inverses)(step, costs, shares);
        if (step->least < total && total < step->most) return (TYPED(Shares)){1, step->empty, total};
    }
    return TYPED(careful_shares)(step, costs, shares);
}

/* Return the minimum w sum(s)^(1 - beta); `inverse` is 1 / sum(s). */
static inline double TYPED(minimum)(const TYPED(MassStep) *step, TYPED(Shares) found, double inverse) {
    return step->beta == 2 ? found.scale * inverse : found.scale * TYPED(raised)(inverse, step->beta - 1);
}

/* Write the masses of the nonempty sets and of the empty set for a row of costs; return the minimum. */
static inline double TYPED(masses_of_row)(const TYPED(MassStep) *step, const real *costs, real *masses, real *empty) {
    const TYPED(Shares) found = TYPED(find_shares)(step, costs, masses);
    const double inverse = 1 / found.total;
    for (index_t j = 0; j < step->g; j++) masses[j] *= (real)inverse;
    *empty = (real)(found.empty * inverse);
    return TYPED(minimum)(step, found, inverse);
}

/* Write m_j^beta times the weight of the object, and return the weighted minimum. Because s_j^(beta - 1) = r_j,
 * m_j^beta = s_j r_j / sum(s)^beta needs no further power of s_j. */
static inline double TYPED(powers_of_row)(const TYPED(MassStep) *step, const real *costs, double weight,
                                          real *restrict powers) {
    const TYPED(Shares) found = TYPED(find_shares)(step, costs, powers);
    const double inverse = 1 / found.total;
    if (step->beta == 2) {
        for (index_t j = 0; j < step->g; j++) {
            const real mass = powers[j] * (real)inverse;
            powers[j] = (real)weight * mass * mass;
        }
    } else {
        const real *restrict ratios = step->ratios;
        const real scale = (real)(weight * TYPED(raised)(inverse, step->beta));
        for (index_t j = 0; j < step->g; j++) powers[j] *= ratios[j] * scale;
    }
    return weight * TYPED(minimum)(step, found, inverse);
}
