/* Gower's dissimilarity of encoded tables. The formula is in gower.py. */
#include "_native/native.h"

enum { MISSING = -1, UNSEEN = -2 }; /* codes of a missing value and of a category that did not occur in fit */
enum { TILE = 512 };                /* number of objects whose sums fit into the first-level cache */

/* n consecutive objects of a table of b objects, which is stored column by column. The pointers point to the first of
 * the n objects. */
typedef struct {
    index_t n, b, p, q;
    const double *numeric; /* (p, n) */
    const int32_t *codes;  /* (q, n) */
    bool complete;         /* whether no value is missing */
} Others;

static bool is_complete(const Others *others) {
    index_t missing = 0;
    for (index_t k = 0; k < others->p; k++)
        for (index_t j = 0; j < others->n; j++) missing += isnan(others->numeric[k * others->b + j]) != 0;
    for (index_t k = 0; k < others->q; k++)
        for (index_t j = 0; j < others->n; j++) missing += others->codes[k * others->b + j] == MISSING;
    return missing == 0;
}

/* Add the differences between the value x of one object and the values of n others in one numeric column to `total`,
 * and 1 to `present`. Missing values (NaN) add nothing. */
static void add_numbers(index_t n, double x, const double *restrict others, double *restrict total,
                        double *restrict present) {
    for (index_t j = 0; j < n; j++) {
        double gap = fabs(x - others[j]);
        bool there = gap == gap;
        gap = gap < 1 ? gap : 1; /* the value of a new object may be outside the range of the column */
        total[j] += there ? gap : 0;
        present[j] += there ? 1 : 0;
    }
}

/* Do the same as add_numbers for a column without missing values, in half the time. */
static void add_complete_numbers(index_t n, double x, const double *restrict others, double *restrict total) {
    for (index_t j = 0; j < n; j++) {
        double gap = fabs(x - others[j]);
        total[j] += gap < 1 ? gap : 1;
    }
}

/* Add the differences between the category of one object and those of n others in one categorical column. `if_equal`
 * is the term for equal codes. It is 0, or `weight` for an unseen category, which differs even from itself. */
static void add_categories(index_t n, int32_t code, const int32_t *restrict others, double weight, double if_equal,
                           double *restrict total, double *restrict present) {
    for (index_t j = 0; j < n; j++) {
        double part = others[j] == code ? if_equal : weight;
        total[j] += others[j] == MISSING ? 0 : part;
        present[j] += others[j] == MISSING ? 0 : weight;
    }
}

static void add_complete_categories(index_t n, int32_t code, const int32_t *restrict others, double weight,
                                    double if_equal, double *restrict total) {
    for (index_t j = 0; j < n; j++) total[j] += others[j] == code ? if_equal : weight;
}

/* Compute for each of the others the weighted sum of its differences from one object (`total`), and the sum of the
 * weights of the columns that are observed in both objects (`present`). Categorical columns have the weight `weight`.
 *
 * The columns are added in the same order for every pair, so that d(x, y) = d(y, x) to the last bit and `total` never
 * exceeds `present`. */
static void sums(const double *numeric, const int32_t *codes, const Others *others, double weight, double *total,
                 double *present) {
    index_t n = others->n;
    double common = 0; /* weight of the columns if the others have no missing values */
    for (index_t j = 0; j < n; j++) total[j] = present[j] = 0;
    for (index_t k = 0; k < others->p; k++) {
        const double *column = others->numeric + k * others->b;
        if (isnan(numeric[k])) continue;
        common += 1;
        if (others->complete)
            add_complete_numbers(n, numeric[k], column, total);
        else
            add_numbers(n, numeric[k], column, total, present);
    }
    for (index_t k = 0; k < others->q; k++) {
        const int32_t *column = others->codes + k * others->b;
        double if_equal = codes[k] == UNSEEN ? weight : 0;
        if (codes[k] == MISSING) continue;
        common += weight;
        if (others->complete)
            add_complete_categories(n, codes[k], column, weight, if_equal, total);
        else
            add_categories(n, codes[k], column, weight, if_equal, total, present);
    }
    for (index_t j = 0; others->complete && j < n; j++) present[j] = common;
}

/* Write the dissimilarities between a objects, stored row by row, and b others, stored column by column. Return the
 * position in `out` of the first pair without a common observed column, or -1. */
KERNEL gower_block(index_t a, index_t p, index_t q, index_t b, const double *numeric, const int32_t *codes,
                   const double *other_numeric, const int32_t *other_codes, double weight, double *out,
                   index_t *result) {
    double present[TILE];
    *result = -1;
    for (index_t begin = 0; begin < b; begin += TILE) {
        Others others = {b - begin < TILE ? b - begin : TILE, b, p, q, other_numeric + begin, other_codes + begin,
                         false};
        others.complete = is_complete(&others);
        for (index_t i = 0; i < a; i++) {
            double *row = out + i * b + begin;
            sums(numeric + i * p, codes + i * q, &others, weight, row, present);
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
KERNEL gower_pairs(index_t a, index_t p, index_t q, index_t n, index_t b, const double *numeric, const int32_t *codes,
                   const index_t *first, const double *other_numeric, const int32_t *other_codes,
                   const index_t *second, double weight, double *out, index_t *result) {
    (void)a, (void)b;
    *result = -1;
    for (index_t e = 0; e < n; e++) {
        const double *x = numeric + first[e] * p, *y = other_numeric + second[e] * p;
        const int32_t *code = codes + first[e] * q, *other = other_codes + second[e] * q;
        double total = 0, present = 0;
        for (index_t k = 0; k < p; k++) {
            double gap = fabs(x[k] - y[k]);
            if (isnan(gap)) continue;
            total += gap < 1 ? gap : 1;
            present += 1;
        }
        for (index_t k = 0; k < q; k++) {
            if (code[k] == MISSING || other[k] == MISSING) continue;
            if (code[k] != other[k] || code[k] == UNSEEN) total += weight;
            present += weight;
        }
        if (*result < 0 && !(present > 0)) *result = e;
        out[e] = total / present;
    }
    return DONE;
}
