/* K-d tree for exact nearest neighbors in a Minkowski metric. Equally near points are sorted by position.
 *
 * The tree is a complete binary tree. Node 1 is the root, 2 i and 2 i + 1 are the children of node i, and the last
 * `leaves` nodes (a power of two) are the leaves. A node contains the bounding box and the lowest position of its
 * points. A leaf has WIDTH slots for points and stores them coordinate by coordinate, so that a few vector operations
 * compute all distances to a query. The coordinates of an empty slot are infinite.
 *
 * Distances are compared before the root is taken (squared distances for the Euclidean metric). A node is skipped if it
 * is farther than the worst neighbor found so far, or equally far and without a lower position. The second condition
 * keeps queries fast if many points are equal. Rounding does not cause missed neighbors, because the distance to a box
 * is computed by the same operations as the distance to a point, and every operation is monotonic. */
#include "_native/native.h"

enum { WIDTH = 16 };
enum { FEW = 96 }; /* largest number of entries that are sorted by counting predecessors */
static const index_t NOBODY = INT64_MAX; /* position of an empty slot */
static const double ROUNDING = 1e-9; /* bound of the relative error of a sum of two distances */

/* ---- building ------------------------------------------------------------------------------------------------- */

typedef struct {
    double coordinate;
    index_t position;
} Entry;

typedef struct {
    index_t leaves, d;
    const double *X; /* (n, d) */
    double *points;  /* (leaves, d, WIDTH) */
    index_t *positions; /* (leaves, WIDTH) */
    double *boxes;   /* (2 leaves, 2, d) */
    index_t *lowest; /* (2 leaves,) */
    Entry *entries;  /* (n,) points, sorted by leaf when the tree is complete */
} Building;

static bool before(Entry a, Entry b) {
    return a.coordinate < b.coordinate || (a.coordinate == b.coordinate && a.position < b.position);
}

/* Move the entry of rank `rank` to its sorted position, smaller entries before it and larger entries after it. */
static void select_rank(Entry *entries, index_t n, index_t rank) {
    index_t low = 0, high = n - 1;
    while (low < high) {
        Entry pivot = entries[low + (high - low) / 2];
        index_t i = low, j = high;
        while (i <= j) {
            while (before(entries[i], pivot)) i++;
            while (before(pivot, entries[j])) j--;
            if (i <= j) {
                Entry kept = entries[i];
                entries[i++] = entries[j];
                entries[j--] = kept;
            }
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            return;
    }
}

/* Store the bounding box and the lowest position of a node, and return the coordinate along which the box is widest. */
static index_t enclose(const Building *b, index_t node, const Entry *entries, index_t n) {
    double *low = b->boxes + node * 2 * b->d, *high = low + b->d;
    index_t lowest = NOBODY, widest = 0;
    for (index_t j = 0; j < b->d; j++) low[j] = INFINITY, high[j] = -INFINITY;
    for (index_t i = 0; i < n; i++) {
        const double *x = b->X + entries[i].position * b->d;
        lowest = entries[i].position < lowest ? entries[i].position : lowest;
        for (index_t j = 0; j < b->d; j++) {
            low[j] = smaller(x[j], low[j]);
            high[j] = larger(x[j], high[j]);
        }
    }
    b->lowest[node] = lowest;
    for (index_t j = 1; j < b->d; j++)
        if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    return widest;
}

static void fill_leaf(const Building *b, index_t leaf, const Entry *entries, index_t n) {
    double *points = b->points + leaf * b->d * WIDTH;
    for (index_t i = 0; i < WIDTH; i++) {
        b->positions[leaf * WIDTH + i] = i < n ? entries[i].position : NOBODY;
        for (index_t j = 0; j < b->d; j++)
            points[j * WIDTH + i] = i < n ? b->X[entries[i].position * b->d + j] : INFINITY;
    }
}

/* Build the subtree of a node by recursively halving its points along the widest side of their bounding box. Points
 * with equal coordinates are sorted by position. */
static void grow(const Building *b, index_t node, Entry *entries, index_t n) {
    index_t widest = enclose(b, node, entries, n), half = n / 2;
    if (node >= b->leaves) {
        fill_leaf(b, node - b->leaves, entries, n);
        return;
    }
    for (index_t i = 0; i < n; i++) entries[i].coordinate = b->X[entries[i].position * b->d + widest];
    select_rank(entries, n, half);
    grow(b, 2 * node, entries, half);
    grow(b, 2 * node + 1, entries + half, n - half);
}

/* Build a tree. The number of points must be between `leaves` and WIDTH times `leaves`. */
KERNEL point_tree_build(index_t n, index_t d, index_t leaves, const double *X, double *points, index_t *positions,
                        double *boxes, index_t *lowest) {
    Scratch scratch = {0};
    Building building = {leaves, d, X, points, positions, boxes, lowest, take(&scratch, n, sizeof(Entry))};
    if (scratch.failed) return release(&scratch);
    for (index_t i = 0; i < n; i++) building.entries[i].position = i;
    grow(&building, 1, building.entries, n);
    return release(&scratch);
}

/* ---- metrics -------------------------------------------------------------------------------------------------- */

/* Add the terms of one coordinate to the distances between a query, whose coordinate is x, and the WIDTH points of a
 * leaf. The functions are called through pointers to prevent inlining, with which compilers generate slower code. */
typedef void Add(double x, const double *restrict points, double p, double *restrict sums);

static void add_squares(double x, const double *restrict points, double p, double *restrict sums) {
    (void)p;
    for (int i = 0; i < WIDTH; i++) sums[i] += (x - points[i]) * (x - points[i]);
}

static void add_gaps(double x, const double *restrict points, double p, double *restrict sums) {
    (void)p;
    for (int i = 0; i < WIDTH; i++) sums[i] += fabs(x - points[i]);
}

static void take_largest(double x, const double *restrict points, double p, double *restrict sums) {
    (void)p;
    for (int i = 0; i < WIDTH; i++) sums[i] = larger(fabs(x - points[i]), sums[i]);
}

static void add_powers(double x, const double *restrict points, double p, double *restrict sums) {
    for (int i = 0; i < WIDTH; i++) sums[i] += pow(fabs(x - points[i]), p);
}

/* Return the distance from the point x to the box [low, high], computed by the same operations as between points. */
typedef double ToBox(index_t d, const double *x, const double *low, const double *high, double p);

static double gap_to_side(double x, double low, double high) { return larger(larger(low - x, x - high), 0.0); }

static double sum_of_squares(index_t d, const double *x, const double *low, const double *high, double p) {
    (void)p;
    double sum = 0.0;
    for (index_t j = 0; j < d; j++) sum += gap_to_side(x[j], low[j], high[j]) * gap_to_side(x[j], low[j], high[j]);
    return sum;
}

static double sum_of_gaps(index_t d, const double *x, const double *low, const double *high, double p) {
    (void)p;
    double sum = 0.0;
    for (index_t j = 0; j < d; j++) sum += gap_to_side(x[j], low[j], high[j]);
    return sum;
}

static double largest_gap(index_t d, const double *x, const double *low, const double *high, double p) {
    (void)p;
    double largest = 0.0;
    for (index_t j = 0; j < d; j++) largest = larger(gap_to_side(x[j], low[j], high[j]), largest);
    return largest;
}

static double sum_of_powers(index_t d, const double *x, const double *low, const double *high, double p) {
    double sum = 0.0;
    for (index_t j = 0; j < d; j++) sum += pow(gap_to_side(x[j], low[j], high[j]), p);
    return sum;
}

/* Metrics in the order of _METRICS in neighbors.py. */
enum { EUCLIDEAN, CITYBLOCK, CHEBYSHEV, MINKOWSKI };
static Add *const ADD[] = {add_squares, add_gaps, take_largest, add_powers};
static ToBox *const TO_BOX[] = {sum_of_squares, sum_of_gaps, largest_gap, sum_of_powers};

static double rooted(index_t metric, double p, double distance) {
    return metric == EUCLIDEAN ? sqrt(distance) : metric == MINKOWSKI ? pow(distance, 1.0 / p) : distance;
}

static double unrooted(index_t metric, double p, double distance) {
    return metric == EUCLIDEAN ? distance * distance : metric == MINKOWSKI ? pow(distance, p) : distance;
}

/* ---- queries -------------------------------------------------------------------------------------------------- */

typedef struct {
    index_t leaves, d;
    const double *points;
    const index_t *positions;
    const double *boxes;
    const index_t *lowest;
    Add *add;
    ToBox *to_box;
    double p;
} Tree;

/* Candidates for the k nearest points, which are all visited points that are not worse than `worst`. */
typedef struct {
    index_t k, count;
    Entry *entries; /* array of places_for(k) entries, whose `coordinate` is the distance */
    Entry worst;
} Nearest;

/* Return how many candidates in addition to k are stored before the worst ones are removed. */
static index_t spare(index_t k) { return k / 2; }

static index_t places_for(index_t k) { return k + spare(k) + WIDTH; }

/* Remove all candidates except the k nearest. */
static void sort_out(Nearest *nearest) {
    select_rank(nearest->entries, nearest->count, nearest->k - 1);
    nearest->count = nearest->k;
    nearest->worst = nearest->entries[nearest->k - 1];
}

/* Sort entries. Up to FEW entries are sorted by counting the predecessors of each entry in loops without branches. */
static void sort(Entry *entries, index_t n) {
    if (n > FEW) {
        select_rank(entries, n, n / 2);
        sort(entries, n / 2);
        sort(entries + n / 2, n - n / 2);
        return;
    }
    double coordinate[FEW];
    index_t position[FEW];
    for (index_t i = 0; i < n; i++) coordinate[i] = entries[i].coordinate, position[i] = entries[i].position;
    for (index_t i = 0; i < n; i++) {
        const double x = coordinate[i];
        const index_t own = position[i];
        index_t rank = 0;
        for (index_t j = 0; j < n; j++)
            rank += (coordinate[j] < x) | ((coordinate[j] == x) & (position[j] < own));
        entries[rank] = (Entry){x, own};
    }
}

/* Add the points of a leaf to the candidates, except for the point at position `own`. */
static void compare_leaf(const Tree *tree, const double *x, index_t own, index_t leaf, Nearest *nearest) {
    const double *points = tree->points + leaf * tree->d * WIDTH;
    const index_t *positions = tree->positions + leaf * WIDTH;
    double distance[WIDTH] = {0.0};
    for (index_t j = 0; j < tree->d; j++) tree->add(x[j], points + j * WIDTH, tree->p, distance);
    int candidates = 0;
    for (int i = 0; i < WIDTH; i++) candidates += !(distance[i] > nearest->worst.coordinate);
    if (candidates == 0) return;
    for (int i = 0; i < WIDTH; i++) {
        const Entry entry = {distance[i], positions[i]};
        if (!before(nearest->worst, entry) && entry.position != own && entry.position != NOBODY)
            nearest->entries[nearest->count++] = entry;
    }
    if (nearest->count > nearest->k + spare(nearest->k)) sort_out(nearest);
}

static double distance_to(const Tree *tree, const double *x, index_t node) {
    const double *low = tree->boxes + node * 2 * tree->d;
    return tree->to_box(tree->d, x, low, low + tree->d, tree->p);
}

/* Search the tree depth first, starting with the nearer child of each node. The other child is put on a stack, which
 * contains at most one node per level. */
static void search(const Tree *tree, const double *x, index_t own, Nearest *nearest) {
    struct {
        index_t node;
        double distance;
    } waiting[64];
    int n_waiting = 0;
    index_t node = 1;
    double distance = distance_to(tree, x, node);
    for (;;) {
        while (before((Entry){distance, tree->lowest[node]}, nearest->worst)) {
            if (node >= tree->leaves) {
                compare_leaf(tree, x, own, node - tree->leaves, nearest);
                break;
            }
            index_t near = 2 * node, far = near + 1;
            double to_near = distance_to(tree, x, near), to_far = distance_to(tree, x, far);
            if (before((Entry){to_far, tree->lowest[far]}, (Entry){to_near, tree->lowest[near]})) {
                double kept = to_near;
                to_near = to_far, to_far = kept;
                near = far, far = 2 * node;
            }
            waiting[n_waiting].node = far;
            waiting[n_waiting++].distance = to_far;
            node = near, distance = to_near;
        }
        if (n_waiting == 0) return;
        node = waiting[--n_waiting].node;
        distance = waiting[n_waiting].distance;
    }
}

/* Find the k nearest points within the distance `limit`, sorted by distance. Return false if there are fewer than k. */
static bool found_within(const Tree *tree, const double *x, index_t own, double limit, Nearest *nearest) {
    nearest->count = 0;
    nearest->worst = (Entry){limit, NOBODY};
    search(tree, x, own, nearest);
    sort(nearest->entries, nearest->count);
    return nearest->count >= nearest->k;
}

/* Write the positions and distances of the k points nearest to each of the queries `start` to `stop` - 1, sorted by
 * distance. If `own` is not NULL, the point at position own[i] is excluded for query i. k must be at most the number of
 * remaining points.
 *
 * The distance to the k-th neighbor of a query is at most the distance to that of the previous query plus the distance
 * between both queries. This bound saves comparisons if consecutive queries are near each other. */
KERNEL point_tree_query(index_t leaves, index_t d, index_t m, index_t k, const double *points, const index_t *positions,
                        const double *boxes, const index_t *lowest, index_t metric, double p, const double *queries,
                        const index_t *own, index_t start, index_t stop, index_t *index, double *distance) {
    (void)m;
    Scratch scratch = {0};
    Tree tree = {leaves, d, points, positions, boxes, lowest, ADD[metric], TO_BOX[metric], p};
    Nearest nearest = {.k = k, .entries = take(&scratch, places_for(k), sizeof(Entry))};
    for (index_t i = start; i < stop && k > 0 && !scratch.failed; i++) {
        const double *x = queries + i * d;
        double limit = INFINITY;
        if (i > start) {
            const double way = rooted(metric, p, tree.to_box(d, x, x - d, x - d, p));
            limit = unrooted(metric, p, (distance[i * k - 1] + way) * (1 + ROUNDING));
        }
        if (!found_within(&tree, x, own ? own[i] : -1, limit, &nearest))
            found_within(&tree, x, own ? own[i] : -1, INFINITY, &nearest); /* The bound is inexact for tiny numbers. */
        for (index_t r = 0; r < k; r++) { /* A query that contains NaN has no neighbors. */
            const Entry entry = r < nearest.count ? nearest.entries[r] : (Entry){INFINITY, NOBODY};
            distance[i * k + r] = rooted(metric, p, entry.coordinate);
            index[i * k + r] = entry.position;
        }
    }
    return release(&scratch);
}
