// Random checkpoint tensors in every spelling of every format that ft knows, with the numbers that
// they stand for by core/quant/dequantize.h.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ft/plugin/quantization.h"

#include "core/quant/quantization.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor_view.h"

namespace ft {

/// One checkpoint tensor of a matrix.
struct SamplePart {
  std::string suffix;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<uint8_t> bytes;
};

/// A matrix as a checkpoint has it, and what it means.
struct Sample {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<SamplePart> parts;
  std::vector<float> expected;  ///< [rows, cols]

  std::vector<ft_part_info> Infos() const;  ///< borrows from this

  /// The parts that `match` uses, as pack wants them; borrows from this and from the result.
  struct Packable {
    std::vector<std::vector<int64_t>> strides;
    std::vector<ft_tensor> tensors;
    ft_matrix_parts parts = {};
  };

  std::unique_ptr<Packable> ForPack(const ft_match& match) const;
};

struct SampleOptions {
  bool zero_blocks = false;  ///< a third of the scale blocks hold zero codes and zero scales
  bool denormals = false;    ///< scales and floats below the normal range of their type
  bool nan_scales = false;   ///< some scales, or floats, are NaN
};

/// Spellings that the sampler has for this format; 0 when it does not know the format.
int NumSpellings(const std::string& format);

/// Extents the format allows are multiples of this.
int64_t ColsMultiple(const std::string& format);

Sample MakeSample(const std::string& format,
                  int spelling,
                  int64_t rows,
                  int64_t cols,
                  std::mt19937* random,
                  const SampleOptions& options = {});

/// Packs by match and pack; fails the test when they do.
std::vector<uint8_t> PackSample(const Quantization& quantization, const Sample& sample);

/// Normal numbers with a few outliers, as activations have them.
std::vector<float> RandomFloats(int64_t count, std::mt19937* random);

}  // namespace ft
