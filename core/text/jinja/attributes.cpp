// Access to members as the immutable sandbox allows it, undefined values, and bound arguments.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

using Found = std::optional<Value>;

// Methods that change a list or a mapping: the immutable sandbox hides them.
bool IsMutator(const Value& owner, std::string_view name) {
  static constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                               "insert", "sort",  "extend", "remove"};
  static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (owner.is(ObjectKind::kList)) {
    return std::find(std::begin(kList), std::end(kList), name) != std::end(kList);
  }
  return owner.is(ObjectKind::kDict) &&
         std::find(std::begin(kDict), std::end(kDict), name) != std::end(kDict);
}

// Attributes with two underscores that every Python object has.
bool IsCommonDunder(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "__class__",  "__doc__",           "__init__",         "__eq__",      "__ne__",
      "__hash__",   "__str__",           "__repr__",         "__dir__",     "__new__",
      "__reduce__", "__reduce_ex__",     "__sizeof__",       "__setattr__", "__delattr__",
      "__format__", "__getattribute__",  "__lt__",           "__le__",      "__gt__",
      "__ge__",     "__init_subclass__", "__subclasshook__", "__getstate__"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsDunderOf(const Value& owner, std::string_view name) {
  static constexpr std::string_view kContainer[] = {"__len__", "__getitem__", "__iter__",
                                                    "__contains__"};
  if (IsCommonDunder(name)) {
    return true;
  }
  const bool is_container = owner.is_str() || owner.is(ObjectKind::kList) ||
                            owner.is(ObjectKind::kTuple) || owner.is(ObjectKind::kDict) ||
                            owner.is(ObjectKind::kRange) || owner.is_undefined();
  const bool is_callable = owner.is(ObjectKind::kFunction) || owner.is(ObjectKind::kMacro);
  return (is_container &&
          std::find(std::begin(kContainer), std::end(kContainer), name) != std::end(kContainer)) ||
         (is_callable && (name == "__call__" || name == "__name__" || name == "__globals__" ||
                          name == "__code__" || name == "__self__"));
}

Value BindMethod(Interp& interp, const Value& owner, std::string_view name, FilterFunction method) {
  return interp.MakeFunction(std::string(name), [owner, method](Interp& caller, CallArgs& args) {
    return method(caller, owner, args);
  });
}

Found TupleAttribute(const Value& owner, std::string_view name) {
  const auto* tuple = owner.As<SequenceObject>();
  if (tuple->is_group && (name == "grouper" || name == "list")) {
    return tuple->items[name == "list" ? 1 : 0];
  }
  return std::nullopt;
}

Found MacroAttribute(Interp& interp, const Value& owner, std::string_view name) {
  const MacroInfo& info = *owner.As<MacroObject>()->info;
  if (name == "name") {
    return info.has_name ? interp.heap().Str(info.name) : Value::None();
  }
  if (name == "arguments") {
    Values names;
    for (const Parameter& parameter : info.parameters) {
      names.push_back(interp.heap().Str(parameter.name));
    }
    return interp.heap().Tuple(std::move(names));
  }
  if (name == "catch_kwargs" || name == "catch_varargs") {
    return Value::Bool(name == "catch_kwargs" ? info.takes_kwargs : info.takes_varargs);
  }
  if (name == "caller") {
    return Value::Bool(info.takes_caller);
  }
  if (name == "explicit_caller") {
    return Value::Bool(std::any_of(info.parameters.begin(), info.parameters.end(),
                                   [](const Parameter& each) { return each.name == "caller"; }));
  }
  return std::nullopt;
}

Found CyclerAttribute(Interp& interp, const Value& owner, std::string_view name) {
  auto* cycler = owner.As<CyclerObject>();
  if (name == "current") {
    return cycler->items[cycler->position];
  }
  if (name == "pos") {
    return Value::Int(static_cast<int64_t>(cycler->position));
  }
  if (name == "items") {
    return interp.heap().Tuple(cycler->items);
  }
  if (name == "next" || name == "reset") {
    const bool is_next = name == "next";
    return interp.MakeFunction(std::string(name),
                               [cycler, is_next](Interp&, CallArgs& args) -> Result<Value> {
                                 FT_RETURN_IF_ERROR(NoArgs("cycler", args));
                                 if (!is_next) {
                                   cycler->position = 0;
                                   return Value::None();
                                 }
                                 const Value item = cycler->items[cycler->position];
                                 cycler->position = (cycler->position + 1) % cycler->items.size();
                                 return item;
                               });
  }
  return std::nullopt;
}

Found RangeAttribute(const Value& owner, std::string_view name) {
  const auto* range = owner.As<RangeObject>();
  if (name == "start" || name == "stop" || name == "step") {
    return Value::Int(name == "start" ? range->start
                                      : (name == "stop" ? range->stop : range->step));
  }
  return std::nullopt;
}

Found NumberProperty(const Value& owner, std::string_view name) {
  if (name == "real") {
    return owner.is_bool() ? Value::Int(owner.as_int()) : owner;
  }
  if (name == "imag") {
    return owner.is_float() ? Value::Float(0) : Value::Int(0);
  }
  if (!owner.is_float() && (name == "numerator" || name == "denominator")) {
    return name == "denominator" ? Value::Int(1)
                                 : (owner.is_bool() ? Value::Int(owner.as_int()) : owner);
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<Value>> FindAttribute(Interp& interp,
                                           const Value& owner,
                                           std::string_view name) {
  if (owner.is_str()) {
    const FilterFunction method = FindStringMethod(name);
    return method == nullptr ? Found() : Found(BindMethod(interp, owner, name, method));
  }
  if (owner.is_number()) {
    if (Found property = NumberProperty(owner, name)) {
      return property;
    }
    const FilterFunction method = FindNumberMethod(owner, name);
    return method == nullptr ? Found() : Found(BindMethod(interp, owner, name, method));
  }
  if (!owner.is_object()) {
    return Found();
  }
  Found found;
  switch (owner.object()->kind) {
    case ObjectKind::kNamespace:
      if (const Value* value = owner.As<NamespaceObject>()->attributes.FindStr(name)) {
        found = *value;
      }
      return found;
    case ObjectKind::kLoop:
      return LoopAttribute(interp, owner, name);
    case ObjectKind::kTuple:
      found = TupleAttribute(owner, name);
      break;
    case ObjectKind::kMacro:
      return MacroAttribute(interp, owner, name);
    case ObjectKind::kCycler:
      return CyclerAttribute(interp, owner, name);
    case ObjectKind::kRange:
      found = RangeAttribute(owner, name);
      break;
    case ObjectKind::kJoiner:
      if (name == "sep") {
        found = owner.As<JoinerObject>()->separator;
      } else if (name == "used") {
        found = Value::Bool(owner.As<JoinerObject>()->is_used);
      }
      return found;
    case ObjectKind::kBlockRef:
      if (name == "name") {
        found = interp.heap().Str(owner.As<BlockRefObject>()->block->name);
      } else if (name == "super") {
        found = interp.UndefinedHint("there is no parent block called " +
                                     ReprText(owner.As<BlockRefObject>()->block->name) + ".");
      }
      return found;
    case ObjectKind::kUndefined:
    case ObjectKind::kBigInt:
    case ObjectKind::kBytes:
    case ObjectKind::kList:
    case ObjectKind::kDict:
    case ObjectKind::kDictView:
    case ObjectKind::kIterator:
    case ObjectKind::kFunction:
    case ObjectKind::kTemplateRef:
    case ObjectKind::kSlice:
      break;
  }
  if (!found) {
    if (const FilterFunction method = FindContainerMethod(owner, name)) {
      found = BindMethod(interp, owner, name, method);
    }
  }
  return found;
}

Result<Value> Interp::GetAttr(const Value& owner, const Value& name) {
  const std::string& text = name.text();
  if (text.starts_with("__") && IsDunderOf(owner, text)) {
    return UnsafeMember(owner, text);
  }
  if (owner.is_undefined()) {
    return UndefinedError(owner);
  }
  if (IsMutator(owner, text)) {
    return UnsafeMember(owner, text);
  }
  FT_ASSIGN_OR_RETURN(std::optional<Value> found, FindAttribute(*this, owner, text));
  if (found) {
    return *found;
  }
  if (owner.is(ObjectKind::kTemplateRef)) {
    if (const Stmt* block = FindBlock(text)) {
      auto* reference = heap_.New<BlockRefObject>();
      reference->block = block;
      return Value::Obj(reference);
    }
  }
  FT_ASSIGN_OR_RETURN(found, Subscript(*this, owner, name));
  return found ? *found : UndefinedMember(owner, name);
}

Result<Value> Interp::GetItem(const Value& owner, const Value& key) {
  FT_ASSIGN_OR_RETURN(std::optional<Value> found, Subscript(*this, owner, key));
  if (found) {
    return *found;
  }
  if (!key.is_str()) {
    return UndefinedMember(owner, key);
  }
  const std::string& text = key.text();
  if (owner.is(ObjectKind::kTemplateRef)) {
    return GetAttr(owner, key);
  }
  if ((text.starts_with("__") && IsDunderOf(owner, text)) || IsMutator(owner, text)) {
    return UnsafeMember(owner, text);
  }
  FT_ASSIGN_OR_RETURN(found, FindAttribute(*this, owner, text));
  return found ? *found : UndefinedMember(owner, key);
}

Value Interp::UndefinedName(std::string_view name) {
  auto* undefined = heap_.New<UndefinedObject>();
  undefined->name = heap_.Str(std::string(name));
  return Value::Obj(undefined);
}

Value Interp::UndefinedMember(const Value& owner, Value name) {
  auto* undefined = heap_.New<UndefinedObject>();
  undefined->owner = owner;
  undefined->name = std::move(name);
  return Value::Obj(undefined);
}

Value Interp::UndefinedHint(std::string hint) {
  auto* undefined = heap_.New<UndefinedObject>();
  undefined->hint = std::move(hint);
  return Value::Obj(undefined);
}

Value Interp::UnsafeMember(const Value& owner, std::string_view name) {
  Value undefined = UndefinedHint(fmt::format("access to attribute {} of '{}' object is unsafe.",
                                              ReprText(name), TypeName(owner)));
  undefined.As<UndefinedObject>()->is_security = true;
  return undefined;
}

Result<BoundArgs> BoundArgs::Bind(std::string_view function,
                                  const CallArgs& args,
                                  std::initializer_list<std::string_view> names,
                                  Rules rules) {
  BoundArgs bound;
  bound.values_.resize(names.size());
  if (args.positional.size() > names.size()) {
    return InvalidArgument("{}() takes at most {} arguments ({} given)", function, names.size(),
                           args.positional.size());
  }
  for (size_t i = 0; i < args.positional.size(); ++i) {
    bound.values_[i] = args.positional[i];
  }
  for (const auto& [name, value] : args.keywords) {
    const auto found = std::find(names.begin(), names.end(), std::string_view(name));
    const auto index = static_cast<size_t>(found - names.begin());
    if (found == names.end() || index < rules.num_positional_only) {
      return InvalidArgument("{}() got an unexpected keyword argument '{}'", function, name);
    }
    if (bound.values_[index]) {
      return InvalidArgument("{}() got multiple values for argument '{}'", function, name);
    }
    bound.values_[index] = value;
  }
  for (size_t i = 0; i < rules.num_required; ++i) {
    if (!bound.values_[i]) {
      return InvalidArgument("{}() missing 1 required positional argument: '{}'", function,
                             *(names.begin() + static_cast<std::ptrdiff_t>(i)));
    }
  }
  return bound;
}

Result<int64_t> BoundArgs::Int(size_t index, int64_t otherwise) const {
  if (!values_[index]) {
    return otherwise;
  }
  if (values_[index]->is_undefined()) {
    return UndefinedError(*values_[index]);
  }
  const std::optional<int64_t> number = ToIndex(*values_[index]);
  if (!number) {
    return InvalidArgument("'{}' object cannot be interpreted as an integer",
                           TypeName(*values_[index]));
  }
  return *number;
}

bool BoundArgs::Flag(size_t index, bool otherwise) const {
  return values_[index] ? IsTrue(*values_[index]) : otherwise;
}

Status NoArgs(std::string_view function, const CallArgs& args) {
  if (args.positional.empty() && args.keywords.empty()) {
    return {};
  }
  return InvalidArgument("{}() takes no arguments ({} given)", function,
                         args.positional.size() + args.keywords.size());
}

}  // namespace ft::jinja
