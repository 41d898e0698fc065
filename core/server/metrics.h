// Metrics: what the server itself counts, and the Prometheus text of it together with the engine's
// counters. I/O thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/engine.h"

namespace ft::server {

/// Counts of values up to each bound; the last bucket is everything.
class Histogram {
 public:
  /// `upper_bounds` ascending, static.
  explicit Histogram(std::span<const double> upper_bounds);

  void Add(double value);

  /// Lines of one histogram called `name`, with `labels` ("model_name=\"x\"") in each.
  void Write(std::string_view name, std::string_view labels, std::string* out) const;

  uint64_t count() const { return count_; }

  double sum() const { return sum_; }

 private:
  std::span<const double> upper_bounds_;
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double sum_ = 0;
};

/// What one generation took, in seconds from the arrival of its request.
struct GenerationTimes {
  double total = 0;
  double first_output = -1;  ///< < 0: there was none
};

class Metrics {
 public:
  Metrics();

  void OnHttpRequest(std::string_view path, int status);

  void OnOutputGap(double seconds) { output_gap_.Add(seconds); }  ///< between steps of one reply

  void OnGeneration(const GenerationTimes& times);

  void OnClientGone() { ++num_clients_gone_; }

  /// Text format 0.0.4. Each name stands twice: as `ft:…` and as vLLM's dashboards know it.
  /// `engine` and `info` are null while loading.
  std::string Write(std::string_view model_name,
                    const EngineStats* engine,
                    const EngineInfo* info) const;

  const Histogram& first_output() const { return first_output_; }

  const Histogram& total() const { return total_; }

  uint64_t num_clients_gone() const { return num_clients_gone_; }

 private:
  std::map<std::pair<std::string, int>, uint64_t> http_requests_;  // by known path and status
  Histogram first_output_, output_gap_, total_;
  uint64_t num_clients_gone_ = 0;
};

}  // namespace ft::server
