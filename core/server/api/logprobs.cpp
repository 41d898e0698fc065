#include "core/server/api/logprobs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace ft::server {
namespace {

// JSON has no infinity; vLLM and OpenAI send this for "cannot be chosen".
constexpr double kLowestLogprob = -9999.0;

double Finite(double logprob) {
  return std::isnan(logprob) ? kLowestLogprob : std::max(logprob, kLowestLogprob);
}

json::Value ChatEntry(int32_t id, double logprob, const TextServices& text) {
  const std::string bytes = text.TokenBytes(id);
  json::Value numbers = json::Value::MakeArray();
  for (const char byte : bytes) {
    numbers.Append(static_cast<int>(static_cast<unsigned char>(byte)));
  }
  json::Value entry = json::Value::MakeObject();
  entry.Set("token", ReplaceInvalidUtf8(bytes));
  entry.Set("logprob", Finite(logprob));
  entry.Set("bytes", std::move(numbers));
  return entry;
}

// A token that is part of a character is written as OpenAI does: "bytes:\xe4\xbd".
std::string CompletionTokenText(int32_t id, const TextServices& text) {
  std::string bytes = text.TokenBytes(id);
  if (IsValidUtf8(bytes)) {
    return bytes;
  }
  std::string out = "bytes:";
  for (const char byte : bytes) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return out;
}

int64_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;  // not a continuation byte
  });
}

}  // namespace

json::Value ChatLogprob(const TokenOutput& token, const TextServices& text) {
  json::Value entry = ChatEntry(token.token_id, token.logprob, text);
  json::Value top = json::Value::MakeArray();
  for (const TokenLogprob& other : token.top) {
    top.Append(ChatEntry(other.token_id, other.logprob, text));
  }
  entry.Set("top_logprobs", std::move(top));
  return entry;
}

void CompletionLogprobs::Add(const TokenOutput& token, const TextServices& text) {
  tokens_.emplace_back(CompletionTokenText(token.token_id, text));
  logprobs_.emplace_back(Finite(token.logprob));
  json::Value top = json::Value::MakeObject();
  for (const TokenLogprob& other : token.top) {
    const std::string name = CompletionTokenText(other.token_id, text);
    if (top.Find(name) == nullptr) {  // two tokens may be spelled alike: the better one stays
      top.Set(name, Finite(other.logprob));
    }
  }
  top_.push_back(std::move(top));
  offsets_.emplace_back(offset_);
  offset_ += CountCharacters(text.TokenBytes(token.token_id));
}

json::Value CompletionLogprobs::Take() {
  json::Value out = json::Value::MakeObject();
  out.Set("tokens", std::exchange(tokens_, {}));
  out.Set("token_logprobs", std::exchange(logprobs_, {}));
  out.Set("top_logprobs", std::exchange(top_, {}));
  out.Set("text_offset", std::exchange(offsets_, {}));
  return out;
}

}  // namespace ft::server
