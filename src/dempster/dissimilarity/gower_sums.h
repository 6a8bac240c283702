/* This file is included in gower.c once for each floating-point type `real`. */

/* n consecutive objects of a table of b objects, which is stored column by column. The pointers point to the first of
 * the n objects. */
typedef struct {
    index_t n, b, p, q;
    const real *numeric;  /* (p, n) */
    const int32_t *codes; /* (q, n) */
    bool complete;        /* whether no value is missing */
} TYPED(Others);

static bool TYPED(is_complete)(const TYPED(Others) *others) {
    index_t missing = 0;
    for (index_t k = 0; k < others->p; k++)
        for (index_t j = 0; j < others->n; j++) missing += isnan(others->numeric[k * others->b + j]) != 0;
    for (index_t k = 0; k < others->q; k++)
        for (index_t j = 0; j < others->n; j++) missing += others->codes[k * others->b + j] == MISSING;
    return missing == 0;
}

/* Add the weighted differences between the value x of one object and the values of n others in one numeric column to
 * `total`, and the weight of the column to `present`. Missing values (NaN) add nothing. */
static void TYPED(add_numbers)(index_t n, real x, const real *restrict others, real weight, real *restrict total,
                               real *restrict present) {
    for (index_t j = 0; j < n; j++) {
        real gap = absolute(x - others[j]);
        bool there = gap == gap;
        gap = gap < 1 ? gap : 1; /* the value of a new object may be outside the range of the column */
        total[j] += there ? weight * gap : 0;
        present[j] += there ? weight : 0;
    }
}

/* Do the same as add_numbers for a column without missing values, in half the time. */
static void TYPED(add_complete_numbers)(index_t n, real x, const real *restrict others, real weight,
                                        real *restrict total) {
    for (index_t j = 0; j < n; j++) {
        real gap = absolute(x - others[j]);
        total[j] += weight * (gap < 1 ? gap : 1);
    }
}

/* Add the weighted differences between the category of one object and those of n others in one categorical column.
 * `if_equal` is the term for equal codes. It is 0, or the weight of the column for an unseen category, which differs
 * even from itself. */
static void TYPED(add_categories)(index_t n, int32_t code, const int32_t *restrict others, real weight, real if_equal,
                                  real *restrict total, real *restrict present) {
    for (index_t j = 0; j < n; j++) {
        real part = others[j] == code ? if_equal : weight;
        total[j] += others[j] == MISSING ? 0 : part;
        present[j] += others[j] == MISSING ? 0 : weight;
    }
}

static void TYPED(add_complete_categories)(index_t n, int32_t code, const int32_t *restrict others, real weight,
                                           real if_equal, real *restrict total) {
    for (index_t j = 0; j < n; j++) total[j] += others[j] == code ? if_equal : weight;
}

/* Compute for each of the others the weighted sum of its differences from one object (`total`), and the sum of the
 * weights of the columns that are observed in both objects (`present`).
 *
 * The columns are added in the same order for every pair, so that d(x, y) = d(y, x) to the last bit and `total` never
 * exceeds `present`. */
static void TYPED(sums)(const real *numeric, const int32_t *codes, const TYPED(Others) *others,
                        const real *numeric_weights, const real *code_weights, real *total, real *present) {
    index_t n = others->n;
    real common = 0; /* sum of the weights if the others have no missing values */
    for (index_t j = 0; j < n; j++) total[j] = present[j] = 0;
    for (index_t k = 0; k < others->p; k++) {
        const real *column = others->numeric + k * others->b;
        if (isnan(numeric[k])) continue;
        common += numeric_weights[k];
        if (others->complete)
            TYPED(add_complete_numbers)(n, numeric[k], column, numeric_weights[k], total);
        else
            TYPED(add_numbers)(n, numeric[k], column, numeric_weights[k], total, present);
    }
    for (index_t k = 0; k < others->q; k++) {
        const int32_t *column = others->codes + k * others->b;
        real if_equal = codes[k] == UNSEEN ? code_weights[k] : 0;
        if (codes[k] == MISSING) continue;
        common += code_weights[k];
        if (others->complete)
            TYPED(add_complete_categories)(n, codes[k], column, code_weights[k], if_equal, total);
        else
            TYPED(add_categories)(n, codes[k], column, code_weights[k], if_equal, total, present);
    }
    for (index_t j = 0; others->complete && j < n; j++) present[j] = common;
}

/* Write the dissimilarities between a objects, stored row by row, and b others, stored column by column. Return the
 * position in `out` of the first pair without a common observed column, or -1. */
KERNEL TYPED(gower_block)(index_t a, index_t p, index_t q, index_t b, const real *numeric, const int32_t *codes,
                          const real *other_numeric, const int32_t *other_codes, const real *numeric_weights,
                          const real *code_weights, real *out, index_t *result) {
    real present[TILE];
    *result = -1;
    for (index_t begin = 0; begin < b; begin += TILE) {
        TYPED(Others) others = {b - begin < TILE ? b - begin : TILE, b, p, q, other_numeric + begin,
                                other_codes + begin, false};
        others.complete = TYPED(is_complete)(&others);
        for (index_t i = 0; i < a; i++) {
            real *row = out + i * b + begin;
            TYPED(sums)(numeric + i * p, codes + i * q, &others, numeric_weights, code_weights, row, present);
            for (index_t j = 0; j < others.n; j++) row[j] /= present[j]; /* 0 / 0 is NaN */
            index_t place = i * b + begin, apart = 0;
            while (apart < others.n && present[apart] > 0) apart++;
            if (apart < others.n && (*result < 0 || place + apart < *result)) *result = place + apart;
        }
    }
    return DONE;
}

/* Write the dissimilarities of the pairs (first[e], second[e]). Both tables are stored row by row. Return the position
 * of the first pair without a common observed column, or -1. */
KERNEL TYPED(gower_pairs)(index_t a, index_t p, index_t q, index_t n, index_t b, const real *numeric,
                          const int32_t *codes, const index_t *first, const real *other_numeric,
                          const int32_t *other_codes, const index_t *second, const real *numeric_weights,
                          const real *code_weights, real *out, index_t *result) {
    (void)a, (void)b;
    *result = -1;
    for (index_t e = 0; e < n; e++) {
        const real *x = numeric + first[e] * p, *y = other_numeric + second[e] * p;
        const int32_t *code = codes + first[e] * q, *other = other_codes + second[e] * q;
        real total = 0, present = 0;
        for (index_t k = 0; k < p; k++) {
            real gap = absolute(x[k] - y[k]);
            if (isnan(gap)) continue;
            total += numeric_weights[k] * (gap < 1 ? gap : 1);
            present += numeric_weights[k];
        }
        for (index_t k = 0; k < q; k++) {
            if (code[k] == MISSING || other[k] == MISSING) continue;
            if (code[k] != other[k] || code[k] == UNSEEN) total += code_weights[k];
            present += code_weights[k];
        }
        if (*result < 0 && !(present > 0)) *result = e;
        out[e] = total / present;
    }
    return DONE;
}
