// An expert whose gate and up have one format and whose down has another, composed from the two
// formats' matmul. Packed: gate, up, down, then the biases, each at a multiple of 64 bytes.
#pragma once

#include <cstdint>

#include "ft/plugin/quantization.h"

#include "core/base/status.h"
#include "core/quant/quantization.h"

namespace ft {

/// The two formats of one layer kind; `kind` holds shapes and layouts. Borrowed.
struct MixedExpert {
  const ft_expert_kind* kind = nullptr;
  const Quantization* gate_up = nullptr;
  const Quantization* down = nullptr;

  Result<uint64_t> Bytes() const;
  Status Pack(const ft_expert_parts& parts, void* out) const;
  /// Scratch of Mlp, whatever the number of rows.
  uint64_t ScratchBytes() const;
  /// `is_reference`: by the formats' slow matmul.
  Status Mlp(const ft_expert_mlp_args& args, bool is_reference) const;

 private:
  struct Offsets;
  Result<Offsets> FindOffsets() const;
  Status RunTile(const ft_expert_mlp_args& args,
                 const ft_expert_job& job,
                 const Offsets& at,
                 int64_t begin,
                 bool is_reference) const;
};

}  // namespace ft
