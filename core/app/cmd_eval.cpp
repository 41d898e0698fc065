// `ft eval logits` and `ft eval perplexity`: numbers for people who check an engine, from the code
// that serves.
#include <charconv>
#include <cstdio>

#include "core/app/commands.h"
#include "core/app/model_options.h"
#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/checkpoint/hub_cache.h"
#include "core/engine/eval.h"
#include "core/json/write.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::app {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

std::vector<OptionSpec> EvalSpecs(std::vector<OptionSpec> own) {
  const std::string group = "arithmetic";
  own.push_back({.name = "model",
                 .aliases = {"model-path"},
                 .help = "a model folder, or a hub id that is in the local cache",
                 .value_name = "DIR"});
  own.push_back({.name = "compute",
                 .type = OptionType::kChoice,
                 .default_value = "exact",
                 .help = "fp32 throughout, or what serving uses",
                 .group = group,
                 .choices = {"exact", "served"}});
  own.push_back({.name = "max-prefill-length",
                 .aliases = {"max-extend-length"},
                 .type = OptionType::kInt,
                 .default_value = "2048",
                 .help = "prompt tokens computed in one step",
                 .group = group,
                 .min = 1,
                 .max = 1e6});
  own.push_back({.name = "page-size",
                 .type = OptionType::kInt,
                 .default_value = "16",
                 .help = "tokens of a cache page",
                 .group = group,
                 .min = 1,
                 .max = 4096});
  for (OptionSpec& spec : ModelOptionSpecs()) {
    own.push_back(spec);
  }
  for (OptionSpec& spec : CommonOptionSpecs()) {
    if (spec.name == "log-level") {
      spec.default_value = "warning";
      own.push_back(spec);
    }
  }
  return own;
}

Result<std::vector<int32_t>> ParseIds(const std::string& text) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at < end) {
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || (next < end && *next != ',') || next + 1 == end) {
      return InvalidArgument("--ids must be token ids with commas between, as in 1,2,3; it is '{}'",
                             text.substr(0, 60));
    }
    ids.push_back(id);
    at = next + 1;
  }
  return ids;
}

struct Loaded {
  std::unique_ptr<Registries> registries;
  LoadedModel model;
  std::string dir;
};

// `max_tokens`: the most that one Forward will be given.
Result<Loaded> LoadForEval(const Settings& settings, int64_t max_tokens) {
  if (!settings.IsSet("model")) {
    return InvalidArgument("which model? --model DIR");
  }
  Loaded loaded;
  FT_ASSIGN_OR_RETURN(loaded.dir, ResolveModelPath(settings.String("model")));
  FT_ASSIGN_OR_RETURN(loaded.registries, LoadPlugins(settings));
  FT_ASSIGN_OR_RETURN(LoadOptions options, MakeLoadOptions(settings, *loaded.registries));
  options.dir = loaded.dir;
  options.max_batch_tokens = max_tokens;
  options.max_logit_rows = max_tokens;
  options.max_sequences = 1;
  FT_ASSIGN_OR_RETURN(loaded.model, LoadModel(options));
  return loaded;
}

EvalOptions MakeEvalOptions(const Settings& settings) {
  EvalOptions options;
  options.compute_mode =
      settings.String("compute") == "served" ? FT_COMPUTE_SERVED : FT_COMPUTE_EXACT;
  options.chunk_tokens = settings.Int("max-prefill-length");
  options.page_size_tokens = settings.Int("page-size");
  options.is_deterministic = settings.Switch("deterministic");
  return options;
}

Status EvalLogitsToFile(const Settings& settings) {
  if (!settings.IsSet("ids") || !settings.IsSet("out")) {
    return InvalidArgument("ft eval logits needs --ids 1,2,3 and --out FILE");
  }
  FT_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, ParseIds(settings.String("ids")));
  const int64_t chunk = std::min(settings.Int("max-prefill-length"),
                                 std::max<int64_t>(1, static_cast<int64_t>(ids.size())));
  FT_ASSIGN_OR_RETURN(Loaded loaded, LoadForEval(settings, chunk));
  EvalOptions options = MakeEvalOptions(settings);
  options.chunk_tokens = chunk;
  FT_ASSIGN_OR_RETURN(const LogitsResult result,
                      EvalLogits(&loaded.model, ids, settings.Int("greedy"), options));
  return WriteLogits(settings.String("out"), result);
}

Status EvalPerplexityAndPrint(const Settings& settings) {
  if (!settings.IsSet("text")) {
    return InvalidArgument("ft eval perplexity needs --text FILE");
  }
  FT_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(settings.String("text"), kMaxTextBytes));
  const auto from = static_cast<size_t>(settings.Int("from-byte"));
  if (from >= text.size()) {
    return InvalidArgument("--from-byte {} is behind the end of {} ({} bytes)", from,
                           settings.String("text"), text.size());
  }
  text.erase(0, from);
  const int64_t context = settings.Int("context");
  const int64_t chunk = std::min(settings.Int("max-prefill-length"), context);
  FT_ASSIGN_OR_RETURN(Loaded loaded, LoadForEval(settings, chunk));
  FT_ASSIGN_OR_RETURN(const auto tokenizer, text::Tokenizer::Load(loaded.dir));
  FT_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer->Encode(text));
  EvalOptions options = MakeEvalOptions(settings);
  options.chunk_tokens = chunk;
  FT_ASSIGN_OR_RETURN(const PerplexityResult result,
                      EvalPerplexity(&loaded.model, ids, context, options));
  if (settings.Switch("json")) {
    json::Value document = json::Value::MakeObject();
    document.Set("perplexity", json::Value(result.perplexity));
    document.Set("mean_nll", json::Value(result.mean_nll));
    document.Set("num_tokens", json::Value(result.num_tokens));
    document.Set("num_scored_tokens", json::Value(result.num_scored_tokens));
    document.Set("num_windows", json::Value(result.num_windows));
    document.Set("context", json::Value(context));
    document.Set("compute", json::Value(settings.String("compute")));
    std::printf("%s\n", json::Write(document).c_str());
  } else {
    std::printf("perplexity %.4f over %lld tokens in %lld windows of %lld (%s compute)\n",
                result.perplexity,
                static_cast<long long>(result.num_scored_tokens),  // NOLINT: printf
                static_cast<long long>(result.num_windows),        // NOLINT
                static_cast<long long>(context), settings.String("compute").c_str());  // NOLINT
  }
  return Status();
}

}  // namespace

std::vector<OptionSpec> EvalLogitsOptionSpecs() {
  return EvalSpecs({
      {.name = "ids",
       .help = "token ids of the prompt, with commas between",
       .value_name = "1,2,3"},
      {.name = "greedy",
       .type = OptionType::kInt,
       .default_value = "0",
       .help = "how many tokens to continue",
       .min = 0,
       .max = 1e6},
      {.name = "out",
       .help = "safetensors file to write: logits f32 [T,V], greedy i64 [N]",
       .value_name = "FILE"},
  });
}

std::vector<OptionSpec> EvalPerplexityOptionSpecs() {
  return EvalSpecs({
      {.name = "text", .help = "text to score", .value_name = "FILE"},
      {.name = "from-byte",
       .type = OptionType::kInt,
       .default_value = "0",
       .help = "skip this many bytes of it",
       .min = 0,
       .max = 1e12},
      {.name = "context",
       .type = OptionType::kInt,
       .default_value = "256",
       .help = "tokens of a window",
       .min = 2,
       .max = 1e6},
      {.name = "json",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "one JSON document"},
  });
}

int RunEvalLogits(const Invocation& invocation) {
  const Status status = EvalLogitsToFile(invocation.settings);
  return status.ok() ? 0 : PrintError(status);
}

int RunEvalPerplexity(const Invocation& invocation) {
  const Status status = EvalPerplexityAndPrint(invocation.settings);
  return status.ok() ? 0 : PrintError(status);
}

}  // namespace ft::app
