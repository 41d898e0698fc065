#include "core/quant/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/errors.h"
#include "core/quant/abi_status.h"
#include "core/tensor/dtype.h"

namespace ft {
namespace {

std::string PartsText(const std::vector<ft_part_info>& parts) {
  std::string text;
  for (const ft_part_info& part : parts) {
    std::string suffix(part.suffix.ptr == nullptr ? "" : part.suffix.ptr, part.suffix.len);
    text += text.empty() ? "" : ", ";
    text += suffix.empty() ? "(no suffix)" : suffix;
    text += part.dtype <= static_cast<uint16_t>(DType::kI16)
                ? std::string(" ") + DTypeName(static_cast<DType>(part.dtype))
                : " of an unknown type";
  }
  return text;
}

}  // namespace

Quantization::Quantization(const ft_quantization* table, void* state, std::string origin)
    : table_(table), state_(state), origin_(std::move(origin)) {
  FT_CHECK(table != nullptr);
  format_.assign(table->format.ptr == nullptr ? "" : table->format.ptr, table->format.len);
}

Status Quantization::CheckTable() const {
  if (table_->hdr.tag != FT_TAG_QUANTIZATION ||
      table_->hdr.size < FT_SIZE_THRU(ft_quantization, expert_mlp_reference)) {
    return Status(StatusCode::kPluginFault, "the table's size or tag is wrong")
        .WithContext("quantization of " + origin_);
  }
  if (format_.empty() || table_->match == nullptr || table_->layout == nullptr ||
      table_->error_bound == nullptr || table_->packed_bytes == nullptr ||
      table_->pack == nullptr || table_->dequantize == nullptr || table_->matmul == nullptr ||
      table_->matmul_reference == nullptr || table_->expert_bytes == nullptr ||
      table_->pack_expert == nullptr || table_->expert_scratch_bytes == nullptr ||
      table_->expert_mlp == nullptr || table_->expert_mlp_reference == nullptr) {
    return PluginFault("quantization {} of {}: the table lacks a function or its name", format_,
                       origin_);
  }
  return Status();
}

template <typename Function, typename... Args>
Status Quantization::Call(const char* what, Function function, Args... args) const {
  ft_error error = EmptyAbiError();
  ft_code code = FT_E_INTERNAL;
  try {
    code = function(state_, args..., &error);
  } catch (...) {  // a plugin's contract says that this cannot be; one unwinder may still bring it
    return PluginFault("{} ({}): {}: an exception left the plugin", format_, origin_, what);
  }
  if (code == FT_OK) {
    return Status();
  }
  return StatusOfAbi(code, error, fmt::format("{} ({}): {}", format_, origin_, what));
}

Result<ft_match> Quantization::Match(std::string_view matrix_name,
                                     const std::vector<ft_part_info>& parts) const {
  if (parts.size() > 64) {
    return InvalidArgument("{}: {} tensors of one matrix, at most 64", matrix_name, parts.size());
  }
  ft_match match = {};
  match.hdr = {sizeof(ft_match), FT_TAG_MATCH, nullptr};
  ft_error error = EmptyAbiError();
  const ft_str name = {matrix_name.data(), matrix_name.size()};
  const auto count = static_cast<uint32_t>(parts.size());
  const ft_code code = table_->match(state_, name, parts.data(), count, &match, &error);
  if (code != FT_OK) {
    return StatusOfAbi(code, error, fmt::format("{} ({}): match", format_, origin_));
  }
  if (match.verdict == FT_MATCH_BROKEN) {
    return Status(StatusCode::kDataLoss, TextOfAbi(error));
  }
  if (match.verdict == FT_MATCH_NO) {
    return match;
  }
  const uint64_t known = parts.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << parts.size()) - 1;
  if (match.verdict != FT_MATCH_YES || match.rows <= 0 || match.cols <= 0 || match.used == 0 ||
      ((match.used | match.unused) & ~known) != 0 || (match.used & match.unused) != 0) {
    return PluginFault("{} ({}): match: the answer for {} makes no sense", format_, origin_,
                       matrix_name);
  }
  return match;
}

Result<std::string> Quantization::LayoutId(uint32_t layout) const {
  ft_layout_info info = {};
  info.hdr = {sizeof(ft_layout_info), FT_TAG_LAYOUT_INFO, nullptr};
  FT_RETURN_IF_ERROR(Call("layout", table_->layout, layout, &info));
  if (info.id.ptr == nullptr || info.id.len == 0 || info.id.len > 64) {
    return PluginFault("{} ({}): layout {} has no name", format_, origin_, layout);
  }
  return std::string(info.id.ptr, info.id.len);
}

Result<double> Quantization::ErrorBound(uint32_t mode) const {
  ft_error_bound bound = {};
  bound.hdr = {sizeof(ft_error_bound), FT_TAG_ERROR_BOUND, nullptr};
  FT_RETURN_IF_ERROR(Call("error_bound", table_->error_bound, mode, &bound));
  if (!(bound.relative >= 0.0) || !(bound.relative < 1.0)) {
    return PluginFault("{} ({}): error_bound is {}", format_, origin_, bound.relative);
  }
  return bound.relative;
}

Result<uint64_t> Quantization::PackedBytes(uint32_t layout, int64_t rows, int64_t cols) const {
  uint64_t bytes = 0;
  FT_RETURN_IF_ERROR(Call("packed_bytes", table_->packed_bytes, layout, rows, cols, &bytes));
  if (bytes == 0 || bytes > (uint64_t{1} << 62)) {
    return PluginFault("{} ({}): packed_bytes of {} × {} is {}", format_, origin_, rows, cols,
                       bytes);
  }
  return bytes;
}

Status Quantization::Pack(uint32_t layout,
                          int64_t rows,
                          int64_t cols,
                          const ft_matrix_parts& in,
                          void* out,
                          uint64_t out_bytes) const {
  return Call("pack", table_->pack, layout, rows, cols, &in, out, out_bytes);
}

Status Quantization::Dequantize(
    uint32_t layout, int64_t rows, int64_t cols, const void* weights, float* out) const {
  return Call("dequantize", table_->dequantize, layout, rows, cols, weights, out);
}

Status Quantization::Matmul(const ft_matmul_args& args) const {
  return Call("matmul", table_->matmul, &args);
}

Status Quantization::MatmulReference(const ft_matmul_args& args) const {
  return Call("matmul_reference", table_->matmul_reference, &args);
}

Result<uint64_t> Quantization::ExpertBytes(const ft_expert_kind& kind) const {
  uint64_t bytes = 0;
  FT_RETURN_IF_ERROR(Call("expert_bytes", table_->expert_bytes, &kind, &bytes));
  if (bytes == 0 || bytes > (uint64_t{1} << 62)) {
    return PluginFault("{} ({}): expert_bytes is {}", format_, origin_, bytes);
  }
  return bytes;
}

Status Quantization::PackExpert(const ft_expert_kind& kind,
                                const ft_expert_parts& in,
                                void* out,
                                uint64_t out_bytes) const {
  return Call("pack_expert", table_->pack_expert, &kind, &in, out, out_bytes);
}

Result<uint64_t> Quantization::ExpertScratchBytes(const ft_expert_kind& kind,
                                                  int64_t max_rows,
                                                  uint32_t num_workers) const {
  uint64_t bytes = 0;
  FT_RETURN_IF_ERROR(Call("expert_scratch_bytes", table_->expert_scratch_bytes, &kind, max_rows,
                          num_workers, &bytes));
  if (bytes > (uint64_t{1} << 62)) {
    return PluginFault("{} ({}): expert_scratch_bytes is {}", format_, origin_, bytes);
  }
  return bytes;
}

Status Quantization::ExpertMlp(const ft_expert_mlp_args& args) const {
  return Call("expert_mlp", table_->expert_mlp, &args);
}

Status Quantization::ExpertMlpReference(const ft_expert_mlp_args& args) const {
  return Call("expert_mlp_reference", table_->expert_mlp_reference, &args);
}

Status QuantizationRegistry::Add(Quantization quantization) {
  FT_RETURN_IF_ERROR(quantization.CheckTable());
  if (const Quantization* other = Find(quantization.format()); other != nullptr) {
    return InvalidArgument("quantization {} is offered by {} and by {}", quantization.format(),
                           other->origin(), quantization.origin());
  }
  all_.push_back(std::make_unique<Quantization>(std::move(quantization)));
  return Status();
}

const Quantization* QuantizationRegistry::Find(std::string_view format) const {
  for (const auto& quantization : all_) {
    if (quantization->format() == format) {
      return quantization.get();
    }
  }
  return nullptr;
}

Result<QuantizationRegistry::Found> QuantizationRegistry::Resolve(
    std::string_view matrix_name, const std::vector<ft_part_info>& parts) const {
  Found found;
  std::string broken;
  for (const auto& quantization : all_) {
    Result<ft_match> match = quantization->Match(matrix_name, parts);
    if (!match.ok()) {
      if (match.status().code() != StatusCode::kDataLoss) {
        return match.status();
      }
      broken += (broken.empty() ? "" : "; ") + match.status().message();
      continue;
    }
    if (match->verdict != FT_MATCH_YES) {
      continue;
    }
    if (found.quantization != nullptr) {
      return Internal("{}: formats {} ({}) and {} ({}) both claim {}", matrix_name,
                      found.quantization->format(), found.quantization->origin(),
                      quantization->format(), quantization->origin(), PartsText(parts));
    }
    found = {quantization.get(), *match};
  }
  if (found.quantization != nullptr) {
    return found;
  }
  if (!broken.empty()) {
    return Status(StatusCode::kDataLoss, broken);
  }
  std::string known;
  for (const auto& quantization : all_) {
    known += (known.empty() ? "" : ", ") + std::string(quantization->format());
  }
  return Unimplemented("{}: no loaded weight format knows the tensors {}; loaded: {}", matrix_name,
                       PartsText(parts), known.empty() ? "none" : known);
}

}  // namespace ft
