#include "core/server/metrics.h"

#include <algorithm>

#include <fmt/format.h>

namespace ft::server {
namespace {

// vLLM's buckets, so that its dashboards fit.
constexpr std::array kFirstOutputBounds = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06,  0.08,
                                           0.1,   0.25,  0.5,  0.75, 1.0,  2.5,   5.0,
                                           7.5,   10.0,  20.0, 40.0, 80.0, 160.0, 640.0};
constexpr std::array kGapBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                                   0.3,   0.4,    0.5,   0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0};
constexpr std::array kTotalBounds = {0.3,  0.5,  0.8,  1.0,  1.5,  2.0,   2.5,   5.0,   10.0, 15.0,
                                     20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0};

// A label's value; names of models and files are anything.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

class Writer {
 public:
  explicit Writer(std::string_view model_name)
      : labels_(fmt::format("model_name=\"{}\"", Escaped(model_name))) {}

  void Head(std::string_view name, std::string_view kind, std::string_view help) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
  }

  void Line(std::string_view name, double value, std::string_view more_labels = {}) {
    out_ += fmt::format("{}{{{}{}{}}} {}\n", name, labels_, more_labels.empty() ? "" : ",",
                        more_labels, value);
  }

  void One(std::string_view name, std::string_view kind, std::string_view help, double value) {
    Head(name, kind, help);
    Line(name, value);
  }

  // The same under both prefixes.
  void Both(std::string_view name, std::string_view kind, std::string_view help, double value) {
    for (const char* prefix : {"ft:", "vllm:"}) {
      One(fmt::format("{}{}", prefix, name), kind, help, value);
    }
  }

  void BothHistograms(std::string_view name, std::string_view help, const Histogram& histogram) {
    for (const char* prefix : {"ft:", "vllm:"}) {
      const std::string full = fmt::format("{}{}", prefix, name);
      Head(full, "histogram", help);
      histogram.Write(full, labels_, &out_);
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  std::string labels_;
  std::string out_;
};

void WriteFinished(const EngineStats& stats, Writer* writer) {
  const std::array<std::pair<const char*, uint64_t>, 4> by_reason = {{
      {"stop", stats.num_finished_stop},
      {"length", stats.num_finished_length},
      {"abort", stats.num_cancelled},
      {"error", stats.num_failed},
  }};
  for (const char* prefix : {"ft:", "vllm:"}) {
    const std::string name = fmt::format("{}request_success_total", prefix);
    writer->Head(name, "counter", "Finished requests by reason.");
    for (const auto& [reason, count] : by_reason) {
      writer->Line(name, static_cast<double>(count), fmt::format("finished_reason=\"{}\"", reason));
    }
  }
}

void WriteEngine(const EngineStats& stats, const EngineInfo& info, Writer* writer) {
  const double used = stats.num_pages > 0 ? static_cast<double>(stats.num_pages_used) /
                                                static_cast<double>(stats.num_pages)
                                          : 0;
  writer->Both("num_requests_running", "gauge", "Requests in the batch.", stats.num_running);
  writer->Both("num_requests_waiting", "gauge", "Requests in the queue.", stats.num_waiting);
  writer->Both("kv_cache_usage_perc", "gauge", "Used share of KV pages, 0 to 1.", used);
  writer->Both("prompt_tokens_total", "counter", "Prompt tokens computed.",
               static_cast<double>(stats.num_prompt_tokens));
  writer->Both("generation_tokens_total", "counter", "Tokens generated.",
               static_cast<double>(stats.num_output_tokens));
  writer->Both("num_preemptions_total", "counter", "Requests set back to the queue.",
               static_cast<double>(stats.num_preemptions));
  WriteFinished(stats, writer);
  writer->Head("vllm:cache_config_info", "gauge", "Size of the KV cache.");
  writer->Line("vllm:cache_config_info", 1,
               fmt::format("block_size=\"{}\",num_gpu_blocks=\"{}\"", stats.page_size_tokens,
                           stats.num_pages));
  writer->One("ft:steps_total", "counter", "Steps of the engine.",
              static_cast<double>(stats.num_steps));
  writer->One("ft:last_step_seconds", "gauge", "Duration of the last step.",
              stats.last_step_ms / 1000.0);
  writer->One("ft:max_model_len", "gauge", "Tokens that one request may use.",
              static_cast<double>(info.max_model_len));
  for (const auto& [name, value] : stats.moe) {
    const std::string full = "ft:moe_" + name;
    writer->One(full, "gauge", "Counter of the MoE backend.", value);
  }
}

}  // namespace

Histogram::Histogram(std::span<const double> upper_bounds)
    : upper_bounds_(upper_bounds), counts_(upper_bounds.size() + 1, 0) {}

void Histogram::Add(double value) {
  const auto bucket = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
  ++counts_[static_cast<size_t>(bucket - upper_bounds_.begin())];
  ++count_;
  sum_ += value;
}

void Histogram::Write(std::string_view name, std::string_view labels, std::string* out) const {
  uint64_t so_far = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    so_far += counts_[i];
    const std::string bound =
        i < upper_bounds_.size() ? fmt::format("{}", upper_bounds_[i]) : "+Inf";
    *out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, so_far);
  }
  *out +=
      fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum_, name, labels, count_);
}

Metrics::Metrics()
    : first_output_(kFirstOutputBounds), output_gap_(kGapBounds), total_(kTotalBounds) {}

void Metrics::OnHttpRequest(std::string_view path, int status) {
  ++http_requests_[{std::string(path), status}];
}

void Metrics::OnGeneration(const GenerationTimes& times) {
  total_.Add(times.total);
  if (times.first_output >= 0) {
    first_output_.Add(times.first_output);
  }
}

std::string Metrics::Write(std::string_view model_name,
                           const EngineStats* engine,
                           const EngineInfo* info) const {
  Writer writer(model_name);
  if (engine != nullptr && info != nullptr) {
    WriteEngine(*engine, *info, &writer);
  }
  writer.BothHistograms("time_to_first_token_seconds", "From the request to its first output.",
                        first_output_);
  writer.BothHistograms("inter_token_latency_seconds", "Between two outputs of a request.",
                        output_gap_);
  writer.BothHistograms("e2e_request_latency_seconds", "From the request to its last output.",
                        total_);
  writer.One("ft:clients_gone_total", "counter", "Requests whose client left before the end.",
             static_cast<double>(num_clients_gone_));
  writer.Head("ft:http_requests_total", "counter", "HTTP requests by path and status.");
  for (const auto& [key, count] : http_requests_) {
    writer.Line("ft:http_requests_total", static_cast<double>(count),
                fmt::format("path=\"{}\",status=\"{}\"", key.first, key.second));
  }
  return writer.Take();
}

}  // namespace ft::server
