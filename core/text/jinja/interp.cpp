// Statements.
#include "core/text/jinja/interp.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

// The machine's stack that a render may use. Threads have 8 MiB; frames of sanitizer builds are
// large.
constexpr uintptr_t kMaxStackBytes = uintptr_t{3} << 20;

// Bytes that cost one step.
constexpr size_t kBytesPerStep = 256;

uintptr_t StackPointer() {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));  // NOLINT: its number is wanted
}

// What jinja2 computes while it compiles: where autoescape is known at run time only, such values
// are not escaped.
bool IsConstant(const Expr& expr) {
  if (expr.kind == ExprKind::kConcat || expr.kind == ExprKind::kBinary) {
    return std::all_of(expr.items.begin(), expr.items.end(),
                       [](const ExprPtr& item) { return IsConstant(*item); });
  }
  return expr.kind == ExprKind::kConst;
}

}  // namespace

Interp::Interp(const Stmts& body,
               const ResolvedTemplate& resolved,
               const Limits& limits,
               const std::tm& now)
    : body_(body), resolved_(resolved), limits_(limits), now_(now) {
  AddGlobals(*this, &globals_);
}

Result<std::string> Interp::Render(const json::Value& context) {
  stack_base_ = StackPointer();
  if (!context.is_object()) {
    return InvalidArgument("a template's context must be an object, not {}",
                           json::KindName(context.kind()));
  }
  Context parent;
  parent.vars = globals_;
  for (const json::Member& member : context.as_object()) {
    parent.vars.SetStr(heap_.Str(member.key), FromJson(*this, member.value));
  }
  root_context_.base = &parent;
  Activation* frame = NewActivation(resolved_.function.num_slots, /*parent=*/nullptr);
  if (resolved_.self_slot >= 0) {
    frame->slots[static_cast<size_t>(resolved_.self_slot)] =
        Value::Obj(heap_.New<Object>(ObjectKind::kTemplateRef));
  }
  EnterScope(resolved_.scope, frame);
  std::string out;
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(body_, frame, &out));
  static_cast<void>(flow);
  return out;
}

Status Interp::Work(int64_t num_steps) {
  steps_ += num_steps;
  if (steps_ > limits_.max_steps) {
    return ResourceExhausted("the template takes more than {} steps", limits_.max_steps);
  }
  return {};
}

Status Interp::WorkBytes(size_t num_bytes) {
  if (num_bytes / 8 > limits_.max_output_bytes) {
    return ResourceExhausted("the template makes a value of more than {} bytes",
                             limits_.max_output_bytes);
  }
  return Work(static_cast<int64_t>(num_bytes / kBytesPerStep));
}

Status Interp::Enter() {
  if (++steps_ > limits_.max_steps) {
    return Work(0);
  }
  if (heap_.live_bytes() > limits_.max_memory_bytes) {
    return ResourceExhausted("the template needs more than {} bytes of memory",
                             limits_.max_memory_bytes);
  }
  const uintptr_t here = StackPointer();
  const uintptr_t used = stack_base_ > here ? stack_base_ - here : here - stack_base_;
  if (used > kMaxStackBytes) {
    return ResourceExhausted("the template's calls or values are nested too deeply");
  }
  return {};
}

Result<Flow> Interp::ExecAll(const Stmts& stmts, Activation* frame, std::string* out) {
  for (const StmtPtr& stmt : stmts) {
    FT_ASSIGN_OR_RETURN(const Flow flow, Exec(*stmt, frame, out));
    if (flow != Flow::kNormal) {
      return flow;
    }
  }
  return Flow::kNormal;
}

Result<Flow> Interp::Exec(const Stmt& stmt, Activation* frame, std::string* out) {
  line_ = stmt.line;
  FT_RETURN_IF_ERROR(Enter());
  switch (stmt.kind) {
    case StmtKind::kOutput:
      FT_RETURN_IF_ERROR(ExecOutput(stmt, frame, out));
      return Flow::kNormal;
    case StmtKind::kAssign:
      FT_RETURN_IF_ERROR(ExecAssign(stmt, frame));
      return Flow::kNormal;
    case StmtKind::kAssignBlock:
      return ExecAssignBlock(stmt, frame);
    case StmtKind::kFor:
      return ExecFor(stmt, frame, out);
    case StmtKind::kIf:
      return ExecIf(stmt, frame, out);
    case StmtKind::kMacro:
      FT_RETURN_IF_ERROR(ExecMacro(stmt, frame));
      return Flow::kNormal;
    case StmtKind::kCallBlock:
      FT_RETURN_IF_ERROR(ExecCallBlock(stmt, frame, out));
      return Flow::kNormal;
    case StmtKind::kGeneration:
      FT_RETURN_IF_ERROR(ExecGeneration(stmt, frame, out));
      return Flow::kNormal;
    case StmtKind::kFilterBlock:
      return ExecFilterBlock(stmt, frame, out);
    case StmtKind::kWith:
      return ExecWith(stmt, frame, out);
    case StmtKind::kAutoescape:
      return ExecAutoescape(stmt, frame, out);
    case StmtKind::kBlock:
      FT_RETURN_IF_ERROR(ExecBlock(stmt, frame, out));
      return Flow::kNormal;
    case StmtKind::kInclude:
    case StmtKind::kImport:
      FT_RETURN_IF_ERROR(ExecInclude(stmt, frame));
      return Flow::kNormal;
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Status Interp::Append(std::string_view text, std::string* out) {
  if (text.size() + out->size() > limits_.max_output_bytes) {
    return ResourceExhausted("the template's output is longer than {} bytes",
                             limits_.max_output_bytes);
  }
  FT_RETURN_IF_ERROR(WorkBytes(text.size()));
  *out += text;
  return {};
}

Status Interp::AppendOutput(const Value& value, bool escapes, std::string* out) {
  if (value.is_str() && !escapes) {
    return Append(value.text(), out);
  }
  if (escapes) {
    FT_ASSIGN_OR_RETURN(const Value escaped, Escape(*this, value));
    return Append(escaped.text(), out);
  }
  FT_ASSIGN_OR_RETURN(const std::string text, ToStr(*this, value));
  return Append(text, out);
}

Status Interp::ExecOutput(const Stmt& stmt, Activation* frame, std::string* out) {
  for (const ExprPtr& expr : stmt.exprs) {
    if (expr->kind == ExprKind::kData) {
      FT_RETURN_IF_ERROR(Append(expr->value.text(), out));
      continue;
    }
    line_ = expr->line;
    FT_ASSIGN_OR_RETURN(const Value value, Eval(*expr, frame));
    const bool is_folded = stmt.escape == EscapeMode::kRuntime && IsConstant(*expr);
    FT_RETURN_IF_ERROR(AppendOutput(value, Escapes(stmt.escape) && !is_folded, out));
  }
  return {};
}

void Interp::EnterScope(const ScopeInfo& scope, Activation* frame) {
  for (const ScopeLoad& load : scope.loads) {
    Value& slot = frame->slots[static_cast<size_t>(load.slot)];
    switch (load.action) {
      case LoadAction::kParameter:
        break;
      case LoadAction::kResolve:
        slot = ResolveInContext(load.name);
        break;
      case LoadAction::kAlias:
        slot = Value(SlotOf(load.source, frame));
        break;
      case LoadAction::kUndefined:
        slot = Value::Missing();
        break;
    }
  }
}

void Interp::LeaveScope(const ScopeInfo& scope, Activation* frame) {
  for (const ScopeLoad& load : scope.loads) {
    frame->slots[static_cast<size_t>(load.slot)] = Value::Missing();
  }
}

Value Interp::ResolveInContext(const Value& name) const {
  for (const Context* context = context_; context != nullptr; context = context->base) {
    if (const Value* found = context->vars.FindStr(name.text())) {
      return *found;
    }
  }
  return Value::Missing();
}

Status Interp::Export(const Stmt& stmt, Activation* frame) {
  for (size_t i = 0; i < stmt.exported.size(); ++i) {
    context_->vars.SetStr(stmt.exported[i], SlotOf(stmt.exported_variables[i], frame));
  }
  return {};
}

Status Interp::CheckNamespaces(const Expr& target, Activation* frame) {
  if (target.kind == ExprKind::kNsRef &&
      !SlotOf(target.variable, frame).is(ObjectKind::kNamespace)) {
    return InvalidArgument("cannot assign attribute on non-namespace object");
  }
  for (const ExprPtr& item : target.items) {
    FT_RETURN_IF_ERROR(CheckNamespaces(*item, frame));
  }
  return {};
}

Status Interp::AssignTo(const Expr& target, const Value& value, Activation* frame) {
  if (target.kind == ExprKind::kName) {
    SlotOf(target.variable, frame) = value;
    return {};
  }
  if (target.kind == ExprKind::kNsRef) {
    const Value& space = SlotOf(target.variable, frame);
    if (!space.is(ObjectKind::kNamespace)) {
      return InvalidArgument("cannot assign attribute on non-namespace object");
    }
    if (target.attr.starts_with('_')) {
      return InvalidArgument(
          "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{}'",
          target.attr);
    }
    space.As<NamespaceObject>()->attributes.SetStr(heap_.Str(target.attr), value);
    heap_.Count(sizeof(Value));
    return {};
  }
  if (!IsIterable(value)) {
    return InvalidArgument("cannot unpack non-iterable {} object", TypeName(value));
  }
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(*this, value));
  if (items.size() != target.items.size()) {
    return InvalidArgument("{} values to unpack (expected {}, got {})",
                           items.size() > target.items.size() ? "too many" : "not enough",
                           target.items.size(), items.size());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    FT_RETURN_IF_ERROR(AssignTo(*target.items[i], items[i], frame));
  }
  return {};
}

Status Interp::ExecAssign(const Stmt& stmt, Activation* frame) {
  FT_RETURN_IF_ERROR(CheckNamespaces(*stmt.target, frame));
  FT_ASSIGN_OR_RETURN(const Value value, Eval(*stmt.value, frame));
  FT_RETURN_IF_ERROR(AssignTo(*stmt.target, value, frame));
  return Export(stmt, frame);
}

Result<Flow> Interp::ExecAssignBlock(const Stmt& stmt, Activation* frame) {
  EnterScope(stmt.scope, frame);
  std::string text;
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(stmt.body, frame, &text));
  if (flow != Flow::kNormal) {
    return flow;
  }
  Value value =
      heap_.MakeStr(std::move(text), stmt.value != nullptr && Escapes(stmt.value->escape));
  if (stmt.value != nullptr) {
    FT_ASSIGN_OR_RETURN(value, EvalFilter(*stmt.value, frame, &value));
  }
  if (autoescape_) {
    FT_ASSIGN_OR_RETURN(const std::string marked, ToStr(*this, value));
    value = heap_.Markup(marked);
  }
  FT_RETURN_IF_ERROR(AssignTo(*stmt.target, value, frame));
  FT_RETURN_IF_ERROR(Export(stmt, frame));
  LeaveScope(stmt.scope, frame);
  return Flow::kNormal;
}

Result<Flow> Interp::ExecIf(const Stmt& stmt, Activation* frame, std::string* out) {
  for (const Branch& branch : stmt.branches) {
    line_ = branch.test->line;
    FT_ASSIGN_OR_RETURN(const Value test, Eval(*branch.test, frame));
    if (IsTrue(test)) {
      return ExecAll(branch.body, frame, out);
    }
  }
  return ExecAll(stmt.else_body, frame, out);
}

Result<Flow> Interp::ExecFor(const Stmt& stmt, Activation* frame, std::string* out) {
  FT_ASSIGN_OR_RETURN(const Value iterable, Eval(*stmt.value, frame));
  if (!stmt.is_recursive) {
    FT_RETURN_IF_ERROR(RunLoop(stmt, iterable, frame, 0, out));
    return Flow::kNormal;
  }
  FT_ASSIGN_OR_RETURN(const Value text, CallLoop(stmt, iterable, frame, 0));
  FT_RETURN_IF_ERROR(Append(text.text(), out));
  return Flow::kNormal;
}

Result<IteratorObject*> Interp::FilteredIterator(const Stmt& stmt,
                                                 const Value& iterable,
                                                 Activation* frame) {
  FT_ASSIGN_OR_RETURN(IteratorObject * source, Iterate(*this, iterable));
  Activation* test_frame = NewActivation(stmt.test_function.num_slots, frame);
  ++num_closures_;
  EnterScope(stmt.test_scope, test_frame);
  return heap_.New<IteratorObject>(
      "generator", [this, &stmt, source, test_frame](Value* item) -> Result<bool> {
        for (;;) {
          FT_ASSIGN_OR_RETURN(const bool has_item, Next(*this, source, item));
          if (!has_item) {
            return false;
          }
          FT_RETURN_IF_ERROR(AssignTo(*stmt.test_target, *item, test_frame));
          FT_ASSIGN_OR_RETURN(const Value passes, Eval(*stmt.test, test_frame));
          if (IsTrue(passes)) {
            return true;
          }
        }
      });
}

Status Interp::RunLoop(
    const Stmt& stmt, const Value& iterable, Activation* frame, int64_t depth0, std::string* out) {
  FT_ASSIGN_OR_RETURN(IteratorObject * iterator, stmt.test != nullptr
                                                     ? FilteredIterator(stmt, iterable, frame)
                                                     : Iterate(*this, iterable));
  LoopObject* loop = nullptr;
  if (stmt.loop_slot >= 0) {
    loop = heap_.New<LoopObject>();
    loop->iterator = iterator;
    loop->iterable = stmt.test != nullptr ? Value::Obj(iterator) : iterable;
    loop->depth0 = depth0;
    if (stmt.is_recursive) {
      loop->recursive = &stmt;
      loop->closure = frame->parent;
      ++num_closures_;
    }
  }
  // As in jinja2, a turn that ends by break or continue does not count for the else part.
  bool is_empty = true;
  for (Value item;;) {
    const Result<bool> has_item =
        loop != nullptr ? LoopNext(*this, Value::Obj(loop), &item) : Next(*this, iterator, &item);
    if (!has_item.ok()) {
      return has_item.status();
    }
    if (!*has_item) {
      break;
    }
    FT_RETURN_IF_ERROR(AssignTo(*stmt.target, item, frame));
    if (loop != nullptr) {
      frame->slots[static_cast<size_t>(stmt.loop_slot)] = Value::Obj(loop);
    }
    EnterScope(stmt.scope, frame);
    FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(stmt.body, frame, out));
    is_empty &= flow != Flow::kNormal;
    if (flow == Flow::kBreak) {
      break;
    }
  }
  LeaveScope(stmt.scope, frame);
  if (is_empty && !stmt.else_body.empty()) {
    EnterScope(stmt.else_scope, frame);
    FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(stmt.else_body, frame, out));
    static_cast<void>(flow);
    LeaveScope(stmt.else_scope, frame);
  }
  return {};
}

Result<Value> Interp::CallLoop(const Stmt& stmt,
                               const Value& iterable,
                               Activation* outer,
                               int64_t depth) {
  FT_RETURN_IF_ERROR(Enter());
  Activation* frame = NewActivation(stmt.function.num_slots, outer);
  std::string text;
  FT_RETURN_IF_ERROR(RunLoop(stmt, iterable, frame, depth, &text));
  return heap_.MakeStr(std::move(text), autoescape_);
}

Status Interp::ExecMacro(const Stmt& stmt, Activation* frame) {
  SlotOf(stmt.variable, frame) = NewMacro(*stmt.macro, frame);
  return Export(stmt, frame);
}

Status Interp::ExecCallBlock(const Stmt& stmt, Activation* frame, std::string* out) {
  const Value caller = NewMacro(*stmt.macro, frame);
  FT_ASSIGN_OR_RETURN(const Value value, EvalCall(*stmt.value, frame, &caller));
  return AppendOutput(value, /*escapes=*/false, out);
}

Status Interp::ExecGeneration(const Stmt& stmt, Activation* frame, std::string* out) {
  CallArgs no_args;
  const Value body = NewMacro(*stmt.macro, frame);
  FT_ASSIGN_OR_RETURN(const Value value, CallMacro(*body.As<MacroObject>(), no_args, autoescape_));
  return Append(value.text(), out);
}

Result<Flow> Interp::ExecFilterBlock(const Stmt& stmt, Activation* frame, std::string* out) {
  EnterScope(stmt.scope, frame);
  std::string text;
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(stmt.body, frame, &text));
  if (flow != Flow::kNormal) {
    return flow;
  }
  const Value operand = heap_.MakeStr(std::move(text), Escapes(stmt.value->escape));
  FT_ASSIGN_OR_RETURN(const Value value, EvalFilter(*stmt.value, frame, &operand));
  FT_RETURN_IF_ERROR(AppendOutput(value, false, out));
  LeaveScope(stmt.scope, frame);
  return Flow::kNormal;
}

Result<Flow> Interp::ExecWith(const Stmt& stmt, Activation* frame, std::string* out) {
  EnterScope(stmt.scope, frame);
  for (size_t i = 0; i < stmt.exprs.size(); ++i) {
    FT_ASSIGN_OR_RETURN(const Value value, Eval(*stmt.values[i], frame));
    FT_RETURN_IF_ERROR(AssignTo(*stmt.exprs[i], value, frame));
  }
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecAll(stmt.body, frame, out));
  LeaveScope(stmt.scope, frame);
  return flow;
}

Result<Flow> Interp::ExecAutoescape(const Stmt& stmt, Activation* frame, std::string* out) {
  EnterScope(stmt.scope, frame);
  FT_ASSIGN_OR_RETURN(const Value flag, Eval(*stmt.value, frame));
  const bool saved = std::exchange(autoescape_, IsTrue(flag));
  Result<Flow> flow = ExecAll(stmt.body, frame, out);
  autoescape_ = saved;
  LeaveScope(stmt.scope, frame);
  return flow;
}

const Stmt* Interp::FindBlock(std::string_view name) const {
  const auto found = resolved_.blocks.find(name);
  return found == resolved_.blocks.end() ? nullptr : found->second;
}

Status Interp::ExecBlock(const Stmt& stmt, Activation* frame, std::string* out) {
  if (stmt.is_required) {
    return InvalidArgument("Required block '{}' not found", stmt.name);
  }
  if (!stmt.is_scoped) {
    return RunBlock(stmt, out);
  }
  Context scoped;
  scoped.base = context_;
  for (const auto& [name, variable] : stmt.visible) {
    if (const Value& value = SlotOf(variable, frame); !value.is_missing()) {
      scoped.vars.SetStr(name, value);
    }
  }
  Context* const saved = std::exchange(context_, &scoped);
  Status status = RunBlock(stmt, out);
  context_ = saved;
  return status;
}

Status Interp::ExecInclude(const Stmt& stmt, Activation* frame) {
  FT_ASSIGN_OR_RETURN(const Value name, Eval(*stmt.value, frame));
  const bool is_empty_list =
      (name.is(ObjectKind::kList) || name.is(ObjectKind::kTuple)) && !IsTrue(name);
  if (stmt.ignores_missing && is_empty_list) {
    return {};
  }
  return InvalidArgument(
      "a chat template stands alone: include, import, from and extends have nothing to load from");
}

}  // namespace ft::jinja
