#include "core/app/serve_options.h"

#include "core/app/model_options.h"

namespace ft::app {
namespace {

std::vector<OptionSpec> ServerSpecs() {
  const std::string group = "server";
  return {
      {.name = "host",
       .default_value = "127.0.0.1",
       .help = "address to listen on; beyond loopback a key is needed",
       .group = group,
       .value_name = "HOST"},
      {.name = "port",
       .type = OptionType::kInt,
       .default_value = "8000",
       .help = "port to listen on; 0 = any free one",
       .group = group,
       .min = 0,
       .max = 65535},
      {.name = "api-key",
       .help = "clients must send it as Bearer token or x-api-key",
       .group = group,
       .is_secret = true,
       .value_name = "KEY"},
      {.name = "served-model-name",
       .help = "the model's id for clients (default: the folder's name)",
       .group = group,
       .value_name = "NAME"},
      {.name = "cors-origins",
       .type = OptionType::kList,
       .help = "origins that browsers may call from, or *",
       .group = group,
       .value_name = "ORIGIN"},
      {.name = "shutdown-timeout",
       .type = OptionType::kFloat,
       .default_value = "30",
       .help = "seconds that running streams get to finish on SIGTERM",
       .group = group,
       .min = 0,
       .max = 86400},
  };
}

std::vector<OptionSpec> WindowSpecs() {  // NOLINT(readability-function-size): a table
  const std::string group = "window and memory";
  return {
      {.name = "max-seq-len-override",
       .type = OptionType::kInt,
       .help = "longest prompt and reply together, in tokens (default: the model's)",
       .group = group,
       .min = 1,
       .max = 1e9},
      {.name = "max-output-tokens",
       .type = OptionType::kInt,
       .help = "longest reply, in tokens",
       .group = group,
       .min = 1,
       .max = 1e9},
      {.name = "max-running-requests",
       .type = OptionType::kInt,
       .default_value = "4",
       .help = "requests computed together",
       .group = group,
       .min = 1,
       .max = 1024},
      {.name = "max-queued-requests",
       .type = OptionType::kInt,
       .default_value = "256",
       .help = "requests that may wait; more are answered 429",
       .group = group,
       .min = 0,
       .max = 1e6},
      {.name = "max-prefill-length",
       .aliases = {"max-extend-length"},
       .type = OptionType::kInt,
       .default_value = "512",
       .help = "prompt tokens computed in one step",
       .group = group,
       .min = 1,
       .max = 1e6},
      {.name = "kv-reserve-tokens",
       .type = OptionType::kInt,
       .default_value = "8192",
       .help = "cache tokens that are kept before expert slots get memory",
       .group = group,
       .min = 1,
       .max = 1e9},
      {.name = "num-pages",
       .type = OptionType::kInt,
       .help = "cache pages (default: from memory)",
       .group = group,
       .min = 1,
       .max = 1e9},
      {.name = "num-tokens",
       .type = OptionType::kInt,
       .help = "cache tokens (default: from memory)",
       .group = group,
       .min = 1,
       .max = 1e9},
      {.name = "page-size",
       .type = OptionType::kInt,
       .default_value = "16",
       .help = "tokens of a cache page",
       .group = group,
       .min = 1,
       .max = 4096},
      {.name = "memory-ratio",
       .type = OptionType::kFloat,
       .default_value = "0.9",
       .help = "share of the free memory that may be used",
       .group = group,
       .min = 0.01,
       .max = 1},
  };
}

std::vector<OptionSpec> TextSpecs() {
  const std::string group = "text";
  return {
      {.name = "reasoning-parser",
       .default_value = "auto",
       .help = "splits off thoughts: auto, none, or a parser's name",
       .group = group,
       .value_name = "NAME"},
      {.name = "tool-call-parser",
       .default_value = "auto",
       .help = "reads tool calls: auto, none, or a parser's name",
       .group = group,
       .value_name = "NAME"},
      {.name = "sampling-defaults",
       .type = OptionType::kChoice,
       .default_value = "model",
       .help = "what requests get that say nothing: the model's generation_config.json, or nothing",
       .group = group,
       .choices = {"model", "none"}},
      {.name = "default-chat-template-kwargs",
       .help = "variables for every chat template, as a JSON object; a request wins",
       .group = group,
       .value_name = "JSON"},
  };
}

void Append(std::vector<OptionSpec>* all, std::vector<OptionSpec> more) {
  all->insert(all->end(), more.begin(), more.end());
}

}  // namespace

std::vector<OptionSpec> ServeOptionSpecs() {
  std::vector<OptionSpec> all = {
      {.name = "model",
       .aliases = {"model-path"},
       .help = "a model folder, or a hub id that is in the local cache",
       .group = "model",
       .value_name = "DIR"},
      {.name = "compute",
       .type = OptionType::kChoice,
       .default_value = "served",
       .help = "arithmetic: what serving uses, or fp32 throughout",
       .group = "model",
       .choices = {"served", "exact"}},
  };
  Append(&all, ModelOptionSpecs());
  Append(&all, WindowSpecs());
  Append(&all, TextSpecs());
  Append(&all, ServerSpecs());
  Append(&all, CommonOptionSpecs());
  return all;
}

KvPlanRequest MakeKvPlanRequest(const Settings& settings) {
  KvPlanRequest request;
  if (settings.IsSet("max-seq-len-override")) {
    request.max_seq_len = settings.Int("max-seq-len-override");
  }
  if (settings.IsSet("num-pages")) {
    request.num_pages = settings.Int("num-pages");
  }
  if (settings.IsSet("num-tokens")) {
    request.num_tokens = settings.Int("num-tokens");
  }
  request.kv_reserve_tokens = settings.Int("kv-reserve-tokens");
  request.page_size_tokens = settings.Int("page-size");
  request.max_prefill_tokens = settings.Int("max-prefill-length");
  request.max_running = static_cast<int>(settings.Int("max-running-requests"));
  request.max_queued = settings.Int("max-queued-requests");
  return request;
}

}  // namespace ft::app
