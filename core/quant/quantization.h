// Quantization: a weight format as the core sees it: the table of ft/plugin/quantization.h with its
// state. Built-in formats and plugins alike; nothing here knows which. Registry: the formats of
// this process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ft/plugin/quantization.h"

#include "core/base/status.h"

namespace ft {

/// A loaded format. The table and state must outlive it (plugins are never unloaded).
class Quantization {
 public:
  /// `origin`: plugin short name or "built in", for messages.
  Quantization(const ft_quantization* table, void* state, std::string origin);

  std::string_view format() const { return format_; }

  const std::string& origin() const { return origin_; }

  /// Errors: kPluginFault when the table is short, mislabelled or lacks a function.
  Status CheckTable() const;

  // Each forwards to the table's function of that name, turns ft_error into a Status with the
  // format and origin in front, and checks what came back. See ft/plugin/quantization.h for shapes
  // and threads.
  // Match: a verdict of FT_MATCH_BROKEN comes back as kDataLoss with the format's reason.
  Result<ft_match> Match(std::string_view matrix_name,
                         const std::vector<ft_part_info>& parts) const;
  Result<std::string> LayoutId(uint32_t layout) const;
  Result<double> ErrorBound(uint32_t mode) const;
  Result<uint64_t> PackedBytes(uint32_t layout, int64_t rows, int64_t cols) const;
  Status Pack(uint32_t layout,
              int64_t rows,
              int64_t cols,
              const ft_matrix_parts& in,
              void* out,
              uint64_t out_bytes) const;
  Status Dequantize(
      uint32_t layout, int64_t rows, int64_t cols, const void* weights, float* out) const;
  Status Matmul(const ft_matmul_args& args) const;
  Status MatmulReference(const ft_matmul_args& args) const;
  Result<uint64_t> ExpertBytes(const ft_expert_kind& kind) const;
  Status PackExpert(const ft_expert_kind& kind,
                    const ft_expert_parts& in,
                    void* out,
                    uint64_t out_bytes) const;
  Result<uint64_t> ExpertScratchBytes(const ft_expert_kind& kind,
                                      int64_t max_rows,
                                      uint32_t num_workers) const;
  Status ExpertMlp(const ft_expert_mlp_args& args) const;
  Status ExpertMlpReference(const ft_expert_mlp_args& args) const;

 private:
  template <typename Function, typename... Args>
  Status Call(const char* what, Function function, Args... args) const;

  const ft_quantization* table_;
  void* state_;
  std::string format_;
  std::string origin_;
};

/// The formats of one process, by name. Filled at start, then read only.
class QuantizationRegistry {
 public:
  /// Errors: kInvalidArgument when the format is there already (both origins are named); those of
  /// CheckTable.
  Status Add(Quantization quantization);

  /// Null when absent. The pointer lives as long as the registry.
  const Quantization* Find(std::string_view format) const;

  const std::vector<std::unique_ptr<Quantization>>& all() const { return all_; }

  /// The one format that says these parts are its own (others may call them broken). Errors:
  /// kDataLoss with every reason when
  /// formats recognise their names but roles are missing; kUnimplemented, with the suffixes and
  /// dtypes, when no loaded format knows them; kInternal when two claim them.
  struct Found {
    const Quantization* quantization = nullptr;
    ft_match match = {};
  };

  Result<Found> Resolve(std::string_view matrix_name, const std::vector<ft_part_info>& parts) const;

 private:
  std::vector<std::unique_ptr<Quantization>> all_;
};

}  // namespace ft
