/* Exponentials of vectors of numbers of type `real`: kernels include this text once for each type, with `whole` the
 * unsigned integer of the same size. */
typedef real TYPED(Lanes) __attribute__((vector_size(VECTOR), may_alias, aligned(sizeof(real))));
typedef whole TYPED(Bits) __attribute__((vector_size(VECTOR), may_alias));

enum {
    TYPED(TERMS) = sizeof(real) == sizeof(float) ? 7 : 13, /* of the series */
    TYPED(BIAS) = sizeof(real) == sizeof(float) ? 127 : 1023,
    TYPED(MANTISSA) = sizeof(real) == sizeof(float) ? 23 : 52,
};

/* exp(r) 2^k for |r| <= ln(2) / 2 by its series, whose terms soon vanish, and 2^k by its bits: the last ones of `shifted`
 * are k plus the bias of exponents. */
ALWAYS_INLINE TYPED(Lanes) TYPED(scaled_series)(TYPED(Lanes) r, TYPED(Lanes) shifted) {
    static const double inverse_factorials[] = {
        1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
        1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
    };
    TYPED(Lanes) sum = (real)inverse_factorials[TYPED(TERMS)] - (TYPED(Lanes)){0};
    for (int i = TYPED(TERMS) - 1; i >= 0; i--) sum = sum * r + (real)inverse_factorials[i];
    return sum * (TYPED(Lanes))((TYPED(Bits))shifted << TYPED(MANTISSA));
}

/* Adding this to a number rounds it to a whole one and leaves that, plus the bias, in the last bits of the sum. */
#define SHIFT ((real)(sizeof(real) == sizeof(float) ? 12582912.0 : 6755399441055744.0) + TYPED(BIAS))

/* exp(x) for x <= 0, to two units in the last place; numbers below -87 (-708), whose exponentials would lose digits, and
 * those that are none, count as that. x = k ln 2 + r with a whole k; ln 2 comes in two parts, and products of the first
 * with k are exact. */
ALWAYS_INLINE TYPED(Lanes) TYPED(exponential)(TYPED(Lanes) x) {
    const bool single = sizeof(real) == sizeof(float);
    const real least = (real)(single ? -87.0 : -708.0);
    const real high = (real)(single ? 0.693359375 : 6.93147180369123816490e-1);
    const real low = (real)(single ? -2.12194440054690583e-4 : 1.90821492927058770002e-10);
    const TYPED(Bits) inside = (TYPED(Bits))(x > least);
    x = (TYPED(Lanes))(((TYPED(Bits))x & inside) | ((TYPED(Bits))(least - (TYPED(Lanes)){0}) & ~inside));
    const TYPED(Lanes) shifted = x * (real)1.4426950408889634 + SHIFT, k = shifted - SHIFT;
    return TYPED(scaled_series)(x - k * high - k * low, shifted);
}

/* 2^-x for 0 <= x < 125 (1021), to two units in the last place; of no use for other numbers. */
ALWAYS_INLINE TYPED(Lanes) TYPED(power_of_half)(TYPED(Lanes) x) {
    const TYPED(Lanes) shifted = SHIFT - x, k = shifted - SHIFT;
    return TYPED(scaled_series)((k + x) * (real)-0.6931471805599453, shifted);
}

#undef SHIFT
