// ExpertPlaces: where the stored parts of each expert of a layer lie in a checkpoint, whatever way
// the family writes them. Reads headers only; who reads the bytes is checkpoint_experts.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/tensor_index.h"
#include "core/moe/expert_codec.h"
#include "core/quant/quantization.h"

namespace ft {

/// How a family names and shapes its experts. Stored one by one ("<prefix>.7.gate_proj.weight",
/// [rows, cols] each) or fused ("<prefix>.gate_up_proj", [experts, 2 * intermediate_dim,
/// hidden_dim], gate rows first): which of the two is read off the names that are there.
struct ExpertNames {
  std::string prefix;  ///< "model.layers.3.mlp.experts"
  std::string gate = "gate_proj";
  std::string up = "up_proj";
  std::string down = "down_proj";
  std::string gate_up = "gate_up_proj";  ///< fused only
  /// Fused, unquantized: [experts, cols, rows]. Refused by name for now.
  bool is_transposed = false;
  /// Fused: gate and up rows (transposed: columns) alternate. Refused by name for now.
  bool is_interleaved = false;
};

/// One MoE layer as its family declares it.
struct MoeLayerSpec {
  int layer_id = 0;
  ExpertKind kind;
  ExpertNames names;
};

enum class ExpertStorage {
  kOneByOne,
  kFused
};

/// A byte range's start.
struct FilePlace {
  int file_index = 0;  ///< into TensorIndex::files()
  uint64_t offset = 0;
};

/// One part of one matrix, for all experts of the layer.
struct PartPlaces {
  std::string suffix;  ///< ".weight", "_blocks"
  DType dtype = DType::kF32;
  Shape shape;                ///< one expert's; a fused tensor's slice
  uint64_t num_bytes = 0;     ///< one expert's
  std::vector<FilePlace> at;  ///< [num_experts]
};

/// The parts that the format packs, in its order.
struct MatrixPlaces {
  uint32_t spelling = 0;  ///< ft_match.spelling
  std::vector<PartPlaces> parts;
};

struct ExpertPlaces {
  int layer_id = 0;
  ExpertStorage storage = ExpertStorage::kOneByOne;
  const Quantization* gate_up_format = nullptr;
  const Quantization* down_format = nullptr;
  MatrixPlaces gate;  ///< no parts where experts are not gated
  MatrixPlaces up;
  MatrixPlaces down;
  /// No places where experts have no biases.
  PartPlaces gate_bias, up_bias, down_bias;

  /// Stored bytes of one expert.
  uint64_t stored_bytes() const;
};

/// Finds the experts of one layer. The names decide the format, per matrix.
/// Errors: kDataLoss when tensors are missing or shapes disagree with the kind (names the tensor);
/// kUnimplemented for transposed and interleaved experts, for formats that no loaded plugin knows,
/// and where experts of one layer have different formats.
Result<ExpertPlaces> FindExperts(const TensorIndex& index,
                                 const QuantizationRegistry& formats,
                                 const MoeLayerSpec& spec);

}  // namespace ft
