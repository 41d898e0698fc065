// WeightFormat: what one format must say so that the shared driver can serve it as an
// ft_quantization. MakeQuantization turns one into the table. No kernels here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ft/plugin/quantization.h"

#include "core/quant/kernels/panel.h"

namespace ft::kernels {

/// One format as data and functions. All functions are pure; arguments were checked by the driver.
struct WeightFormat {
  const char* name;       ///< "nvfp4"
  int64_t cols_multiple;  ///< cols must be a multiple: 16 (NVFP4), 32 (MXFP4), 1
  double error_bound;     ///< of `tile`, as ft_error_bound

  /// As ft_quantization.match, outputs cleared.
  ft_code (*match)(
      ft_str name, const ft_part_info* parts, uint32_t num_parts, ft_match* out, ft_error* error);

  /// Bytes of a panel of 8 rows, a multiple of 64.
  int64_t (*panel_bytes)(int64_t cols);

  /// Are these parts (dtypes, sizes, spelling) a matrix of that shape?
  ft_code (*check_parts)(int64_t rows, int64_t cols, const ft_matrix_parts& in, ft_error* error);

  /// Fills the header and all panels from checked parts; `out` is zeroed.
  void (*pack)(
      int64_t rows, int64_t cols, const ft_matrix_parts& in, PackedHeader* header, uint8_t* out);

  /// Row `row` of the packed matrix, exactly: [cols]. Slow.
  void (*decode_row)(const uint8_t* matrix, int64_t row, int64_t cols, float* out);

  /// The kernel for this CPU.
  TileFn (*tile)();
};

// The functions of ft_quantization for a format. They check everything that comes in.
ft_code Match(const WeightFormat&, ft_str, const ft_part_info*, uint32_t, ft_match*, ft_error*);
ft_code Layout(const WeightFormat&, uint32_t, ft_layout_info*, ft_error*);
ft_code ErrorBound(const WeightFormat&, uint32_t, ft_error_bound*, ft_error*);
ft_code PackedBytes(const WeightFormat&, uint32_t, int64_t, int64_t, uint64_t*, ft_error*);
ft_code Pack(const WeightFormat&,
             uint32_t,
             int64_t,
             int64_t,
             const ft_matrix_parts*,
             void*,
             uint64_t,
             ft_error*);
ft_code Dequantize(const WeightFormat&, uint32_t, int64_t, int64_t, const void*, float*, ft_error*);
ft_code Matmul(const WeightFormat&, const ft_matmul_args*, ft_error*);
ft_code MatmulReference(const WeightFormat&, const ft_matmul_args*, ft_error*);
ft_code ExpertBytes(const WeightFormat&, const ft_expert_kind*, uint64_t*, ft_error*);
ft_code PackExpert(
    const WeightFormat&, const ft_expert_kind*, const ft_expert_parts*, void*, uint64_t, ft_error*);
ft_code ExpertScratchBytes(
    const WeightFormat&, const ft_expert_kind*, int64_t, uint32_t, uint64_t*, ft_error*);
ft_code ExpertMlp(const WeightFormat&, const ft_expert_mlp_args*, ft_error*);
ft_code ExpertMlpReference(const WeightFormat&, const ft_expert_mlp_args*, ft_error*);

/// Strips the unused `state` off the table's functions: Bind<kFormat, Matmul>::Call.
template <const WeightFormat* kFormat, auto kFunction>
struct Bind;

template <const WeightFormat* kFormat,
          typename... Args,
          ft_code (*kFunction)(const WeightFormat&, Args...)>
struct Bind<kFormat, kFunction> {
  static ft_code Call(void* /*state*/, Args... args) noexcept {
    return kFunction(*kFormat, args...);
  }
};

/// The table of a format; `name_bytes` without the NUL. Static lifetime.
template <const WeightFormat* kFormat>
constexpr ft_quantization MakeQuantization(size_t name_bytes) {
  ft_quantization table = {};
  table.hdr = {sizeof(ft_quantization), FT_TAG_QUANTIZATION, nullptr};
  table.format = {kFormat->name, name_bytes};
  table.match = &Bind<kFormat, &Match>::Call;
  table.layout = &Bind<kFormat, &Layout>::Call;
  table.error_bound = &Bind<kFormat, &ErrorBound>::Call;
  table.packed_bytes = &Bind<kFormat, &PackedBytes>::Call;
  table.pack = &Bind<kFormat, &Pack>::Call;
  table.dequantize = &Bind<kFormat, &Dequantize>::Call;
  table.matmul = &Bind<kFormat, &Matmul>::Call;
  table.matmul_reference = &Bind<kFormat, &MatmulReference>::Call;
  table.expert_bytes = &Bind<kFormat, &ExpertBytes>::Call;
  table.pack_expert = &Bind<kFormat, &PackExpert>::Call;
  table.expert_scratch_bytes = &Bind<kFormat, &ExpertScratchBytes>::Call;
  table.expert_mlp = &Bind<kFormat, &ExpertMlp>::Call;
  table.expert_mlp_reference = &Bind<kFormat, &ExpertMlpReference>::Call;
  return table;
}

}  // namespace ft::kernels
