// Writes small safetensors files: results of tools and fixtures of tests. Not for checkpoints: the
// whole file is made in memory.
#pragma once

#include <span>
#include <string>

#include "core/base/status.h"
#include "core/tensor/tensor_view.h"

namespace ft {

struct NamedTensor {
  std::string name;
  TensorView view;
};

/// The file as bytes, tensors in the order given.
std::string SafetensorsBytes(std::span<const NamedTensor> tensors);

/// Writes it whole or not at all. Errors: as WriteFileAtomically.
Status WriteSafetensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace ft
