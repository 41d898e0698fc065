/* Kind "quantization" 0.1: a weight format. It says which checkpoint tensors are its own, owns the
 * layout in memory, and computes with it: one matrix times tokens, and a whole expert. It never
 * decides where weights live.
 *
 * A component is one format; its name is the format's ("nvfp4", "mxfp4", "fp8_block", ...). The
 * built-in bf16/f16/f32 use this very table. All functions are pure in `state`: any thread,
 * re-entrant.
 *
 * Words: a matrix W is [rows, cols] = [out, in]; y[t][r] = sum over c of W[r][c] * x[t][c], all x
 * and y f32. A *part* is one checkpoint tensor of a matrix. A *layout* is how the packed matrix
 * lies in memory. */
#ifndef FT_PLUGIN_QUANTIZATION_H
#define FT_PLUGIN_QUANTIZATION_H
/* NOLINTBEGIN(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*): plain C by
 * contract */
#include "ft/plugin/host_services.h"
FT_C_BEGIN
#define FT_QUANTIZATION_MAJOR 0u
#define FT_QUANTIZATION_MINOR 1u
#define FT_KIND_QUANTIZATION "quantization"

/* ---- recognising --------------------------------------------------------------------------------
 */
typedef struct ft_part_info { /* frozen: no header */
  ft_str suffix;              /* what follows the matrix's name: ".weight_packed", "_blocks", ""  */
  uint16_t dtype, reserved0;  /* FT_DTYPE_* as stored                                             */
  uint32_t ndim;
  const int64_t* shape; /* one expert's slice where the tensor holds many                   */
} ft_part_info;

#define FT_MATCH_NO \
  0u /* not this format                                                          */
#define FT_MATCH_YES 1u
/* This format's names, but roles are missing or shapes do not fit. match returns FT_OK and says why
 * in ft_error.message: the host collects the reasons of all formats. */
#define FT_MATCH_BROKEN 2u

typedef struct ft_match {
  ft_hdr hdr;
  uint32_t verdict;
  uint32_t spelling; /* the format's own number for this way of writing, also for which of
                        the used parts plays which role; handed to pack unchanged */
  int64_t rows, cols;
  uint64_t used;   /* bit i: parts[i] is handed to pack, in ascending order of i         */
  uint64_t unused; /* bit i: parts[i] is known and not needed (input_scale)              */
} ft_match;

/* ---- computing ----------------------------------------------------------------------------------
 */
#define FT_COMPUTE_EXACT 0u  /* fp32 activations, fp32 sums  */
#define FT_COMPUTE_SERVED 1u /* what serving uses; see error_bound */

typedef struct ft_error_bound { /* relative to sum over c of |W[r][c]*x[c]|, for one output element
                                 */
  ft_hdr hdr;
  double relative; /* against fp64 on the exactly dequantized weights                    */
} ft_error_bound;

typedef struct ft_matmul_args {
  ft_hdr hdr;
  uint32_t layout, mode;
  int64_t rows, cols, n_tokens;
  const void* weights; /* packed, host-readable                                              */
  const float* x;
  int64_t x_stride; /* [n_tokens, cols], stride in floats between tokens                */
  float* y;
  int64_t y_stride; /* [n_tokens, rows], overwritten                                    */
  const ft_exec* exec;
} ft_matmul_args;

/* Everything an expert of one layer kind is, as data. */
#define FT_ACT_SILU 1u
#define FT_ACT_GELU 2u /* erf                                                               */
#define FT_ACT_GELU_TANH 3u
#define FT_ACT_RELU2 4u /* max(x,0)^2                                                        */
#define FT_ACT_SWIGLU_OAI \
  5u /* g=min(gate,limit), u=clamp(up,+-limit): (u+1)*g*sigmoid(alpha*g)   */
#define FT_EXPERT_GATED (1u << 0) /* act(gate)*up; otherwise act(up) and there is no gate      */
#define FT_EXPERT_WEIGHT_ON_INPUT \
  (1u << 1)                      /* route weight multiplies x, not the result                 */
#define FT_EXPERT_BIAS (1u << 2) /* gate, up and down have biases (f32 after the matrices)    */

typedef struct ft_expert_kind {
  ft_hdr hdr;
  int64_t hidden_dim, intermediate_dim;
  uint32_t n_experts, top_k;
  uint32_t flags, activation;
  double act_alpha, act_limit; /* FT_ACT_SWIGLU_OAI; a limit with FT_ACT_SILU clamps gate (above)
                                  and up (both sides) first; 0 = none */
  uint32_t gate_up_layout, down_layout;
  ft_str gate_up_format,
      down_format; /* equal here; where they differ the host composes from matmul      */
} ft_expert_kind;

/* The parts of one expert as they come from the checkpoint. matrices: gate (absent when not gated),
 * up, down. */
typedef struct ft_matrix_parts { /* frozen: no header */
  uint32_t spelling, n_parts;
  const ft_tensor* parts; /* contiguous, host memory, in the order of ft_match.used              */
} ft_matrix_parts;

typedef struct ft_expert_parts {
  ft_hdr hdr;
  ft_matrix_parts gate, up, down;
  const float *gate_bias, *up_bias, *down_bias; /* [I], [I], [H] f32, or NULL */
} ft_expert_parts;

/* One expert and the tokens that go to it. */
typedef struct ft_expert_job { /* frozen: no header */
  const void* weights; /* packed expert, host-readable                                       */
  int64_t n_rows;
  const int32_t* tokens; /* [n_rows] row of x                                                  */
  const int32_t* routes; /* [n_rows] row of y                                                  */
  const float* route_weights; /* [n_rows] */
} ft_expert_job;

typedef struct ft_expert_mlp_args {
  ft_hdr hdr;
  const ft_expert_kind* kind;
  uint32_t mode, n_jobs;
  const ft_expert_job* jobs;
  const float* x;
  int64_t x_stride; /* [tokens, hidden_dim]                                             */
  float* y;
  int64_t y_stride; /* [routes, hidden_dim]; row routes[i] is overwritten with
                       route_weights[i] * expert(x[tokens[i]])                          */
  void* scratch;
  uint64_t scratch_bytes; /* 64-byte aligned, at least expert_scratch_bytes               */
  const ft_exec* exec;
} ft_expert_mlp_args;

typedef struct ft_layout_info {
  ft_hdr hdr;
  ft_str id; /* "rows", "rows8.avx2": stable, part of messages and tests            */
  uint32_t align, reserved0; /* bytes */
} ft_layout_info;

typedef struct ft_quantization {
  ft_hdr hdr;
  ft_str format; /* equals the component's name                                        */
  /* Is this matrix mine? Judged by names, dtypes and shapes alone. `name` is for messages. */
  ft_code (*match)(void* state,
                   ft_str name,
                   const ft_part_info* parts,
                   uint32_t n_parts,
                   ft_match* out,
                   ft_error*) FT_NOEXCEPT;
  /* Layout number `index`; 0 is the best on this CPU. FT_E_NOT_FOUND behind the last. */
  ft_code (*layout)(void* state, uint32_t index, ft_layout_info* out, ft_error*) FT_NOEXCEPT;
  ft_code (*error_bound)(void* state, uint32_t mode, ft_error_bound* out, ft_error*) FT_NOEXCEPT;

  /* One dense matrix. */
  ft_code (*packed_bytes)(void* state,
                          uint32_t layout,
                          int64_t rows,
                          int64_t cols,
                          uint64_t* bytes,
                          ft_error*) FT_NOEXCEPT;
  ft_code (*pack)(void* state,
                  uint32_t layout,
                  int64_t rows,
                  int64_t cols,
                  const ft_matrix_parts* in,
                  void* out,
                  uint64_t out_bytes,
                  ft_error*) FT_NOEXCEPT;
  ft_code (*dequantize)(void* state,
                        uint32_t layout,
                        int64_t rows,
                        int64_t cols,
                        const void* weights,
                        float* out /* [rows, cols] */,
                        ft_error*) FT_NOEXCEPT;
  ft_code (*matmul)(void* state, const ft_matmul_args*, ft_error*) FT_NOEXCEPT;
  ft_code (*matmul_reference)(void* state,
                              const ft_matmul_args*,
                              ft_error*) FT_NOEXCEPT; /* slow, fp64 sums */

  /* One expert: gate, up, down and biases in one block of memory. */
  ft_code (*expert_bytes)(void* state, const ft_expert_kind*, uint64_t* bytes, ft_error*)
      FT_NOEXCEPT;
  ft_code (*pack_expert)(void* state,
                         const ft_expert_kind*,
                         const ft_expert_parts*,
                         void* out,
                         uint64_t out_bytes,
                         ft_error*) FT_NOEXCEPT;
  ft_code (*expert_scratch_bytes)(void* state,
                                  const ft_expert_kind*,
                                  int64_t max_rows /* over all jobs */,
                                  uint32_t n_workers,
                                  uint64_t* bytes,
                                  ft_error*) FT_NOEXCEPT;
  ft_code (*expert_mlp)(void* state, const ft_expert_mlp_args*, ft_error*) FT_NOEXCEPT;
  ft_code (*expert_mlp_reference)(void* state, const ft_expert_mlp_args*, ft_error*) FT_NOEXCEPT;
} ft_quantization;

/* What a row of y becomes depends on that row of x alone: never on n_tokens, the other rows,
 * n_workers. */

#define FT_TAG_QUANTIZATION 0x514e5431u
#define FT_TAG_MATCH 0x4d415443u
#define FT_TAG_ERROR_BOUND 0x424f554eu
#define FT_TAG_MATMUL_ARGS 0x4d4d4152u
#define FT_TAG_EXPERT_KIND 0x4558504bu
#define FT_TAG_EXPERT_PARTS 0x45585050u
#define FT_TAG_EXPERT_ARGS 0x45585041u
#define FT_TAG_LAYOUT_INFO 0x4c41594fu
FT_C_END
/* NOLINTEND(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*) */
#endif
