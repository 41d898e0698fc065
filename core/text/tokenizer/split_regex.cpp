// SplitRegex over PCRE2's JIT. PCRE2 sees kinds (one byte per character), never UTF-8.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/text/tokenizer/split_regex.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <pcre2.h>

#include "core/base/errors.h"
#include "core/text/tokenizer/split_pattern.h"

namespace ft::text {
namespace {

// The published patterns need a few hundred bytes of JIT stack and steps in proportion to the text;
// the limits are for hostile ones.
constexpr size_t kJitStackBytes = size_t{32} << 10;
constexpr size_t kMaxJitStackBytes = size_t{64} << 20;
constexpr uint32_t kMatchLimit = 20'000'000;
constexpr uint32_t kHeapLimitKib = 64 << 10;

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};

struct FreeCompileContext {
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

struct FreeJitStack {
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

std::string PcreMessage(int code) {
  std::array<PCRE2_UCHAR, 160> buffer = {};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return std::string(buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0'));
}

PCRE2_SPTR Units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());  // NOLINT: PCRE2 reads bytes
}

// Walks a text to turn numbers of characters, which ascend, into numbers of bytes.
class ByteCursor {
 public:
  ByteCursor(std::string_view text, bool is_ascii) : text_(text), is_ascii_(is_ascii) {}

  uint32_t BytesOf(size_t character) {
    if (is_ascii_) {
      return static_cast<uint32_t>(character);
    }
    for (; character_ < character; ++character_) {
      const auto lead = static_cast<uint8_t>(text_[byte_]);
      byte_ += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    }
    return static_cast<uint32_t>(byte_);
  }

 private:
  std::string_view text_;
  bool is_ascii_;
  size_t character_ = 0;
  size_t byte_ = 0;
};

void FindLiteral(std::string_view literal, std::string_view text, std::vector<TextSpan>* matches) {
  for (size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, at + literal.size())) {
    matches->push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + literal.size())});
  }
}

}  // namespace

struct RegexScratch::Impl {
  std::unique_ptr<pcre2_match_data, FreeMatchData> data;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context;
  std::unique_ptr<pcre2_jit_stack, FreeJitStack> stack;
  std::string kinds;
};

RegexScratch::RegexScratch() : impl_(std::make_unique<Impl>()) {
  impl_->data.reset(pcre2_match_data_create(1, nullptr));
  impl_->context.reset(pcre2_match_context_create(nullptr));
  impl_->stack.reset(pcre2_jit_stack_create(kJitStackBytes, kMaxJitStackBytes, nullptr));
  FT_CHECK(impl_->data != nullptr && impl_->context != nullptr);
  pcre2_set_match_limit(impl_->context.get(), kMatchLimit);
  pcre2_set_heap_limit(impl_->context.get(), kHeapLimitKib);
  pcre2_jit_stack_assign(impl_->context.get(), nullptr, impl_->stack.get());
}

RegexScratch::~RegexScratch() = default;

struct SplitRegex::Impl {
  std::string literal;  // if not empty, the rest is unused
  std::unique_ptr<pcre2_code, FreeCode> code;
  std::optional<KindTable> kinds;
};

SplitRegex::SplitRegex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SplitRegex::~SplitRegex() = default;
SplitRegex::SplitRegex(SplitRegex&&) noexcept = default;
SplitRegex& SplitRegex::operator=(SplitRegex&&) noexcept = default;

SplitRegex SplitRegex::Literal(std::string_view literal) {
  FT_CHECK(!literal.empty());
  auto impl = std::make_unique<Impl>();
  impl->literal = literal;
  return SplitRegex(std::move(impl));
}

Result<SplitRegex> SplitRegex::Compile(std::string_view pattern) {
  Result<TranslatedPattern> translated = TranslatePattern(pattern);
  if (!translated.ok()) {
    return translated.status().WithContext(fmt::format("pattern \"{}\"", pattern.substr(0, 200)));
  }
  const std::unique_ptr<pcre2_compile_context, FreeCompileContext> context(
      pcre2_compile_context_create(nullptr));
  int code = 0;
  PCRE2_SIZE offset = 0;
  auto impl = std::make_unique<Impl>();
  const std::string& pcre = translated->pcre;
  impl->code.reset(pcre2_compile(Units(pcre), pcre.size(), PCRE2_NEVER_UTF | PCRE2_NEVER_UCP, &code,
                                 &offset, context.get()));
  if (impl->code == nullptr) {
    return Unimplemented("pattern \"{}\": {}", pattern.substr(0, 200), PcreMessage(code));
  }
  // Without a JIT on this machine, pcre2_match interprets.
  static_cast<void>(pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE));
  impl->kinds = std::move(translated->kinds);
  return SplitRegex(std::move(impl));
}

Status SplitRegex::Find(std::string_view text,
                        RegexScratch* scratch,
                        std::vector<TextSpan>* matches) const {
  matches->clear();
  if (!impl_->literal.empty()) {
    FindLiteral(impl_->literal, text, matches);
    return Status();
  }
  RegexScratch::Impl& memory = *scratch->impl();
  const bool is_ascii = impl_->kinds->Map(text, &memory.kinds);
  const std::string& kinds = memory.kinds;
  ByteCursor cursor(text, is_ascii);
  const PCRE2_SIZE* const ovector = pcre2_get_ovector_pointer(memory.data.get());
  size_t at = 0;
  std::optional<size_t> last_end;
  while (at <= kinds.size()) {
    const int found = pcre2_match(impl_->code.get(), Units(kinds), kinds.size(), at, 0,
                                  memory.data.get(), memory.context.get());
    if (found == PCRE2_ERROR_NOMATCH) {
      break;
    }
    if (found < 0) {
      return ResourceExhausted("the tokenizer's split pattern gave up on this text: {}",
                               PcreMessage(found));
    }
    const size_t begin = ovector[0];
    const size_t end = ovector[1];
    if (begin == end && last_end == end) {  // no empty match right behind another match
      at = end + 1;
      continue;
    }
    const uint32_t begin_byte = cursor.BytesOf(begin);
    matches->push_back({begin_byte, cursor.BytesOf(end)});
    at = end;
    last_end = end;
  }
  return Status();
}

}  // namespace ft::text
