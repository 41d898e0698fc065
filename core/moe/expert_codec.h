// ExpertCodec: how the experts of one layer kind are packed and computed. Forwards to the format
// that gate, up and down share; where down's format is another, it composes from matmul. Decides no
// placement.
#pragma once

#include <cstdint>

#include "ft/plugin/quantization.h"

#include "core/base/status.h"
#include "core/quant/quantization.h"

namespace ft {

/// What an expert computes, as data; a family's name never matters.
struct ExpertKind {
  int64_t hidden_dim = 0;
  int64_t intermediate_dim = 0;
  int num_experts = 0;
  int top_k = 0;
  uint32_t activation = FT_ACT_SILU;
  double act_alpha = 0;
  double act_limit = 0;
  bool is_gated = true;
  bool has_bias = false;
  bool has_weight_on_input = false;  ///< the route's weight multiplies x, not the result

  bool operator==(const ExpertKind&) const = default;
};

/// Movable data; the formats must outlive it. Const calls may run on any threads.
class ExpertCodec {
 public:
  /// `gate_up` computes gate and up. Takes each format's best layout on this CPU.
  /// Errors: those of the formats (shapes that they cannot hold).
  static Result<ExpertCodec> Create(const ExpertKind& kind,
                                    const Quantization* gate_up,
                                    const Quantization* down);

  const ExpertKind& kind() const { return kind_; }

  /// The same for plugins; its strings live as long as the formats.
  const ft_expert_kind& abi() const { return abi_; }

  /// gate, up and down are not of one format.
  bool is_mixed() const { return gate_up_ != down_; }

  const Quantization& gate_up() const { return *gate_up_; }

  const Quantization& down() const { return *down_; }

  /// One packed expert, rounded up to a multiple of 64.
  uint64_t expert_bytes() const { return expert_bytes_; }

  /// `out`  expert_bytes() long, 64-byte aligned
  Status Pack(const ft_expert_parts& parts, void* out) const;

  /// For Mlp with jobs of at most `max_rows` rows together; 64-byte aligned memory.
  Result<uint64_t> ScratchBytes(int64_t max_rows, uint32_t num_workers) const;

  /// `args.kind` is filled in here. Row routes[i] of y becomes
  /// route_weights[i] * expert(x[tokens[i]]), whoever else is in the jobs.
  Status Mlp(ft_expert_mlp_args args) const;

  /// The slow reference: fp64 sums.
  Status MlpReference(ft_expert_mlp_args args) const;

 private:
  ExpertCodec() = default;

  ExpertKind kind_;
  ft_expert_kind abi_ = {};
  const Quantization* gate_up_ = nullptr;
  const Quantization* down_ = nullptr;
  uint64_t expert_bytes_ = 0;
};

}  // namespace ft
