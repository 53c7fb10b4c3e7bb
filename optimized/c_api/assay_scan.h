/* The log-linear recurrence on strided arrays, for C and for every language that can call C. C99.
 *
 *   #include <assay_scan.h>                              link with -lassay_scan
 *
 * States [Heinsen 2024, "Encoding Position by Decaying and Updating Different Exponentiated States Differently",
 * equations (1) and (3)]:
 *
 *   s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)),  i = 1..n,  for each sequence and each feature alone.
 *
 * assay_scan takes log p; assay_gated_scan takes gate logits g with log p = log sigmoid(g). assay_scan_vjp and
 * assay_gated_scan_vjp give gradients; assay_scan_jvp and assay_gated_scan_jvp give derivatives along a direction. All
 * numbers are natural logarithms.
 *
 * Threads: every function may be called from any number of threads at once. There is no state outside of the
 * arguments: no function reads an environment variable or remembers anything. Results have the same bits for every
 * number of threads; instruction sets differ in the last bits.
 * Errors: every function returns ASSAY_SCAN_OK or another code. If it returns another code, it has written no array,
 * except after ASSAY_SCAN_NO_MEMORY and ASSAY_SCAN_INTERNAL. No C++ exception leaves a function.
 */
#ifndef ASSAY_SCAN_H
#define ASSAY_SCAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_SCAN_ABI 1

/* The types of elements: float, double, IEEE 754 binary16, and bfloat16, the upper half of a float. If the arrays
 * [B, n, d] of a call have 16 bits, the call computes in float, and all its arrays [B, d] are F32. */
enum { ASSAY_SCAN_F32 = 1, ASSAY_SCAN_F64 = 2, ASSAY_SCAN_F16 = 3, ASSAY_SCAN_BF16 = 4 };

/* The codes that functions return. */
enum {
  ASSAY_SCAN_OK = 0,
  ASSAY_SCAN_NULL = 1,      /* a null pointer where none is allowed */
  ASSAY_SCAN_DTYPE = 2,     /* no type of elements, or a type that does not go with h */
  ASSAY_SCAN_SHAPE = 3,     /* the wrong number of axes or elements, or more elements than memory can hold */
  ASSAY_SCAN_STRIDE = 4,    /* a negative stride, or elements of an output that share a place */
  ASSAY_SCAN_ALIGNMENT = 5, /* an address that is no multiple of the size of an element */
  ASSAY_SCAN_OVERLAP = 6,   /* an output shares elements with another array */
  ASSAY_SCAN_EXECUTION = 7, /* an instruction set that this processor lacks, or a number of threads below -1 */
  ASSAY_SCAN_NO_MEMORY = 8, /* the workspace was too small and no memory could be allocated */
  ASSAY_SCAN_INTERNAL = 9   /* a fault of this library */
};

/* An array that is read. Element (i, j, k) lies at data[i stride[0] + j stride[1] + k stride[2]]. Strides count
 * elements and are at least 0 (0: the same elements again). The strides of axes with one element are not read.
 * {0} is an absent array. data may be NULL only if the array is absent or has no elements. */
typedef struct assay_const_array {
  const void* data; /* aligned to the size of its elements */
  int32_t dtype;    /* the same for all arrays of a call, except [B, d] if [B, n, d] has 16 bits */
  int32_t rank;     /* number of axes: 3 for [B, n, d], 2 for [B, d]; 0: the array is absent */
  int64_t size[3];
  int64_t stride[3];
} assay_const_array;

/* An array that is written. No two of its elements may share memory, and no element may share memory with another array
 * of the call. Interleaved arrays, such as the halves of [B, n, 2d], share no memory. */
typedef struct assay_array {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t size[3];
  int64_t stride[3];
} assay_array;

/* The means of a call. A null pointer or {0} means one thread, the fastest instruction set, and memory of its own. */
typedef struct assay_scan_execution {
  int32_t threads;       /* the largest number of threads; above 1024 means 1024; 0 means 1; -1: one per processor */
  const char* target;    /* an instruction set by its name from assay_scan_target; NULL or "best": the fastest */
  void* workspace;       /* memory for the call; it shares none with an array or another call; may be NULL */
  size_t workspace_size; /* bytes; see assay_scan_workspace_size */
  char* message;         /* NULL, or room for the faulty argument and its fault, cut after message_size - 1 bytes */
  size_t message_size;
} assay_scan_execution;

/* The domain is log p <= 0 or -inf, any finite g or +-inf, and h and s0 finite or -inf. Outside of it, results are
 * those of the formula in IEEE arithmetic. If log p_i = -inf, then s_i = h_i. If h_i = -inf, then s_i = log p_i +
 * s_{i-1}. A NaN stays in its sequence and feature, from its token on. Axes may be empty: n = 0 gives s_n = s0. */
typedef struct assay_scan_inputs {
  assay_const_array decay;  /* [B, n, d]: log p, or the logits g */
  assay_const_array h;      /* [B, n, d]; its sizes and dtype are those of the call */
  assay_const_array s0;     /* [B, d], the state before the first token; absent: zeros */
  assay_const_array s0_low; /* [B, d], that state minus s0: s_n_low of the chunk before; absent: zeros */
} assay_scan_inputs;

/* A state is kept as two numbers, s + low, so that its error does not grow with n. `assay gate` measured the largest
 * errors, in ulp of max(1, |s|), over all families and n up to 4097: scan 1.34 (f64) and 1.29 (f32), gated_scan 1.50
 * (f64) and 1.52 (f32). In 16 bits, the error is half an ulp of the storage. Chunks that hand on s_n and s_n_low give
 * the bits of one call over all tokens. */
typedef struct assay_scan_outputs {
  assay_array s;       /* [B, n, d] */
  assay_array s_n;     /* [B, d], the last state */
  assay_array s_n_low; /* [B, d], the last state minus s_n, 0 where s_n is not finite; absent: not wanted */
} assay_scan_outputs;

/* For dense float log_p, h and s of [B, n, d], and s_n of [B, d]:
 *
 *   assay_scan_inputs in = {{log_p, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                           {h, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}}};
 *   assay_scan_outputs out = {{s, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                             {s_n, ASSAY_SCAN_F32, 2, {B, d}, {d, 1}}};
 *   int code = assay_scan(NULL, &in, &out);
 *   if (code != ASSAY_SCAN_OK) fprintf(stderr, "scan: %s\n", assay_scan_message(code));
 */
int assay_scan(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out);
int assay_gated_scan(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out);

/* The vector-Jacobian products. With w_i = e^(log p_i + s_{i-1} - s_i), v_i = e^(h_i - s_i) and
 *   lambda_i = grad_s_i + w_{i+1} lambda_{i+1},  where grad_s_n replaces the last product,
 * grad log p_i = w_i lambda_i, grad g_i = w_i lambda_i sigmoid(-g_i), grad h_i = v_i lambda_i, grad s0 = w_1 lambda_1.
 * A state of -inf depends on nothing: w_i = v_i = 0. If s_i is finite and h_i = -inf, then w_i = 1 and v_i = 0. If s_i
 * is finite and log p_i or s_{i-1} is -inf, then w_i = 0 and v_i = 1. If n = 0, then grad_s0 = grad_s_n. s0_low changes
 * nothing. The error is at most that of the recurrence step by step (class sequential of `assay gate`, 0.69 of its
 * law). Arrays [B, n, d] whose last stride is not 1 are copied first. */
typedef struct assay_scan_cotangents {
  assay_const_array s;        /* [B, n, d], the states of the forward call for the same inputs. In 16 bits they must be
                               * absent, because rounded states do not determine the weights; the call computes the
                               * states again */
  assay_const_array grad_s;   /* [B, n, d] */
  assay_const_array grad_s_n; /* [B, d]; absent: zeros */
} assay_scan_cotangents;

typedef struct assay_scan_gradients {
  assay_array grad_decay; /* [B, n, d], gradient of log p or of g */
  assay_array grad_h;     /* [B, n, d] */
  assay_array grad_s0;    /* [B, d] */
} assay_scan_gradients;

/* For `in` and the s of the forward call above:
 *
 *   assay_scan_cotangents cotangents = {{s, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                                       {grad_s, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}}};
 *   assay_scan_gradients gradients = {{grad_log_p, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                                     {grad_h, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                                     {grad_s0, ASSAY_SCAN_F32, 2, {B, d}, {d, 1}}};
 *   int code = assay_scan_vjp(NULL, &in, &cotangents, &gradients);
 */
int assay_scan_vjp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_cotangents* cotangents,
                   const assay_scan_gradients* out);
int assay_gated_scan_vjp(const assay_scan_execution* on, const assay_scan_inputs* in,
                         const assay_scan_cotangents* cotangents, const assay_scan_gradients* out);

/* The Jacobian-vector products, for F32 and F64. With w_i and v_i as above and a direction in the inputs,
 *   tangent_s_i = w_i (tangent_log_p_i + tangent_s_{i-1}) + v_i tangent_h_i,  tangent_s_0 = tangent_s0,
 * and tangent_log_p_i = tangent_g_i sigmoid(-g_i) for logits. A tangent of s is kept as two numbers, so that its error
 * does not grow with n either. If n = 0, then tangent_s_n = tangent_s0. The error is at most that of the recurrence
 * step by step (class sequential of `assay gate`, 0.63 of its law). Arrays [B, n, d] whose last stride is not 1 are
 * copied first. `states` are written, too; they have the bits of assay_scan and assay_gated_scan for the same
 * inputs. */
typedef struct assay_scan_direction {
  assay_const_array tangent_decay;  /* [B, n, d], tangent of log p or of g */
  assay_const_array tangent_h;      /* [B, n, d] */
  assay_const_array tangent_s0;     /* [B, d]; absent: zeros */
  assay_const_array tangent_s0_low; /* [B, d], its rest: tangent_s_n_low of the chunk before; absent: zeros */
} assay_scan_direction;

typedef struct assay_scan_tangents {
  assay_array tangent_s;       /* [B, n, d] */
  assay_array tangent_s_n;     /* [B, d], tangent of the last state */
  assay_array tangent_s_n_low; /* [B, d], its rest, 0 where tangent_s_n is not finite; absent: not wanted */
} assay_scan_tangents;

/* For `in` and `out` of the forward call above:
 *
 *   assay_scan_direction direction = {{tangent_log_p, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                                     {tangent_h, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}}};
 *   assay_scan_tangents tangents = {{tangent_s, ASSAY_SCAN_F32, 3, {B, n, d}, {n * d, d, 1}},
 *                                   {tangent_s_n, ASSAY_SCAN_F32, 2, {B, d}, {d, 1}}};
 *   int code = assay_scan_jvp(NULL, &in, &direction, &out, &tangents);
 */
int assay_scan_jvp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_direction* direction,
                   const assay_scan_outputs* states, const assay_scan_tangents* out);
int assay_gated_scan_jvp(const assay_scan_execution* on, const assay_scan_inputs* in,
                         const assay_scan_direction* direction, const assay_scan_outputs* states,
                         const assay_scan_tangents* out);

/* The size in bytes of a workspace with which no function allocates on one thread, if n < 16 or d > 32, and the last
 * stride of all [B, n, d] arrays is 1 (or d <= 1). Few features over more tokens are walked along time, in memory of
 * their own. The size is 0 if dtype is no type of elements, if it has 16 bits (such calls allocate), or if a size is
 * negative or too large.
 *
 *   assay_scan_execution on = {0};
 *   on.workspace_size = assay_scan_workspace_size(ASSAY_SCAN_F32, B, d);
 *   on.workspace = malloc(on.workspace_size);
 *   int code = assay_scan(&on, &in, &out);
 */
size_t assay_scan_workspace_size(int dtype, int64_t batch, int64_t features);

/* The instruction sets of this processor, slowest first: "baseline", ..., then NULL. NULL for a negative index too.
 *
 *   for (int i = 0; assay_scan_target(i) != NULL; ++i) printf("%s\n", assay_scan_target(i));
 */
const char* assay_scan_target(int index);

/* The meaning of a code, in English. It is never NULL, and it lives as long as the library.
 *
 *   if (code != ASSAY_SCAN_OK) fprintf(stderr, "scan: %s\n", assay_scan_message(code));
 */
const char* assay_scan_message(int code);

/* ASSAY_SCAN_ABI of the loaded library. A caller and a library with the same number fit together.
 *
 *   if (assay_scan_abi() != ASSAY_SCAN_ABI) return EXIT_FAILURE;
 */
int assay_scan_abi(void);

#ifdef __cplusplus
}
#endif
#endif
