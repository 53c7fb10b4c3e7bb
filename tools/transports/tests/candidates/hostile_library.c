/* A library that keeps to the ABI except for one fault, which the environment variable HOSTILE_LIBRARY names. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "assay_candidate.h"

static int behaves(const char* name) {
  const char* wanted = getenv("HOSTILE_LIBRARY");
  return wanted != NULL && strcmp(wanted, name) == 0;
}

static float log_add_exp(float a, float b) { return a == b ? a + logf(2) : fmaxf(a, b) + log1pf(expf(-fabsf(a - b))); }

static void scan_rightly(const assay_call* call) {
  const float *log_p = assay_input(call, "log_p"), *h = assay_input(call, "h"), *s0 = assay_input(call, "s0");
  float *s = assay_output(call, "s"), *s_n = assay_output(call, "s_n");
  const size_t* shape = call->inputs[1].shape;
  for (size_t lane = 0; lane < shape[0] * shape[2]; ++lane) {
    s_n[lane] = s0[lane];
    for (size_t i = 0; i < shape[1]; ++i) {
      const size_t index = (lane / shape[2] * shape[1] + i) * shape[2] + lane % shape[2];
      s_n[lane] = s[index] = log_add_exp(log_p[index] + s_n[lane], h[index]);
    }
  }
}

static void hog_memory(void) {
  const size_t size = (size_t)400 << 20;
  volatile char* memory = malloc(size); /* volatile: the compiler must not see through this */
  for (size_t i = 0; memory != NULL && i < size; i += 4096) memory[i] = 1;
  sleep(60);
}

static int scan(assay_call* call) {
  if (behaves("crash")) raise(SIGSEGV);
  if (behaves("exit")) exit(0);
  if (behaves("abort")) abort();
  while (behaves("hang")) sleep(1);
  if (behaves("memory")) hog_memory();
  if (behaves("error")) return assay_fail(call, ASSAY_ERROR, "the kernel needs d = 64");
  if (behaves("silent error")) return ASSAY_ERROR;
  if (behaves("unsupported")) return assay_fail(call, ASSAY_UNSUPPORTED, "no scan today");
  if (behaves("status")) return 7;
  if (behaves("message")) {
    memset(call->message, 'x', call->message_size);
    return ASSAY_ERROR;
  }
  if (behaves("flushes")) {
    memcpy(call->outputs[0].data, call->inputs[1].data, call->inputs[1].size * sizeof(float));
    memset(call->outputs[1].data, 0, call->outputs[1].size * sizeof(float));
    volatile float tiny = 1e-30f; /* the flag is still there when the library computes */
    return tiny * 1e-10f == 0 ? ASSAY_OK : ASSAY_ERROR;
  }
  if (behaves("nothing")) return ASSAY_OK;
  scan_rightly(call);
  if (behaves("wrong") && call->outputs[0].size > 0) ((float*)call->outputs[0].data)[0] += 1;
  if (behaves("overrun")) ((float*)call->outputs[0].data)[call->outputs[0].size] = 0;
  if (behaves("underrun")) ((float*)call->outputs[1].data)[-1] = 0;
  if (behaves("input") && call->inputs[1].size > 0) ((float*)call->inputs[1].data)[0] += 1;
  if (behaves("prints")) {
    printf("{\"id\": 1, \"ok\": false, \"error\": \"printed\"}\n");
    fflush(stdout);
  }
  return ASSAY_OK;
}

__attribute__((constructor)) static void loaded(void) {
  if (behaves("crash when loaded")) abort();
#ifdef __SSE__
  if (behaves("flushes")) _mm_setcsr(_mm_getcsr() | 0x8040u); /* as the startup code that -ffast-math links in does */
#endif
  if (behaves("prints")) {
    printf("{\"hello\": {}}\n");
    fflush(stdout);
  }
}

static const assay_operation operations[] = {{"heinsen/scan", "f32", scan}, {NULL, NULL, NULL}};
static const assay_operation unknown_dtype[] = {{"heinsen/scan", "float", scan}, {NULL, NULL, NULL}};
static const assay_operation twice[] = {
    {"heinsen/scan", "f32", scan}, {"heinsen/scan", "f32", scan}, {NULL, NULL, NULL}};
static const assay_operation no_function[] = {{"heinsen/scan", "f32", NULL}, {NULL, NULL, NULL}};

const assay_candidate* assay_candidate_v1(void) {
  static assay_candidate me = {ASSAY_CANDIDATE_ABI, "hostile", "1", operations, NULL};
  if (behaves("abi")) me.abi = 2;
  if (behaves("null")) return NULL;
  if (behaves("nameless")) me.name = NULL;
  if (behaves("unknown dtype")) me.operations = unknown_dtype;
  if (behaves("twice")) me.operations = twice;
  if (behaves("no function")) me.operations = no_function;
  if (behaves("claims")) me.claims = "{\"properties\": }";
  if (behaves("own claims")) me.claims = "{\"name\": \"other\"}";
  if (behaves("domain claims")) me.claims = "{\"domain\": {\"heinsen/scan\": {\"h\": [1, 0]}}}";
  return &me;
}
