// str() and repr() of Values, escaping for HTML, and the messages of undefined values.
#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

// Items in brackets; `one_suffix` follows a single item (a tuple's comma).
Status AppendItems(Interp& interp, const Values& items, std::string* out, int depth) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) {
      *out += ", ";
    }
    FT_RETURN_IF_ERROR(AppendRepr(interp, items[i], out, depth + 1));
  }
  return {};
}

Status AppendDict(Interp& interp, const DictData& data, std::string* out, int depth) {
  *out += '{';
  bool is_first = true;
  for (const DictData::Entry& entry : data.entries()) {
    if (!is_first) {
      *out += ", ";
    }
    is_first = false;
    FT_RETURN_IF_ERROR(AppendRepr(interp, entry.key, out, depth + 1));
    *out += ": ";
    FT_RETURN_IF_ERROR(AppendRepr(interp, entry.value, out, depth + 1));
  }
  *out += '}';
  return {};
}

Status AppendView(Interp& interp, const DictViewObject& view, std::string* out, int depth) {
  *out += TypeName(Value::Obj(const_cast<DictViewObject*>(&view)));  // NOLINT: only read
  *out += "([";
  bool is_first = true;
  for (const DictData::Entry& entry : view.dict->data.entries()) {
    if (!is_first) {
      *out += ", ";
    }
    is_first = false;
    const bool is_item = view.view == DictViewKind::kItems;
    *out += is_item ? "(" : "";
    if (view.view != DictViewKind::kValues) {
      FT_RETURN_IF_ERROR(AppendRepr(interp, entry.key, out, depth + 1));
    }
    *out += is_item ? ", " : "";
    if (view.view != DictViewKind::kKeys) {
      FT_RETURN_IF_ERROR(AppendRepr(interp, entry.value, out, depth + 1));
    }
    *out += is_item ? ")" : "";
  }
  *out += "])";
  return {};
}

std::string BytesRepr(std::string_view bytes) {
  const char quote =
      bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos
          ? '"'
          : '\'';
  std::string out = "b";
  out += quote;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\t' || c == '\n' || c == '\r') {
      out += c == '\t' ? "\\t" : (c == '\n' ? "\\n" : "\\r");
    } else if (byte < 0x20 || byte >= 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

std::string RangeRepr(const RangeObject& range) {
  return range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                         : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
}

Status AppendObject(Interp& interp, const Value& value, std::string* out, int depth) {
  switch (value.object()->kind) {
    case ObjectKind::kUndefined:
      *out += "Undefined";
      return {};
    case ObjectKind::kBigInt: {
      FT_ASSIGN_OR_RETURN(const std::string digits, IntToString(value));
      *out += digits;
      return {};
    }
    case ObjectKind::kBytes:
      *out += BytesRepr(value.As<BytesObject>()->bytes);
      return {};
    case ObjectKind::kList:
      *out += '[';
      FT_RETURN_IF_ERROR(AppendItems(interp, value.As<SequenceObject>()->items, out, depth));
      *out += ']';
      return {};
    case ObjectKind::kTuple: {
      const Values& items = value.As<SequenceObject>()->items;
      *out += '(';
      FT_RETURN_IF_ERROR(AppendItems(interp, items, out, depth));
      *out += items.size() == 1 ? ",)" : ")";
      return {};
    }
    case ObjectKind::kDict:
      return AppendDict(interp, value.As<DictObject>()->data, out, depth);
    case ObjectKind::kDictView:
      return AppendView(interp, *value.As<DictViewObject>(), out, depth);
    case ObjectKind::kRange:
      *out += RangeRepr(*value.As<RangeObject>());
      return {};
    case ObjectKind::kNamespace:
      *out += "<Namespace ";
      FT_RETURN_IF_ERROR(AppendDict(interp, value.As<NamespaceObject>()->attributes, out, depth));
      *out += '>';
      return {};
    case ObjectKind::kMacro:
      *out += interp.MacroRepr(value);
      return {};
    case ObjectKind::kLoop: {
      FT_ASSIGN_OR_RETURN(const std::string text, interp.LoopRepr(value));
      *out += text;
      return {};
    }
    case ObjectKind::kTemplateRef:
      *out += "<TemplateReference None>";
      return {};
    case ObjectKind::kFunction: {
      const auto* function = value.As<FunctionObject>();
      *out += function->repr.empty() ? fmt::format("<{} {}>", function->type_name, function->name)
                                     : function->repr;
      return {};
    }
    case ObjectKind::kIterator:
    case ObjectKind::kCycler:
    case ObjectKind::kJoiner:
    case ObjectKind::kBlockRef:
    case ObjectKind::kSlice:
      *out += fmt::format("<{} object>", TypeName(value));
      return {};
  }
  return {};
}

}  // namespace

std::string ReprText(std::string_view text) {
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"'
                                                                                            : '\'';
  std::string out(1, quote);
  for (const char32_t c : Decode(text)) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\t' || c == '\n' || c == '\r') {
      out += c == '\t' ? "\\t" : (c == '\n' ? "\\n" : "\\r");
    } else if (IsPrintable(c)) {
      out += Encode(std::u32string_view(&c, 1));
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
    }
  }
  return out + quote;
}

Status AppendRepr(Interp& interp, const Value& value, std::string* out, int depth) {
  if (depth > kMaxValueDepth) {
    return ResourceExhausted("values are nested too deeply to print");
  }
  if (out->size() > interp.max_string_bytes()) {
    return ResourceExhausted("a printed value is longer than {} bytes", interp.max_string_bytes());
  }
  switch (value.type()) {
    case Type::kMissing:
    case Type::kNone:
      *out += "None";
      return {};
    case Type::kBool:
      *out += value.as_bool() ? "True" : "False";
      return {};
    case Type::kInt:
      *out += std::to_string(value.as_int());
      return {};
    case Type::kFloat:
      *out += FloatRepr(value.as_float());
      return {};
    case Type::kStr:
      FT_RETURN_IF_ERROR(interp.WorkBytes(value.text().size()));
      *out += value.is_markup() ? "Markup(" + ReprText(value.text()) + ")" : ReprText(value.text());
      return {};
    case Type::kObject:
      break;
  }
  FT_RETURN_IF_ERROR(interp.Enter());
  return AppendObject(interp, value, out, depth);
}

Status AppendStr(Interp& interp, const Value& value, std::string* out) {
  if (value.is_str()) {
    FT_RETURN_IF_ERROR(interp.WorkBytes(value.text().size()));
    *out += value.text();
    return {};
  }
  if (value.is_undefined()) {
    return {};
  }
  if (value.is(ObjectKind::kTuple)) {
    return AppendRepr(interp, value, out);
  }
  return AppendRepr(interp, value, out);
}

Result<std::string> ToStr(Interp& interp, const Value& value) {
  std::string out;
  FT_RETURN_IF_ERROR(AppendStr(interp, value, &out));
  return out;
}

Result<std::string> ToRepr(Interp& interp, const Value& value) {
  std::string out;
  FT_RETURN_IF_ERROR(AppendRepr(interp, value, &out));
  return out;
}

std::string EscapeText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Result<Value> Escape(Interp& interp, const Value& value) {
  if (value.is_markup()) {
    return value;
  }
  FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, value));
  FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() * 5));
  return interp.heap().Markup(EscapeText(text));
}

std::string UndefinedMessage(const UndefinedObject& undefined) {
  if (!undefined.hint.empty()) {
    return undefined.hint;
  }
  const std::string name = undefined.name.is_str()         ? ReprText(undefined.name.text())
                           : undefined.name.is_small_int() ? std::to_string(undefined.name.as_int())
                                                           : TypeName(undefined.name);
  if (undefined.owner.is_missing()) {
    return name + " is undefined";
  }
  const std::string owner =
      undefined.owner.is_none() ? "None" : TypeName(undefined.owner) + " object";
  if (!undefined.name.is_str()) {
    return owner + " has no element " + name;
  }
  return ReprText(owner) + " has no attribute " + name;
}

Status UndefinedError(const Value& undefined) {
  return InvalidArgument("{}", UndefinedMessage(*undefined.As<UndefinedObject>()));
}

}  // namespace ft::jinja
