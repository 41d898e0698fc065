#include "core/server/api/completion_generation.h"

#include <string_view>
#include <utility>
#include <vector>

#include "core/json/write.h"
#include "core/server/api/logprobs.h"

namespace ft::server {
namespace {

struct Choice {
  std::string text;  // of requests that do not stream
  CompletionLogprobs logprobs;
  std::string finish_reason;
};

class CompletionGeneration final : public Generation {
 public:
  CompletionGeneration(CompletionGenerationOptions options, const TextServices* text)
      : options_(std::move(options)),
        head_(HeadJson(options_.head, "text_completion")),
        text_(text),
        choices_(options_.num_choices) {
    stream = options_.stream;
  }

  std::optional<ApiError> OnOutput(size_t index,
                                   const RequestOutput& output,
                                   std::string* sse) override {
    if (auto error = FailureOf(output)) {
      return error;
    }
    Choice& choice = choices_[index];
    std::string news;
    for (const TokenOutput& token : output.tokens) {
      news += token.text;
      if (options_.want_logprobs && token.token_id >= 0) {
        choice.logprobs.Add(token, *text_);
      }
    }
    if (output.finish.has_value()) {
      choice.finish_reason = *output.finish == FinishReason::kLength ? "length" : "stop";
      usage_.completion_tokens += output.num_output_tokens;
      if (index % options_.choices_per_prompt == 0) {
        usage_.prompt_tokens += output.num_prompt_tokens;
        usage_.cached_tokens += output.num_cached_tokens;
      }
    }
    if (!stream) {
      choice.text += news;
    } else if (!news.empty() || output.finish.has_value()) {
      *sse += "data: {" + head_ + ",\"choices\":[";
      AppendChoice(index, news, sse);
      *sse += options_.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n";
    }
    return std::nullopt;
  }

  std::string End() override {
    std::string out;
    if (options_.include_usage) {
      out = "data: {" + head_ + ",\"choices\":[],\"usage\":" + UsageJson(usage_) + "}\n\n";
    }
    return out + "data: [DONE]\n\n";
  }

  HttpResponse Whole() override {
    HttpResponse response;
    response.body = "{" + head_ + ",\"choices\":[";
    for (size_t i = 0; i < choices_.size(); ++i) {
      response.body += i == 0 ? "" : ",";
      AppendChoice(i, choices_[i].text, &response.body);
    }
    response.body += "],\"usage\":" + UsageJson(usage_) + "}";
    return response;
  }

  Usage usage() const override { return usage_; }

  std::string finish_reasons() const override {
    std::string out;
    for (const Choice& choice : choices_) {
      out += (out.empty() ? "" : ",") + choice.finish_reason;
    }
    return out;
  }

 private:
  void AppendChoice(size_t index, std::string_view text, std::string* out) {
    Choice& choice = choices_[index];
    *out += fmt::format("{{\"index\":{},\"text\":", index);
    json::AppendQuoted(text, out);
    *out += ",\"logprobs\":";
    const bool has_logprobs = options_.want_logprobs && !(stream && choice.logprobs.empty());
    *out += has_logprobs ? json::Write(choice.logprobs.Take()) : "null";
    *out += ",\"finish_reason\":";
    *out += choice.finish_reason.empty() ? "null}" : fmt::format("\"{}\"}}", choice.finish_reason);
  }

  CompletionGenerationOptions options_;
  std::string head_;
  const TextServices* text_;
  std::vector<Choice> choices_;
  Usage usage_;
};

}  // namespace

std::unique_ptr<Generation> MakeCompletionGeneration(CompletionGenerationOptions options,
                                                     const TextServices* text) {
  return std::make_unique<CompletionGeneration>(std::move(options), text);
}

}  // namespace ft::server
