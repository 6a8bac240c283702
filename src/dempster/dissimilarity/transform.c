/* Conflicts from products of coordinates (`dempster.dissimilarity.transform` states the formula). */
#include "_native/native.h"

static const float LOG2_E = 1.44269504f, LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f; /* high: few digits */
static const float ROUND = 12582912.0f; /* 1.5 * 2^23: what is added to it loses its digits after the point */
static const float SMALLEST = -87.0f;   /* exponent of the smallest normal number, nearly */

enum { ROWS = 16 }; /* at a time */

/* exp(x) for x <= 0, to about the last digit; written so that a compiler computes several at once. With k the whole number
 * next to x / ln 2 and r = x - k ln 2, it is 2^k exp(r), and eight terms of the series are enough for r. */
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
    int32_t bits = ((int32_t)k + 127) << 23; /* of 2^k */
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* 1 - exp(min(x_i'x_j - half_i - half_j, 0)), in place of the products x_i'x_j. Those below the diagonal are not looked at:
 * a few rows are computed from the diagonal on, and what they hold is copied to the columns. */
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
