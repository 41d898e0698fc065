#include "core/checkpoint/module_pattern.h"

#include <array>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/errors.h"

namespace ft {
namespace {

constexpr std::string_view kRegexPrefix = "re:";
constexpr size_t kMaxPatternBytes = 4096;
constexpr uint32_t kMatchLimit = 200'000;  // a pattern for a name of 100 letters needs thousands
constexpr uint32_t kHeapLimitKib = 1024;

// '*' stands for any letters. Greedy with one point to return to: at most |pattern| · |text| steps.
bool WildcardMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  for (size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

bool NameMatches(std::string_view name, std::string_view module) {
  if (name.empty() || name.size() > module.size()) {
    return false;
  }
  if (name.size() == module.size()) {
    return name == module;
  }
  const bool is_parent = module.starts_with(name) && module[name.size()] == '.';
  const bool is_end = module.ends_with(name) && module[module.size() - name.size() - 1] == '.';
  return is_parent || is_end;
}

}  // namespace

struct ModulePattern::Regex {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;

  Regex() = default;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  ~Regex() {
    pcre2_code_free(code);
    pcre2_match_context_free(context);
  }
};

ModulePattern::ModulePattern(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

ModulePattern::ModulePattern(ModulePattern&&) noexcept = default;
ModulePattern& ModulePattern::operator=(ModulePattern&&) noexcept = default;
ModulePattern::~ModulePattern() = default;

Result<ModulePattern> ModulePattern::Compile(std::string_view text) {
  if (text.size() > kMaxPatternBytes) {
    return InvalidArgument("a module pattern of {} bytes; ft reads at most {}", text.size(),
                           kMaxPatternBytes);
  }
  if (!text.starts_with(kRegexPrefix)) {
    const bool is_wildcard = text.find('*') != std::string_view::npos;
    return ModulePattern(is_wildcard ? Kind::kWildcard : Kind::kName, std::string(text));
  }
  ModulePattern pattern(Kind::kRegex, std::string(text.substr(kRegexPrefix.size())));
  pattern.regex_ = std::make_unique<Regex>();
  int error = 0;
  PCRE2_SIZE error_at = 0;
  // re.match anchors at the start. The names are ASCII; a pattern must not switch UTF on.
  pattern.regex_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.text_.data()), pattern.text_.size(),
                    PCRE2_ANCHORED | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C,
                    &error, &error_at, nullptr);
  if (pattern.regex_->code == nullptr) {
    std::array<PCRE2_UCHAR, 128> message = {};
    pcre2_get_error_message(error, message.data(), message.size());
    return InvalidArgument("the module pattern \"{}\" does not compile at byte {}: {}", text,
                           error_at + kRegexPrefix.size(),
                           reinterpret_cast<const char*>(message.data()));
  }
  pattern.regex_->context = pcre2_match_context_create(nullptr);
  FT_CHECK(pattern.regex_->context != nullptr);
  pcre2_set_match_limit(pattern.regex_->context, kMatchLimit);
  pcre2_set_heap_limit(pattern.regex_->context, kHeapLimitKib);
  return pattern;
}

Result<bool> ModulePattern::Matches(std::string_view module) const {
  if (kind_ == Kind::kName) {
    return NameMatches(text_, module);
  }
  if (kind_ == Kind::kWildcard) {
    return WildcardMatches(text_, module) || WildcardMatches(text_ + ".*", module);
  }
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  FT_CHECK(match != nullptr);
  const int found = pcre2_match(regex_->code, reinterpret_cast<PCRE2_SPTR>(module.data()),
                                module.size(), 0, 0, match, regex_->context);
  pcre2_match_data_free(match);
  if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
    return ResourceExhausted("the module pattern \"re:{}\" takes too long on \"{}\"", text_,
                             module);
  }
  return found >= 0;
}

}  // namespace ft
