/* EVCLUS with a subset of the pairs. Minimize over the masses M (n, f), whose rows m_i are on the simplex,
 *
 *     sum over the pairs of w_ij (m_i' C m_j - delta_ij)^2  +  penalty for linked pairs.
 *
 * If all other rows are fixed, row i is the solution of a quadratic program with H = 2 C G C and g = -2 C h, where
 * G = sum_j w_ij m_j m_j' and h = sum_j w_ij delta_ij m_j are sums over the nonzero masses of its neighbors.
 *
 * If there are many single clusters, few of them have mass among the neighbors of a row that are not far from it. A row
 * then has mass only on these clusters, the empty set, the frame, and one cluster without neighbors, so that the cost of
 * a row does not depend on the number of clusters. Mass on a cluster with distant neighbors only would increase the
 * objective. */
#include "optimize/conflict_fit.h"
#include "optimize/links.h"
#include "optimize/row_descent.h"
#include "optimize/simplex_qp.h"

/* ---- nonzero masses ------------------------------------------------------------------------------------------- */

static const double FAR = 0.95;     /* Objects with at least this target conflict are distant. */
static const double CLOSED = 1e3;   /* Cost of mass on the sets of distant neighbors, relative to the others. */
enum { MANY = 64 }; /* Number of focal sets above which a row uses only some of them. */
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
    index_t f;
    uint16_t *where; /* (n, f) */
    double *value;   /* (n, f) */
    HeadSets *sets;  /* (n,) */
    HeadMasses *masses;
} Packed;

static Packed take_packed(Scratch *scratch, index_t n, index_t f) {
    return (Packed){
        .f = f,
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
            where[count] = (uint16_t)q;
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
    bool local;      /* whether a row uses only some of the sets */
    index_t used;    /* number of sets that the current row uses */
    index_t closed;  /* position of the sets of distant neighbors, which get no mass; -1 if there are none */
    uint16_t *sets;  /* (f,) sets of the row, in increasing order */
    uint16_t *place; /* (f,) position of each set among them */
    double *G, *half, *H;
    Two *sums;
    double *h, *g, *x, *old, *linked; /* (f,) */
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

enum { FREE, DISTANT, NEAR }; /* kinds of sets: without mass, and with mass of distant or of near neighbors */

/* Set the kind of the sets on which object j has mass. */
static void mark_sets(SomePairs *p, index_t j, uint16_t kind) {
    const uint16_t *where = p->packed.where + j * p->f;
    for (index_t t = 0; t < p->packed.sets[j].count; t++)
        if (p->place[where[t]] < kind) p->place[where[t]] = kind;
}

/* Find the sets of row i. The sets of distant neighbors have one position, before that of the frame. */
static void find_sets(SomePairs *p, index_t i) {
    const index_t last = p->f - 1;
    memset(p->place, FREE, sizeof(uint16_t) * (size_t)p->f);
    mark_sets(p, i, NEAR);
    for (index_t e = p->pairs.indptr[i]; e < p->pairs.indptr[i + 1]; e++)
        mark_sets(p, p->pairs.indices[e], p->pairs.delta[e] < FAR ? NEAR : DISTANT);
    p->place[0] = p->place[last] = NEAR;
    p->used = 0;
    p->closed = -1;
    bool spare = true;
    for (index_t q = 0; q < last; q++) {
        const bool first = spare && p->place[q] == FREE;
        if (first) spare = false;
        if (p->place[q] == DISTANT) p->closed = 0;
        if (p->place[q] == NEAR || first) p->sets[p->used++] = (uint16_t)q;
    }
    const index_t open = p->used;
    if (p->closed == 0) p->closed = p->used++;
    p->sets[p->used] = (uint16_t)last;
    for (index_t q = 0; q < last; q++) p->place[q] = (uint16_t)open;
    for (index_t a = 0; a < open; a++) p->place[p->sets[a]] = (uint16_t)a;
    p->place[last] = (uint16_t)p->used++;
    p->qp = simplex_qp_in(p->used, p->qp.gradient, p->qp.passive);
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
    if (p->closed >= 0) p->g[p->closed] += CLOSED * p->H[0]; /* H[0] is twice the total weight of the pairs. */
    add_links(i, f, M, &p->links, p->linked, p->g);
}

static double sweep(void *self, double *M, bool beyond, double objective) {
    SomePairs *p = self;
    for (index_t r = 0; r < p->visits; r++) {
        const index_t i = p->order[r];
        double *row = M + i * p->f;
        if (p->local) find_sets(p, i);
        const index_t f = p->used;
        for (index_t a = 0; a < f; a++) p->old[a] = p->x[a] = a == p->closed ? 0 : row[p->sets[a]];
        row_problem(p, i, M);
        minimise_on_simplex(p->H, p->g, p->x, ample_iterations(f), &p->qp);
        bool moved;
        const double change = finish_row(f, p->H, p->g, p->old, p->x, beyond, &moved);
        if (moved) {
            objective += change;
            for (index_t a = 0; a < f; a++)
                if (a != p->closed) row[p->sets[a]] = p->x[a];
            pack(&p->packed, i, M);
        }
    }
    return objective;
}

KERNEL descend_some_pairs(index_t n, index_t f, index_t entries, index_t visits, index_t e, double *M,
                          const index_t *indptr, const int32_t *indices, const double *weights, const double *delta,
                          const double *conflict, bool simple, const index_t *order, index_t max_iter, double tol,
                          double constant, const index_t *link_indptr, const int32_t *link_indices,
                          const double *coefficients, const double *form, double *history, index_t *ending) {
    Scratch scratch = {0};
    const size_t number = sizeof(double);
    SomePairs p = {
        .f = f,
        .local = simple && f > MANY && e == 0,
        .used = f,
        .closed = -1,
        .sets = take(&scratch, f, sizeof(uint16_t)),
        .place = take(&scratch, f, sizeof(uint16_t)),
        .pairs = {n, indptr, indices, weights, delta},
        .conflict = {f, conflict, simple},
        .links = {link_indptr, link_indices, coefficients, form},
        .order = order,
        .visits = visits,
        .constant = constant,
        .edges = take(&scratch, entries, sizeof(Two)),
        .packed = take_packed(&scratch, n, f),
        .G = take(&scratch, f * f, number),
        .half = take(&scratch, f * f, number),
        .H = take(&scratch, f * f, number),
        .sums = take(&scratch, f, sizeof(Two)),
        .h = take(&scratch, f, number),
        .g = take(&scratch, f, number),
        .x = take(&scratch, f, number),
        .old = take(&scratch, f, number),
        .linked = take(&scratch, f, number),
        .qp = take_simplex_qp(&scratch, f),
    };
    if (scratch.failed) return release(&scratch);
    double squares = 0.0;
    for (index_t pair = 0; pair < entries; pair++) {
        p.edges[pair] = (Two){2 * weights[pair], -2 * weights[pair] * delta[pair]};
        squares += weights[pair] * delta[pair] * delta[pair];
    }
    for (index_t q = 0; q < f; q++) p.sets[q] = p.place[q] = (uint16_t)q;
    restart(&p, M);
    const double start = value_of_pairs(&p.pairs, &p.conflict, M, p.h) + links_value(n, f, M, &p.links) + constant;
    const RowProblem problem = {&p, n, f, sweep, value_of, restart, .drifts = false, .squares = 0.5 * squares};
    const Descent descent = {max_iter, tol, history, ending};
    scratch.failed = descend_rows(&problem, M, start, &descent) != DONE;
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
    Packed packed = take_packed(&scratch, n, f);
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
