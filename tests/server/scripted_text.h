// A model's text side without a model: tokens are bytes, and five markers. For tests of the wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/server/text_services.h"

namespace ft::server {

inline constexpr int32_t kThinkOpen = 256;
inline constexpr int32_t kThinkClose = 257;
inline constexpr int32_t kCallOpen = 258;
inline constexpr int32_t kCallClose = 259;
inline constexpr int32_t kEndOfTurn = 260;
inline constexpr int32_t kScriptedVocab = 261;

/// Bytes and markers of `text`: "<think>" is one token.
std::vector<int32_t> ScriptedEncode(std::string_view text);

/// As an engine would send them: one per id, text with the byte that completes a character.
std::vector<TokenOutput> ScriptedTokens(std::string_view text);

/// Calls are `<tool_call>{"name":…,"arguments":…}</tool_call>`; thoughts `<think>…</think>`. The
/// template writes `[role]content` per message, calls and tools as JSON, and at the end the
/// assistant's turn with an open thought (enable_thinking true), a closed one (false) or none.
class ScriptedText : public TextServices {
 public:
  Result<std::string> RenderChat(const ChatPrompt& prompt) const override;
  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      bool add_special_tokens) const override;
  std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const override;
  std::string TokenBytes(int32_t id) const override;

  int32_t vocab_size() const override { return kScriptedVocab; }

  Result<NewReplyParser> MakeReplyParser(const ReplyParserOptions& options) const override;
};

}  // namespace ft::server
