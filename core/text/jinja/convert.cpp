// json::Value to values of a template.
#include "core/base/utf8.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"

namespace ft::jinja {
namespace {

Value StringFromJson(Interp& interp, const std::string& text) {
  return interp.heap().Str(IsValidUtf8(text) ? text : ReplaceInvalidUtf8(text));
}

// `1` is an integer, `1.0` and `1e3` are floats, as in Python's json.
Value NumberFromJson(Interp& interp, const json::Number& number) {
  if (number.is_integer) {
    if (const auto value = ParseInt(number.text, 10)) {
      return interp.heap().Integer(*value);
    }
  }
  return Value::Float(ParseFloat(number.text).value_or(0));
}

}  // namespace

Value FromJson(Interp& interp, const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return Value::None();
    case json::Kind::kBool:
      return Value::Bool(value.as_bool());
    case json::Kind::kNumber:
      return NumberFromJson(interp, value.as_number());
    case json::Kind::kString:
      return StringFromJson(interp, value.as_string());
    case json::Kind::kArray: {
      Values items;
      items.reserve(value.as_array().size());
      for (const json::Value& item : value.as_array()) {
        items.push_back(FromJson(interp, item));
      }
      return interp.heap().List(std::move(items));
    }
    case json::Kind::kObject: {
      auto* dict = interp.heap().New<DictObject>();
      interp.heap().Count(value.as_object().size() * sizeof(DictData::Entry));
      for (const json::Member& member : value.as_object()) {
        dict->data.SetStr(StringFromJson(interp, member.key), FromJson(interp, member.value));
      }
      return Value::Obj(dict);
    }
  }
  return Value::None();
}

}  // namespace ft::jinja
