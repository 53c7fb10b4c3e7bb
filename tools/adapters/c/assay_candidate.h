/* An implementation as a shared library, for `assay gate --candidate library:PATH`. ABI version 1, C99.
 *
 *   #include "assay_candidate.h"
 *   static int scan(assay_call* call) {
 *     const float *log_p = call->inputs[0].data, *h = call->inputs[1].data, *s0 = call->inputs[2].data;
 *     float *s = call->outputs[0].data, *s_n = call->outputs[1].data;
 *     ...
 *     return ASSAY_OK;
 *   }
 *   static const assay_operation operations[] = {{"heinsen/scan", "f32", scan}, {NULL, NULL, NULL}};
 *   static const assay_candidate me = {ASSAY_CANDIDATE_ABI, "my-scan", "1.0", operations, NULL};
 *   const assay_candidate* assay_candidate_v1(void) { return &me; }
 *
 * Link it as a shared library (cc -shared -fPIC). Inputs and outputs come in the order of the operation's
 * declaration (see: assay list operations), and by name through assay_input and assay_output.
 *
 * The library runs in a process of its own. A crash or an endless loop is reported, and the process is started
 * anew. Its output to stdout and stderr is kept as a log. Calls come one at a time, all from one thread.
 */
#ifndef ASSAY_CANDIDATE_H
#define ASSAY_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_CANDIDATE_ABI 1u

/* The codes that the callback of an operation returns. */
enum {
  ASSAY_OK = 0,
  ASSAY_ERROR = 1,      /* it failed on a valid input, for the reason in call->message; the check fails */
  ASSAY_UNSUPPORTED = 2 /* it declines this case, for the reason in call->message; it is skipped and counted */
};

/* A dense tensor in row-major order, the last axis contiguous. `data` is aligned to 64 bytes and never NULL.
 * Elements are double (f64), float (f32), uint16_t with the bits (f16, bf16), int64_t (i64), int32_t (i32) or
 * uint8_t of 0 and 1 (bool). Inputs must not be written. Outputs have been allocated, are as large as the
 * inputs require, and have all bits set: floats are NaN. A write outside an output or to an input is an error if it is
 * noticed. */
typedef struct assay_tensor {
  const char* name;
  const char* dtype; /* "f64", "f32", "f16", "bf16", "i64", "i32" or "bool" */
  const size_t* shape;
  size_t rank;
  size_t size; /* number of elements: the product of the shape */
  void* data;
} assay_tensor;

/* One call of an operation. Everything in it lives until the callback returns. */
typedef struct assay_call {
  const char* operation;  /* "heinsen/scan" */
  const char* dtype;      /* the dtype of all floating-point tensors of the call */
  const char* attributes; /* a JSON object: each setting of the operation, and variants that the claims name */
  const assay_tensor* inputs;
  const assay_tensor* outputs;
  size_t input_count;
  size_t output_count;
  char* message; /* room for the reason of an error, which is cut after message_size - 1 bytes */
  size_t message_size;
} assay_call;

typedef struct assay_operation {
  const char* name;   /* "heinsen/scan"; derivatives are operations of their own: "heinsen/scan:vjp" */
  const char* dtypes; /* the dtypes that it takes, separated by spaces: "f32 f64" */
  int (*evaluate)(assay_call* call);
} assay_operation;

typedef struct assay_candidate {
  uint32_t abi; /* ASSAY_CANDIDATE_ABI */
  const char* name;
  const char* version;
  const assay_operation* operations; /* ended by an entry whose name is NULL */
  /* NULL, or a JSON object with further members of the protocol's hello, such as
   * {"compute": {"bf16": "f32"}, "domain": {"heinsen/scan": {"log_p": "finite"}},
   *  "flush_subnormals": true, "properties": {"deterministic": true}} */
  const char* claims;
} assay_candidate;

/* The one function that the library must define. This declaration exports it, in C++ with its C name. The returned
 * object must live as long as the library. NULL says that the library cannot work here.
 *
 *   static const assay_candidate me = {ASSAY_CANDIDATE_ABI, "my-scan", "1.0", operations, NULL};
 *   const assay_candidate* assay_candidate_v1(void) { return device_count() > 0 ? &me : NULL; }
 */
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
const assay_candidate*
assay_candidate_v1(void);

/* An input or output, or its data, by name; NULL if the operation has none of that name.
 *
 *   const assay_tensor* h = assay_find(call->inputs, call->input_count, "h");
 *   const float* log_p = assay_input(call, "log_p");
 *   float* s = assay_output(call, "s");
 */
static inline const assay_tensor* assay_find(const assay_tensor* all, size_t count, const char* name) {
  size_t i;
  for (i = 0; i < count; ++i)
    if (strcmp(all[i].name, name) == 0) return &all[i];
  return NULL;
}
static inline const void* assay_input(const assay_call* call, const char* name) {
  const assay_tensor* t = assay_find(call->inputs, call->input_count, name);
  return t ? t->data : NULL;
}
static inline void* assay_output(const assay_call* call, const char* name) {
  const assay_tensor* t = assay_find(call->outputs, call->output_count, name);
  return t ? t->data : NULL;
}

/* Copies the reason into call->message and returns the status:
 *
 *   if (call->inputs[0].shape[2] % 16 != 0)
 *     return assay_fail(call, ASSAY_UNSUPPORTED, "the number of features is a multiple of 16");
 */
static inline int assay_fail(assay_call* call, int status, const char* reason) {
  if (call->message_size > 0) {
    size_t length = strlen(reason);
    if (length > call->message_size - 1) length = call->message_size - 1;
    memcpy(call->message, reason, length);
    call->message[length] = '\0';
  }
  return status;
}

#ifdef __cplusplus
}
#endif
#endif
