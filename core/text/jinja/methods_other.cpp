// Methods of lists, tuples, mappings, ranges, bytes and numbers. Those that change a value do not
// exist here: the sandbox hides them (attributes.cpp).
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

Result<Value> CountMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("count", args, {"value"}, {.num_required = 1, .num_positional_only = 1}));
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, self));
  int64_t count = 0;
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, item, bound.at(0)));
    count += is_equal ? 1 : 0;
  }
  return Value::Int(count);
}

Result<Value> IndexMethod(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("index", args, {"value", "start", "stop"},
                                      {.num_required = 1, .num_positional_only = 3}));
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, self));
  const auto size = static_cast<int64_t>(items.size());
  FT_ASSIGN_OR_RETURN(int64_t start, bound.Int(1, 0));
  FT_ASSIGN_OR_RETURN(int64_t stop, bound.Int(2, size));
  start = start < 0 ? std::max<int64_t>(0, start + size) : start;
  stop = std::min(stop < 0 ? stop + size : stop, size);
  for (int64_t i = start; i < stop; ++i) {
    FT_ASSIGN_OR_RETURN(const bool is_equal,
                        Equal(interp, items[static_cast<size_t>(i)], bound.at(0)));
    if (is_equal) {
      return Value::Int(i);
    }
  }
  return InvalidArgument("value is not in {}", TypeName(self));
}

Result<Value> ListCopy(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("copy", args));
  FT_ASSIGN_OR_RETURN(Values items, ToValues(interp, self));
  return interp.heap().List(std::move(items));
}

Result<Value> DictCopy(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("copy", args));
  const DictData& data = self.As<DictObject>()->data;
  FT_RETURN_IF_ERROR(interp.WorkBytes(data.size() * sizeof(DictData::Entry)));
  auto* copy = interp.heap().New<DictObject>();
  interp.heap().Count(data.size() * sizeof(DictData::Entry));
  copy->data = data;
  return Value::Obj(copy);
}

Result<Value> DictGet(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("get", args, {"key", "default"},
                                      {.num_required = 1, .num_positional_only = 2}));
  FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(bound.at(0)));
  const Value* found = self.As<DictObject>()->data.Find(bound.at(0), hash);
  return found != nullptr ? *found : bound.get(1, Value::None());
}

template <DictViewKind kView>
Result<Value> DictView(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("dict view", args));
  return Value::Obj(interp.heap().New<DictViewObject>(self.As<DictObject>(), kView));
}

Result<Value> DictFromKeys(Interp& interp, const Value& /*self*/, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("fromkeys", args, {"iterable", "value"},
                                      {.num_required = 1, .num_positional_only = 2}));
  FT_ASSIGN_OR_RETURN(const Values keys, ToValues(interp, bound.at(0)));
  auto* dict = interp.heap().New<DictObject>();
  interp.heap().Count(keys.size() * sizeof(DictData::Entry));
  for (const Value& key : keys) {
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(key));
    dict->data.Set(key, hash, bound.get(1, Value::None()));
  }
  return Value::Obj(dict);
}

Result<Value> BytesDecode(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("decode", args, {"encoding", "errors"}, {}));
  const std::string& bytes = self.As<BytesObject>()->bytes;
  const std::string encoding = bound.has(0) && bound.at(0).is_str() ? bound.at(0).text() : "utf-8";
  if (encoding != "utf-8" && encoding != "utf8" && encoding != "ascii") {
    return Unimplemented("the encoding '{}' is not supported in templates", encoding);
  }
  if (!IsValidUtf8(bytes)) {
    return InvalidArgument("'utf-8' codec can't decode the bytes");
  }
  return interp.heap().Str(bytes);
}

Result<Value> BytesHex(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("hex", args));
  std::string out;
  for (const char c : self.As<BytesObject>()->bytes) {
    out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  }
  return interp.heap().Str(std::move(out));
}

Result<Value> ViewIsDisjoint(Interp& interp, const Value& self, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("isdisjoint", args, {"other"},
                                      {.num_required = 1, .num_positional_only = 1}));
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, bound.at(0)));
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(const bool is_in, Contains(interp, self, item));
    if (is_in) {
      return Value::Bool(/*flag=*/false);
    }
  }
  return Value::Bool(/*flag=*/true);
}

Result<Value> BitLength(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("bit_length", args));
  return Value::Int(static_cast<int64_t>(ToBigInt(self).BitLength()));
}

Result<Value> BitCount(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("bit_count", args));
  const std::string bits = ToBigInt(self).ToString(2);
  return Value::Int(std::count(bits.begin(), bits.end(), '1'));
}

Result<Value> Conjugate(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("conjugate", args));
  return Positive(interp, self);
}

Result<Value> IsInteger(Interp& /*interp*/, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("is_integer", args));
  const double value = self.as_float();
  return Value::Bool(std::isfinite(value) && std::floor(value) == value);
}

Result<Value> IntRatio(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("as_integer_ratio", args));
  FT_ASSIGN_OR_RETURN(const Value whole, Positive(interp, self));
  return interp.heap().Tuple({whole, Value::Int(1)});
}

Result<Value> FloatRatio(Interp& interp, const Value& self, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("as_integer_ratio", args));
  const double value = self.as_float();
  if (!std::isfinite(value)) {
    return InvalidArgument("cannot convert {} to integer ratio", FloatRepr(value));
  }
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  while (mantissa != std::floor(mantissa)) {
    mantissa *= 2;
    --exponent;
  }
  const BigInt numerator = BigInt::FromDouble(mantissa);
  return interp.heap().Tuple(
      {interp.heap().Integer(exponent > 0 ? numerator.Shifted(exponent) : numerator),
       interp.heap().Integer(BigInt(1).Shifted(exponent < 0 ? -exponent : 0))});
}

FilterFunction Find(std::initializer_list<NamedFilter> methods, std::string_view name) {
  for (const NamedFilter& method : methods) {
    if (method.name == name) {
      return method.function;
    }
  }
  return nullptr;
}

}  // namespace

FilterFunction FindContainerMethod(const Value& owner, std::string_view name) {
  switch (owner.object()->kind) {
    case ObjectKind::kList:
      return Find({{"copy", ListCopy}, {"count", CountMethod}, {"index", IndexMethod}}, name);
    case ObjectKind::kTuple:
    case ObjectKind::kRange:
      return Find({{"count", CountMethod}, {"index", IndexMethod}}, name);
    case ObjectKind::kDict:
      return Find({{"get", DictGet},
                   {"items", DictView<DictViewKind::kItems>},
                   {"keys", DictView<DictViewKind::kKeys>},
                   {"values", DictView<DictViewKind::kValues>},
                   {"copy", DictCopy},
                   {"fromkeys", DictFromKeys}},
                  name);
    case ObjectKind::kDictView:
      return owner.As<DictViewObject>()->view == DictViewKind::kValues
                 ? nullptr
                 : Find({{"isdisjoint", ViewIsDisjoint}}, name);
    case ObjectKind::kBytes:
      return Find({{"decode", BytesDecode}, {"hex", BytesHex}}, name);
    case ObjectKind::kFunction:
      // The global `dict` has this one method.
      return owner.As<FunctionObject>()->name == "dict" ? Find({{"fromkeys", DictFromKeys}}, name)
                                                        : nullptr;
    case ObjectKind::kUndefined:
    case ObjectKind::kBigInt:
    case ObjectKind::kIterator:
    case ObjectKind::kMacro:
    case ObjectKind::kNamespace:
    case ObjectKind::kCycler:
    case ObjectKind::kJoiner:
    case ObjectKind::kLoop:
    case ObjectKind::kTemplateRef:
    case ObjectKind::kBlockRef:
    case ObjectKind::kSlice:
      return nullptr;
  }
  return nullptr;
}

FilterFunction FindNumberMethod(const Value& owner, std::string_view name) {
  if (owner.is_float()) {
    return Find(
        {{"is_integer", IsInteger}, {"conjugate", Conjugate}, {"as_integer_ratio", FloatRatio}},
        name);
  }
  return Find({{"bit_length", BitLength},
               {"bit_count", BitCount},
               {"conjugate", Conjugate},
               {"as_integer_ratio", IntRatio}},
              name);
}

}  // namespace ft::jinja
