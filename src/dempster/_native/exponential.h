/* Exponentials and logarithms of vectors of the type `real`. Kernels include this file once for each type, and define
 * `whole` as the unsigned integer type of the same size. */
typedef real TYPED(Lanes) __attribute__((vector_size(VECTOR), may_alias, aligned(sizeof(real))));
typedef whole TYPED(Bits) __attribute__((vector_size(VECTOR), may_alias));

enum {
    TYPED(TERMS) = sizeof(real) == sizeof(float) ? 7 : 13, /* number of terms of the power series */
    TYPED(BIAS) = sizeof(real) == sizeof(float) ? 127 : 1023,
    TYPED(MANTISSA) = sizeof(real) == sizeof(float) ? 23 : 52,
};

/* Return `a` in the lanes of which all bits of `mask` are set, and `b` in those of which none are set. */
ALWAYS_INLINE TYPED(Lanes) TYPED(select)(TYPED(Bits) mask, TYPED(Lanes) a, TYPED(Lanes) b) {
    return (TYPED(Lanes))(((TYPED(Bits))a & mask) | ((TYPED(Bits))b & ~mask));
}

/* Return sum_i factors_i x^i for i < count <= 16. Neighboring terms are added first (Estrin's scheme), so that a
 * processor can compute several of them at once. `count` is a compile-time constant. */
ALWAYS_INLINE TYPED(Lanes) TYPED(polynomial)(TYPED(Lanes) x, const int count, const double *factors) {
    TYPED(Lanes) sums[16];
    for (int i = 0; i < count; i++) sums[i] = (real)factors[i] - (TYPED(Lanes)){0};
    for (int left = count; left > 1; left = (left + 1) / 2, x = x * x)
        for (int i = 0; i < left; i += 2) {
            sums[i / 2] = sums[i];
            if (i + 1 < left) sums[i / 2] += sums[i + 1] * x;
        }
    return sums[0];
}

/* Return exp(r) 2^k for |r| <= ln(2) / 2. exp(r) is computed by its power series, and 2^k from the last bits of
 * `shifted`, which contain k plus the bias of the exponents. */
ALWAYS_INLINE TYPED(Lanes) TYPED(scaled_series)(TYPED(Lanes) r, TYPED(Lanes) shifted) {
    static const double inverse_factorials[] = {
        1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
        1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
    };
    const TYPED(Lanes) sum = TYPED(polynomial)(r, TYPED(TERMS) + 1, inverse_factorials);
    return sum * (TYPED(Lanes))((TYPED(Bits))shifted << TYPED(MANTISSA));
}

/* Adding this constant rounds a number to an integer. The last bits of the sum contain the integer plus the bias. */
#define SHIFT ((real)(sizeof(real) == sizeof(float) ? 12582912.0 : 6755399441055744.0) + TYPED(BIAS))

/* Return exp(x) for x <= 0, with an error of at most two units in the last place. Numbers below -87 in single and -708
 * in double precision, whose exponentials would lose digits, and NaN are replaced by this bound. x = k ln 2 + r with an
 * integer k; ln 2 is the sum of `high` and `low`, and the product of k and `high` is exact. */
ALWAYS_INLINE TYPED(Lanes) TYPED(exponential)(TYPED(Lanes) x) {
    const bool single = sizeof(real) == sizeof(float);
    const real least = (real)(single ? -87.0 : -708.0);
    const real high = (real)(single ? 0.693359375 : 6.93147180369123816490e-1);
    const real low = (real)(single ? -2.12194440054690583e-4 : 1.90821492927058770002e-10);
    x = TYPED(select)((TYPED(Bits))(x > least), x, least - (TYPED(Lanes)){0});
    const TYPED(Lanes) shifted = x * (real)1.4426950408889634 + SHIFT, k = shifted - SHIFT;
    return TYPED(scaled_series)(x - k * high - k * low, shifted);
}

/* Return 2^-x with an error of at most two units in the last place, for 0 <= x < 125 in single and 0 <= x < 1021 in
 * double precision. The result is undefined for other numbers. */
ALWAYS_INLINE TYPED(Lanes) TYPED(power_of_half)(TYPED(Lanes) x) {
    const TYPED(Lanes) shifted = SHIFT - x, k = shifted - SHIFT;
    return TYPED(scaled_series)((k + x) * (real)-0.6931471805599453, shifted);
}

#undef SHIFT

/* Return log2(x) for positive normal numbers x, with an error of at most three units in the last place. x = 2^k m with
 * 1/2 <= m^2 < 2, and the logarithm of m is a power series in (m - 1) / (m + 1). Adding the bits of 2^MANTISSA to those
 * of an integer gives the floating-point number 2^MANTISSA plus this integer. */
ALWAYS_INLINE TYPED(Lanes) TYPED(binary_logarithm)(TYPED(Lanes) x) {
    const bool single = sizeof(real) == sizeof(float);
    const whole one = (whole)TYPED(BIAS) << TYPED(MANTISSA), unit = (whole)1 << TYPED(MANTISSA);
    const whole root = (whole)(single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd); /* the bits of the square root of 1/2 */
    const whole integer = (whole)(TYPED(MANTISSA) + TYPED(BIAS)) << TYPED(MANTISSA);
    const TYPED(Bits) shifted = (TYPED(Bits))x + (one - root);
    const TYPED(Lanes) k = (TYPED(Lanes))((shifted >> TYPED(MANTISSA)) | integer) - (real)(unit + TYPED(BIAS));
    const TYPED(Lanes) m = (TYPED(Lanes))((shifted & (unit - 1)) + root);
    const TYPED(Lanes) s = (m - 1) / (m + 1), square = s * s;
    static const double factors[] = {1.0,     1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                     1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};
    const TYPED(Lanes) sum = TYPED(polynomial)(square, single ? 5 : 10, factors);
    return k + sum * s * (real)2.8853900817779268; /* 2 / ln(2) */
}

/* Return 2^-x for x >= 0, or zero if the result is below 2^-60 in single or 2^-500 in double precision. Products of
 * smaller numbers could be denormal, and operations with denormal numbers are slow. */
ALWAYS_INLINE TYPED(Lanes) TYPED(vanishing_power)(TYPED(Lanes) x) {
    const real most = sizeof(real) == sizeof(float) ? 60 : 500;
    const TYPED(Bits) kept = (TYPED(Bits))(x <= most);
    const TYPED(Lanes) power = TYPED(power_of_half)(TYPED(select)(kept, x, (TYPED(Lanes)){0}));
    return (TYPED(Lanes))((TYPED(Bits))power & kept);
}
