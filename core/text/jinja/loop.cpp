// The variable `loop` of for statements.
#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

// The length, which of an iterator takes reading it to its end.
Result<int64_t> LengthOf(Interp& interp, LoopObject* loop) {
  if (loop->length >= 0) {
    return loop->length;
  }
  if (!loop->iterable.is(ObjectKind::kIterator)) {
    FT_ASSIGN_OR_RETURN(loop->length, Length(interp, loop->iterable));
    return loop->length;
  }
  FT_ASSIGN_OR_RETURN(Values rest, ToValues(interp, Value::Obj(loop->iterator)));
  loop->length =
      static_cast<int64_t>(rest.size()) + loop->index0 + 1 + (loop->after.is_missing() ? 0 : 1);
  FT_ASSIGN_OR_RETURN(loop->iterator, Iterate(interp, interp.heap().List(std::move(rest))));
  return loop->length;
}

// Looks at the next item without taking it; missing at the end.
Result<Value> Peek(Interp& interp, LoopObject* loop) {
  if (loop->after.is_missing()) {
    Value item;
    FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, loop->iterator, &item));
    if (has_item) {
      loop->after = item;
    }
  }
  return loop->after;
}

Result<Value> Cycle(const Value& loop, const CallArgs& args) {
  if (!args.keywords.empty() || args.positional.empty()) {
    return InvalidArgument("no items for cycling given");
  }
  const auto index = static_cast<size_t>(loop.As<LoopObject>()->index0);
  return args.positional[index % args.positional.size()];
}

Result<Value> Changed(Interp& interp, const Value& loop, const CallArgs& args) {
  auto* state = loop.As<LoopObject>();
  const Value value = interp.heap().Tuple(args.positional);
  bool is_same = false;
  if (!state->last_changed.is_missing()) {
    FT_ASSIGN_OR_RETURN(is_same, Equal(interp, state->last_changed, value));
  }
  if (!is_same) {
    state->last_changed = value;
  }
  return Value::Bool(!is_same);
}

Result<Value> PropertyOf(Interp& interp, LoopObject* loop, std::string_view name) {
  if (name == "length") {
    FT_ASSIGN_OR_RETURN(const int64_t length, LengthOf(interp, loop));
    return Value::Int(length);
  }
  if (name == "revindex" || name == "revindex0") {
    FT_ASSIGN_OR_RETURN(const int64_t length, LengthOf(interp, loop));
    return Value::Int(length - loop->index0 - (name == "revindex0" ? 1 : 0));
  }
  if (name == "previtem") {
    return loop->index0 == 0 ? interp.UndefinedHint("there is no previous item") : loop->before;
  }
  FT_ASSIGN_OR_RETURN(const Value next, Peek(interp, loop));
  if (name == "last") {
    return Value::Bool(next.is_missing());
  }
  return next.is_missing() ? interp.UndefinedHint("there is no next item") : next;
}

}  // namespace

Result<int64_t> LoopLength(Interp& interp, const Value& loop) {
  return LengthOf(interp, loop.As<LoopObject>());
}

Result<bool> LoopNext(Interp& interp, const Value& value, Value* item) {
  auto* loop = value.As<LoopObject>();
  if (!loop->after.is_missing()) {
    *item = std::exchange(loop->after, Value::Missing());
  } else {
    FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, loop->iterator, item));
    if (!has_item) {
      return false;
    }
  }
  ++loop->index0;
  loop->before = std::exchange(loop->current, *item);
  return true;
}

Result<std::optional<Value>> LoopAttribute(Interp& interp,
                                           const Value& loop,
                                           std::string_view name) {
  auto* state = loop.As<LoopObject>();
  const auto found = [](Value value) { return std::optional<Value>(std::move(value)); };
  if (name == "index") {
    return found(Value::Int(state->index0 + 1));
  }
  if (name == "index0") {
    return found(Value::Int(state->index0));
  }
  if (name == "first") {
    return found(Value::Bool(state->index0 == 0));
  }
  if (name == "depth" || name == "depth0") {
    return found(Value::Int(state->depth0 + (name == "depth" ? 1 : 0)));
  }
  if (name == "cycle") {
    return found(interp.MakeFunction(
        "cycle", [loop](Interp&, CallArgs& args) { return Cycle(loop, args); }));
  }
  if (name == "changed") {
    return found(interp.MakeFunction(
        "changed", [loop](Interp& caller, CallArgs& args) { return Changed(caller, loop, args); }));
  }
  static constexpr std::string_view kProperties[] = {"length",   "revindex", "revindex0",
                                                     "previtem", "nextitem", "last"};
  for (const std::string_view property : kProperties) {
    if (name == property) {
      FT_ASSIGN_OR_RETURN(Value value, PropertyOf(interp, state, name));
      return found(std::move(value));
    }
  }
  return std::optional<Value>();
}

Result<std::string> Interp::LoopRepr(const Value& loop) {
  auto* state = loop.As<LoopObject>();
  FT_ASSIGN_OR_RETURN(const int64_t length, LengthOf(*this, state));
  return fmt::format("<LoopContext {}/{}>", state->index0 + 1, length);
}

}  // namespace ft::jinja
