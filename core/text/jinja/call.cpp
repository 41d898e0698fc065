// Functions of a template: macros, callers, blocks; calls of anything.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

// Macros within macros. Python's own recursion limit ends templates at about 180.
constexpr int kMaxCallDepth = 180;

}  // namespace

Activation* Interp::NewActivation(int num_slots, Activation* parent) {
  auto frame = std::make_unique<Activation>();
  frame->parent = parent;
  frame->slots.assign(static_cast<size_t>(num_slots), Value::Missing());
  heap_.Count(sizeof(Activation) + static_cast<size_t>(num_slots) * sizeof(Value));
  activations_.push_back(std::move(frame));
  return activations_.back().get();
}

void Interp::DropActivation(Activation* frame, size_t closures_before) {
  // Nothing that was made during the call can refer to it.
  if (num_closures_ == closures_before && activations_.back().get() == frame) {
    heap_.Uncount(sizeof(Activation) + frame->slots.size() * sizeof(Value));
    activations_.pop_back();
  }
}

Value Interp::NewMacro(const MacroInfo& info, Activation* closure) {
  auto* macro = heap_.New<MacroObject>();
  macro->info = &info;
  macro->closure = closure;
  macro->default_autoescape = autoescape_;
  ++num_closures_;
  return Value::Obj(macro);
}

std::string Interp::MacroRepr(const Value& macro) const {
  const MacroInfo& info = *macro.As<MacroObject>()->info;
  return info.has_name ? "<Macro " + ReprText(info.name) + ">" : "<Macro anonymous>";
}

Value Interp::MakeFunction(std::string name, FunctionObject::Body body) {
  return Value::Obj(heap_.New<FunctionObject>(std::move(name), std::move(body)));
}

Status Interp::BindMacroParameters(const MacroInfo& info,
                                   CallArgs& args,
                                   Activation* frame,
                                   bool* found_caller) {
  const size_t num_given = std::min(args.positional.size(), info.parameters.size());
  for (size_t i = 0; i < num_given; ++i) {
    frame->slots[static_cast<size_t>(info.parameters[i].slot)] = args.positional[i];
  }
  *found_caller =
      num_given == info.parameters.size() &&
      std::any_of(info.parameters.begin(), info.parameters.end(),
                  [](const Parameter& parameter) { return parameter.name == "caller"; });
  for (size_t i = num_given; i < info.parameters.size(); ++i) {
    const Parameter& parameter = info.parameters[i];
    *found_caller |= parameter.name == "caller";
    const auto keyword =
        std::find_if(args.keywords.begin(), args.keywords.end(),
                     [&](const auto& entry) { return entry.first == parameter.name; });
    if (keyword != args.keywords.end()) {
      frame->slots[static_cast<size_t>(parameter.slot)] = keyword->second;
      args.keywords.erase(keyword);
    }
  }
  return {};
}

Status Interp::BindMacro(const MacroObject& macro, CallArgs& args, Activation* frame) {
  const MacroInfo& info = *macro.info;
  bool found_caller = false;
  FT_RETURN_IF_ERROR(BindMacroParameters(info, args, frame, &found_caller));
  const auto caller = std::find_if(args.keywords.begin(), args.keywords.end(),
                                   [](const auto& entry) { return entry.first == "caller"; });
  if (info.takes_caller && !found_caller) {
    Value& slot = frame->slots[static_cast<size_t>(info.caller_slot)];
    if (caller != args.keywords.end() && !caller->second.is_none()) {
      slot = caller->second;
    } else {
      slot = UndefinedHint("No caller defined");
    }
    if (caller != args.keywords.end()) {
      args.keywords.erase(caller);
    }
  }
  const std::string name = info.has_name ? ReprText(info.name) : "None";
  if (info.takes_kwargs) {
    auto* kwargs = heap_.New<DictObject>();
    for (const auto& [key, value] : args.keywords) {
      kwargs->data.SetStr(heap_.Str(key), value);
    }
    frame->slots[static_cast<size_t>(info.kwargs_slot)] = Value::Obj(kwargs);
  } else if (!args.keywords.empty()) {
    return InvalidArgument("macro {} takes no keyword argument {}", name,
                           ReprText(args.keywords[0].first));
  }
  const size_t num_parameters = info.parameters.size();
  if (info.takes_varargs) {
    Values rest;
    if (args.positional.size() > num_parameters) {
      rest.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(num_parameters),
                  args.positional.end());
    }
    frame->slots[static_cast<size_t>(info.varargs_slot)] = heap_.Tuple(std::move(rest));
  } else if (args.positional.size() > num_parameters) {
    return InvalidArgument("macro {} takes not more than {} argument(s)", name, num_parameters);
  }
  return {};
}

Result<Value> Interp::CallMacro(const MacroObject& macro, CallArgs& args, bool autoescape) {
  FT_RETURN_IF_ERROR(Enter());
  if (call_depth_ >= kMaxCallDepth) {
    return ResourceExhausted("macros call each other more than {} deep", kMaxCallDepth);
  }
  const MacroInfo& info = *macro.info;
  const size_t closures_before = num_closures_;
  Activation* frame = NewActivation(info.function.num_slots, macro.closure);
  FT_RETURN_IF_ERROR(BindMacro(macro, args, frame));
  ++call_depth_;
  EnterScope(info.scope, frame);
  for (const Parameter& parameter : info.parameters) {
    const auto slot = static_cast<size_t>(parameter.slot);
    if (!frame->slots[slot].is_missing()) {
      continue;
    }
    if (parameter.default_value != nullptr) {
      FT_ASSIGN_OR_RETURN(frame->slots[slot], Eval(*parameter.default_value, frame));
    } else {
      frame->slots[slot] =
          UndefinedHint("parameter " + ReprText(parameter.name) + " was not provided");
    }
  }
  std::string text;
  const int line = line_;
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(info.body, frame, &text));
  static_cast<void>(flow);
  line_ = line;
  --call_depth_;
  DropActivation(frame, closures_before);
  return heap_.MakeStr(std::move(text), autoescape);
}

Status Interp::RunBlock(const Stmt& block, std::string* out) {
  FT_RETURN_IF_ERROR(Enter());
  if (call_depth_ >= kMaxCallDepth) {
    return ResourceExhausted("blocks call each other more than {} deep", kMaxCallDepth);
  }
  Activation* frame = NewActivation(block.function.num_slots, /*parent=*/nullptr);
  if (block.self_slot >= 0) {
    frame->slots[static_cast<size_t>(block.self_slot)] =
        Value::Obj(heap_.New<Object>(ObjectKind::kTemplateRef));
  }
  if (block.super_slot >= 0) {
    frame->slots[static_cast<size_t>(block.super_slot)] =
        UndefinedHint("there is no parent block called " + ReprText(block.name) + ".");
  }
  EnterScope(block.scope, frame);
  ++call_depth_;
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(block.body, frame, out));
  static_cast<void>(flow);
  --call_depth_;
  return {};
}

Result<Value> Interp::Call(const Value& callee, CallArgs& args) {
  FT_RETURN_IF_ERROR(Enter());
  if (callee.is_undefined()) {
    return UndefinedError(callee);
  }
  if (callee.is(ObjectKind::kFunction)) {
    return callee.As<FunctionObject>()->body(*this, args);
  }
  if (callee.is(ObjectKind::kMacro)) {
    return CallMacro(*callee.As<MacroObject>(), args, autoescape_);
  }
  if (callee.is(ObjectKind::kLoop)) {
    const auto* loop = callee.As<LoopObject>();
    FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                        BoundArgs::Bind("loop", args, {"iterable"}, {.num_required = 1}));
    if (loop->recursive == nullptr) {
      return InvalidArgument("The loop must have the 'recursive' marker to be called recursively.");
    }
    return CallLoop(*loop->recursive, bound.at(0), loop->closure, loop->depth0 + 1);
  }
  if (callee.is(ObjectKind::kJoiner)) {
    FT_RETURN_IF_ERROR(NoArgs("joiner", args));
    auto* joiner = callee.As<JoinerObject>();
    return std::exchange(joiner->is_used, true) ? joiner->separator : heap_.Str("");
  }
  if (callee.is(ObjectKind::kBlockRef)) {
    FT_RETURN_IF_ERROR(NoArgs("block", args));
    std::string text;
    FT_RETURN_IF_ERROR(RunBlock(*callee.As<BlockRefObject>()->block, &text));
    return heap_.MakeStr(std::move(text), autoescape_);
  }
  return InvalidArgument("'{}' object is not callable", TypeName(callee));
}

Result<Value> Interp::CallFilter(std::string_view name, const Value& value, CallArgs& args) {
  const FilterFunction function = FindFilter(name);
  if (function == nullptr) {
    return InvalidArgument("No filter named {} found.", ReprText(name));
  }
  FT_RETURN_IF_ERROR(Enter());
  return function(*this, value, args);
}

Result<Value> Interp::CallTest(std::string_view name, const Value& value, CallArgs& args) {
  const FilterFunction function = FindTest(name);
  if (function == nullptr) {
    return InvalidArgument("No test named {} found.", ReprText(name));
  }
  FT_RETURN_IF_ERROR(Enter());
  return function(*this, value, args);
}

}  // namespace ft::jinja
