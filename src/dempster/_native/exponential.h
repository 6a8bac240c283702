/* Exponentials of vectors of the type `real`. Kernels include this file once for each type, and define `whole` as the
 * unsigned integer type of the same size. */
typedef real TYPED(Lanes) __attribute__((vector_size(VECTOR), may_alias, aligned(sizeof(real))));
typedef whole TYPED(Bits) __attribute__((vector_size(VECTOR), may_alias));

enum {
    TYPED(TERMS) = sizeof(real) == sizeof(float) ? 7 : 13, /* number of terms of the power series */
    TYPED(BIAS) = sizeof(real) == sizeof(float) ? 127 : 1023,
    TYPED(MANTISSA) = sizeof(real) == sizeof(float) ? 23 : 52,
};

/* Return exp(r) 2^k for |r| <= ln(2) / 2. exp(r) is computed by its power series, and 2^k from the last bits of
 * `shifted`, which contain k plus the bias of the exponents. */
ALWAYS_INLINE TYPED(Lanes) TYPED(scaled_series)(TYPED(Lanes) r, TYPED(Lanes) shifted) {
    static const double inverse_factorials[] = {
        1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
        1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
    };
    TYPED(Lanes) sum = (real)inverse_factorials[TYPED(TERMS)] - (TYPED(Lanes)){0};
    for (int i = TYPED(TERMS) - 1; i >= 0; i--) sum = sum * r + (real)inverse_factorials[i];
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
    const TYPED(Bits) inside = (TYPED(Bits))(x > least);
    x = (TYPED(Lanes))(((TYPED(Bits))x & inside) | ((TYPED(Bits))(least - (TYPED(Lanes)){0}) & ~inside));
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
