#include "core/moe/expert_places.h"

#include <algorithm>
#include <string_view>

#include "core/base/errors.h"

namespace ft {
namespace {

// One tensor of a matrix, with the shape that one expert's share of it has.
struct FoundPart {
  const TensorInfo* tensor = nullptr;
  std::string suffix;
  Shape shape;
};

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16;
}

uint64_t BytesOf(const Shape& shape, DType dtype) {
  return static_cast<uint64_t>(NumElements(shape)) * DTypeBytes(dtype);
}

// The tensors that are named as `matrix` is, with something behind it.
std::vector<FoundPart> PartsOf(const TensorIndex& index, const std::string& matrix) {
  std::vector<FoundPart> parts;
  for (const TensorInfo& tensor : index.WithPrefix(matrix)) {
    const std::string_view suffix = std::string_view(tensor.name).substr(matrix.size());
    if (suffix.empty() || suffix.front() == '.' || suffix.front() == '_') {
      parts.push_back({&tensor, std::string(suffix), tensor.shape});
    }
  }
  return parts;
}

// Takes a part by its suffix out of `parts`; null when it is not there.
const TensorInfo* TakePart(std::vector<FoundPart>* parts, std::string_view suffix) {
  const auto found = std::find_if(parts->begin(), parts->end(),
                                  [&](const FoundPart& part) { return part.suffix == suffix; });
  if (found == parts->end()) {
    return nullptr;
  }
  const TensorInfo* tensor = found->tensor;
  parts->erase(found);
  return tensor;
}

struct Resolved {
  const Quantization* format = nullptr;
  uint32_t spelling = 0;
  std::vector<FoundPart> used;
};

Result<Resolved> Resolve(const QuantizationRegistry& formats,
                         const std::string& matrix,
                         const std::vector<FoundPart>& parts,
                         int64_t rows,
                         int64_t cols) {
  if (parts.empty()) {
    return DataLoss("{}: the checkpoint has no such tensor", matrix);
  }
  std::vector<ft_part_info> infos;
  for (const FoundPart& part : parts) {
    ft_part_info info = {};
    info.suffix = {part.suffix.data(), part.suffix.size()};
    info.dtype = static_cast<uint16_t>(part.tensor->dtype);
    info.ndim = static_cast<uint32_t>(part.shape.size());
    info.shape = part.shape.data();
    infos.push_back(info);
  }
  FT_ASSIGN_OR_RETURN(const QuantizationRegistry::Found found, formats.Resolve(matrix, infos));
  if (found.match.rows != rows || found.match.cols != cols) {
    return DataLoss("{}: is [{}, {}], the config wants [{}, {}]", matrix, found.match.rows,
                    found.match.cols, rows, cols);
  }
  Resolved resolved = {found.quantization, found.match.spelling, {}};
  for (size_t i = 0; i < parts.size(); ++i) {
    if ((found.match.used >> i & 1U) != 0) {
      resolved.used.push_back(parts[i]);
    }
  }
  return resolved;
}

PartPlaces PlacesOf(const FoundPart& part) {
  PartPlaces places;
  places.suffix = part.suffix;
  places.dtype = part.tensor->dtype;
  places.shape = part.shape;
  places.num_bytes = BytesOf(part.shape, part.tensor->dtype);
  return places;
}

// Checks a bias, whole or an expert's share, and describes it.
Result<PartPlaces> BiasPlaces(const TensorInfo& tensor, Shape shape, int64_t width) {
  if (!IsFloat(tensor.dtype) || shape != Shape{width}) {
    return DataLoss("{}: is {} {}, want {} floating-point numbers", tensor.name,
                    DTypeName(tensor.dtype), ShapeString(shape), width);
  }
  return PlacesOf({&tensor, "bias", std::move(shape)});
}

// ---- one by one

// Finds where a part of experts 1, 2, … lies: as expert 0 has it, or not at all.
Status AddOneByOne(const TensorIndex& index,
                   const std::string& matrix,
                   const std::string& first_matrix,
                   PartPlaces* part,
                   std::string_view suffix) {
  const std::string name = matrix + std::string(suffix);
  const TensorInfo* tensor = index.Find(name);
  if (tensor == nullptr) {
    const std::vector<FoundPart> others = PartsOf(index, matrix);
    if (others.empty()) {
      return DataLoss("{}: the checkpoint has no such tensor", name);
    }
    return Unimplemented(
        "{} has {}, {} has {}: experts of one layer in different formats are not supported", matrix,
        others.front().suffix, first_matrix, suffix);
  }
  if (tensor->dtype != part->dtype) {
    return Unimplemented(
        "{} is {}, {}{} is {}: experts of one layer in different formats are not supported", name,
        DTypeName(tensor->dtype), first_matrix, suffix, DTypeName(part->dtype));
  }
  if (tensor->shape != part->shape) {
    return DataLoss("{}: is {}, that of {} is {}", name, ShapeString(tensor->shape), first_matrix,
                    ShapeString(part->shape));
  }
  part->at.push_back({tensor->file_index, tensor->offset});
  return Status();
}

struct OneByOneMatrix {
  MatrixPlaces* places;
  PartPlaces* bias;  // filled where the kind has biases
  const Quantization** format;
  std::string name;
  int64_t rows;
  int64_t cols;
};

Status FindOneByOne(const TensorIndex& index,
                    const QuantizationRegistry& formats,
                    const MoeLayerSpec& spec,
                    const OneByOneMatrix& matrix) {
  const auto name_of = [&](int expert) {
    return fmt::format("{}.{}.{}", spec.names.prefix, expert, matrix.name);
  };
  const std::string first = name_of(0);
  std::vector<FoundPart> parts = PartsOf(index, first);
  if (spec.kind.has_bias) {
    const TensorInfo* bias = TakePart(&parts, ".bias");
    if (bias == nullptr) {
      return DataLoss("{}.bias: the checkpoint has no such tensor", first);
    }
    FT_ASSIGN_OR_RETURN(*matrix.bias, BiasPlaces(*bias, bias->shape, matrix.rows));
  }
  FT_ASSIGN_OR_RETURN(const Resolved resolved,
                      Resolve(formats, first, parts, matrix.rows, matrix.cols));
  if (*matrix.format != nullptr && *matrix.format != resolved.format) {
    return Unimplemented(
        "{} is {}, the gate beside it {}: gate and up in different formats are "
        "not supported",
        first, resolved.format->format(), (*matrix.format)->format());
  }
  *matrix.format = resolved.format;
  matrix.places->spelling = resolved.spelling;
  for (const FoundPart& part : resolved.used) {
    matrix.places->parts.push_back(PlacesOf(part));
  }
  for (int expert = 0; expert < spec.kind.num_experts; ++expert) {
    const std::string name = name_of(expert);
    for (PartPlaces& part : matrix.places->parts) {
      FT_RETURN_IF_ERROR(AddOneByOne(index, name, first, &part, part.suffix));
    }
    if (spec.kind.has_bias) {
      FT_RETURN_IF_ERROR(AddOneByOne(index, name, first, matrix.bias, ".bias"));
    }
  }
  return Status();
}

// ---- fused

// One expert's share of each tensor: without the first extent.
Status DropExperts(const std::string& matrix, int num_experts, std::vector<FoundPart>* parts) {
  for (FoundPart& part : *parts) {
    if (part.shape.empty() || part.shape.front() != num_experts) {
      return DataLoss("{}{}: is {}, want {} experts first", matrix, part.suffix,
                      ShapeString(part.shape), num_experts);
    }
    part.shape.erase(part.shape.begin());
  }
  return Status();
}

// Which rows of a fused tensor's share are meant.
enum class RowHalf {
  kAll,
  kFirst,   // gate
  kSecond,  // up
};

// The share's rows; a share of one element (a scale for the whole matrix) serves both halves.
Result<FoundPart> TakeRows(const std::string& matrix, FoundPart part, RowHalf half) {
  if (half == RowHalf::kAll || NumElements(part.shape) == 1) {
    return part;
  }
  if (part.shape.front() % 2 != 0) {
    return Unimplemented("{}{}: {} rows do not fall into gate and up", matrix, part.suffix,
                         part.shape.front());
  }
  part.shape.front() /= 2;
  return part;
}

void AddFused(const TensorInfo& tensor, int num_experts, RowHalf half, PartPlaces* places) {
  const uint64_t expert_bytes = tensor.num_bytes / static_cast<uint64_t>(num_experts);
  const bool is_second = half == RowHalf::kSecond && places->num_bytes < expert_bytes;
  for (int expert = 0; expert < num_experts; ++expert) {
    places->at.push_back({tensor.file_index, tensor.offset +
                                                 expert_bytes * static_cast<uint64_t>(expert) +
                                                 (is_second ? places->num_bytes : 0)});
  }
}

struct FusedMatrix {
  MatrixPlaces* places;
  PartPlaces* bias;
  const Quantization** format;
  std::string name;
  RowHalf half;
  int64_t rows;
  int64_t cols;
};

Status FindFused(const TensorIndex& index,
                 const QuantizationRegistry& formats,
                 const MoeLayerSpec& spec,
                 const FusedMatrix& matrix) {
  const std::string name = spec.names.prefix + "." + matrix.name;
  const int num_experts = spec.kind.num_experts;
  std::vector<FoundPart> parts = PartsOf(index, name);
  FT_RETURN_IF_ERROR(DropExperts(name, num_experts, &parts));
  for (FoundPart& part : parts) {
    FT_ASSIGN_OR_RETURN(part, TakeRows(name, part, matrix.half));
  }
  if (spec.kind.has_bias) {
    const auto bias = std::find_if(parts.begin(), parts.end(), [](const FoundPart& part) {
      return part.suffix == "_bias" || part.suffix == ".bias";
    });
    if (bias == parts.end()) {
      return DataLoss("{}_bias: the checkpoint has no such tensor", name);
    }
    FT_ASSIGN_OR_RETURN(*matrix.bias, BiasPlaces(*bias->tensor, bias->shape, matrix.rows));
    AddFused(*bias->tensor, num_experts, matrix.half, matrix.bias);
    parts.erase(bias);
  }
  FT_ASSIGN_OR_RETURN(const Resolved resolved,
                      Resolve(formats, name, parts, matrix.rows, matrix.cols));
  *matrix.format = resolved.format;
  matrix.places->spelling = resolved.spelling;
  for (const FoundPart& part : resolved.used) {
    matrix.places->parts.push_back(PlacesOf(part));
    AddFused(*part.tensor, num_experts, matrix.half, &matrix.places->parts.back());
  }
  return Status();
}

Result<ExpertPlaces> FindAllFused(const TensorIndex& index,
                                  const QuantizationRegistry& formats,
                                  const MoeLayerSpec& spec) {
  if (spec.names.is_transposed || spec.names.is_interleaved) {
    return Unimplemented("{}: experts stored {} are not read yet", spec.names.prefix,
                         spec.names.is_transposed ? "transposed" : "with gate and up interleaved");
  }
  ExpertPlaces places;
  places.layer_id = spec.layer_id;
  places.storage = ExpertStorage::kFused;
  const int64_t hidden = spec.kind.hidden_dim;
  const int64_t intermediate = spec.kind.intermediate_dim;
  if (spec.kind.is_gated) {
    FT_RETURN_IF_ERROR(FindFused(index, formats, spec,
                                 {&places.gate, &places.gate_bias, &places.gate_up_format,
                                  spec.names.gate_up, RowHalf::kFirst, intermediate, hidden}));
  }
  FT_RETURN_IF_ERROR(
      FindFused(index, formats, spec,
                {&places.up, &places.up_bias, &places.gate_up_format,
                 spec.kind.is_gated ? spec.names.gate_up : spec.names.up,
                 spec.kind.is_gated ? RowHalf::kSecond : RowHalf::kAll, intermediate, hidden}));
  FT_RETURN_IF_ERROR(FindFused(index, formats, spec,
                               {&places.down, &places.down_bias, &places.down_format,
                                spec.names.down, RowHalf::kAll, hidden, intermediate}));
  return places;
}

}  // namespace

uint64_t ExpertPlaces::stored_bytes() const {
  uint64_t bytes = gate_bias.num_bytes + up_bias.num_bytes + down_bias.num_bytes;
  for (const MatrixPlaces* matrix : {&gate, &up, &down}) {
    for (const PartPlaces& part : matrix->parts) {
      bytes += part.num_bytes;
    }
  }
  return bytes;
}

Result<ExpertPlaces> FindExperts(const TensorIndex& index,
                                 const QuantizationRegistry& formats,
                                 const MoeLayerSpec& spec) {
  const ExpertNames& names = spec.names;
  if (spec.kind.num_experts < 1 || spec.kind.hidden_dim < 1 || spec.kind.intermediate_dim < 1) {
    return InvalidArgument("{}: {} experts, hidden {}, intermediate {} is no shape", names.prefix,
                           spec.kind.num_experts, spec.kind.hidden_dim, spec.kind.intermediate_dim);
  }
  if (index.WithPrefix(names.prefix + ".0.").empty()) {
    if (index.WithPrefix(names.prefix + "." + names.down).empty()) {
      return DataLoss("{}.0.{}: the checkpoint has no such tensor, nor {}.{}", names.prefix,
                      names.down, names.prefix, names.down);
    }
    return FindAllFused(index, formats, spec);
  }
  ExpertPlaces places;
  places.layer_id = spec.layer_id;
  const int64_t hidden = spec.kind.hidden_dim;
  const int64_t intermediate = spec.kind.intermediate_dim;
  if (spec.kind.is_gated) {
    FT_RETURN_IF_ERROR(FindOneByOne(index, formats, spec,
                                    {&places.gate, &places.gate_bias, &places.gate_up_format,
                                     names.gate, intermediate, hidden}));
  }
  FT_RETURN_IF_ERROR(FindOneByOne(
      index, formats, spec,
      {&places.up, &places.up_bias, &places.gate_up_format, names.up, intermediate, hidden}));
  FT_RETURN_IF_ERROR(FindOneByOne(
      index, formats, spec,
      {&places.down, &places.down_bias, &places.down_format, names.down, hidden, intermediate}));
  return places;
}

}  // namespace ft
