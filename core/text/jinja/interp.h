// One render of a template: walks the tree, owns the values, counts what it spends.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/jinja/ast.h"
#include "core/text/jinja/resolver.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

struct Limits {
  size_t max_output_bytes = size_t{64} << 20;
  size_t max_memory_bytes = size_t{512} << 20;
  int64_t max_steps = 50'000'000;
};

/// Local variables of one call of a function.
struct Activation {
  Activation* parent = nullptr;
  Values slots;
};

/// Variables that functions without a local of that name see.
struct Context {
  DictData vars;  ///< assigned at the top level of the template
  const Context* base = nullptr;
};

struct MacroObject : Object {
  MacroObject() : Object(ObjectKind::kMacro) {}

  const MacroInfo* info = nullptr;
  Activation* closure = nullptr;
  bool default_autoescape = false;
};

/// The variable `loop`.
struct LoopObject : Object {
  LoopObject() : Object(ObjectKind::kLoop) {}

  IteratorObject* iterator = nullptr;
  Value iterable;  ///< what len() is asked for
  int64_t length = -1;
  int64_t index0 = -1;
  int64_t depth0 = 0;
  Value current = Value::Missing();
  Value before = Value::Missing();
  Value after = Value::Missing();
  Value last_changed = Value::Missing();
  const Stmt* recursive = nullptr;
  Activation* closure = nullptr;  ///< of the recursive loop's function
};

struct BlockRefObject : Object {
  BlockRefObject() : Object(ObjectKind::kBlockRef) {}

  const Stmt* block = nullptr;
};

enum class Flow : uint8_t {
  kNormal,
  kBreak,
  kContinue
};

class Interp {
 public:
  /// `body` and `resolved` must outlive this. `now`: what strftime_now sees.
  Interp(const Stmts& body,
         const ResolvedTemplate& resolved,
         const Limits& limits,
         const std::tm& now);

  /// The whole template with the members of `context`.
  Result<std::string> Render(const json::Value& context);

  /// Whether the failure of Render was the template's own raise_exception.
  bool was_raised() const { return was_raised_; }

  void set_raised() { was_raised_ = true; }

  /// Line of the statement or expression that was at work last.
  int line() const { return line_; }

  Heap& heap() { return heap_; }

  const std::tm& now() const { return now_; }

  size_t max_string_bytes() const { return limits_.max_output_bytes; }

  size_t max_memory_bytes() const { return limits_.max_memory_bytes; }

  bool autoescape() const { return autoescape_; }

  // Limits. Each fails with kResourceExhausted.

  /// One step; also checks memory and the depth of the machine's stack.
  Status Enter();
  Status Work(int64_t num_steps);
  /// The work of touching so many bytes, which must also fit one string.
  Status WorkBytes(size_t num_bytes);

  // Undefined values.

  Value UndefinedName(std::string_view name);
  Value UndefinedMember(const Value& owner, Value name);
  Value UndefinedHint(std::string hint);
  Value UnsafeMember(const Value& owner, std::string_view name);

  // The sandbox's access: attribute first, item first.

  Result<Value> GetAttr(const Value& owner, const Value& name);
  Result<Value> GetItem(const Value& owner, const Value& key);

  Result<Value> Call(const Value& callee, CallArgs& args);
  Result<Value> CallFilter(std::string_view name, const Value& value, CallArgs& args);
  Result<Value> CallTest(std::string_view name, const Value& value, CallArgs& args);

  std::string MacroRepr(const Value& macro) const;
  Result<std::string> LoopRepr(const Value& loop);
  Result<Value> CallLoop(const Stmt& stmt, const Value& iterable, Activation* outer, int64_t depth);
  Value MakeFunction(std::string name, FunctionObject::Body body);
  /// A block of this template, or undefined.
  const Stmt* FindBlock(std::string_view name) const;

 private:
  // Statements (interp.cpp).
  Result<Flow> ExecAll(const Stmts& stmts, Activation* frame, std::string* out);
  Result<Flow> Exec(const Stmt& stmt, Activation* frame, std::string* out);
  Status ExecOutput(const Stmt& stmt, Activation* frame, std::string* out);
  Status ExecAssign(const Stmt& stmt, Activation* frame);
  Result<Flow> ExecAssignBlock(const Stmt& stmt, Activation* frame);
  Result<Flow> ExecFor(const Stmt& stmt, Activation* frame, std::string* out);
  Result<Flow> ExecIf(const Stmt& stmt, Activation* frame, std::string* out);
  Status ExecMacro(const Stmt& stmt, Activation* frame);
  Status ExecCallBlock(const Stmt& stmt, Activation* frame, std::string* out);
  Status ExecGeneration(const Stmt& stmt, Activation* frame, std::string* out);
  Result<Flow> ExecFilterBlock(const Stmt& stmt, Activation* frame, std::string* out);
  Result<Flow> ExecWith(const Stmt& stmt, Activation* frame, std::string* out);
  Result<Flow> ExecAutoescape(const Stmt& stmt, Activation* frame, std::string* out);
  Status ExecBlock(const Stmt& stmt, Activation* frame, std::string* out);
  Status ExecInclude(const Stmt& stmt, Activation* frame);
  Status RunBlock(const Stmt& block, std::string* out);

  Status RunLoop(
      const Stmt& stmt, const Value& iterable, Activation* frame, int64_t depth0, std::string* out);
  Result<IteratorObject*> FilteredIterator(const Stmt& stmt,
                                           const Value& iterable,
                                           Activation* frame);
  void EnterScope(const ScopeInfo& scope, Activation* frame);
  void LeaveScope(const ScopeInfo& scope, Activation* frame);
  Status Export(const Stmt& stmt, Activation* frame);
  Status AssignTo(const Expr& target, const Value& value, Activation* frame);
  Status CheckNamespaces(const Expr& target, Activation* frame);
  Status Append(std::string_view text, std::string* out);
  Status AppendOutput(const Value& value, bool escapes, std::string* out);

  bool Escapes(EscapeMode mode) const {
    return mode == EscapeMode::kOn || (mode == EscapeMode::kRuntime && autoescape_);
  }

  // Functions (call.cpp).
  Activation* NewActivation(int num_slots, Activation* parent);
  void DropActivation(Activation* frame, size_t closures_before);
  Value NewMacro(const MacroInfo& info, Activation* closure);
  Result<Value> CallMacro(const MacroObject& macro, CallArgs& args, bool autoescape);
  Status BindMacro(const MacroObject& macro, CallArgs& args, Activation* frame);
  Status BindMacroParameters(const MacroInfo& info,
                             CallArgs& args,
                             Activation* frame,
                             bool* found_caller);

  // Expressions (eval.cpp).
  Result<Value> Eval(const Expr& expr, Activation* frame);
  Result<Value> EvalName(const Expr& expr, Activation* frame);
  Result<Value> EvalItems(const Expr& expr, Activation* frame);
  Result<Value> EvalDict(const Expr& expr, Activation* frame);
  Result<Value> EvalCond(const Expr& expr, Activation* frame);
  Result<Value> EvalFilter(const Expr& expr, Activation* frame, const Value* operand);
  Result<Value> EvalTest(const Expr& expr, Activation* frame);
  Result<Value> EvalCall(const Expr& expr, Activation* frame, const Value* caller);
  Result<Value> EvalGetItem(const Expr& expr, Activation* frame);
  Result<Value> EvalSlice(const Expr& expr, Activation* frame);
  Result<Value> EvalConcat(const Expr& expr, Activation* frame);
  Result<Value> EvalCompare(const Expr& expr, Activation* frame);
  Result<Value> EvalLogic(const Expr& expr, Activation* frame);
  Result<Value> EvalBinary(const Expr& expr, Activation* frame);
  Result<Value> EvalUnary(const Expr& expr, Activation* frame);
  Status EvalArgs(const Expr& expr, Activation* frame, CallArgs* args);

  static Value& SlotOf(VariableRef ref, Activation* frame) {
    for (int i = 0; i < ref.hops; ++i) {
      frame = frame->parent;
    }
    return frame->slots[static_cast<size_t>(ref.slot)];
  }

  Value ResolveInContext(const Value& name) const;

  const Stmts& body_;
  const ResolvedTemplate& resolved_;
  const Limits limits_;
  const std::tm now_;
  Heap heap_;  // before everything that holds values
  Context root_context_;
  DictData globals_;
  Context* context_ = &root_context_;
  std::vector<std::unique_ptr<Activation>> activations_;
  size_t num_closures_ = 0;
  int call_depth_ = 0;
  bool autoescape_ = false;
  bool was_raised_ = false;
  int line_ = 1;
  int64_t steps_ = 0;
  uintptr_t stack_base_ = 0;
};

// The protocol of `loop` (loop.cpp).
Result<int64_t> LoopLength(Interp& interp, const Value& loop);
Result<bool> LoopNext(Interp& interp, const Value& value, Value* item);
/// An attribute of `loop`; nothing when there is none.
Result<std::optional<Value>> LoopAttribute(Interp& interp,
                                           const Value& loop,
                                           std::string_view name);

/// json::Value to a template's value.
Value FromJson(Interp& interp, const json::Value& value);

}  // namespace ft::jinja
