#include "core/moe/expert_codec.h"

#include "core/base/errors.h"
#include "core/moe/mixed_expert.h"

namespace ft {
namespace {

ft_str AbiString(std::string_view text) {
  return {text.data(), text.size()};
}

ft_expert_kind AbiKind(const ExpertKind& kind,
                       const Quantization& gate_up,
                       const Quantization& down) {
  ft_expert_kind abi = {};
  abi.hdr = {sizeof(abi), FT_TAG_EXPERT_KIND, nullptr};
  abi.hidden_dim = kind.hidden_dim;
  abi.intermediate_dim = kind.intermediate_dim;
  abi.n_experts = static_cast<uint32_t>(kind.num_experts);
  abi.top_k = static_cast<uint32_t>(kind.top_k);
  abi.flags = (kind.is_gated ? FT_EXPERT_GATED : 0U) | (kind.has_bias ? FT_EXPERT_BIAS : 0U) |
              (kind.has_weight_on_input ? FT_EXPERT_WEIGHT_ON_INPUT : 0U);
  abi.activation = kind.activation;
  abi.act_alpha = kind.act_alpha;
  abi.act_limit = kind.act_limit;
  abi.gate_up_layout = 0;  // the best on this CPU
  abi.down_layout = 0;
  abi.gate_up_format = AbiString(gate_up.format());
  abi.down_format = AbiString(down.format());
  return abi;
}

}  // namespace

Result<ExpertCodec> ExpertCodec::Create(const ExpertKind& kind,
                                        const Quantization* gate_up,
                                        const Quantization* down) {
  if (kind.hidden_dim < 1 || kind.intermediate_dim < 1 || kind.num_experts < 1 || kind.top_k < 1 ||
      kind.top_k > kind.num_experts) {
    return InvalidArgument("experts: hidden {}, intermediate {}, {} experts, top {} is no shape",
                           kind.hidden_dim, kind.intermediate_dim, kind.num_experts, kind.top_k);
  }
  ExpertCodec codec;
  codec.kind_ = kind;
  codec.gate_up_ = gate_up;
  codec.down_ = down;
  codec.abi_ = AbiKind(kind, *gate_up, *down);
  uint64_t bytes = 0;
  if (codec.is_mixed()) {
    FT_ASSIGN_OR_RETURN(bytes, (MixedExpert{&codec.abi_, gate_up, down}.Bytes()));
  } else {
    FT_ASSIGN_OR_RETURN(bytes, gate_up->ExpertBytes(codec.abi_));
  }
  if (bytes == 0 || bytes > (uint64_t{1} << 40)) {
    return PluginFault("{}: an expert of {} bytes", gate_up->format(), bytes);
  }
  codec.expert_bytes_ = (bytes + 63) / 64 * 64;
  return codec;
}

Status ExpertCodec::Pack(const ft_expert_parts& parts, void* out) const {
  return is_mixed() ? MixedExpert{&abi_, gate_up_, down_}.Pack(parts, out)
                    : gate_up_->PackExpert(abi_, parts, out, expert_bytes_);
}

Result<uint64_t> ExpertCodec::ScratchBytes(int64_t max_rows, uint32_t num_workers) const {
  if (is_mixed()) {
    return MixedExpert{&abi_, gate_up_, down_}.ScratchBytes();
  }
  return gate_up_->ExpertScratchBytes(abi_, max_rows, num_workers);
}

Status ExpertCodec::Mlp(ft_expert_mlp_args args) const {
  args.kind = &abi_;
  return is_mixed() ? MixedExpert{&abi_, gate_up_, down_}.Mlp(args, /*is_reference=*/false)
                    : gate_up_->ExpertMlp(args);
}

Status ExpertCodec::MlpReference(ft_expert_mlp_args args) const {
  args.kind = &abi_;
  return is_mixed() ? MixedExpert{&abi_, gate_up_, down_}.Mlp(args, /*is_reference=*/true)
                    : gate_up_->ExpertMlpReference(args);
}

}  // namespace ft
