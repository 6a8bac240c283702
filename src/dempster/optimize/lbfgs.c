/* Minimization of a smooth function by L-BFGS (Nocedal, 1980).
 *
 * The caller evaluates the function. `lbfgs_advance` receives the value and the gradient at x, and sets x to the next
 * point. All data between two calls are stored in arrays of the caller.
 *
 * An iteration is a line search. Its direction is minus an approximate inverse Hessian times the gradient. The
 * inverse Hessian is defined by the last steps and changes of the gradient, and is not stored as a matrix. The step
 * must satisfy the Wolfe conditions (Nocedal and Wright, 2006, algorithms 3.5, 3.6 and 7.4). */
#include "optimize/lbfgs.h"

#include "_native/sums.h"

static const double DECREASE = 1e-4, CURVATURE = 0.9; /* Constants of the Wolfe conditions. */
static const double NO_CURVATURE = 2.220446049250313e-16; /* Relative to the squared change of the gradient. */
static const double LONGER = 4.0; /* Minimum factor by which a step that is too short is extended. */
enum { MAX_TRIALS = 20 };        /* Maximum number of points in a line search. */

/* Point of a line search with its step length, value, and derivative along the line. */
typedef struct {
    double t, value, slope;
} Trial;

/* Data of a line search between calls. `low` is the best point with a sufficient decrease. If `high` is set, the search
 * continues between `low` and `high`. */
typedef struct {
    Trial start, low, high;
    double t;
} Line;

typedef struct {
    index_t begun;          /* whether a line search has begun */
    index_t bracketed;      /* whether `high` is set */
    index_t trials;         /* number of points in this line search */
    index_t iterations;
    index_t newest, stored; /* index of the newest pair, and number of pairs, in the ring buffers */
} Counts;

typedef struct {
    index_t n, memory, max_iter;
    double tol, gradient_tol;
    double *x;                /* (n,) next point to evaluate */
    double *point, *gradient; /* (n,) initial point of the line search, and its gradient */
    double *direction;        /* (n,) */
    double *low_gradient;     /* (n,) gradient at `low` */
    double *steps, *changes;  /* (memory, n) ring buffers of the last steps and changes of the gradient */
    double *shares, *curvatures; /* (memory,) scratch memory */
    Line *line;
    Counts *counts;
    double *history;          /* (max_iter + 1,) */
} Search;

static double dot(index_t n, const double *x, const double *y) {
    index_t whole = n - n % LANES;
    double sum = lanes_dot(whole, x, y);
    for (index_t i = whole; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void add_multiple(index_t n, double factor, const double *restrict x, double *restrict y) {
    for (index_t i = 0; i < n; i++) y[i] += factor * x[i];
}

static void copy(index_t n, const double *from, double *to) { memcpy(to, from, (size_t)n * sizeof(double)); }

/* ---- direction -------------------------------------------------------------------------------------------- */

/* Multiply the direction, which contains minus the gradient, by the approximate inverse Hessian. */
static void turn(const Search *s) {
    index_t n = s->n, memory = s->memory, newest = s->counts->newest, stored = s->counts->stored;
    for (index_t back = 0; back < stored; back++) {
        index_t k = (newest - back + memory) % memory;
        const double *step = s->steps + k * n, *change = s->changes + k * n;
        s->curvatures[k] = dot(n, step, change);
        s->shares[k] = dot(n, step, s->direction) / s->curvatures[k];
        add_multiple(n, -s->shares[k], change, s->direction);
    }
    if (stored > 0) {
        const double *change = s->changes + newest * n;
        double scale = s->curvatures[newest] / dot(n, change, change);
        for (index_t i = 0; i < n; i++) s->direction[i] *= scale;
    }
    for (index_t back = stored - 1; back >= 0; back--) {
        index_t k = (newest - back + memory) % memory;
        double share = dot(n, s->changes + k * n, s->direction) / s->curvatures[k];
        add_multiple(n, s->shares[k] - share, s->steps + k * n, s->direction);
    }
}

static void remember_pair(const Search *s, const double *gradient) {
    index_t n = s->n, next = (s->counts->newest + 1) % s->memory;
    double *step = s->steps + next * n, *change = s->changes + next * n;
    for (index_t i = 0; i < n; i++) {
        step[i] = s->x[i] - s->point[i];
        change[i] = gradient[i] - s->gradient[i];
    }
    if (s->counts->stored == s->memory) s->counts->stored--; /* The oldest pair was overwritten. */
    if (!(dot(n, step, change) > NO_CURVATURE * dot(n, change, change))) return;
    s->counts->newest = next;
    s->counts->stored++;
}

/* ---- line search --------------------------------------------------------------------------------------------- */

static int another_direction(const Search *s);

static void go_to(const Search *s, double t) {
    s->line->t = t;
    for (index_t i = 0; i < s->n; i++) s->x[i] = s->point[i] + t * s->direction[i];
}

/* Begin a line search at `point`; return CONVERGED if there is no descent direction. */
static int begin_line(const Search *s) {
    Line *line = s->line;
    double steepest = 0.0;
    for (index_t i = 0; i < s->n; i++) {
        s->direction[i] = -s->gradient[i];
        steepest = larger(fabs(s->gradient[i]), steepest);
    }
    if (!(steepest > s->gradient_tol)) return CONVERGED;
    turn(s);
    line->start.slope = dot(s->n, s->gradient, s->direction);
    if (!(line->start.slope < 0.0)) return another_direction(s);
    line->low = line->start;
    s->counts->bracketed = 0;
    s->counts->trials = 0;
    go_to(s, s->counts->stored > 0 ? 1.0 : smaller(1.0, 1.0 / sqrt(-line->start.slope)));
    return EVALUATE;
}

/* Begin a line search in the direction of steepest descent, because the estimated curvature may be wrong. */
static int another_direction(const Search *s) {
    if (s->counts->stored == 0) return CONVERGED; /* Rounding errors prevent a further decrease. */
    s->counts->stored = 0;
    return begin_line(s);
}

/* Accept the point x, and begin the next line search there. */
static int accept(const Search *s, double value, const double *gradient) {
    double last = s->line->start.value;
    remember_pair(s, gradient);
    copy(s->n, s->x, s->point);
    copy(s->n, gradient, s->gradient);
    s->line->start.value = value;
    s->history[++s->counts->iterations] = value;
    if (last - value <= s->tol * larger(larger(fabs(last), fabs(value)), 1.0)) return CONVERGED;
    return s->counts->iterations == s->max_iter ? OUT_OF_ITERATIONS : begin_line(s);
}

/* Return the step length at which the linear extrapolation of the slope is zero, within bounds. */
static double extrapolated(Trial before, Trial low) {
    double change = low.slope - before.slope;
    double guess = change > 0.0 ? low.t - low.slope * (low.t - before.t) / change : INFINITY;
    return smaller(larger(guess, LONGER * low.t), LONGER * LONGER * low.t);
}

/* Return the step length at the minimum of the cubic interpolation of two points, within bounds. */
static double interpolated(Trial low, Trial high) {
    double gap = high.t - low.t, share = 0.5;
    double bend = low.slope + high.slope - 3.0 * (high.value - low.value) / gap;
    double inside = bend * bend - low.slope * high.slope;
    if (isfinite(inside) && inside >= 0.0) {
        double root = copysign(sqrt(inside), gap), below = high.slope - low.slope + 2.0 * root;
        if (below != 0.0) share = 1.0 - (high.slope + root - bend) / below;
    }
    return low.t + gap * smaller(larger(share, 0.1), 0.9);
}

/* Accept the best step although it does not satisfy the Wolfe conditions, or try another direction. */
static int give_up(const Search *s) {
    if (!(s->line->low.t > 0.0)) return another_direction(s);
    go_to(s, s->line->low.t);
    return accept(s, s->line->low.value, s->low_gradient);
}

static int continue_line(const Search *s, double value, const double *gradient) {
    Line *line = s->line;
    Counts *counts = s->counts;
    Trial trial = {line->t, value, dot(s->n, gradient, s->direction)}, before = line->low;
    bool falls = value <= line->start.value + DECREASE * trial.t * line->start.slope;
    if (!falls || (before.t > 0.0 && value >= before.value)) {
        line->high = trial;
        counts->bracketed = 1;
    } else if (fabs(trial.slope) <= -CURVATURE * line->start.slope) {
        return accept(s, value, gradient);
    } else {
        if (trial.slope * (counts->bracketed ? line->high.t - before.t : 1.0) >= 0.0) {
            line->high = before;
            counts->bracketed = 1;
        }
        line->low = trial;
        copy(s->n, gradient, s->low_gradient);
    }
    if (++counts->trials == MAX_TRIALS) return give_up(s);
    go_to(s, counts->bracketed ? interpolated(line->low, line->high) : extrapolated(before, line->low));
    return EVALUATE;
}

/* Process the value and the gradient at x, and set x to the next point to evaluate. The result is one of the constants
 * in lbfgs.h. At the end, the first row of `vectors` is the minimizer. */
KERNEL lbfgs_advance(index_t n, index_t memory, double *x, double value, const double *gradient, double *vectors,
                     double *steps, double *changes, double *line, index_t *counts, index_t max_iter,
                     double tol, double gradient_tol, double *history, index_t *result) {
    Scratch scratch = {0};
    Search search = {
        .n = n, .memory = memory, .max_iter = max_iter, .tol = tol, .gradient_tol = gradient_tol, .x = x,
        .point = vectors, .gradient = vectors + n, .direction = vectors + 2 * n, .low_gradient = vectors + 3 * n,
        .steps = steps, .changes = changes,
        .shares = take(&scratch, memory, sizeof(double)), .curvatures = take(&scratch, memory, sizeof(double)),
        .line = (Line *)line, .counts = (Counts *)counts, .history = history,
    };
    if (scratch.failed) return release(&scratch);
    if (search.counts->begun) {
        *result = continue_line(&search, value, gradient);
    } else {
        search.counts->begun = 1;
        search.line->start = (Trial){0.0, value, 0.0};
        copy(n, x, search.point);
        copy(n, gradient, search.gradient);
        history[0] = value;
        *result = begin_line(&search);
    }
    return release(&scratch);
}
