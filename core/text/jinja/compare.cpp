// Equality, hashes and order of Values.
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

template <typename T>
int Order(T x, T y) {
  return x < y ? -1 : (x > y ? 1 : 0);
}

// Order of two numbers: -1, 0, 1, or nothing when one is NaN. Exact for any mix.
std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  if (a.is_float() && b.is_float()) {
    const double x = a.as_float();
    const double y = b.as_float();
    if (std::isnan(x) || std::isnan(y)) {
      return std::nullopt;
    }
    return Order(x, y);
  }
  if (!a.is_float() && !b.is_float()) {
    if (!a.is_big_int() && !b.is_big_int()) {
      return Order(a.as_int(), b.as_int());
    }
    return BigInt::Compare(ToBigInt(a), ToBigInt(b));
  }
  if (a.is_float()) {
    const std::optional<int> order = CompareNumbers(b, a);
    return order ? std::optional<int>(-*order) : std::nullopt;
  }
  const double y = b.as_float();
  if (std::isnan(y)) {
    return std::nullopt;
  }
  if (std::isinf(y)) {
    return y > 0 ? -1 : 1;
  }
  const int order = BigInt::Compare(ToBigInt(a), BigInt::FromDouble(y));
  const double rest = y - std::trunc(y);
  return order != 0 ? order : Order(0.0, rest);
}

bool IsSequenceKind(const Value& value) {
  return value.is(ObjectKind::kList) || value.is(ObjectKind::kTuple);
}

const Values& Items(const Value& value) {
  return value.As<SequenceObject>()->items;
}

Result<uint64_t> HashAt(const Value& value, int depth) {
  if (depth > kMaxValueDepth) {
    return ResourceExhausted("values are nested too deeply to hash");
  }
  switch (value.type()) {
    case Type::kMissing:
    case Type::kNone:
      return uint64_t{0x9E3779B97F4A7C15};
    case Type::kBool:
    case Type::kInt:
      return std::hash<int64_t>{}(value.as_int()) * 0x9E3779B97F4A7C15;
    case Type::kFloat: {
      const double number = value.as_float();
      if (std::floor(number) == number && std::fabs(number) < 9.2e18) {
        return std::hash<int64_t>{}(static_cast<int64_t>(number)) * 0x9E3779B97F4A7C15;
      }
      return std::bit_cast<uint64_t>(number) * 0x9E3779B97F4A7C15;
    }
    case Type::kStr:
      return HashText(value.text());
    case Type::kObject:
      break;
  }
  switch (value.object()->kind) {
    case ObjectKind::kBigInt:
      return std::bit_cast<uint64_t>(value.As<BigIntObject>()->number.ToDouble()) *
             0x9E3779B97F4A7C15;
    case ObjectKind::kTuple: {
      uint64_t hash = 0x345678;
      for (const Value& item : Items(value)) {
        FT_ASSIGN_OR_RETURN(const uint64_t part, HashAt(item, depth + 1));
        hash = (hash ^ part) * 1000003;
      }
      return hash;
    }
    case ObjectKind::kUndefined:
      return uint64_t{0x51ED270B};
    case ObjectKind::kBytes:
      return HashText(value.As<BytesObject>()->bytes);
    case ObjectKind::kRange:
      return std::hash<int64_t>{}(value.As<RangeObject>()->size());
    case ObjectKind::kList:
    case ObjectKind::kDict:
    case ObjectKind::kDictView:
    case ObjectKind::kSlice:
      return InvalidArgument("unhashable type: '{}'", TypeName(value));
    case ObjectKind::kIterator:
    case ObjectKind::kFunction:
    case ObjectKind::kMacro:
    case ObjectKind::kNamespace:
    case ObjectKind::kCycler:
    case ObjectKind::kJoiner:
    case ObjectKind::kLoop:
    case ObjectKind::kTemplateRef:
    case ObjectKind::kBlockRef:
      break;
  }
  return std::hash<const void*>{}(value.object());
}

bool RangesEqual(const RangeObject& a, const RangeObject& b) {
  const int64_t size = a.size();
  return size == b.size() && (size == 0 || (a.start == b.start && (size == 1 || a.step == b.step)));
}

Result<bool> DictsEqual(Interp& interp, const DictData& a, const DictData& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (const DictData::Entry& entry : a.entries()) {
    const Value* other = b.Find(entry.key, entry.hash);
    if (other == nullptr) {
      return false;
    }
    FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, entry.value, *other));
    if (!is_equal) {
      return false;
    }
  }
  return true;
}

// Views of keys and items compare as sets.
Result<bool> ViewsEqual(Interp& interp, const Value& a, const Value& b) {
  const auto* left = a.As<DictViewObject>();
  const auto* right = b.As<DictViewObject>();
  if (left->view != right->view || left->view == DictViewKind::kValues) {
    return left == right;
  }
  if (left->view == DictViewKind::kItems) {
    return DictsEqual(interp, left->dict->data, right->dict->data);
  }
  if (left->dict->data.size() != right->dict->data.size()) {
    return false;
  }
  for (const DictData::Entry& entry : left->dict->data.entries()) {
    if (right->dict->data.Find(entry.key, entry.hash) == nullptr) {
      return false;
    }
  }
  return true;
}

Result<bool> ObjectsEqual(Interp& interp, const Value& a, const Value& b) {
  if (a.object() == b.object()) {
    return true;
  }
  if (a.object()->kind != b.object()->kind) {
    return false;
  }
  switch (a.object()->kind) {
    case ObjectKind::kUndefined:
      return true;
    case ObjectKind::kBytes:
      return a.As<BytesObject>()->bytes == b.As<BytesObject>()->bytes;
    case ObjectKind::kRange:
      return RangesEqual(*a.As<RangeObject>(), *b.As<RangeObject>());
    case ObjectKind::kDict:
      return DictsEqual(interp, a.As<DictObject>()->data, b.As<DictObject>()->data);
    case ObjectKind::kDictView:
      return ViewsEqual(interp, a, b);
    case ObjectKind::kList:
    case ObjectKind::kTuple: {
      const Values& left = Items(a);
      const Values& right = Items(b);
      if (left.size() != right.size()) {
        return false;
      }
      for (size_t i = 0; i < left.size(); ++i) {
        FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, left[i], right[i]));
        if (!is_equal) {
          return false;
        }
      }
      return true;
    }
    case ObjectKind::kBigInt:
    case ObjectKind::kIterator:
    case ObjectKind::kFunction:
    case ObjectKind::kMacro:
    case ObjectKind::kNamespace:
    case ObjectKind::kCycler:
    case ObjectKind::kJoiner:
    case ObjectKind::kLoop:
    case ObjectKind::kTemplateRef:
    case ObjectKind::kBlockRef:
    case ObjectKind::kSlice:
      return false;
  }
  return false;
}

}  // namespace

uint64_t HashText(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

Result<uint64_t> Hash(const Value& value) {
  return HashAt(value, 0);
}

bool KeysEqual(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return CompareNumbers(a, b) == 0;
  }
  if (a.type() != b.type()) {
    return false;
  }
  if (a.is_str()) {
    return a.text() == b.text();
  }
  if (!a.is_object()) {
    return true;
  }
  if (a.object() == b.object()) {
    return true;
  }
  if (a.object()->kind != b.object()->kind) {
    return false;
  }
  if (a.is(ObjectKind::kTuple)) {
    const Values& left = Items(a);
    const Values& right = Items(b);
    if (left.size() != right.size()) {
      return false;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      if (!KeysEqual(left[i], right[i])) {  // no deeper than Hash went
        return false;
      }
    }
    return true;
  }
  if (a.is(ObjectKind::kRange)) {
    return RangesEqual(*a.As<RangeObject>(), *b.As<RangeObject>());
  }
  return a.is_undefined() ||
         (a.is(ObjectKind::kBytes) && a.As<BytesObject>()->bytes == b.As<BytesObject>()->bytes);
}

Result<bool> Equal(Interp& interp, const Value& a, const Value& b) {
  if (a.is_str() && b.is_str()) {
    return a.text() == b.text();
  }
  if (a.is_number() && b.is_number()) {
    return CompareNumbers(a, b) == 0;
  }
  if (!a.is_object() || !b.is_object()) {
    return a.type() == b.type();  // None
  }
  FT_RETURN_IF_ERROR(interp.Enter());
  Result<bool> result = ObjectsEqual(interp, a, b);
  return result;
}

Result<bool> Less(Interp& interp, const Value& a, const Value& b, const char* op) {
  if (a.is_number() && b.is_number()) {
    return CompareNumbers(a, b) == -1;
  }
  if (a.is_str() && b.is_str()) {
    return a.text() < b.text();  // UTF-8 sorts as code points do
  }
  if (a.is_undefined()) {
    return UndefinedError(a);
  }
  if (b.is_undefined()) {
    return UndefinedError(b);
  }
  if (IsSequenceKind(a) && IsSequenceKind(b) && a.object()->kind == b.object()->kind) {
    FT_RETURN_IF_ERROR(interp.Enter());
    const Values& left = Items(a);
    const Values& right = Items(b);
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, left[i], right[i]));
      if (!is_equal) {
        return Less(interp, left[i], right[i], op);
      }
    }
    return left.size() < right.size();
  }
  if (a.is(ObjectKind::kBytes) && b.is(ObjectKind::kBytes)) {
    return a.As<BytesObject>()->bytes < b.As<BytesObject>()->bytes;
  }
  return InvalidArgument("'{}' not supported between instances of '{}' and '{}'", op, TypeName(a),
                         TypeName(b));
}

Result<bool> LessOrEqual(Interp& interp, const Value& a, const Value& b, bool is_reversed) {
  if (a.is_number() && b.is_number()) {
    const std::optional<int> order = CompareNumbers(a, b);
    return order && (is_reversed ? *order >= 0 : *order <= 0);
  }
  // For everything else that has an order at all, it is total; lists with NaN in them aside.
  FT_ASSIGN_OR_RETURN(const bool is_other_way,
                      is_reversed ? Less(interp, a, b, ">=") : Less(interp, b, a, "<="));
  return !is_other_way;
}

bool IsSame(const Value& a, const Value& b) {
  if (a.type() != b.type()) {
    return false;
  }
  switch (a.type()) {
    case Type::kMissing:
    case Type::kNone:
      return true;
    case Type::kBool:
    case Type::kInt:
      return a.as_int() == b.as_int();
    case Type::kFloat:
      return std::bit_cast<uint64_t>(a.as_float()) == std::bit_cast<uint64_t>(b.as_float());
    case Type::kStr:
      // Python shares the empty string and those of one Latin-1 character.
      return a.str_identity() == b.str_identity() ||
             (!a.is_markup() && !b.is_markup() && a.text() == b.text() && a.text().size() <= 1);
    case Type::kObject:
      // There is one empty tuple.
      return a.object() == b.object() || (a.is(ObjectKind::kTuple) && b.is(ObjectKind::kTuple) &&
                                          Items(a).empty() && Items(b).empty());
  }
  return false;
}

bool IsTrue(const Value& value) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kNone:
      return false;
    case Type::kBool:
    case Type::kInt:
      return value.as_int() != 0;
    case Type::kFloat:
      return value.as_float() != 0;
    case Type::kStr:
      return !value.text().empty();
    case Type::kObject:
      break;
  }
  switch (value.object()->kind) {
    case ObjectKind::kUndefined:
      return false;
    case ObjectKind::kBytes:
      return !value.As<BytesObject>()->bytes.empty();
    case ObjectKind::kList:
    case ObjectKind::kTuple:
      return !Items(value).empty();
    case ObjectKind::kDict:
      return value.As<DictObject>()->data.size() != 0;
    case ObjectKind::kDictView:
      return value.As<DictViewObject>()->dict->data.size() != 0;
    case ObjectKind::kRange:
      return value.As<RangeObject>()->size() != 0;
    case ObjectKind::kBigInt:
    case ObjectKind::kIterator:
    case ObjectKind::kFunction:
    case ObjectKind::kMacro:
    case ObjectKind::kNamespace:
    case ObjectKind::kCycler:
    case ObjectKind::kJoiner:
    case ObjectKind::kLoop:
    case ObjectKind::kTemplateRef:
    case ObjectKind::kBlockRef:
    case ObjectKind::kSlice:
      return true;
  }
  return true;
}

}  // namespace ft::jinja
