// Python's printf-style formatting: text % values.
#include <cmath>

#include "core/base/errors.h"
#include "core/text/jinja/format.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

bool IsMapping(const Value& value) {
  return value.is(ObjectKind::kDict);
}

// What "%(" looks up in: mappings, and whatever else has items but is no tuple or string.
bool MayBeUnused(const Value& value) {
  return IsMapping(value) || value.is(ObjectKind::kList) || value.is(ObjectKind::kRange) ||
         value.is(ObjectKind::kBytes) || value.is_undefined();
}

class Formatter {
 public:
  Formatter(Interp& interp, const Value& text, const Value& values)
      : interp_(interp), text_(text.text()), is_markup_(text.is_markup()), values_(values) {}

  Result<Value> Run() {
    while (at_ < text_.size()) {
      const size_t percent = text_.find('%', at_);
      if (percent == std::string::npos) {
        out_ += text_.substr(at_);
        break;
      }
      out_ += text_.substr(at_, percent - at_);
      at_ = percent + 1;
      FT_RETURN_IF_ERROR(Convert());
      FT_RETURN_IF_ERROR(interp_.WorkBytes(out_.size() / 64 + 64));
    }
    const bool is_tuple = values_.is(ObjectKind::kTuple);
    const size_t num_values = is_tuple ? values_.As<SequenceObject>()->items.size() : 1;
    if (next_ < num_values && (is_tuple || !MayBeUnused(values_)) && !used_mapping_) {
      return InvalidArgument("not all arguments converted during string formatting");
    }
    return interp_.heap().MakeStr(std::move(out_), is_markup_);
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  Status Convert() {
    FormatSpec spec;
    Value value;
    bool has_value = false;
    if (Peek() == '(') {
      FT_ASSIGN_OR_RETURN(value, Lookup());
      has_value = true;
    }
    bool is_left = false;
    for (;; ++at_) {
      const char c = Peek();
      if (c == '-') {
        is_left = true;
      } else if (c == '+') {
        spec.sign = '+';
      } else if (c == ' ') {
        spec.sign = spec.sign == '+' ? '+' : ' ';
      } else if (c == '#') {
        spec.alternate = true;
      } else if (c == '0') {
        spec.zero_padded = true;
      } else {
        break;
      }
    }
    FT_ASSIGN_OR_RETURN(spec.width, ReadNumber(0));
    if (spec.width < 0) {
      is_left = true;
      spec.width = -spec.width;
    }
    if (Peek() == '.') {
      ++at_;
      FT_ASSIGN_OR_RETURN(const int precision, ReadNumber(0));
      spec.precision = std::max(0, precision);
    }
    while (Peek() == 'h' || Peek() == 'l' || Peek() == 'L') {
      ++at_;
    }
    if (at_ >= text_.size()) {
      return InvalidArgument("incomplete format");
    }
    spec.type = text_[at_++];
    if (spec.type == '%') {
      out_ += '%';
      return {};
    }
    if (!has_value) {
      FT_ASSIGN_OR_RETURN(value, NextValue());
    }
    spec.align = is_left ? '<' : '>';
    return AppendValue(value, spec);
  }

  Result<Value> Lookup() {
    if (!IsMapping(values_) && !values_.is(ObjectKind::kList)) {
      return InvalidArgument("format requires a mapping");
    }
    const size_t start = ++at_;
    int depth = 1;
    for (; at_ < text_.size() && depth > 0; ++at_) {
      depth += text_[at_] == '(' ? 1 : (text_[at_] == ')' ? -1 : 0);
    }
    if (depth > 0) {
      return InvalidArgument("incomplete format key");
    }
    used_mapping_ = true;
    const std::string key = text_.substr(start, at_ - 1 - start);
    const Value* found = IsMapping(values_) ? values_.As<DictObject>()->data.FindStr(key) : nullptr;
    if (found == nullptr) {
      return InvalidArgument("KeyError: {}", ReprText(key));
    }
    return *found;
  }

  Result<int> ReadNumber(int otherwise) {
    if (Peek() == '*') {
      ++at_;
      FT_ASSIGN_OR_RETURN(const Value value, NextValue());
      const std::optional<int64_t> number = ToIndex(value);
      if (!number) {
        return InvalidArgument("* wants int");
      }
      if (std::abs(*number) > kMaxFormatWidth) {
        return ResourceExhausted("a format's width or precision is too large");
      }
      return static_cast<int>(*number);
    }
    int number = otherwise;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      number = number * 10 + (Peek() - '0');
      if (number > kMaxFormatWidth) {
        return ResourceExhausted("a format's width or precision is too large");
      }
    }
    return number;
  }

  Result<Value> NextValue() {
    if (values_.is(ObjectKind::kTuple)) {
      const Values& items = values_.As<SequenceObject>()->items;
      if (next_ >= items.size()) {
        return InvalidArgument("not enough arguments for format string");
      }
      return items[next_++];
    }
    if (next_ > 0 || used_mapping_) {
      return InvalidArgument("not enough arguments for format string");
    }
    ++next_;
    return values_;
  }

  Status AppendValue(const Value& value, FormatSpec spec) {
    const bool is_number_type =
        std::string_view("diuoxXeEfFgG").find(spec.type) != std::string_view::npos;
    if (is_number_type && spec.zero_padded && spec.align != '<') {
      spec.align = '=';
      spec.fill = '0';
    }
    std::string text;
    switch (spec.type) {
      case 's': {
        FT_ASSIGN_OR_RETURN(text, ToStr(interp_, value));
        text = is_markup_ && !value.is_markup() ? EscapeText(text) : text;
        break;
      }
      case 'r':
      case 'a': {
        FT_ASSIGN_OR_RETURN(text, ToRepr(interp_, value));
        text = spec.type == 'a' ? AsciiOnly(text) : text;
        text = is_markup_ ? EscapeText(text) : text;
        break;
      }
      case 'c':
        return AppendChar(value, spec);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return AppendInteger(value, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        if (value.is_undefined()) {
          return UndefinedError(value);
        }
        if (!value.is_number()) {
          return InvalidArgument("must be real number, not {}", TypeName(value));
        }
        FT_ASSIGN_OR_RETURN(const double number, ToDouble(value));
        FT_ASSIGN_OR_RETURN(text, FormatFloat(interp_, number, spec));
        out_ += text;
        return {};
      }
      default:
        return InvalidArgument("unsupported format character '{}'", std::string(1, spec.type));
    }
    FT_ASSIGN_OR_RETURN(text, FormatText(interp_, text, spec));
    out_ += text;
    return {};
  }

  Status AppendChar(const Value& value, FormatSpec spec) {
    if (value.is_str() && value.str().num_chars == 1) {
      spec.precision = -1;
      FT_ASSIGN_OR_RETURN(const std::string text, FormatText(interp_, value.text(), spec));
      out_ += text;
      return {};
    }
    if (!value.is_int_like()) {
      return InvalidArgument("%c requires int or char");
    }
    spec.precision = -1;
    FT_ASSIGN_OR_RETURN(const std::string text, FormatInteger(interp_, value, spec));
    out_ += text;
    return {};
  }

  Status AppendInteger(const Value& given, FormatSpec spec) {
    Value value = given;
    const bool is_decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (value.is_undefined()) {
      return UndefinedError(value);
    }
    if (value.is_float() && is_decimal && std::isfinite(value.as_float())) {
      value = interp_.heap().Integer(BigInt::FromDouble(value.as_float()));
    }
    if (!value.is_int_like()) {
      return InvalidArgument("%{} format: a real number is required, not {}",
                             std::string(1, spec.type), TypeName(value));
    }
    spec.type = is_decimal ? 'd' : spec.type;
    const int precision = spec.precision;
    if (precision >= 0) {
      // Digits at least; the width then pads with spaces around.
      FormatSpec digits_spec = spec;
      digits_spec.precision = -1;
      digits_spec.fill = '0';
      digits_spec.align = '=';
      const bool has_sign = ToBigInt(value).is_negative() || spec.sign != '-';
      digits_spec.width = precision + (has_sign ? 1 : 0);
      FT_ASSIGN_OR_RETURN(const std::string digits, FormatInteger(interp_, value, digits_spec));
      spec.precision = -1;
      spec.align = spec.align == '=' ? '>' : spec.align;
      spec.fill = ' ';
      FT_ASSIGN_OR_RETURN(const std::string text, FormatText(interp_, digits, spec));
      out_ += text;
      return {};
    }
    FT_ASSIGN_OR_RETURN(const std::string text, FormatInteger(interp_, value, spec));
    out_ += text;
    return {};
  }

  static std::string AsciiOnly(std::string_view text) {
    std::string out;
    for (const char32_t c : Decode(text)) {
      out += c < 0x80      ? std::string(1, static_cast<char>(c))
             : c < 0x100   ? fmt::format("\\x{:02x}", static_cast<uint32_t>(c))
             : c < 0x10000 ? fmt::format("\\u{:04x}", static_cast<uint32_t>(c))
                           : fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
    }
    return out;
  }

  Interp& interp_;
  const std::string& text_;
  const bool is_markup_;
  const Value& values_;
  std::string out_;
  size_t at_ = 0;
  size_t next_ = 0;
  bool used_mapping_ = false;
};

}  // namespace

Result<Value> PercentFormat(Interp& interp, const Value& text, const Value& values) {
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.text().size()));
  return Formatter(interp, text, values).Run();
}

}  // namespace ft::jinja
