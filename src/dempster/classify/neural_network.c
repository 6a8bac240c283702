/* Masses, loss and gradient of the evidential neural network.
 *
 * The notation is that of Denoeux (2000). The network has r prototypes p_i with scales gamma_i, reliabilities alpha_i
 * and memberships u_ik to M classes. Let e_i = exp(-gamma_i^2 |x - p_i|^2 / 2) and s_i = alpha_i e_i. For an object x,
 * prototype i assigns the mass s_i u_ik to {k} and 1 - s_i to the frame. With A_k = prod_i (1 - s_i + s_i u_ik) and
 * B = prod_i (1 - s_i), Dempster's rule gives
 *
 *     m({k}) = (A_k - B) / Z,    m(frame) = B / Z,    Z = sum_k A_k - (M - 1) B.
 *
 * The masses are ratios. To avoid underflow, the A_k and B of an object are multiplied by a common factor.
 *
 * Objects are processed in blocks, with inner loops over the objects of a block. An array of BLOCK numbers, one for
 * each object of the block, is called a line. */
#include <float.h>

#include "_native/native.h"
#include "_native/sums.h"
#include "optimize/lbfgs.h"

enum { BLOCK = 64 };           /* number of objects in a block, a multiple of the SIMD width */
enum { PROTOTYPES_PER_CHECK = 16 }; /* number of prototypes between two checks for underflow */

static const double SMALL = 1e-100;
static const double MAX_RELIABILITY = 0.99; /* upper bound of alpha, which prevents products equal to zero */

typedef struct {
    index_t r, p, n_classes;
    const double *prototypes; /* (r, p) */
    const double *gamma;      /* (r,) */
    const double *alpha;      /* (r,) */
    const double *u;          /* (r, n_classes) */
} Network;

/* Attributes and intermediate results for the objects of a block. */
typedef struct {
    double *x;       /* (p, BLOCK) attributes */
    double *squared; /* (r, BLOCK) squared distances to the prototypes */
    double *e, *s;   /* (r, BLOCK) */
    double *A;       /* (n_classes, BLOCK) */
    double *B, *Z;   /* (BLOCK,) */
} Block;

static double *lines(Scratch *scratch, index_t count) { return take(scratch, count * BLOCK, sizeof(double)); }

static Block new_block(Scratch *scratch, const Network *net) {
    return (Block){lines(scratch, net->p), lines(scratch, net->r), lines(scratch, net->r), lines(scratch, net->r),
                   lines(scratch, net->n_classes), lines(scratch, 1), lines(scratch, 1)};
}

/* ---- masses of the prototypes and their combination ----------------------------------------------------------- */

/* Copy the attributes of b objects to p lines, and fill the remaining elements up to `width` with zeros. */
static void read_objects(const double *X, index_t p, index_t b, index_t width, double *x) {
    for (index_t d = 0; d < p; d++)
        for (index_t l = 0; l < width; l++) x[d * BLOCK + l] = l < b ? X[l * p + d] : 0.0;
}

static void add_squares(index_t width, const double *restrict x, double center, double *restrict squared) {
    for (index_t l = 0; l < width; l++) squared[l] += (x[l] - center) * (x[l] - center);
}

static void lend(const Network *net, index_t width, Block *block) {
    for (index_t i = 0; i < net->r; i++) {
        double *squared = block->squared + i * BLOCK, *e = block->e + i * BLOCK, *s = block->s + i * BLOCK;
        double half = -0.5 * net->gamma[i] * net->gamma[i];
        for (index_t l = 0; l < width; l++) squared[l] = 0.0;
        for (index_t d = 0; d < net->p; d++)
            add_squares(width, block->x + d * BLOCK, net->prototypes[i * net->p + d], squared);
        for (index_t l = 0; l < width; l++) e[l] = exp(half * squared[l]);
        for (index_t l = 0; l < width; l++) s[l] = net->alpha[i] * e[l];
    }
}

/* Multiply A by 1 - s (1 - u). */
static void multiply(index_t width, const double *restrict s, double u, double *restrict A) {
    for (index_t l = 0; l < width; l++) A[l] *= 1.0 - s[l] * (1.0 - u);
}

static void scale_up(index_t n_classes, index_t width, double *A, double *B) {
    for (index_t l = 0; l < width; l++) {
        double largest = 0.0;
        for (index_t k = 0; k < n_classes; k++) largest = larger(A[k * BLOCK + l], largest);
        if (!(largest < SMALL)) continue;
        for (index_t k = 0; k < n_classes; k++) A[k * BLOCK + l] /= largest;
        B[l] /= largest;
    }
}

static void combine(const Network *net, index_t width, Block *block) {
    index_t n_classes = net->n_classes;
    for (index_t k = 0; k < n_classes; k++)
        for (index_t l = 0; l < width; l++) block->A[k * BLOCK + l] = 1.0;
    for (index_t l = 0; l < width; l++) block->B[l] = 1.0;
    for (index_t i = 0; i < net->r; i++) {
        const double *s = block->s + i * BLOCK;
        for (index_t k = 0; k < n_classes; k++) multiply(width, s, net->u[i * n_classes + k], block->A + k * BLOCK);
        multiply(width, s, 0.0, block->B);
        if ((i + 1) % PROTOTYPES_PER_CHECK == 0) scale_up(n_classes, width, block->A, block->B);
    }
    for (index_t l = 0; l < width; l++) block->Z[l] = -(double)(n_classes - 1) * block->B[l];
    for (index_t k = 0; k < n_classes; k++)
        for (index_t l = 0; l < width; l++) block->Z[l] += block->A[k * BLOCK + l];
}

/* Compute the masses of the objects `start` to `stop` - 1 on the classes and the frame (last column). */
KERNEL network_masses(index_t n, index_t p, index_t r, index_t n_classes, const double *X, index_t start,
                      index_t stop, const double *prototypes, const double *gamma, const double *alpha,
                      const double *u, double *out) {
    (void)n;
    Scratch scratch = {0};
    Network net = {r, p, n_classes, prototypes, gamma, alpha, u};
    Block block = new_block(&scratch, &net);
    for (index_t begin = start; begin < stop && !scratch.failed; begin += BLOCK) {
        index_t b = stop - begin < BLOCK ? stop - begin : BLOCK, width = padded_to_lanes(b);
        read_objects(X + begin * p, p, b, width, block.x);
        lend(&net, width, &block);
        combine(&net, width, &block);
        for (index_t l = 0; l < b; l++) {
            double *row = out + (begin + l) * (n_classes + 1);
            for (index_t k = 0; k < n_classes; k++)
                row[k] = larger(block.A[k * BLOCK + l] - block.B[l], 0.0) / block.Z[l];
            row[n_classes] = block.B[l] / block.Z[l];
        }
    }
    return release(&scratch);
}

/* ---- loss and gradient ---------------------------------------------------------------------------------------- */

/* Derivatives of the loss of a block, and work space. */
typedef struct {
    double *by_A; /* (n_classes, BLOCK) derivatives with respect to the logarithms of the A_k */
    double *by_B; /* (BLOCK,) derivatives with respect to the logarithm of B */
    double *by_s; /* (BLOCK,) derivatives with respect to s_i of one prototype */
    double *total, *weighted, *line; /* (BLOCK,) work space */
} Slopes;

/* Return half the squared distance of the outputs o_k = m({k}) + mixing m(frame) from the intervals [lower, upper],
 * summed over b objects. Set the derivatives with respect to the logarithms of the A_k and of B. */
static double loss_of_block(const Network *net, const Block *block, const double *lower, const double *upper, index_t b,
                            index_t width, double mixing, const Slopes *slopes) {
    index_t n_classes = net->n_classes;
    double loss = 0.0, *total = slopes->total, *weighted = slopes->weighted;
    for (index_t l = 0; l < width; l++) total[l] = weighted[l] = 0.0;
    for (index_t k = 0; k < n_classes; k++) {
        const double *A = block->A + k * BLOCK;
        double *gaps = slopes->by_A + k * BLOCK;
        for (index_t l = 0; l < width; l++) {
            double output = (A[l] - block->B[l] + mixing * block->B[l]) / block->Z[l];
            double bounded = l < b ? smaller(larger(output, lower[l * n_classes + k]), upper[l * n_classes + k]) : output;
            gaps[l] = output - bounded;
            total[l] += gaps[l];
            weighted[l] += gaps[l] * output;
        }
        loss += 0.5 * lanes_dot(width, gaps, gaps);
    }
    for (index_t k = 0; k < n_classes; k++) {
        const double *restrict A = block->A + k * BLOCK;
        double *restrict by_A = slopes->by_A + k * BLOCK;
        for (index_t l = 0; l < width; l++) by_A[l] = (by_A[l] - weighted[l]) * (A[l] / block->Z[l]);
    }
    for (index_t l = 0; l < width; l++) {
        double by_both = (mixing - 1.0) * total[l] + (double)(n_classes - 1) * weighted[l];
        slopes->by_B[l] = by_both * (block->B[l] / block->Z[l]);
    }
    return loss;
}

/* Compute by_factor = by_A / (1 - s (1 - u)) and add its contribution to by_s. */
static void through_factor(index_t width, const double *restrict by_A, const double *restrict s, double u,
                           double *restrict by_factor, double *restrict by_s) {
    for (index_t l = 0; l < width; l++) {
        by_factor[l] = by_A[l] / (1.0 - s[l] * (1.0 - u));
        by_s[l] += by_factor[l] * (u - 1.0);
    }
}

typedef struct {
    double *prototypes, *gamma, *alpha, *u;
} Gradient;

static void add_gradient(const Network *net, const Block *block, index_t width, const Slopes *slopes,
                         const Gradient *gradient) {
    double *restrict by_s = slopes->by_s, *restrict line = slopes->line;
    for (index_t i = 0; i < net->r; i++) {
        const double *restrict s = block->s + i * BLOCK, *restrict squared = block->squared + i * BLOCK;
        double gamma = net->gamma[i];
        for (index_t l = 0; l < width; l++) by_s[l] = -slopes->by_B[l] / (1.0 - s[l]);
        for (index_t k = 0; k < net->n_classes; k++) {
            through_factor(width, slopes->by_A + k * BLOCK, s, net->u[i * net->n_classes + k], line, by_s);
            gradient->u[i * net->n_classes + k] += lanes_dot(width, line, s);
        }
        gradient->alpha[i] += lanes_dot(width, by_s, block->e + i * BLOCK);
        for (index_t l = 0; l < width; l++) by_s[l] *= s[l]; /* now the derivative with respect to log s */
        gradient->gamma[i] -= gamma * lanes_dot(width, by_s, squared);
        for (index_t d = 0; d < net->p; d++) {
            const double *restrict x = block->x + d * BLOCK;
            double center = net->prototypes[i * net->p + d];
            for (index_t l = 0; l < width; l++) line[l] = x[l] - center;
            gradient->prototypes[i * net->p + d] += gamma * gamma * lanes_dot(width, by_s, line);
        }
    }
}

/* ---- the cost as a function of the parameters ----------------------------------------------------------------- */

/* Training objects, bounds of the outputs given by the labels, constants of the cost, and work space. */
typedef struct {
    index_t n, p, n_classes, q;
    const double *X;             /* (n, p) */
    const double *lower, *upper; /* (n, n_classes) */
    double mixing, mu;
    index_t r;
    double *squares, *alpha; /* (r,) sums of the squared beta of each prototype, and reliabilities */
    double *u;               /* (r, n_classes) */
    Block block;
    Slopes slopes;
} Problem;

/* Allocate the work space. The q parameters are the prototypes, gamma, beta and xi, in this order, so that q determines
 * the number of prototypes. */
static void take_room(Scratch *scratch, Problem *problem) {
    index_t r = problem->q / (problem->p + problem->n_classes + 2);
    Network net = {.r = r, .p = problem->p, .n_classes = problem->n_classes};
    problem->r = r;
    problem->squares = take(scratch, r, sizeof(double));
    problem->alpha = take(scratch, r, sizeof(double));
    problem->u = take(scratch, r * problem->n_classes, sizeof(double));
    problem->block = new_block(scratch, &net);
    problem->slopes = (Slopes){lines(scratch, problem->n_classes), lines(scratch, 1), lines(scratch, 1),
                               lines(scratch, 1), lines(scratch, 1), lines(scratch, 1)};
}

/* Compute u_ik = beta_ik^2 / sum_l beta_il^2 and alpha_i = 0.99 / (1 + exp(-xi_i)). */
static void read_constrained(const Problem *problem, const double *beta, const double *xi) {
    index_t n_classes = problem->n_classes;
    for (index_t i = 0; i < problem->r; i++) {
        double sum = 0.0;
        for (index_t k = 0; k < n_classes; k++) sum += beta[i * n_classes + k] * beta[i * n_classes + k];
        problem->squares[i] = larger(sum, DBL_MIN);
        for (index_t k = 0; k < n_classes; k++)
            problem->u[i * n_classes + k] = beta[i * n_classes + k] * beta[i * n_classes + k] / problem->squares[i];
        problem->alpha[i] = MAX_RELIABILITY * 0.5 * (1.0 + tanh(xi[i] / 2.0));
    }
}

/* Convert the derivatives with respect to u and alpha to derivatives with respect to beta and xi, in place. */
static void through_constraints(const Problem *problem, const double *beta, const Gradient *gradient) {
    index_t n_classes = problem->n_classes;
    for (index_t i = 0; i < problem->r; i++) {
        const double *u = problem->u + i * n_classes;
        double *by_u = gradient->u + i * n_classes, mean = 0.0, alpha = problem->alpha[i];
        for (index_t k = 0; k < n_classes; k++) mean += u[k] * by_u[k];
        for (index_t k = 0; k < n_classes; k++)
            by_u[k] = 2.0 * beta[i * n_classes + k] / problem->squares[i] * (by_u[k] - mean);
        gradient->alpha[i] *= alpha * (1.0 - alpha / MAX_RELIABILITY);
    }
}

/* Return the cost, which is the mean loss plus mu times the sum of the reliabilities, and set its gradient. */
static double cost_and_gradient(Problem *problem, const double *parameters, double *gradient) {
    index_t n = problem->n, p = problem->p, n_classes = problem->n_classes, r = problem->r;
    const double *gamma = parameters + r * p, *beta = gamma + r, *xi = beta + r * n_classes;
    Gradient by = {gradient, gradient + r * p, gradient + r * (p + 1 + n_classes), gradient + r * (p + 1)};
    Network net = {r, p, n_classes, parameters, gamma, problem->alpha, problem->u};
    Block *block = &problem->block;
    double loss = 0.0, reliable = 0.0;
    read_constrained(problem, beta, xi);
    for (index_t i = 0; i < problem->q; i++) gradient[i] = 0.0;
    for (index_t start = 0; start < n; start += BLOCK) {
        index_t b = n - start < BLOCK ? n - start : BLOCK, width = padded_to_lanes(b);
        read_objects(problem->X + start * p, p, b, width, block->x);
        lend(&net, width, block);
        combine(&net, width, block);
        loss += loss_of_block(&net, block, problem->lower + start * n_classes, problem->upper + start * n_classes, b,
                              width, problem->mixing, &problem->slopes);
        add_gradient(&net, block, width, &problem->slopes, &by);
    }
    for (index_t i = 0; i < problem->q; i++) gradient[i] /= (double)n;
    for (index_t i = 0; i < r; i++) by.alpha[i] += problem->mu;
    through_constraints(problem, beta, &by);
    for (index_t i = 0; i < r; i++) reliable += problem->alpha[i];
    return loss / (double)n + problem->mu * reliable;
}

KERNEL network_cost(index_t n, index_t p, index_t n_classes, index_t q, const double *X, const double *lower,
                    const double *upper, double mixing, double mu, const double *parameters, double *gradient,
                    double *result) {
    Scratch scratch = {0};
    Problem problem = {n, p, n_classes, q, X, lower, upper, mixing, mu, .r = 0};
    take_room(&scratch, &problem);
    if (!scratch.failed) *result = cost_and_gradient(&problem, parameters, gradient);
    return release(&scratch);
}

/* Minimize the cost by L-BFGS, and overwrite `parameters` with the result. `outcome` receives the number of iterations and whether the method converged. */
KERNEL network_minimum(index_t n, index_t p, index_t n_classes, index_t q, const double *X, const double *lower,
                       const double *upper, double mixing, double mu, double *parameters, index_t memory,
                       index_t max_iter, double tol, double gradient_tol, double *history,
                       index_t *outcome) {
    Scratch scratch = {0};
    Problem problem = {n, p, n_classes, q, X, lower, upper, mixing, mu, .r = 0};
    take_room(&scratch, &problem);
    double *x = take(&scratch, q, sizeof(double)), *gradient = take(&scratch, q, sizeof(double));
    double *vectors = take(&scratch, LBFGS_VECTORS * q, sizeof(double));
    double *steps = take(&scratch, memory * q, sizeof(double)), *changes = take(&scratch, memory * q, sizeof(double));
    double *line = take_zeros(&scratch, LBFGS_LINE, sizeof(double));
    index_t *counts = take_zeros(&scratch, LBFGS_COUNTS, sizeof(index_t)), status = EVALUATE;
    for (index_t i = 0; i < q && !scratch.failed; i++) x[i] = parameters[i];
    while (!scratch.failed && status == EVALUATE) {
        double cost = cost_and_gradient(&problem, x, gradient);
        scratch.failed = lbfgs_advance(q, memory, x, cost, gradient, vectors, steps, changes, line, counts, max_iter,
                                       tol, gradient_tol, history, &status) == NO_MEMORY;
    }
    if (!scratch.failed) {
        for (index_t i = 0; i < q; i++) parameters[i] = vectors[i];
        outcome[0] = counts[LBFGS_ITERATIONS];
        outcome[1] = status == CONVERGED;
    }
    return release(&scratch);
}
