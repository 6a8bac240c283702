/* Part of egmm.c, included once for each type `real` of the data. */
#include "_native/tiles.h"

#define Lanes TYPED(Lanes)
#define LANES ((index_t)(VECTOR / sizeof(real)))

/* A mixture, and results for the objects of a tile. */
typedef struct {
    index_t g, p, q;       /* numbers of components, of coordinates of a component, and of all coordinates */
    const real *places;    /* (p, g) centers of the components in their coordinates */
    const real *constants; /* (g,) logarithms of weight times density at the centers, without a common term */
    double freedom;        /* degrees of freedom of t distributions, infinite for Gaussians */
    real *z;               /* (q, TILE) coordinates of the objects, p of them for each component or for all */
    real *squares;         /* (g, TILE) squared distances to the components */
    real *shares;          /* (g, TILE) probabilities of the components */
    real *empty;           /* (TILE,) probability of the background */
    real *density;         /* (TILE,) logarithm of the density without the common term */
} TYPED(Mixture);
#define Mixture TYPED(Mixture)

static Mixture TYPED(take_mixture)(Scratch *scratch, index_t q, index_t p, index_t g, const real *places,
                                   const real *constants, double freedom) {
    return (Mixture){
        .g = g,
        .p = p,
        .q = q,
        .places = places,
        .constants = constants,
        .freedom = freedom,
        .z = take(scratch, q * TILE, sizeof(real)),
        .squares = take(scratch, g * TILE, sizeof(real)),
        .shares = take(scratch, g * TILE, sizeof(real)),
        .empty = take(scratch, TILE, sizeof(real)),
        .density = take(scratch, TILE, sizeof(real)),
    };
}

/* Compute the probabilities and the densities of up to TILE objects. `background` is NULL or contains the logarithms of
 * weight times density of the background. */
static void TYPED(find_probabilities)(const Mixture *v, const real *Z, index_t rows, const real *background) {
    const index_t g = v->g, p = v->p;
    TYPED(fill_tile)(v->q, Z, rows, v->z);
    if (v->q == p) TYPED(tile_distances)(p, v->z, g, v->places, g, v->squares);
    for (index_t j = 0; v->q > p && j < g; j++)
        TYPED(tile_distances)(p, v->z + j * p * TILE, 1, v->places + j, g, v->squares + j * TILE);
    const bool gaussian = isinf(v->freedom);
    const real base = (real)(1 / LN_2), inverse = (real)(1 / v->freedom), half = (real)((v->freedom + (double)p) / 2);
    for (index_t r = 0; r < TILE; r++) v->empty[r] = background && r < rows ? background[r] * base : (real)-INFINITY;
    for (index_t first = 0; first < TILE; first += LANES) {
        Lanes *empty = (Lanes *)(v->empty + first), top = *empty;
        for (index_t j = 0; j < g; j++) {
            const Lanes square = *(const Lanes *)(v->squares + j * TILE + first);
            Lanes value = square * (base / 2);
            if (!gaussian) value = TYPED(binary_logarithm)(square * inverse + 1) * half;
            value = v->constants[j] * base - value;
            *(Lanes *)(v->shares + j * TILE + first) = value;
            top = TYPED(select)((TYPED(Bits))(value > top), value, top);
        }
        Lanes total = {0};
        if (background) total = TYPED(vanishing_power)(top - *empty);
        *empty = total;
        for (index_t j = 0; j < g; j++) {
            Lanes *share = (Lanes *)(v->shares + j * TILE + first);
            *share = TYPED(vanishing_power)(top - *share);
            total += *share;
        }
        *(Lanes *)(v->density + first) = (top + TYPED(binary_logarithm)(total)) * (real)LN_2;
        *empty /= total;
        for (index_t j = 0; j < g; j++) *(Lanes *)(v->shares + j * TILE + first) /= total;
    }
}

/* Return the log-likelihood without the common term. Write the sums over objects x with probabilities m of m, of m u,
 * and of m u x, where u is 1 for Gaussians and (nu + p) / (nu + squared distance) for t distributions, the sum of the
 * probabilities of the background and, if `masses` is not NULL, all m u. */
KERNEL TYPED(mixture_sums)(index_t n, index_t d, index_t q, index_t p, index_t g, const real *X, const real *Z,
                           const double *weights, const real *places, const real *constants, double freedom,
                           const real *background, double *total, double *precision, double *first, double *empty,
                           real *masses, double *result) {
    Scratch scratch = {0};
    const Mixture v = TYPED(take_mixture)(&scratch, q, p, g, places, constants, freedom);
    real *x = take(&scratch, (1 + d) * TILE, sizeof *x), ones[TILE];
    double *sums = take_zeros(&scratch, (1 + d) * g, sizeof *sums);
    double objective = 0, beyond = 0;
    memset(total, 0, sizeof *total * (size_t)g);
    for (index_t r = 0; r < TILE; r++) ones[r] = 1;
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        double w[TILE];
        for (index_t r = 0; r < TILE; r++) w[r] = r >= rows ? 0 : weights ? weights[i + r] : 1;
        TYPED(find_probabilities)(&v, Z + i * q, rows, background ? background + i : NULL);
        TYPED(fill_tile)(d, X + i * d, rows, x + TILE);
        for (index_t r = 0; r < TILE; r++) {
            x[r] = 1;
            objective += w[r] * v.density[r];
            beyond += w[r] * v.empty[r];
        }
        for (index_t j = 0; j < g; j++) {
            real *restrict share = v.shares + j * TILE;
            for (index_t r = 0; r < TILE; r++) share[r] *= (real)w[r];
        }
        if (!isinf(freedom)) {
            TYPED(add_products)(1, ones, g, v.shares, total);
            const real nu = (real)freedom, most = (real)(freedom + (double)p);
            for (index_t e = 0; e < g * TILE; e++) v.shares[e] *= most / (nu + v.squares[e]);
        }
        TYPED(add_products)(1 + d, x, g, v.shares, sums);
        for (index_t r = 0; masses && r < rows; r++)
            for (index_t j = 0; j < g; j++) masses[(i + r) * g + j] = v.shares[j * TILE + r];
    }
    if (!scratch.failed) {
        memcpy(precision, sums, sizeof *sums * (size_t)g);
        if (isinf(freedom)) memcpy(total, sums, sizeof *sums * (size_t)g);
        memcpy(first, sums + g, sizeof *sums * (size_t)(d * g));
    }
    *empty = beyond;
    *result = objective;
    return release(&scratch);
}

/* Write the probabilities of the components and of the background, the logarithms of the densities without the common
 * term, and the squared distances. */
KERNEL TYPED(mixture_probabilities)(index_t n, index_t q, index_t p, index_t g, const real *Z, const real *places,
                                    const real *constants, double freedom, const real *background,
                                    real *probabilities, real *logs, real *empty, real *squares) {
    Scratch scratch = {0};
    const Mixture v = TYPED(take_mixture)(&scratch, q, p, g, places, constants, freedom);
    for (index_t i = 0; i < n && !scratch.failed; i += TILE) {
        const index_t rows = n - i < TILE ? n - i : TILE;
        TYPED(find_probabilities)(&v, Z + i * q, rows, background ? background + i : NULL);
        for (index_t r = 0; r < rows; r++)
            for (index_t j = 0; j < g; j++) probabilities[(i + r) * g + j] = v.shares[j * TILE + r];
        for (index_t r = 0; squares && r < rows; r++)
            for (index_t j = 0; j < g; j++) squares[(i + r) * g + j] = v.squares[j * TILE + r];
        if (empty) memcpy(empty + i, v.empty, sizeof(real) * (size_t)rows);
        memcpy(logs + i, v.density, sizeof(real) * (size_t)rows);
    }
    return release(&scratch);
}

#undef Lanes
#undef LANES
#undef Mixture
#undef real
#undef whole
#undef SUFFIX
