// WeightLoader: names to parts, parts to formats, formats to packed matrices.
#include "core/layers/weight_loader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/errors.h"
#include "core/quant/dequantize.h"

namespace ft {
namespace {

constexpr int64_t kMaxMessages = 5;  // enough to see a pattern

// Parts that belong to a module but not to its matrix: the bias, and scales of caches and
// activations that ft does not quantize.
bool IsBesideMatrix(std::string_view suffix) {
  constexpr std::array<std::string_view, 4> kBeside = {".k_scale", ".v_scale", ".q_scale",
                                                       ".output_scale"};
  return std::find(kBeside.begin(), kBeside.end(), suffix) != kBeside.end();
}

bool IsPlain(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16;
}

ft_str Borrow(std::string_view text) {
  return {text.data(), text.size()};
}

ft_tensor AsAbi(const TensorView& view, const std::vector<int64_t>& strides) {
  ft_tensor tensor = {};
  tensor.data = const_cast<void*>(view.data);  // NOLINT: the ABI has one tensor; pack only reads
  tensor.device_kind = static_cast<int32_t>(FT_MEM_HOST);
  tensor.dtype = static_cast<uint16_t>(view.dtype);
  tensor.ndim = static_cast<int32_t>(view.shape.size());
  tensor.shape = view.shape.data();
  tensor.strides = strides.data();
  tensor.bytes = view.num_bytes();
  return tensor;
}

std::vector<int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return strides;
}

}  // namespace

WeightLoader::WeightLoader(WeightLoaderOptions options) : options_(std::move(options)) {}

bool WeightLoader::Resolve(const std::string& name, MatrixExtent extent, Resolved* out) {
  std::vector<const TensorInfo*> tensors;
  std::vector<ft_part_info> parts;
  for (const TensorInfo& tensor : options_.index->WithPrefix(name + ".")) {
    const std::string_view suffix = std::string_view(tensor.name).substr(name.size());
    if (suffix.find('.', 1) != std::string_view::npos || suffix == ".bias") {
      continue;
    }
    if (IsBesideMatrix(suffix)) {
      summary_.known_unused.insert(tensor.name);
      continue;
    }
    ft_part_info part = {};
    part.suffix = Borrow(suffix);
    part.dtype = static_cast<uint16_t>(tensor.dtype);
    part.ndim = static_cast<uint32_t>(tensor.shape.size());
    part.shape = tensor.shape.data();
    parts.push_back(part);
    tensors.push_back(&tensor);
  }
  if (parts.empty() || parts.size() > 64) {
    Fail(DataLoss("{}: the checkpoint has {} for this matrix", name,
                  parts.empty() ? "no tensor" : "too many tensors"));
    return false;
  }
  auto found = options_.formats->Resolve(name, parts);
  if (!found.ok()) {
    Fail(found.status());
    return false;
  }
  out->format = found->quantization;
  out->match = found->match;
  if (out->match.rows != extent.rows || out->match.cols != extent.cols) {
    Fail(DataLoss("{}: the config asks for [{}, {}], the checkpoint has [{}, {}]", name,
                  extent.rows, extent.cols, out->match.rows, out->match.cols));
    return false;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if ((out->match.used >> i & 1U) != 0) {
      out->parts.push_back(tensors[i]);
      // A tied table is asked for twice, and counted once.
      const bool is_first = summary_.used.insert(tensors[i]->name).second;
      out->is_counted |= is_first;
      out->stored_bytes += is_first ? tensors[i]->num_bytes : 0;
    } else {
      summary_.known_unused.insert(tensors[i]->name);
    }
  }
  return true;
}

// Read and not mapped: a file that is cut in the meantime is an error, not a SIGBUS.
Result<AlignedBytes> WeightLoader::ReadTensor(const TensorInfo& tensor) const {
  AlignedBytes bytes(tensor.num_bytes);
  if (tensor.num_bytes > 0 && bytes.data() == nullptr) {
    return ResourceExhausted("no memory for {} bytes of weights", tensor.num_bytes);
  }
  FT_RETURN_IF_ERROR(options_.index->ReadInto(
      tensor, 0, std::span(static_cast<std::byte*>(bytes.data()), tensor.num_bytes)));
  return bytes;
}

Status WeightLoader::Pack(const Resolved& resolved, Linear* linear) {
  FT_ASSIGN_OR_RETURN(const uint64_t bytes,
                      linear->format->PackedBytes(linear->layout, linear->rows, linear->cols));
  if (options_.pass == WeightPass::kCheck) {
    summary_.dense_packed_bytes += bytes;
    return {};
  }
  linear->packed = AlignedBytes(bytes);
  if (bytes > 0 && linear->packed.data() == nullptr) {
    return ResourceExhausted("no memory for {} bytes of weights", bytes);
  }
  std::vector<TensorView> views;
  std::vector<std::vector<int64_t>> strides;
  std::vector<ft_tensor> tensors;
  std::vector<AlignedBytes> bytes_of_parts;  // while they are packed
  for (const TensorInfo* part : resolved.parts) {
    FT_ASSIGN_OR_RETURN(AlignedBytes stored, ReadTensor(*part));
    bytes_of_parts.push_back(std::move(stored));
    views.push_back({bytes_of_parts.back().data(), part->dtype, part->shape});
    strides.push_back(RowMajorStrides(part->shape));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    tensors.push_back(AsAbi(views[i], strides[i]));
  }
  ft_matrix_parts in = {};
  in.spelling = resolved.match.spelling;
  in.n_parts = static_cast<uint32_t>(tensors.size());
  in.parts = tensors.data();
  return linear->format->Pack(linear->layout, linear->rows, linear->cols, in, linear->packed.data(),
                              bytes);
}

Linear WeightLoader::Matrix(const std::string& name, MatrixExtent extent) {
  Linear linear;
  linear.rows = extent.rows;
  linear.cols = extent.cols;
  Resolved resolved;
  if (!Resolve(name, extent, &resolved)) {
    return linear;
  }
  linear.format = resolved.format;
  Count(*resolved.format, resolved.is_counted ? 1 : 0, resolved.stored_bytes);
  summary_.dense_stored_bytes += resolved.stored_bytes;
  const Status packed = Pack(resolved, &linear);
  if (!packed.ok()) {
    Fail(packed.WithContext(name));
  }
  Report(resolved.stored_bytes, name);
  return linear;
}

Linear WeightLoader::MatrixWithBias(const std::string& name, MatrixExtent extent) {
  Linear linear = Matrix(name, extent);
  linear.bias = Vector(name + ".bias", extent.rows);
  return linear;
}

std::vector<float> WeightLoader::Vector(const std::string& name, int64_t count) {
  const auto tensor = options_.index->Get(name);
  if (!tensor.ok()) {
    Fail(tensor.status());
    return {};
  }
  const TensorInfo& info = **tensor;
  if (NumElements(info.shape) != count || !IsPlain(info.dtype)) {
    Fail(DataLoss("{}: want [{}] of F32, F16 or BF16, the checkpoint has {} of {}", name, count,
                  ShapeString(info.shape), DTypeName(info.dtype)));
    return {};
  }
  summary_.used.insert(name);
  summary_.dense_stored_bytes += info.num_bytes;
  if (options_.pass == WeightPass::kCheck) {
    summary_.dense_packed_bytes += static_cast<uint64_t>(count) * sizeof(float);
    return {};
  }
  std::vector<float> values(static_cast<size_t>(count));
  const Result<AlignedBytes> stored = ReadTensor(info);
  const Status decoded =
      stored.ok() ? DecodeToFloat(info.dtype, stored->data(), values.size(), values.data())
                  : stored.status();
  if (!decoded.ok()) {
    Fail(decoded.WithContext(name));
  }
  Report(info.num_bytes, name);
  return values;
}

Embedding WeightLoader::Table(const std::string& name, MatrixExtent extent) {
  Embedding table;
  table.rows = extent.rows;
  table.cols = extent.cols;
  Resolved resolved;
  if (!Resolve(name, extent, &resolved)) {
    return table;
  }
  Count(*resolved.format, resolved.is_counted ? 1 : 0, resolved.stored_bytes);
  summary_.dense_stored_bytes += resolved.stored_bytes;
  Report(resolved.stored_bytes, name);
  if (resolved.parts.size() == 1 && IsPlain(resolved.parts[0]->dtype)) {
    if (options_.pass == WeightPass::kRead) {
      table.index = options_.index;
      table.stored = resolved.parts[0];
    }
    return table;
  }
  Linear linear;
  linear.format = resolved.format;
  linear.rows = extent.rows;
  linear.cols = extent.cols;
  Status status = Pack(resolved, &linear);
  const auto count = static_cast<size_t>(extent.rows) * static_cast<size_t>(extent.cols);
  if (options_.pass == WeightPass::kCheck) {
    summary_.dense_packed_bytes += count * sizeof(float);
  } else if (status.ok()) {
    table.decoded.resize(count);
    status = linear.format->Dequantize(linear.layout, linear.rows, linear.cols,
                                       linear.packed.data(), table.decoded.data());
  }
  if (!status.ok()) {
    Fail(status.WithContext(name));
  }
  return table;
}

void WeightLoader::Experts(const MoeLayerSpec& spec) {
  if (options_.pass == WeightPass::kRead) {
    return;
  }
  const auto places = FindExperts(*options_.index, *options_.formats, spec);
  if (!places.ok()) {
    Fail(places.status());
    return;
  }
  summary_.expert_prefixes.push_back(spec.names.prefix);
  const auto num_experts = static_cast<uint64_t>(spec.kind.num_experts);
  summary_.expert_stored_bytes += places->stored_bytes() * num_experts;
  const auto stored = [&](const MatrixPlaces& matrix) {
    uint64_t bytes = 0;
    for (const PartPlaces& part : matrix.parts) {
      bytes += part.num_bytes;
    }
    return bytes * num_experts;
  };
  if (spec.kind.is_gated) {
    Count(*places->gate_up_format, spec.kind.num_experts, stored(places->gate));
  }
  Count(*places->gate_up_format, spec.kind.num_experts, stored(places->up));
  Count(*places->down_format, spec.kind.num_experts, stored(places->down));
}

void WeightLoader::Count(const Quantization& format, int64_t num_matrices, uint64_t stored_bytes) {
  auto use = std::find_if(summary_.formats.begin(), summary_.formats.end(),
                          [&](const FormatUse& u) { return u.format == format.format(); });
  if (use == summary_.formats.end()) {
    use = summary_.formats.insert(use, {std::string(format.format()), format.origin(), 0, 0});
  }
  use->num_matrices += num_matrices;
  use->stored_bytes += stored_bytes;
}

void WeightLoader::Report(uint64_t stored_bytes, std::string_view name) const {
  if (options_.pass == WeightPass::kRead && options_.progress) {
    options_.progress(stored_bytes, name);
  }
}

void WeightLoader::Fail(const Status& status) {
  if (first_code_ == StatusCode::kOk) {
    first_code_ = status.code();
  }
  ++num_failures_;
  if (num_failures_ <= kMaxMessages) {
    messages_.push_back(status.message());
  }
}

Status WeightLoader::status() const {
  if (num_failures_ == 0) {
    return {};
  }
  std::string text;
  for (const std::string& message : messages_) {
    text += (text.empty() ? "" : "\n  ") + message;
  }
  if (num_failures_ > kMaxMessages) {
    text += fmt::format("\n  and {} more", num_failures_ - kMaxMessages);
  }
  return Status(first_code_, text);
}

WeightSummary WeightLoader::TakeSummary() {
  std::stable_sort(
      summary_.formats.begin(), summary_.formats.end(),
      [](const FormatUse& a, const FormatUse& b) { return a.stored_bytes > b.stored_bytes; });
  return std::move(summary_);
}

}  // namespace ft
