/* The log-linear recurrence on strided arrays, for C and for everything that can call C. C99.
 *
 *   #include <assay_scan.h>                              link with -lassay_scan
 *
 * States [Heinsen 2024, "Encoding Position by Decaying and Updating Different Exponentiated States Differently",
 * equations (1) and (3)]:
 *
 *   s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)),  i = 1..n,  for each sequence and each feature alone.
 *
 * assay_scan takes log p, assay_gated_scan gate logits g with log p = log sigmoid(g). Gradients are those of
 * assay_scan_vjp and assay_gated_scan_vjp, derivatives along a direction those of assay_scan_jvp and
 * assay_gated_scan_jvp. All numbers are natural logarithms.
 *
 * Threads: every function may be called from any number of threads at once. There is no state outside of the
 * arguments: no environment variable is read, nothing is remembered. Results have the same bits for every number of
 * threads; instruction sets differ in the last bits.
 * Errors: every function returns ASSAY_SCAN_OK or another code, and where it returns another code it has written no
 * array, except after ASSAY_SCAN_NO_MEMORY and ASSAY_SCAN_INTERNAL. No C++ exception passes through.
 */
#ifndef ASSAY_SCAN_H
#define ASSAY_SCAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_SCAN_ABI 1

/* The types of elements: float, double, IEEE 754 binary16, and bfloat16, the upper half of a float. Calls on [B, n, d]
 * of 16 bits compute in float, and all their [B, d] are F32. */
enum { ASSAY_SCAN_F32 = 1, ASSAY_SCAN_F64 = 2, ASSAY_SCAN_F16 = 3, ASSAY_SCAN_BF16 = 4 };

/* What functions return. */
enum {
  ASSAY_SCAN_OK = 0,
  ASSAY_SCAN_NULL = 1,      /* a null pointer where something must be */
  ASSAY_SCAN_DTYPE = 2,     /* no type of elements, or not the one that goes with h */
  ASSAY_SCAN_SHAPE = 3,     /* the wrong number of axes or elements, or more elements than memory can hold */
  ASSAY_SCAN_STRIDE = 4,    /* a negative stride, or elements of an output that lie in one place */
  ASSAY_SCAN_ALIGNMENT = 5, /* data that is no multiple of the size of an element */
  ASSAY_SCAN_OVERLAP = 6,   /* an output shares elements with another array */
  ASSAY_SCAN_EXECUTION = 7, /* an instruction set that this processor lacks, or a negative number of threads */
  ASSAY_SCAN_NO_MEMORY = 8, /* the workspace was too small and no memory could be allocated */
  ASSAY_SCAN_INTERNAL = 9   /* a fault of this library */
};

/* An array that is read: element (i, j, k) lies at data[i stride[0] + j stride[1] + k stride[2]]. Strides count
 * elements and are at least 0 (0: the same elements again). The strides of axes with one element are not read.
 * {0} is an absent array; data may be NULL only there and where the array has no elements. */
typedef struct assay_const_array {
  const void* data; /* aligned to the size of its elements */
  int32_t dtype;    /* all arrays of a call have the same, but for [B, d] where [B, n, d] has 16 bits */
  int32_t rank;     /* number of axes: 3 for [B, n, d], 2 for [B, d]; 0: the array is absent */
  int64_t size[3];
  int64_t stride[3];
} assay_const_array;

/* An array that is written. No two of its elements may share memory, and none with another array of the call. Arrays
 * that lie between one another, such as the halves of [B, n, 2d], share none. */
typedef struct assay_array {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t size[3];
  int64_t stride[3];
} assay_array;

/* What a call runs on. A null pointer or {0}: one thread, the best instruction set, memory of its own. */
typedef struct assay_scan_execution {
  int32_t threads;       /* at most so many; 0 is 1; -1: one per processor */
  const char* target;    /* an instruction set as assay_scan_target names them; NULL or "best": the fastest */
  void* workspace;       /* memory for the call, shared with no array and no other call; may be NULL */
  size_t workspace_size; /* bytes; see assay_scan_workspace_size */
  char* message;         /* NULL, or room for what is wrong with which argument, cut after message_size - 1 bytes */
  size_t message_size;
} assay_scan_execution;

/* The domain is log p <= 0 or -inf, any finite g or +-inf, and h and s0 finite or -inf. Outside of it results are
 * those of the formula in IEEE arithmetic. log p = -inf: s_i = h_i. h = -inf: s_i = log p_i + s_{i-1}. A NaN stays in
 * its sequence and feature, from its token on. Axes may be empty: n = 0 gives s_n = s0. */
typedef struct assay_scan_inputs {
  assay_const_array decay;  /* [B, n, d]: log p, or the logits g */
  assay_const_array h;      /* [B, n, d]: its sizes and dtype are those of the call */
  assay_const_array s0;     /* [B, d], the state before the first token; absent: zeros */
  assay_const_array s0_low; /* [B, d], what s0 lacks of that state: s_n_low of the chunk before; absent: zeros */
} assay_scan_inputs;

/* A state is kept as two numbers, s + low, so that its error does not grow with n. Measured by `assay gate`, largest
 * error in ulp of max(1, |s|), all families, n up to 4097: scan 1.34 (f64) and 1.29 (f32), gated_scan 1.50 (f64)
 * and 1.52 (f32); in 16 bits half an ulp of the storage. Chunks that hand on s_n and s_n_low give the bits of
 * one call over all tokens. */
typedef struct assay_scan_outputs {
  assay_array s;       /* [B, n, d] */
  assay_array s_n;     /* [B, d], the last state */
  assay_array s_n_low; /* [B, d], what s_n lacks of it, 0 where s_n is not finite; absent: not wanted */
} assay_scan_outputs;

int assay_scan(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out);
int assay_gated_scan(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out);

/* The vector-Jacobian products. With w_i = e^(log p_i + s_{i-1} - s_i), v_i = e^(h_i - s_i) and
 *   lambda_i = grad_s_i + w_{i+1} lambda_{i+1},  the last product being grad_s_n,
 * grad log p_i = w_i lambda_i, grad g_i = w_i lambda_i sigmoid(-g_i), grad h_i = v_i lambda_i, grad s0 = w_1 lambda_1.
 * A state of -inf depends on nothing: w_i = v_i = 0. s_i finite and h_i = -inf: w_i = 1, v_i = 0; log p_i or s_{i-1}
 * = -inf: w_i = 0, v_i = 1. n = 0: grad_s0 = grad_s_n. s0_low changes nothing.
 * The error is within that of the recurrence step by step (class sequential of `assay gate`, 0.69 of its law). Arrays
 * [B, n, d] whose last stride is not 1 are copied first. */
typedef struct assay_scan_cotangents {
  assay_const_array s;        /* [B, n, d], the states that the forward call gave for the same inputs; absent in 16 bits,
                               * where rounded states do not tell the weights and they are computed again */
  assay_const_array grad_s;   /* [B, n, d] */
  assay_const_array grad_s_n; /* [B, d]; absent: zeros */
} assay_scan_cotangents;

typedef struct assay_scan_gradients {
  assay_array grad_decay; /* [B, n, d], in log p or in g */
  assay_array grad_h;     /* [B, n, d] */
  assay_array grad_s0;    /* [B, d] */
} assay_scan_gradients;

int assay_scan_vjp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_cotangents* cotangents,
                   const assay_scan_gradients* out);
int assay_gated_scan_vjp(const assay_scan_execution* on, const assay_scan_inputs* in,
                         const assay_scan_cotangents* cotangents, const assay_scan_gradients* out);

/* The Jacobian-vector products, of F32 and F64. With w_i and v_i as above and a direction in the inputs,
 *   tangent_s_i = w_i (tangent_log_p_i + tangent_s_{i-1}) + v_i tangent_h_i,  tangent_s_0 = tangent_s0,
 * and tangent_log_p_i = tangent_g_i sigmoid(-g_i) for logits. A tangent of s is kept as two numbers, so that its error
 * does not grow with n either. n = 0: tangent_s_n = tangent_s0. The error is within that of the recurrence step by step
 * (class sequential of `assay gate`, 0.63 of its law). Arrays [B, n, d] whose last stride is not 1 are copied first.
 * `states` are written, too: the bits of assay_scan and assay_gated_scan for the same inputs. */
typedef struct assay_scan_direction {
  assay_const_array tangent_decay;  /* [B, n, d], in log p or in g */
  assay_const_array tangent_h;      /* [B, n, d] */
  assay_const_array tangent_s0;     /* [B, d]; absent: zeros */
  assay_const_array tangent_s0_low; /* [B, d], what tangent_s0 lacks: tangent_s_n_low before it; absent: zeros */
} assay_scan_direction;

typedef struct assay_scan_tangents {
  assay_array tangent_s;       /* [B, n, d] */
  assay_array tangent_s_n;     /* [B, d], of the last state */
  assay_array tangent_s_n_low; /* [B, d], what tangent_s_n lacks, 0 where that is not finite; absent: not wanted */
} assay_scan_tangents;

int assay_scan_jvp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_direction* direction,
                   const assay_scan_outputs* states, const assay_scan_tangents* out);
int assay_gated_scan_jvp(const assay_scan_execution* on, const assay_scan_inputs* in,
                         const assay_scan_direction* direction, const assay_scan_outputs* states,
                         const assay_scan_tangents* out);

/* Bytes of a workspace with which no function allocates on one thread, where n < 16 or d > 32 and the last stride of
 * all [B, n, d] arrays is 1 (or d <= 1). Few features over more tokens are walked along time, in memory of their own.
 * 0 where the dtype is none or of 16 bits (such calls allocate), or a size is negative or too large. */
size_t assay_scan_workspace_size(int dtype, int64_t batch, int64_t features);

/* The instruction sets of this processor, slowest first: "baseline", ..., then NULL. NULL for a negative index too. */
const char* assay_scan_target(int index);

/* What a code means, in English; never NULL, and it lives as long as the library. */
const char* assay_scan_message(int code);

/* ASSAY_SCAN_ABI of the library that is loaded: a caller and a library with the same number fit together. */
int assay_scan_abi(void);

#ifdef __cplusplus
}
#endif
#endif
