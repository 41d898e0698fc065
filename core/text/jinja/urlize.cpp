#define PCRE2_CODE_UNIT_WIDTH 8

#include "core/text/jinja/urlize.h"

#include <algorithm>
#include <memory>

#include <pcre2.h>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

// The pattern of jinja2 3.1.6, for pcre2.
constexpr std::string_view kHttp =
    R"(^((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59}))"
    R"(|([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil))"
    R"(|(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}\]))))"
    R"((?::[\d]{1,5})?(?:[/?#]\S*)?$)";
constexpr std::string_view kEmail = R"(^\S+@\w[\w.-]*\.\w+$)";
constexpr std::string_view kScheme = R"(^([\w.+-]{2,}:(/){0,2})$)";

// Steps of matching one word, at most: the patterns can backtrack.
constexpr uint32_t kMatchLimit = 100'000;

class Regex {
 public:
  explicit Regex(std::string_view pattern) {
    int error = 0;
    size_t offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),  // NOLINT: bytes
                              pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_CASELESS | PCRE2_DOLLAR_ENDONLY, &error,
                              &offset, nullptr));
    FT_CHECK(code_ != nullptr);
    data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    context_.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context_.get(), kMatchLimit);
  }

  bool Matches(std::string_view text) const {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),  // NOLINT: bytes
                       text.size(), 0, PCRE2_NO_UTF_CHECK, data_.get(), context_.get()) > 0;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }

    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }

    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  };

  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> data_;
  std::unique_ptr<pcre2_match_context, Free> context_;
};

size_t CountOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

class Linker {
 public:
  explicit Linker(const UrlizeOptions& options) : options_(options), http_(kHttp), email_(kEmail) {
    if (!options.rel.empty()) {
      attributes_ += " rel=\"" + EscapeText(options.rel) + "\"";
    }
    if (!options.target.empty()) {
      attributes_ += " target=\"" + EscapeText(options.target) + "\"";
    }
  }

  // A word without white space: what is before the address, the address, what is behind it.
  std::string Word(std::string_view word) const {
    size_t head = 0;
    for (size_t step = 1; step > 0; head += step) {
      const std::string_view rest = word.substr(head);
      step = rest.starts_with('(') || rest.starts_with('<') ? 1 : rest.starts_with("&lt;") ? 4 : 0;
    }
    std::string middle(word.substr(head));
    std::string tail = TakeTail(&middle);
    Balance(&middle, &tail);
    return std::string(word.substr(0, head)) + Link(middle) + tail;
  }

 private:
  static std::string TakeTail(std::string* middle) {
    std::string tail;
    for (;;) {
      const bool is_entity = middle->ends_with("&gt;");
      const bool is_mark =
          !middle->empty() && std::string_view(")>.,\n").find(middle->back()) != std::string::npos;
      if (!is_entity && !is_mark) {
        return tail;
      }
      const size_t size = is_entity ? 4 : 1;
      tail.insert(0, middle->substr(middle->size() - size));
      middle->resize(middle->size() - size);
    }
  }

  static void Balance(std::string* middle, std::string* tail) {
    static constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
        {"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}};
    for (const auto& [open, close] : kPairs) {
      const size_t num_open = CountOf(*middle, open);
      if (num_open <= CountOf(*middle, close)) {
        continue;
      }
      const size_t num_moved = std::min(num_open, CountOf(*tail, close));
      for (size_t i = 0; i < num_moved; ++i) {
        const size_t end = tail->find(close) + close.size();
        *middle += tail->substr(0, end);
        tail->erase(0, end);
      }
    }
  }

  std::string Shown(const std::string& address) const {
    const std::u32string chars = Decode(address);
    if (options_.trim_limit < 0 || chars.size() <= static_cast<size_t>(options_.trim_limit)) {
      return address;
    }
    return Encode(chars.substr(0, static_cast<size_t>(options_.trim_limit))) + "...";
  }

  std::string Link(const std::string& middle) const {
    if (http_.Matches(middle)) {
      const bool has_scheme = middle.starts_with("https://") || middle.starts_with("http://");
      return "<a href=\"" + std::string(has_scheme ? "" : "https://") + middle + "\"" +
             attributes_ + ">" + Shown(middle) + "</a>";
    }
    if (middle.starts_with("mailto:") && email_.Matches(middle.substr(7))) {
      return "<a href=\"" + middle + "\">" + middle.substr(7) + "</a>";
    }
    if (middle.find('@') != std::string::npos && !middle.starts_with("www.") &&
        !middle.starts_with('@') && middle.find(':') == std::string::npos &&
        email_.Matches(middle)) {
      return "<a href=\"mailto:" + middle + "\">" + middle + "</a>";
    }
    for (const std::string& scheme : options_.extra_schemes) {
      if (middle != scheme && middle.starts_with(scheme)) {
        std::string link = "<a href=\"";
        link.append(middle).append("\"").append(attributes_).append(">").append(middle);
        return link.append("</a>");
      }
    }
    return middle;
  }

  const UrlizeOptions& options_;
  const Regex http_;
  const Regex email_;
  std::string attributes_;
};

}  // namespace

Result<std::string> Urlize(std::string_view escaped, const UrlizeOptions& options) {
  const Linker linker(options);
  std::string out;
  for (size_t at = 0; at < escaped.size();) {
    size_t end = at;
    bool is_space = false;
    while (end < escaped.size()) {
      size_t next = end;
      const bool is_space_here = IsSpace(static_cast<char32_t>(DecodeUtf8(escaped, &next)));
      if (end != at && is_space_here != is_space) {
        break;
      }
      is_space = is_space_here;
      end = next;
    }
    const std::string_view part = escaped.substr(at, end - at);
    out += is_space ? std::string(part) : linker.Word(part);
    at = end;
  }
  return out;
}

bool IsUriScheme(std::string_view scheme) {
  return Regex(kScheme).Matches(scheme);
}

}  // namespace ft::jinja
