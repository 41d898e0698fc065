/* Kind "moe_backend" 0.1: where the experts of a model live and who computes them. It gets an
 * expert *source*, a budget and services; it never decodes a weight, and never exchanges a pointer
 * with another plugin. One instance serves all MoE layers of one model on one device.
 *
 * Every route (token, k-th expert) is computed exactly once, and a token's contributions are summed
 * in top-k order wherever each was computed. */
#ifndef FT_PLUGIN_MOE_BACKEND_H
#define FT_PLUGIN_MOE_BACKEND_H
/* NOLINTBEGIN(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*): plain C by
 * contract */
#include "ft/plugin/host_services.h"
#include "ft/plugin/quantization.h"
FT_C_BEGIN
#define FT_MOE_BACKEND_MAJOR 0u
#define FT_MOE_BACKEND_MINOR 1u
#define FT_KIND_MOE_BACKEND "moe_backend"

#define FT_MOE_CAP_BIT_EXACT \
  (1ull << 0) /* with `deterministic`: the bits of every expert's kernel, summed in order */
#define FT_MOE_CAP_BOUNDED \
  (1ull << 1) /* keeps no more expert bytes than its budget (offload)                    */
#define FT_MOE_CAP_NEEDS_LINK \
  (1ull << 2) /* needs a device with a link; refused on `cpu`                            */

typedef struct ft_moe_layer { /* frozen: no header */
  uint32_t layer_id;          /* of the model, 0-based                                     */
  uint32_t kind;              /* index into kinds                                          */
} ft_moe_layer;

typedef struct ft_moe_model {
  ft_hdr hdr;
  uint32_t n_kinds, n_layers;
  const ft_expert_kind* const* kinds; /* [n_kinds]                                             */
  /* [n_kinds] one packed expert, a multiple of 64: slots of this size may lie back to back */
  const uint64_t* expert_bytes;
  const ft_moe_layer* layers; /* [n_layers], MoE layers only                           */
  int64_t max_tokens;         /* most tokens of one forward                            */
} ft_moe_model;

#define FT_DEVICE_CPU 1u
#define FT_DEVICE_SIM 2u
#define FT_DEVICE_CUDA 3u

typedef struct ft_moe_budget {
  ft_hdr hdr;
  uint32_t device_kind; /* FT_DEVICE_*                                                      */
  uint32_t has_banks;   /* 1: ft.experts.bank gives every expert; 0: where plan.needs_banks is 0
                           experts come through ft.experts.read                             */
  const uint64_t* bytes_by_kind; /* [n_kinds] for expert slots; ignored by backends that keep all */
} ft_moe_budget;

typedef struct ft_moe_plan { /* an upper bound, which the host enforces               */
  ft_hdr hdr;
  uint64_t slot_bytes;             /* expert slots on the device                            */
  uint64_t staging_bytes;          /* packed experts in host memory on their way to a slot  */
  uint64_t host_bytes;             /* everything else in host memory: tables, scratch       */
  uint64_t n_slots;                /* over all kinds; 0 = no slots, experts are used in place */
  uint32_t needs_banks, reserved0; /* 1: wants all experts packed in host memory            */
} ft_moe_plan;

/* ---- ft.experts 0: the host's side of this kind
 * --------------------------------------------------- */
typedef struct ft_expert_read { /* frozen: no header */
  uint32_t layer_id, expert_id;
  void* dst; /* host memory, expert_bytes long: the expert arrives packed   */
} ft_expert_read;

/* The arrays behind `jobs`, x and y stay valid and unwritten until the stream has passed the call.
 * x and y are host memory on `cpu` and `sim` (a kernel of `sim` reads it as a GPU reads mapped
 * memory), device memory on `cuda`. */
typedef struct ft_moe_compute {
  ft_hdr hdr;
  uint32_t layer_id, mode;
  uint32_t on_device, n_jobs; /* on_device: jobs' weights are device memory                  */
  const ft_expert_job* jobs;
  const float* x;
  int64_t x_stride; /* [tokens, hidden_dim]                                        */
  float* y;
  int64_t y_stride; /* [routes, hidden_dim]                                        */
} ft_moe_compute;

typedef struct ft_svc_experts {
  ft_hdr hdr;
  void* ctx;
  /* Where this expert lies packed in host memory for as long as the instance lives; NULL: not in
   * memory. */
  const void* (*bank)(void* ctx, uint32_t layer_id, uint32_t expert_id)FT_NOEXCEPT;
  /* Brings experts from wherever they are (disk, bank) into host memory, as one batch; blocks.
   * On an error the destinations hold anything. [owner] */
  ft_code (*read)(void* ctx, const ft_expert_read* reads, uint32_t n, ft_error*) FT_NOEXCEPT;
  /* Runs the layer's quantization on the jobs, in order on `stream` (NULL: now). [owner] */
  ft_code (*compute)(void* ctx, const ft_moe_compute*, ft_stream* stream, ft_error*) FT_NOEXCEPT;
  /* out[t] = sum over j < top_k of y[t*top_k+j], in this order, in order on `stream`; ids < 0 are
   * skipped (their rows of y are not read). The ids stay as compute's arrays do. [owner] */
  ft_code (*sum_routes)(void* ctx,
                        uint32_t layer_id,
                        int64_t n_tokens,
                        const int32_t* topk_ids,
                        const float* y,
                        int64_t y_stride,
                        float* out,
                        int64_t out_stride,
                        ft_stream* stream,
                        ft_error*) FT_NOEXCEPT;
} ft_svc_experts;

typedef struct ft_moe_io {
  ft_hdr hdr;
  uint32_t layer_id, mode; /* FT_COMPUTE_*                                          */
  uint32_t deterministic, reserved0;
  int64_t n_tokens; /* <= max_tokens; 0 is a no-op                           */
  const float* x;
  int64_t x_stride;          /* [n_tokens, hidden_dim]                                */
  const int32_t* topk_ids;   /* [n_tokens, top_k] host memory; -1 = skip this route   */
  const float* topk_weights; /* [n_tokens, top_k] host memory                         */
  float* out;
  int64_t out_stride; /* [n_tokens, hidden_dim], overwritten                   */
  ft_stream* stream;
} ft_moe_io;

typedef struct ft_moe_counters { /* since create                                          */
  ft_hdr hdr;
  uint64_t hits, misses, fetches, evictions, cpu_experts, routes, waves;
  uint64_t bytes_fetched, bytes_resident;
  uint64_t fetch_ns, compute_ns; /* time per lane                                         */
} ft_moe_counters;

typedef struct ft_moe_backend {
  ft_hdr hdr;
  uint64_t caps;
  /* pure questions: no allocation kept, any thread */
  ft_code (*plan)(void* state,
                  const ft_moe_model*,
                  const ft_moe_budget*,
                  ft_moe_plan* out,
                  ft_error*) FT_NOEXCEPT;
  /* life of an instance: one owner thread. `host` gives ft.experts, ft.memory, ft.device for this
     instance; model, its arrays and host are kept until destroy. */
  ft_code (*create)(void* state,
                    const ft_host*,
                    const ft_moe_model*,
                    const ft_moe_budget*,
                    void** inst,
                    ft_error*) FT_NOEXCEPT;
  /* Issues one layer's experts on io->stream; what io points to stays valid until the stream has
     passed. Allocates nothing. After an error `out` holds anything, and the instance goes on. */
  ft_code (*forward)(void* inst, const ft_moe_io*, ft_error*) FT_NOEXCEPT;
  ft_code (*counters)(void* inst, ft_moe_counters* out, ft_error*) FT_NOEXCEPT; /* any thread */
  void (*destroy)(void* inst) FT_NOEXCEPT;
} ft_moe_backend;

#define FT_TAG_MOE_BACKEND 0x4d4f4531u
#define FT_TAG_MOE_MODEL 0x4d4f454du
#define FT_TAG_MOE_BUDGET 0x4d4f4542u
#define FT_TAG_MOE_PLAN 0x4d4f4550u
#define FT_TAG_MOE_IO 0x4d4f4549u
#define FT_TAG_MOE_COMPUTE 0x4d4f4543u
#define FT_TAG_MOE_COUNTERS 0x4d4f454eu
#define FT_TAG_SVC_EXPERTS 0x45585053u
FT_C_END
/* NOLINTEND(modernize-*,readability-*,cppcoreguidelines-*,google-*,bugprone-*) */
#endif
