// Inspect: what is in a checkpoint folder, and whether ft can serve it. Reads headers and configs,
// never a weight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/stop_ids.h"
#include "core/engine/model_loader.h"
#include "core/engine/unused_tensors.h"
#include "core/json/value.h"
#include "core/models/model.h"

namespace ft {

struct ModelReport {
  std::string dir;
  std::string architecture;
  std::string model_type;
  Status servable;  ///< ok, or why not: the first offending names. ExitCode() is the program's.

  bool has_info = false;  ///< the family is known and its config was understood
  ModelInfo info;
  std::vector<FormatUse> formats;     ///< matrices by format, most bytes first
  std::vector<TensorSet> other_used;  ///< vectors, biases, by dtype
  std::vector<TensorSet> unused;      ///< no part of the served model: vision, mtp, scales, other
  std::vector<TensorSet> dtypes;      ///< all tensors of the files, by stored dtype
  int64_t num_files = 0;
  int64_t num_tensors = 0;
  uint64_t file_bytes = 0;
  uint64_t dense_bytes = 0;   ///< stored, all but routed experts
  uint64_t expert_bytes = 0;  ///< stored, routed experts
  std::vector<StopId> stop_ids;
  std::string template_kind;   ///< "chat_template.jinja", "tokenizer_config.json", "none"
  bool has_tokenizer = false;  ///< tokenizer.json is there
  std::vector<std::string> ignored_keys;  ///< of config.json: known to change nothing
  std::vector<std::string> can;           ///< sentences
  std::vector<std::string> cannot;        ///< sentences: what is there and not used
};

/// Errors: kNotFound when `dir` is not there; kDataLoss and kInvalidArgument when its files are
/// broken. A model that is whole but not servable is a report with `servable` set.
Result<ModelReport> InspectModel(const std::string& dir, const QuantizationRegistry& quantizations);

json::Value ReportToJson(const ModelReport& report);

/// Lines for people, with a trailing newline.
std::string ReportToText(const ModelReport& report);

}  // namespace ft
