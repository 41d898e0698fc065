// Bringing rows into panels (panel.h) at the speed of memory: packing is on the way of every expert
// that comes from disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/quant/kernels/panel.h"

namespace ft::kernels {

/// `rows` rows of `row_bytes` at `from`, row-major, into panels at `to`: unit u of the 8 rows lies
/// side by side at 8 · kUnitBytes · u. A last, partial unit is copied as far as it goes; rows and
/// bytes that do not exist stay as they are.
template <size_t kUnitBytes>
void InterleaveRows(
    int64_t rows, int64_t row_bytes, const uint8_t* from, int64_t panel_bytes, uint8_t* to) {
  constexpr auto kUnit = static_cast<int64_t>(kUnitBytes);
  const int64_t units = row_bytes / kUnit;
  const auto rest = static_cast<size_t>(row_bytes % kUnit);
  for (int64_t row = 0; row < rows; row += kPanelRows) {
    const int64_t lanes = rows - row < kPanelRows ? rows - row : kPanelRows;
    const uint8_t* source = from + row * row_bytes;
    uint8_t* panel = to + row / kPanelRows * panel_bytes;
    for (int64_t unit = 0; unit < units; ++unit) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        std::memcpy(panel + (unit * kPanelRows + lane) * kUnit,
                    source + lane * row_bytes + unit * kUnit, kUnitBytes);
      }
    }
    for (int64_t lane = 0; rest != 0 && lane < lanes; ++lane) {
      std::memcpy(panel + (units * kPanelRows + lane) * kUnit,
                  source + lane * row_bytes + units * kUnit, rest);
    }
  }
}

}  // namespace ft::kernels
