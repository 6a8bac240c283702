/* EVCLUS with a subset of the pairs. Minimize over the masses M (n, f), whose rows m_i are on the simplex,
 *
 *     sum over the pairs of w_ij (m_i' C m_j - delta_ij)^2  +  penalty for linked pairs.
 *
 * If all other rows are fixed, row i is the solution of a quadratic program with H = 2 C G C and g = -2 C h, where
 * G = sum_j w_ij m_j m_j' and h = sum_j w_ij delta_ij m_j are sums over the nonzero masses of its neighbors.
 *
 * If there are many single clusters, a row has masses only on a few given sets (`descend_near_pairs`), so that the cost
 * of a row does not depend on the number of clusters. */
#include "optimize/conflict_fit.h"
#include "optimize/links.h"
#include "optimize/row_descent.h"
#include "optimize/simplex_qp.h"

/* ---- nonzero masses ------------------------------------------------------------------------------------------- */

enum { CLOSED = 1 }; /* position of all sets that a row does not use, which have no mass */
static const double CLOSED_COST = 1e3; /* Cost of mass on these sets, relative to the others. */
enum { HEAD = 4 }; /* Number of masses of an object that are stored separately. */

/* Sets of the first nonzero masses of an object, and the number of its nonzero masses, in 16 bytes. */
typedef struct {
    uint16_t where[HEAD], unused[2], count, more_unused;
} HeadSets;

/* First nonzero masses of an object, padded with zeros. */
typedef struct {
    double value[HEAD];
} HeadMasses;

/* Nonzero masses of all objects with their sets. The first four of each object, which are all its nonzero masses for
 * most objects, are also stored in two small arrays that fit in the cache. */
typedef struct {
    index_t f;           /* number of masses of an object */
    const int32_t *own;  /* (n, f) their sets, NULL if they are all sets */
    uint16_t *where;     /* (n, f) */
    double *value;       /* (n, f) */
    HeadSets *sets;      /* (n,) */
    HeadMasses *masses;
} Packed;

static Packed take_packed(Scratch *scratch, index_t n, index_t f, const int32_t *own) {
    return (Packed){
        .f = f,
        .own = own,
        .where = take_zeros(scratch, n * f, sizeof(uint16_t)),
        .value = take_zeros(scratch, n * f, sizeof(double)),
        .sets = take_zeros(scratch, n, sizeof(HeadSets)),
        .masses = take_zeros(scratch, n, sizeof(HeadMasses)),
    };
}

static void pack(Packed *packed, index_t i, const double *M) {
    const index_t f = packed->f;
    const double *m = M + i * f;
    uint16_t *where = packed->where + i * f;
    double *value = packed->value + i * f;
    index_t count = 0;
    for (index_t q = 0; q < f; q++)
        if (m[q] > 0) {
            where[count] = (uint16_t)(packed->own ? packed->own[i * f + q] : q);
            value[count] = m[q];
            count++;
        }
    for (index_t t = 0; t < HEAD; t++) {
        packed->sets[i].where[t] = t < count ? where[t] : 0;
        packed->masses[i].value[t] = t < count ? value[t] : 0.0;
    }
    packed->sets[i].count = (uint16_t)count;
}

/* ---- sums over neighbors -------------------------------------------------------------------------------------- */

/* Factors (2 w, -2 w delta) of a pair in H and g, or the sums over pairs of these factors times the mass of a set. */
typedef struct {
    double v, t;
} Two;

static inline void add_mass(Two *sum, double v, double t, double mass) {
    sum->v += v * mass;
    sum->t += t * mass;
}

/* Compute G[a, b] = sum_j v_j m_j(a) m_j(b) for a > b, and sums[a] = sum_j (v_j, t_j) m_j(a), over the neighbors j of a
 * row, where (v_j, t_j) are the factors of the pair. `complete` computes the diagonal of G from `sums`. `place` maps sets
 * to the f rows of G.
 *
 * Most mass functions have three or four nonzero masses. The products of four masses are written without a loop and
 * without tests for zero, because short loops and unpredictable branches are slower than the arithmetic. */
static void gather(index_t count, const int32_t *neighbors, const Two *pairs, const Packed *packed,
                   const uint16_t *place, index_t f, double *G, Two *sums) {
    for (index_t e = 0; e < count; e++) {
        const size_t j = (uint32_t)neighbors[e];
        const double v = pairs[e].v, t = pairs[e].t;
        const HeadSets s = packed->sets[j];
        const double *m = packed->masses[j].value;
        const index_t a = place[s.where[0]], b = place[s.where[1]], d = place[s.where[2]];
        const double x = m[0], y = m[1], z = m[2], vy = v * y, vz = v * z;
        add_mass(sums + a, v, t, x);
        add_mass(sums + b, v, t, y);
        G[b * f + a] += vy * x;
        add_mass(sums + d, v, t, z);
        G[d * f + a] += vz * x;
        G[d * f + b] += vz * y;
        if (s.count <= 3) continue;
        const index_t q = place[s.where[3]];
        const double u = m[3], vu = v * u;
        add_mass(sums + q, v, t, u);
        G[q * f + a] += vu * x;
        G[q * f + b] += vu * y;
        G[q * f + d] += vu * z;
        const uint16_t *where = packed->where + j * (size_t)packed->f;
        const double *value = packed->value + j * (size_t)packed->f;
        for (index_t r = HEAD; r < s.count; r++) {
            const double share = v * value[r];
            const index_t row = place[where[r]];
            add_mass(sums + row, v, t, value[r]);
            for (index_t k = 0; k < r; k++) G[row * f + place[where[k]]] += share * value[k];
        }
    }
}

/* Compute both triangles and the diagonal of G. `gather` writes to both triangles if sets share a position. The masses of an object sum to one, so that row a of G has the sum
 * sums[a], and G[a, a] is sums[a] minus the other elements of the row. */
static void complete(index_t f, double *G, const Two *sums, double *rest) {
    for (index_t a = 0; a < f; a++) {
        rest[a] = G[a * f + a] = 0.0;
        for (index_t b = 0; b < a; b++) {
            const double both = G[a * f + b] + G[b * f + a];
            G[a * f + b] = G[b * f + a] = both;
        }
    }
    for (index_t a = 0; a < f; a++)
        for (index_t b = 0; b < f; b++) rest[b] += G[a * f + b];
    for (index_t a = 0; a < f; a++) G[a * f + a] = larger(sums[a].v - rest[a], 0.0);
}

/* Compute K = C G C if the focal sets are the empty set, the singletons and the frame, where
 * C m = (1, s - m_1, ..., s - m_c, m_empty) with s = 1 - m(frame). */
static void simple_gram(index_t f, const double *G, const Two *sums, double *own, double *K) {
    const index_t last = f - 1;
    double total = 0.0;
    for (index_t a = 0; a < f; a++) {
        total += sums[a].v;
        own[a] = sums[a].v - G[a * f + last]; /* Weighted sum of s m_a. */
    }
    const double squares = total - sums[last].v - own[last]; /* Weighted sum of s^2. */
    for (index_t a = 1; a < last; a++) {
        const double common = squares - own[a];
        for (index_t b = 0; b < f; b++) K[a * f + b] = G[a * f + b] + common - own[b];
    }
    for (index_t a = 1; a < last; a++) {
        K[a * f] = K[a] = total - sums[last].v - sums[a].v;
        K[a * f + last] = K[last * f + a] = own[0] - G[a * f];
    }
    K[0] = total;
    K[last * f] = K[last] = sums[0].v;
    K[last * f + last] = G[0];
}

/* ---- the descent ---------------------------------------------------------------------------------------------- */

/* Sparse matrices of the weights and targets of the pairs, with each pair in both rows. */
typedef struct {
    index_t n;
    const index_t *indptr;
    const int32_t *indices;
    const double *weights, *delta;
} Pairs;

/* Return the sum of w (conflict - delta)^2 over the pairs, each counted once. `y` (f,) is scratch memory. */
static double value_of_pairs(const Pairs *pairs, const Conflict *conflict, const double *M, double *y) {
    const index_t f = conflict->f;
    double total = 0.0;
    for (index_t i = 0; i < pairs->n; i++) {
        times_conflict(conflict, M + i * f, y);
        for (index_t e = pairs->indptr[i]; e < pairs->indptr[i + 1]; e++) {
            const index_t j = pairs->indices[e];
            if (j <= i) continue;
            double kappa = 0.0;
            for (index_t a = 0; a < f; a++) kappa += y[a] * M[j * f + a];
            const double gap = kappa - pairs->delta[e];
            total += pairs->weights[e] * (gap * gap);
        }
    }
    return total;
}

typedef struct {
    index_t f;
    Pairs pairs;
    Conflict conflict;
    Links links;
    const index_t *order; /* (visits,) rows in the order of a sweep */
    index_t visits;
    double constant; /* constant term of the penalty for linked pairs */
    Two *edges;      /* (2 w, -2 w delta) of every entry of the pairs */
    Packed packed;   /* nonzero masses of M, updated after every row */
    index_t used;         /* number of sets of the current row */
    const int32_t *sets;  /* (n, f) sets of the masses, see `descend_near_pairs`; NULL if they are all sets */
    uint16_t *place;      /* position of each set in the current row, CLOSED if it has none */
    double *G, *half, *H;
    Two *sums;
    double *h, *g, *x, *old, *linked; /* (f,) */
    double *whole;  /* masses of a row on all sets, zero between two uses */
    double squares; /* sum of w delta^2 over both entries of the pairs */
    SimplexQp qp;
} SomePairs;

static double value_of(void *self, const double *M) {
    SomePairs *p = self;
    const double linked = links_value(p->pairs.n, p->f, M, &p->links) + p->constant;
    return value_of_pairs(&p->pairs, &p->conflict, M, p->h) + linked;
}

static void restart(void *self, const double *M) {
    SomePairs *p = self;
    for (index_t i = 0; i < p->pairs.n; i++) pack(&p->packed, i, M);
}

/* Return the sum of w (conflict - delta)^2 over the pairs if rows have masses on a few single clusters, the empty set and
 * the frame. */
static double value_of_near_pairs(void *self, const double *M) {
    SomePairs *p = self;
    const uint16_t frame = (uint16_t)(p->conflict.f - 1);
    double total = 0.0;
    restart(self, M);
    for (index_t i = 0; i < p->pairs.n; i++) {
        const uint16_t *own = p->packed.where + i * p->f;
        const index_t count = p->packed.sets[i].count;
        for (index_t t = 0; t < count; t++) p->whole[own[t]] = p->packed.value[i * p->f + t];
        for (index_t e = p->pairs.indptr[i]; e < p->pairs.indptr[i + 1]; e++) {
            const index_t j = p->pairs.indices[e];
            if (j <= i) continue;
            const uint16_t *where = p->packed.where + j * p->f;
            double kappa = 0.0;
            for (index_t t = 0; t < p->packed.sets[j].count; t++) {
                double conflict = 1 - p->whole[frame] - p->whole[where[t]];
                if (where[t] == 0) conflict = 1;
                if (where[t] == frame) conflict = p->whole[0];
                kappa += p->packed.value[j * p->f + t] * conflict;
            }
            const double gap = kappa - p->pairs.delta[e];
            total += p->pairs.weights[e] * (gap * gap);
        }
        for (index_t t = 0; t < count; t++) p->whole[own[t]] = 0.0;
    }
    return total;
}

/* Set the positions of the sets of row i. */
static void place_sets(SomePairs *p, index_t i) {
    const int32_t *sets = p->sets + i * p->f;
    p->used = p->f;
    while (sets[p->used - 1] < 0) p->used--;
    for (index_t a = 0; a < p->used; a++)
        if (a != CLOSED) p->place[sets[a]] = (uint16_t)a;
    p->qp = simplex_qp_in(p->used, p->qp.gradient, p->qp.passive);
}

/* Undo `place_sets`. */
static void clear_places(SomePairs *p, index_t i) {
    const int32_t *sets = p->sets + i * p->f;
    for (index_t a = 0; a < p->used; a++)
        if (a != CLOSED) p->place[sets[a]] = CLOSED;
}

/* Compute H and g of row i. */
static void row_problem(SomePairs *p, index_t i, const double *M) {
    const index_t f = p->used, first = p->pairs.indptr[i], count = p->pairs.indptr[i + 1] - first;
    memset(p->G, 0, sizeof(double) * (size_t)(f * f));
    memset(p->sums, 0, sizeof(Two) * (size_t)f);
    gather(count, p->pairs.indices + first, p->edges + first, &p->packed, p->place, f, p->G, p->sums);
    complete(f, p->G, p->sums, p->h);
    if (p->conflict.simple)
        simple_gram(f, p->G, p->sums, p->h, p->H);
    else
        conflict_gram(&p->conflict, p->G, p->half, p->H);
    for (index_t a = 0; a < f; a++) p->h[a] = p->sums[a].t;
    times_conflict(&(Conflict){f, p->conflict.C, p->conflict.simple}, p->h, p->g);
    if (p->sets) p->g[CLOSED] += CLOSED_COST * p->H[0]; /* H[0] is twice the total weight of the pairs. */
    add_links(i, f, M, &p->links, p->linked, p->g);
}

static double sweep(void *self, double *M, bool beyond, double objective) {
    SomePairs *p = self;
    for (index_t r = 0; r < p->visits; r++) {
        const index_t i = p->order[r];
        double *row = M + i * p->f;
        if (p->sets) place_sets(p, i);
        const index_t f = p->used;
        for (index_t a = 0; a < f; a++) p->old[a] = p->x[a] = row[a];
        row_problem(p, i, M);
        minimise_on_simplex(p->H, p->g, p->x, ample_iterations(f), &p->qp);
        bool moved;
        const double change = finish_row(f, p->H, p->g, p->old, p->x, beyond, &moved);
        if (moved) {
            objective += change;
            for (index_t a = 0; a < f; a++) row[a] = p->x[a];
            pack(&p->packed, i, M);
        }
        if (p->sets) clear_places(p, i);
    }
    return objective;
}

/* Return the problem with its scratch memory, without links. */
static SomePairs take_problem(Scratch *scratch, index_t f, index_t n_sets, index_t entries, const Pairs *pairs,
                              const int32_t *sets, const index_t *order, index_t visits) {
    const size_t number = sizeof(double);
    SomePairs p = {
        .f = f,
        .used = f,
        .sets = sets,
        .place = take(scratch, n_sets, sizeof(uint16_t)),
        .pairs = *pairs,
        .conflict = {n_sets, NULL, true},
        .order = order,
        .visits = visits,
        .edges = take(scratch, entries, sizeof(Two)),
        .packed = take_packed(scratch, pairs->n, f, sets),
        .G = take(scratch, f * f, number),
        .half = take(scratch, f * f, number),
        .H = take(scratch, f * f, number),
        .sums = take(scratch, f, sizeof(Two)),
        .h = take(scratch, f, number),
        .g = take(scratch, f, number),
        .x = take(scratch, f, number),
        .old = take(scratch, f, number),
        .linked = take(scratch, f, number),
        .whole = take_zeros(scratch, n_sets, number),
        .qp = take_simplex_qp(scratch, f),
    };
    if (scratch->failed) return p;
    for (index_t pair = 0; pair < entries; pair++) {
        const double w = pairs->weights[pair], delta = pairs->delta[pair];
        p.edges[pair] = (Two){2 * w, -2 * w * delta};
        p.squares += w * delta * delta;
    }
    for (index_t q = 0; q < n_sets; q++) p.place[q] = (uint16_t)(sets ? CLOSED : q);
    return p;
}

KERNEL descend_some_pairs(index_t n, index_t f, index_t entries, index_t visits, index_t e, double *M,
                          const index_t *indptr, const int32_t *indices, const double *weights, const double *delta,
                          const double *conflict, bool simple, const index_t *order, index_t max_iter, double tol,
                          double constant, const index_t *link_indptr, const int32_t *link_indices,
                          const double *coefficients, const double *form, double *history, index_t *ending) {
    (void)e;
    Scratch scratch = {0};
    const Pairs pairs = {n, indptr, indices, weights, delta};
    SomePairs p = take_problem(&scratch, f, f, entries, &pairs, NULL, order, visits);
    if (scratch.failed) return release(&scratch);
    p.conflict = (Conflict){f, conflict, simple};
    p.links = (Links){link_indptr, link_indices, coefficients, form};
    p.constant = constant;
    restart(&p, M);
    const RowProblem problem = {&p, n, f, sweep, value_of, restart, .drifts = false, .squares = 0.5 * p.squares};
    const Descent descent = {max_iter, tol, history, ending};
    const double start = value_of_pairs(&pairs, &p.conflict, M, p.h) + links_value(n, f, M, &p.links) + constant;
    scratch.failed = descend_rows(&problem, M, start, &descent) != DONE;
    return release(&scratch);
}

/* Do the same if the focal sets are the empty set, many single clusters and the frame, without links. Each row has
 * masses M (n, f) on at most f - 1 of the sets. Row i of `sets` contains the empty set, -1, single clusters, the frame,
 * and -1 for the other places, where M is zero. */
KERNEL descend_near_pairs(index_t n, index_t f, index_t entries, index_t visits, double *M, const int32_t *sets,
                          index_t n_sets, const index_t *indptr, const int32_t *indices, const double *weights,
                          const double *delta, const index_t *order, index_t max_iter, double tol, double *history,
                          index_t *ending) {
    Scratch scratch = {0};
    const Pairs pairs = {n, indptr, indices, weights, delta};
    index_t *unlinked = take_zeros(&scratch, n + 1, sizeof *unlinked);
    SomePairs p = take_problem(&scratch, f, n_sets, entries, &pairs, sets, order, visits);
    if (scratch.failed) return release(&scratch);
    p.links = (Links){.indptr = unlinked};
    const RowProblem problem = {&p, n, f, sweep, value_of_near_pairs, restart, true, 0.5 * p.squares};
    const Descent descent = {max_iter, tol, history, ending};
    scratch.failed = descend_rows(&problem, M, value_of_near_pairs(&p, M), &descent) != DONE;
    return release(&scratch);
}

KERNEL pairs_value(index_t n, index_t f, index_t entries, const double *M, const index_t *indptr,
                   const int32_t *indices, const double *weights, const double *delta, const double *conflict,
                   bool simple, double *result) {
    (void)entries;
    Scratch scratch = {0};
    double *y = take(&scratch, f, sizeof *y);
    if (y) *result = value_of_pairs(&(Pairs){n, indptr, indices, weights, delta}, &(Conflict){f, conflict, simple}, M, y);
    return release(&scratch);
}

/* ---- kernels for tests ---------------------------------------------------------------------------------------- */

KERNEL sums_over_neighbors(index_t n, index_t f, index_t count, const double *M, const int32_t *neighbors,
                           const double *pairs, double *G, double *sums) {
    Scratch scratch = {0};
    Packed packed = take_packed(&scratch, n, f, NULL);
    double *rest = take(&scratch, f, sizeof *rest);
    uint16_t *place = take(&scratch, f, sizeof *place);
    if (!scratch.failed) {
        for (index_t i = 0; i < n; i++) pack(&packed, i, M);
        for (index_t q = 0; q < f; q++) place[q] = (uint16_t)q;
        gather(count, neighbors, (const Two *)pairs, &packed, place, f, G, (Two *)sums);
        complete(f, G, (const Two *)sums, rest);
    }
    return release(&scratch);
}

KERNEL gram_of_simple_family(index_t f, const double *G, const double *sums, double *own, double *K) {
    simple_gram(f, G, (const Two *)sums, own, K);
    return DONE;
}
