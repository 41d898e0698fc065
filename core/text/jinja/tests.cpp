// What stands behind `is`.
#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/pystring.h"

namespace ft::jinja {
namespace {

// A test of the value alone.
template <bool (*kPredicate)(const Value&)>
Result<Value> Is(Interp& /*interp*/, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("test", args));
  return Value::Bool(kPredicate(value));
}

bool IsDefined(const Value& value) {
  return !value.is_undefined();
}

bool IsUndefined(const Value& value) {
  return value.is_undefined();
}

bool IsNone(const Value& value) {
  return value.is_none();
}

bool IsBoolean(const Value& value) {
  return value.is_bool();
}

bool IsFalseValue(const Value& value) {
  return value.is_bool() && !value.as_bool();
}

bool IsTrueValue(const Value& value) {
  return value.is_bool() && value.as_bool();
}

bool IsInteger(const Value& value) {
  return value.is_int_like() && !value.is_bool();
}

bool IsFloat(const Value& value) {
  return value.is_float();
}

bool IsString(const Value& value) {
  return value.is_str();
}

bool IsMapping(const Value& value) {
  return value.is(ObjectKind::kDict);
}

bool IsNumber(const Value& value) {
  return value.is_number();
}

bool IsEscaped(const Value& value) {
  return value.is_markup();
}

bool IsSequence(const Value& value) {
  return IsIterable(value) && !value.is(ObjectKind::kIterator) && !value.is(ObjectKind::kLoop) &&
         !value.is(ObjectKind::kDictView) && !value.is(ObjectKind::kTemplateRef);
}

bool IsCallable(const Value& value) {
  return value.is_undefined() || value.is(ObjectKind::kFunction) || value.is(ObjectKind::kMacro) ||
         value.is(ObjectKind::kLoop) || value.is(ObjectKind::kJoiner) ||
         value.is(ObjectKind::kBlockRef);
}

bool IsIterableValue(const Value& value) {
  return IsIterable(value) && !value.is(ObjectKind::kTemplateRef);
}

Result<BoundArgs> Other(std::string_view name, const CallArgs& args) {
  return BoundArgs::Bind(name, args, {"other"}, {.num_required = 1});
}

Result<Value> Remainder(Interp& interp, const Value& value, const Value& divisor) {
  return Arithmetic(interp, BinaryOp::kMod, value, divisor);
}

template <int kWanted>
Result<Value> HasParity(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("test", args));
  FT_ASSIGN_OR_RETURN(const Value rest, Remainder(interp, value, Value::Int(2)));
  FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, rest, Value::Int(kWanted)));
  return Value::Bool(is_equal);
}

Result<Value> DivisibleBy(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("divisibleby", args, {"num"}, {.num_required = 1}));
  FT_ASSIGN_OR_RETURN(const Value rest, Remainder(interp, value, bound.at(0)));
  FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, rest, Value::Int(0)));
  return Value::Bool(is_equal);
}

template <bool (*kPredicate)(std::string_view)>
Result<Value> HasCase(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("test", args));
  FT_ASSIGN_OR_RETURN(const std::string text, ToStr(interp, value));
  return Value::Bool(kPredicate(text));
}

template <bool kWanted>
Result<Value> Equals(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, Other("eq", args));
  FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, value, bound.at(0)));
  return Value::Bool(is_equal == kWanted);
}

Result<Value> IsLess(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, Other("lt", args));
  FT_ASSIGN_OR_RETURN(const bool holds, Less(interp, value, bound.at(0)));
  return Value::Bool(holds);
}

Result<Value> IsGreater(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, Other("gt", args));
  FT_ASSIGN_OR_RETURN(const bool holds, Less(interp, bound.at(0), value, ">"));
  return Value::Bool(holds);
}

template <bool kReversed>
Result<Value> IsLessOrEqual(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, Other("le", args));
  FT_ASSIGN_OR_RETURN(const bool holds, LessOrEqual(interp, value, bound.at(0), kReversed));
  return Value::Bool(holds);
}

Result<Value> SameAs(Interp& /*interp*/, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, Other("sameas", args));
  return Value::Bool(IsSame(value, bound.at(0)));
}

Result<Value> In(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("in", args, {"seq"}, {.num_required = 1}));
  FT_ASSIGN_OR_RETURN(const bool is_in, Contains(interp, bound.at(0), value));
  return Value::Bool(is_in);
}

template <FilterFunction (*kFind)(std::string_view)>
Result<Value> Exists(Interp& /*interp*/, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("test", args));
  if (!value.is_str()) {
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(value));
    static_cast<void>(hash);
    return Value::Bool(/*flag=*/false);
  }
  return Value::Bool(kFind(value.text()) != nullptr);
}

}  // namespace

std::span<const NamedFilter> Tests() {
  static constexpr NamedFilter kTests[] = {
      {"odd", HasParity<1>},
      {"even", HasParity<0>},
      {"divisibleby", DivisibleBy},
      {"defined", Is<IsDefined>},
      {"undefined", Is<IsUndefined>},
      {"filter", Exists<FindFilter>},
      {"test", Exists<FindTest>},
      {"none", Is<IsNone>},
      {"boolean", Is<IsBoolean>},
      {"false", Is<IsFalseValue>},
      {"true", Is<IsTrueValue>},
      {"integer", Is<IsInteger>},
      {"float", Is<IsFloat>},
      {"lower", HasCase<IsLowerText>},
      {"upper", HasCase<IsUpperText>},
      {"string", Is<IsString>},
      {"mapping", Is<IsMapping>},
      {"number", Is<IsNumber>},
      {"sequence", Is<IsSequence>},
      {"iterable", Is<IsIterableValue>},
      {"callable", Is<IsCallable>},
      {"sameas", SameAs},
      {"escaped", Is<IsEscaped>},
      {"in", In},
      {"==", Equals<true>},
      {"eq", Equals<true>},
      {"equalto", Equals<true>},
      {"!=", Equals<false>},
      {"ne", Equals<false>},
      {">", IsGreater},
      {"gt", IsGreater},
      {"greaterthan", IsGreater},
      {"ge", IsLessOrEqual<true>},
      {">=", IsLessOrEqual<true>},
      {"<", IsLess},
      {"lt", IsLess},
      {"lessthan", IsLess},
      {"<=", IsLessOrEqual<false>},
      {"le", IsLessOrEqual<false>},
  };
  return kTests;
}

namespace {

FilterFunction Search(std::span<const NamedFilter> table, std::string_view name) {
  for (const NamedFilter& entry : table) {
    if (entry.name == name) {
      return entry.function;
    }
  }
  return nullptr;
}

}  // namespace

FilterFunction FindFilter(std::string_view name) {
  for (const auto& table :
       {SequenceFilters(), TextFilters(), LazyFilters(), NumberFilters(), HtmlFilters()}) {
    if (const FilterFunction found = Search(table, name)) {
      return found;
    }
  }
  return nullptr;
}

FilterFunction FindTest(std::string_view name) {
  return Search(Tests(), name);
}

}  // namespace ft::jinja
