/* Conflicts from products of coordinates; the formula is in `dempster.dissimilarity.transform`. */
#include "_native/native.h"

static const float LOG2_E = 1.44269504f, LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f; /* high: few digits */
static const float ROUND = 12582912.0f; /* 1.5 * 2^23: adding it rounds a number to an integer */
static const float SMALLEST = -87.0f;   /* approximate logarithm of the smallest normal number */

enum { ROWS = 16 }; /* processed together */

/* Return exp(x) for x <= 0, accurate to about the last digit, without branches, so that a compiler can vectorize it.
 * With k the integer nearest to x / ln 2 and r = x - k ln 2, exp(x) = 2^k exp(r); eight terms of the series suffice
 * for r. */
static inline float exponential(float x) {
    x = x < SMALLEST ? SMALLEST : x;
    float shifted = x * LOG2_E + ROUND, k = shifted - ROUND, power;
    float r = (x - k * LN2_HIGH) - k * LN2_LOW;
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    int32_t bits = ((int32_t)k + 127) << 23; /* bits of 2^k */
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* Replace the products x_i'x_j by 1 - exp(min(x_i'x_j - half_i - half_j, 0)). Products below the diagonal are not
 * used: a few rows are computed from the diagonal on and copied to the columns. */
KERNEL transform_conflicts(index_t n, float *products, const float *half) {
    for (index_t first = 0; first < n; first += ROWS) {
        index_t last = first + ROWS < n ? first + ROWS : n;
        for (index_t i = first; i < last; i++) {
            float *row = products + i * n, own = half[i];
            for (index_t j = first; j < n; j++) {
                float x = row[j] - own - half[j];
                row[j] = 1.0f - exponential(x < 0.0f ? x : 0.0f);
            }
        }
        for (index_t j = first; j < n; j++)
            for (index_t i = first; i < last && i < j; i++) products[j * n + i] = products[i * n + j];
    }
    return DONE;
}
