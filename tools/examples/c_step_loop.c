/* Candidate: the log-linear recurrence step by step in C, in double, with a derivative written by hand.
 *
 * Heinsen, "Encoding Position by Decaying and Updating Different Exponentiated States Differently" (2024),
 * equations (1)-(3). Build and run it with:
 *   cc -O2 -shared -fPIC -I tools/adapters/c -o libc_step_loop.so tools/examples/c_step_loop.c -lm
 *   assay gate --candidate library:./libc_step_loop.so --operation heinsen/scan */
#include <math.h>
#include <stdlib.h>

#include "assay_candidate.h"

static int is_f64(const assay_tensor* t) { return strcmp(t->dtype, "f64") == 0; }
static double get(const assay_tensor* t, size_t i) { return is_f64(t) ? ((double*)t->data)[i] : ((float*)t->data)[i]; }
static double put(const assay_tensor* t, size_t i, double x) {
  return is_f64(t) ? (((double*)t->data)[i] = x) : (((float*)t->data)[i] = (float)x);
}
static double log_add_exp(double a, double b) { /* the difference of equal infinities is NaN */
  return a == b ? a + log(2) : fmax(a, b) + log1p(exp(-fabs(a - b)));
}

static int scan(assay_call* call) {
  const assay_tensor *log_p = &call->inputs[0], *h = &call->inputs[1], *s0 = &call->inputs[2];
  const size_t B = h->shape[0], n = h->shape[1], d = h->shape[2];
  for (size_t lane = 0; lane < B * d; ++lane) {
    double s = get(s0, lane);
    for (size_t i = 0, index = lane / d * n * d + lane % d; i < n; ++i, index += d)
      put(&call->outputs[0], index, s = log_add_exp(get(log_p, index) + s, get(h, index))); /* equation (3) */
    put(&call->outputs[1], lane, s);
  }
  return ASSAY_OK;
}

static int scan_vjp(assay_call* call) {
  const assay_tensor *log_p = &call->inputs[0], *h = &call->inputs[1], *s0 = &call->inputs[2];
  const assay_tensor *grad_s = &call->inputs[3], *grad_s_n = &call->inputs[4], *out = call->outputs;
  const size_t B = h->shape[0], n = h->shape[1], d = h->shape[2];
  double* s = malloc((n + 1) * sizeof *s);
  if (s == NULL) return assay_fail(call, ASSAY_ERROR, "out of memory");
  for (size_t lane = 0; lane < B * d; ++lane) {
    const size_t first = lane / d * n * d + lane % d;
    double grad = get(grad_s_n, lane);
    s[0] = get(s0, lane);
    for (size_t i = 0; i < n; ++i) s[i + 1] = log_add_exp(get(log_p, first + i * d) + s[i], get(h, first + i * d));
    for (size_t i = n, index = first + (n - 1) * d; i > 0; --i, index -= d) {
      const int lives = s[i] != -INFINITY; /* a state of -inf depends on nothing */
      grad = lives ? grad + get(grad_s, index) : 0;
      put(&out[1], index, lives ? grad * exp(get(h, index) - s[i]) : 0);
      put(&out[0], index, grad = lives ? grad * exp(get(log_p, index) + s[i - 1] - s[i]) : 0);
    }
    put(&out[2], lane, grad);
  }
  free(s);
  return ASSAY_OK;
}

static const assay_operation operations[] = {
    {"heinsen/scan", "f32 f64", scan}, {"heinsen/scan:vjp", "f32 f64", scan_vjp}, {NULL, NULL, NULL}};
static const assay_candidate me = {ASSAY_CANDIDATE_ABI, "c-step-loop", "1", operations,
                                   "{\"properties\": {\"deterministic\": true}}"};
const assay_candidate* assay_candidate_v1(void) { return &me; }
