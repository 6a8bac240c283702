/* Exact solution of the quadratic program on the simplex with a diagonal Hessian, by sorting. The problem is to
 *
 *     minimize  sum_q (h_q x_q^2 + g_q x_q)   subject to   x >= 0,  sum(x) = 1.
 *
 * The minimizer is x_q = max(0, (t - g_q) / (2 h_q)) with a Lagrange multiplier t. Indices q are added in the order of
 * increasing g_q while t is larger than g_q. */
#include "optimize/diagonal_qp.h"

static const double TINY = 1e-200; /* Smaller diagonal elements are considered zero. */

/* Return whether index p comes before q in the order of increasing g, then of increasing index. */
static inline bool precedes(const double *g, index_t p, index_t q) { return g[p] < g[q] || (g[p] == g[q] && p < q); }

/* Restore the heap property below `root`. */
static void sift(index_t *heap, index_t root, index_t size, const double *g) {
    const index_t item = heap[root];
    for (index_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
        if (child + 1 < size && precedes(g, heap[child + 1], heap[child])) child++;
        if (precedes(g, item, heap[child])) break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = item;
}

void minimise_diagonal(index_t f, const double *h, const double *g, double *x, index_t *heap) {
    if (f == 0) return;
    for (index_t q = 0; q < f; q++) {
        heap[q] = q;
        x[q] = 0.0;
    }
    for (index_t root = f / 2 - 1; root >= 0; root--) sift(heap, root, f, g);
    const double least = g[heap[0]]; /* Subtracting the smallest g avoids a loss of digits. */
    index_t size = f;
    index_t widest = heap[0]; /* Gets the remaining mass, because its formula is the most sensitive to rounding. */
    double weight = 0.0, total = 1.0, threshold = 0.0;
    while (size > 0) {
        const index_t q = heap[0];
        const double c = g[q] - least;
        if (weight > 0.0 && total <= c * weight) break;
        size--;
        heap[0] = heap[size];
        heap[size] = q;
        sift(heap, 0, size, g);
        if (!(h[q] > TINY)) { /* The objective is linear in x_q, so that t = g_q, and x_q gets the remaining mass. */
            widest = q;
            threshold = c;
            break;
        }
        weight += 0.5 / h[q];
        total += 0.5 / h[q] * c;
        threshold = total / weight;
        if (h[q] < h[widest]) widest = q;
    }
    double rest = 1.0;
    for (index_t i = size; i < f; i++) {
        const index_t q = heap[i];
        if (q == widest) continue;
        x[q] = larger(0.0, (threshold - (g[q] - least)) * (0.5 / h[q]));
        rest -= x[q];
    }
    x[widest] = larger(0.0, rest);
}

KERNEL diagonal_simplex_qp(index_t f, const double *h, const double *g, double *x, index_t *heap) {
    minimise_diagonal(f, h, g, x, heap);
    return DONE;
}
