/* Candidate: the fused scans of libassay_scan, gated through their own C interface.
 *
 * If Assay is installed, build and run it with:
 *   cc -std=c99 -O2 -shared -fPIC -o libc_fused_scan.so c_fused_scan.c -lassay_scan
 *   assay gate --candidate library:./libc_fused_scan.so --require-class uniform,sequential */
#include <assay_candidate.h>
#include <assay_scan.h>
#include <stdlib.h>

static int32_t dtype_of(const assay_tensor* t) {
  return strcmp(t->dtype, "f64") == 0 ? ASSAY_SCAN_F64 : ASSAY_SCAN_F32;
}

static assay_const_array read_only(const assay_tensor* t) {
  assay_const_array a = {0};
  int64_t step = 1;
  size_t k;
  a.data = t->data;
  a.dtype = dtype_of(t);
  a.rank = (int32_t)t->rank;
  for (k = t->rank; k-- > 0; step *= a.size[k]) {
    a.size[k] = (int64_t)t->shape[k];
    a.stride[k] = step;
  }
  return a;
}

static assay_array written(const assay_tensor* t) {
  const assay_const_array like = read_only(t);
  assay_array a = {0};
  a.data = t->data;
  a.dtype = like.dtype;
  a.rank = like.rank;
  memcpy(a.size, like.size, sizeof a.size);
  memcpy(a.stride, like.stride, sizeof a.stride);
  return a;
}

/* The inputs log_p or g, h and s0 come first in all operations. */
static assay_scan_inputs inputs_of(const assay_call* call) {
  assay_scan_inputs in = {{0}, {0}, {0}, {0}};
  in.decay = read_only(&call->inputs[0]);
  in.h = read_only(&call->inputs[1]);
  in.s0 = read_only(&call->inputs[2]);
  return in;
}

static assay_scan_execution on(assay_call* call) {
  assay_scan_execution e = {0, NULL, NULL, 0, NULL, 0};
  e.threads = -1;
  e.message = call->message;
  e.message_size = call->message_size;
  return e;
}

typedef int forward_function(const assay_scan_execution*, const assay_scan_inputs*, const assay_scan_outputs*);
typedef int vjp_function(const assay_scan_execution*, const assay_scan_inputs*, const assay_scan_cotangents*,
                         const assay_scan_gradients*);
typedef int jvp_function(const assay_scan_execution*, const assay_scan_inputs*, const assay_scan_direction*,
                         const assay_scan_outputs*, const assay_scan_tangents*);

static int evaluate(assay_call* call, forward_function* forward) {
  const assay_scan_execution e = on(call);
  const assay_scan_inputs in = inputs_of(call);
  assay_scan_outputs out = {{0}, {0}, {0}};
  out.s = written(&call->outputs[0]);
  out.s_n = written(&call->outputs[1]);
  return forward(&e, &in, &out) == ASSAY_SCAN_OK ? ASSAY_OK : ASSAY_ERROR;
}

/* Derivatives need or write the states s and s_n, which are no outputs of this call. Returns memory for both, which the
 * caller frees; NULL if no memory is left. */
static char* make_states(const assay_call* call, assay_tensor* s, assay_scan_outputs* states) {
  const assay_tensor *h = &call->inputs[1], *s0 = &call->inputs[2];
  const size_t element = read_only(h).dtype == ASSAY_SCAN_F64 ? sizeof(double) : sizeof(float);
  char* memory = malloc((h->size + s0->size + 1) * element);
  assay_tensor s_n = *s0;
  if (memory == NULL) return NULL;
  *s = *h;
  s->data = memory;
  s_n.data = memory + h->size * element;
  states->s = written(s);
  states->s_n = written(&s_n);
  return memory;
}

/* The vjp reads the states s, so the scan is computed first. */
static int evaluate_vjp(assay_call* call, forward_function* forward, vjp_function* vjp) {
  const assay_scan_execution e = on(call);
  const assay_scan_inputs in = inputs_of(call);
  assay_tensor s;
  assay_scan_outputs states = {{0}, {0}, {0}};
  char* memory = make_states(call, &s, &states);
  assay_scan_cotangents cotangents;
  assay_scan_gradients out;
  int code;
  if (memory == NULL) return assay_fail(call, ASSAY_ERROR, "out of memory");
  cotangents.s = read_only(&s);
  cotangents.grad_s = read_only(&call->inputs[3]);
  cotangents.grad_s_n = read_only(&call->inputs[4]);
  out.grad_decay = written(&call->outputs[0]);
  out.grad_h = written(&call->outputs[1]);
  out.grad_s0 = written(&call->outputs[2]);
  code = forward(&e, &in, &states);
  if (code == ASSAY_SCAN_OK) code = vjp(&e, &in, &cotangents, &out);
  free(memory);
  return code == ASSAY_SCAN_OK ? ASSAY_OK : ASSAY_ERROR;
}

/* The jvp writes the states, too. */
static int evaluate_jvp(assay_call* call, jvp_function* jvp) {
  const assay_scan_execution e = on(call);
  const assay_scan_inputs in = inputs_of(call);
  assay_tensor s;
  assay_scan_outputs states = {{0}, {0}, {0}};
  char* memory = make_states(call, &s, &states);
  assay_scan_direction direction = {{0}, {0}, {0}, {0}};
  assay_scan_tangents out = {{0}, {0}, {0}};
  int code;
  if (memory == NULL) return assay_fail(call, ASSAY_ERROR, "out of memory");
  direction.tangent_decay = read_only(&call->inputs[3]);
  direction.tangent_h = read_only(&call->inputs[4]);
  direction.tangent_s0 = read_only(&call->inputs[5]);
  out.tangent_s = written(&call->outputs[0]);
  out.tangent_s_n = written(&call->outputs[1]);
  code = jvp(&e, &in, &direction, &states, &out);
  free(memory);
  return code == ASSAY_SCAN_OK ? ASSAY_OK : ASSAY_ERROR;
}

static int scan(assay_call* call) { return evaluate(call, assay_scan); }
static int gated_scan(assay_call* call) { return evaluate(call, assay_gated_scan); }
static int scan_vjp(assay_call* call) { return evaluate_vjp(call, assay_scan, assay_scan_vjp); }
static int gated_scan_vjp(assay_call* call) { return evaluate_vjp(call, assay_gated_scan, assay_gated_scan_vjp); }
static int scan_jvp(assay_call* call) { return evaluate_jvp(call, assay_scan_jvp); }
static int gated_scan_jvp(assay_call* call) { return evaluate_jvp(call, assay_gated_scan_jvp); }

static const assay_operation operations[] = {{"heinsen/scan", "f32 f64", scan},
                                             {"heinsen/gated_scan", "f32 f64", gated_scan},
                                             {"heinsen/scan:vjp", "f32 f64", scan_vjp},
                                             {"heinsen/gated_scan:vjp", "f32 f64", gated_scan_vjp},
                                             {"heinsen/scan:jvp", "f32 f64", scan_jvp},
                                             {"heinsen/gated_scan:jvp", "f32 f64", gated_scan_jvp},
                                             {NULL, NULL, NULL}};
static const assay_candidate me = {ASSAY_CANDIDATE_ABI, "assay-scan", "1", operations,
                                   "{\"properties\": {\"deterministic\": true}}"};
const assay_candidate* assay_candidate_v1(void) { return &me; }
