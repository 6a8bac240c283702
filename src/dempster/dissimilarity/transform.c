/* Degrees of conflict from inner products of points. The formula is in transform.py. */
#include "_native/native.h"

static const float LOG2_E = 1.44269504f, LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f; /* ln 2 = high + low */
static const float ROUND = 12582912.0f; /* 1.5 * 2^23; adding it to a number rounds the number to an integer */
static const float SMALLEST = -87.0f;   /* approximate logarithm of the smallest normal number */

enum { ROWS = 16 }; /* number of rows that are processed together */

/* Return exp(x) for x <= 0, accurate to about the last digit. The function has no branches, so that compilers can
 * vectorize it. Let k be the integer nearest to x / ln 2, and r = x - k ln 2. Then exp(x) = 2^k exp(r), and eight terms
 * of the power series suffice for exp(r). */
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

/* Replace the products x_i'x_j by 1 - exp(min(x_i'x_j - half_i - half_j, 0)). The values below the diagonal are copied
 * from those above it. */
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
