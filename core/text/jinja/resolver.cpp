#include "core/text/jinja/resolver.h"

#include <optional>
#include <set>
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/symbols.h"
#include "core/text/jinja/undeclared.h"

namespace ft::jinja {
namespace {

// Names copied for branches of ifs, at most. Real templates need some thousands.
constexpr int64_t kSymbolBudget = 4'000'000;

bool StoresLoop(const Expr* target) {
  if (target == nullptr) {
    return false;
  }
  if (target->kind == ExprKind::kName) {
    return target->use == NameUse::kStore && target->name == "loop";
  }
  for (const ExprPtr& item : target->items) {
    if (StoresLoop(item.get())) {
      return true;
    }
  }
  return false;
}

ExprPtr CloneTarget(const Expr& target) {
  auto copy = std::make_unique<Expr>(target.kind, target.line);
  copy->use = target.use;
  copy->name = target.name;
  for (const ExprPtr& item : target.items) {
    copy->items.push_back(CloneTarget(*item));
  }
  return copy;
}

// The truth of an expression that jinja2 folds at compile time; nothing when it may depend on
// anything.
std::optional<bool> ConstantTruth(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.value.is_missing() || IsTrue(expr.value);
    case ExprKind::kNot: {
      const auto inner = ConstantTruth(*expr.items[0]);
      return inner ? std::optional<bool>(!*inner) : std::nullopt;
    }
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      const auto left = ConstantTruth(*expr.items[0]);
      if (!left || *left == (expr.kind == ExprKind::kOr)) {
        return left;
      }
      return ConstantTruth(*expr.items[1]);
    }
    case ExprKind::kTuple:
    case ExprKind::kList:
    case ExprKind::kDict:
      return expr.items.empty() ? std::optional<bool>(false) : std::nullopt;
    case ExprKind::kData:
    case ExprKind::kName:
    case ExprKind::kNsRef:
    case ExprKind::kCond:
    case ExprKind::kFilter:
    case ExprKind::kTest:
    case ExprKind::kCall:
    case ExprKind::kGetItem:
    case ExprKind::kGetAttr:
    case ExprKind::kSlice:
    case ExprKind::kConcat:
    case ExprKind::kCompare:
    case ExprKind::kBinary:
    case ExprKind::kNegate:
    case ExprKind::kPositive:
      return std::nullopt;
  }
  return std::nullopt;
}

// What jinja2 knows about a scope while it compiles.
struct Frame {
  Symbols* symbols = nullptr;
  bool is_toplevel = false;  // the root and ifs in it
  bool is_soft = false;      // in an if: unknown filters fail only when reached
  EscapeMode escape = EscapeMode::kOff;
};

class Resolver {
 public:
  Result<ResolvedTemplate> Run(Stmts* body) {
    ResolvedTemplate result;
    FT_RETURN_IF_ERROR(CollectBlocks(*body, &result));
    FunctionScope* function = NewFunction(/*parent=*/nullptr);
    Frame frame;
    frame.symbols = NewSymbols(function, /*parent=*/nullptr);
    UndeclaredNames undeclared({"self"});
    undeclared.VisitAll(*body);
    if (undeclared.Has("self")) {
      result.self_slot = frame.symbols->DeclareParameter("self")->slot;
    }
    FT_RETURN_IF_ERROR(SymbolVisitor(frame.symbols, &budget_).VisitAll(*body));
    frame.is_toplevel = true;
    result.scope = Enter(frame);
    FT_RETURN_IF_ERROR(VisitAll(body, frame));
    result.function.num_slots = function->num_slots;
    for (Stmt* block : blocks_) {
      FT_RETURN_IF_ERROR(ResolveBlock(block));
    }
    return result;
  }

 private:
  Status CollectBlocks(const Stmts& body, ResolvedTemplate* result) {
    Status status;
    for (const StmtPtr& stmt : body) {
      ForEachStmt(*stmt, [&](const Stmt& inner) {
        if (inner.kind != StmtKind::kBlock) {
          return;
        }
        if (!result->blocks.emplace(inner.name, &inner).second) {
          status = Fail(inner.line, "block '" + inner.name + "' defined twice");
        }
        blocks_.push_back(const_cast<Stmt*>(&inner));  // NOLINT: Run was given them to change
      });
    }
    return status;
  }

  static Status Fail(int line, std::string_view message) {
    return InvalidArgument("line {}: {}", line, message);
  }

  FunctionScope* NewFunction(FunctionScope* parent) {
    FunctionScope& function = functions_.emplace_back();
    function.parent = parent;
    return &function;
  }

  Symbols* NewSymbols(FunctionScope* function, const Symbols* parent) {
    return &symbols_.emplace_back(function, parent);
  }

  Frame Inner(const Frame& frame, FunctionScope* function) {
    Frame inner;
    inner.symbols = NewSymbols(function, frame.symbols);
    inner.escape = frame.escape;
    return inner;
  }

  Frame Inner(const Frame& frame) { return Inner(frame, frame.symbols->function()); }

  static VariableRef RefFrom(const FunctionScope* from, const Ident& ident) {
    VariableRef ref;
    ref.slot = ident.slot;
    for (const FunctionScope* function = from; function != ident.function;
         function = function->parent) {
      ++ref.hops;
    }
    return ref;
  }

  static ScopeInfo Enter(const Frame& frame) {
    ScopeInfo scope;
    const FunctionScope* function = frame.symbols->function();
    for (const auto& [ident, load] : frame.symbols->loads()) {
      if (ident->function != function) {
        continue;  // an outer variable that a branch assigned: it has its value
      }
      ScopeLoad entry;
      entry.slot = ident->slot;
      entry.action = load.action;
      if (load.action == LoadAction::kAlias) {
        entry.source = RefFrom(function, *load.source);
      } else if (load.action == LoadAction::kResolve) {
        entry.name = Value::ConstStr(load.name);
      }
      scope.loads.push_back(std::move(entry));
    }
    return scope;
  }

  Status VisitAll(Stmts* stmts, const Frame& frame) {
    for (const StmtPtr& stmt : *stmts) {
      FT_RETURN_IF_ERROR(Visit(stmt.get(), frame));
    }
    return {};
  }

  Status Visit(Stmt* stmt, const Frame& frame) {
    FunctionScope* function = frame.symbols->function();
    switch (stmt->kind) {
      case StmtKind::kOutput:
        stmt->escape = frame.escape;
        for (const ExprPtr& expr : stmt->exprs) {
          FT_RETURN_IF_ERROR(VisitExpr(expr.get(), frame));
        }
        return {};
      case StmtKind::kAssign:
        FT_RETURN_IF_ERROR(VisitExpr(stmt->target.get(), frame));
        FT_RETURN_IF_ERROR(VisitExpr(stmt->value.get(), frame));
        return Export(stmt, *stmt->target, frame);
      case StmtKind::kAssignBlock:
        return VisitAssignBlock(stmt, frame);
      case StmtKind::kFor:
        return VisitFor(stmt, frame);
      case StmtKind::kIf:
        return VisitIf(stmt, frame);
      case StmtKind::kMacro:
        FT_RETURN_IF_ERROR(VisitMacro(stmt->macro.get(), stmt->line, frame));
        return BindMacro(stmt, frame);
      case StmtKind::kCallBlock:
        FT_RETURN_IF_ERROR(VisitMacro(stmt->macro.get(), stmt->line, frame));
        return VisitExpr(stmt->value.get(), frame);
      case StmtKind::kGeneration:
        return VisitMacro(stmt->macro.get(), stmt->line, frame);
      case StmtKind::kFilterBlock:
        return VisitFilterBlock(stmt, frame);
      case StmtKind::kWith:
        return VisitWith(stmt, frame);
      case StmtKind::kAutoescape:
        return VisitAutoescape(stmt, frame);
      case StmtKind::kBlock:
        return VisitBlock(stmt, frame);
      case StmtKind::kImport:
        if (stmt->is_extends && !frame.is_toplevel) {
          return Fail(stmt->line, "cannot use extend from a non top-level scope");
        }
        return VisitExpr(stmt->value.get(), frame);
      case StmtKind::kInclude:
        return VisitExpr(stmt->value.get(), frame);
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        return function->loop_depth > 0 ? Status()
                                        : Fail(stmt->line, "break or continue outside a loop");
    }
    return {};
  }

  // Names assigned at the top level are variables of the context too: macros look there.
  Status Export(Stmt* stmt, const Expr& target, const Frame& frame) {
    if (!frame.is_toplevel) {
      return {};
    }
    if (target.kind == ExprKind::kName) {
      stmt->exported.push_back(Value::ConstStr(target.name));
      stmt->exported_variables.push_back(target.variable);
    }
    for (const ExprPtr& item : target.items) {
      FT_RETURN_IF_ERROR(Export(stmt, *item, frame));
    }
    return {};
  }

  Status BindMacro(Stmt* stmt, const Frame& frame) {
    const Ident* ident = frame.symbols->FindRef(stmt->macro->name);
    if (ident == nullptr) {
      return Fail(stmt->line, "macro '" + stmt->macro->name + "' has no place here");
    }
    stmt->variable = RefFrom(frame.symbols->function(), *ident);
    if (frame.is_toplevel) {
      stmt->exported.push_back(Value::ConstStr(stmt->macro->name));
      stmt->exported_variables.push_back(stmt->variable);
    }
    return {};
  }

  Status VisitAssignBlock(Stmt* stmt, const Frame& frame) {
    const Frame inner = Inner(frame);
    FT_RETURN_IF_ERROR(SymbolVisitor(inner.symbols, &budget_).VisitAll(stmt->body));
    stmt->scope = Enter(inner);
    FT_RETURN_IF_ERROR(VisitAll(&stmt->body, inner));
    FT_RETURN_IF_ERROR(VisitExpr(stmt->target.get(), frame));
    FT_RETURN_IF_ERROR(VisitExpr(stmt->value.get(), inner));
    return Export(stmt, *stmt->target, frame);
  }

  Status VisitIf(Stmt* stmt, const Frame& frame) {
    Frame soft = frame;
    soft.is_soft = true;
    for (Branch& branch : stmt->branches) {
      FT_RETURN_IF_ERROR(VisitExpr(branch.test.get(), soft));
      FT_RETURN_IF_ERROR(VisitAll(&branch.body, soft));
    }
    return VisitAll(&stmt->else_body, soft);
  }

  Status CheckLoopTargets(const Stmt& stmt) {
    Status status;
    ForEachStmt(stmt, [&](const Stmt& inner) {
      if (StoresLoop(inner.target.get())) {
        status = Fail(inner.line, "Can't assign to special loop variable in for-loop target");
      }
    });
    return status;
  }

  static bool NeedsLoop(const Stmt& stmt) {
    UndeclaredNames undeclared({"loop"});
    undeclared.VisitAll(stmt.body);
    bool has_scoped_block = false;
    ForEachStmt(stmt, [&](const Stmt& inner) {
      has_scoped_block |= inner.kind == StmtKind::kBlock && inner.is_scoped;
    });
    return stmt.is_recursive || undeclared.Has("loop") || has_scoped_block;
  }

  Status VisitFor(Stmt* stmt, const Frame& frame) {
    FunctionScope* outer = frame.symbols->function();
    FunctionScope* function = stmt->is_recursive ? NewFunction(outer) : outer;
    const Frame body = Inner(frame, function);
    const Frame otherwise = Inner(frame, function);
    if (NeedsLoop(*stmt)) {
      stmt->loop_slot = body.symbols->DeclareParameter("loop")->slot;
    }
    SymbolVisitor visitor(body.symbols, &budget_);
    visitor.VisitTargetAsParameter(*stmt->target);
    FT_RETURN_IF_ERROR(visitor.VisitAll(stmt->body));
    FT_RETURN_IF_ERROR(SymbolVisitor(otherwise.symbols, &budget_).VisitAll(stmt->else_body));
    FT_RETURN_IF_ERROR(CheckLoopTargets(*stmt));
    if (stmt->test != nullptr) {
      FT_RETURN_IF_ERROR(VisitTest(stmt, frame));
    }
    FT_RETURN_IF_ERROR(VisitExpr(stmt->value.get(), frame));
    FT_RETURN_IF_ERROR(VisitExpr(stmt->target.get(), body));
    stmt->scope = Enter(body);
    ++function->loop_depth;
    FT_RETURN_IF_ERROR(VisitAll(&stmt->body, body));
    --function->loop_depth;
    stmt->else_scope = Enter(otherwise);
    FT_RETURN_IF_ERROR(VisitAll(&stmt->else_body, otherwise));
    if (stmt->is_recursive) {
      stmt->function.num_slots = function->num_slots;
    }
    return {};
  }

  // The condition of a loop is a generator function of its own.
  Status VisitTest(Stmt* stmt, const Frame& frame) {
    FunctionScope* function = NewFunction(frame.symbols->function());
    const Frame test = Inner(frame, function);
    SymbolVisitor visitor(test.symbols, &budget_);
    visitor.VisitTargetAsParameter(*stmt->target);
    visitor.VisitExpr(stmt->test.get());
    stmt->test_target = CloneTarget(*stmt->target);
    stmt->test_scope = Enter(test);
    FT_RETURN_IF_ERROR(VisitExpr(stmt->test_target.get(), test));
    FT_RETURN_IF_ERROR(VisitExpr(stmt->test.get(), test));
    stmt->test_function.num_slots = function->num_slots;
    return {};
  }

  Status VisitMacro(MacroInfo* macro, int line, const Frame& outer) {
    FunctionScope* function = NewFunction(outer.symbols->function());
    const Frame frame = Inner(outer, function);
    FT_RETURN_IF_ERROR(AnalyzeMacro(macro, frame));
    UndeclaredNames undeclared({"caller", "kwargs", "varargs"});
    undeclared.VisitAll(macro->body);
    const Parameter* explicit_caller = nullptr;
    NameSet explicit_names;
    for (const Parameter& parameter : macro->parameters) {
      explicit_names.insert(parameter.name);
      explicit_caller = parameter.name == "caller" ? &parameter : explicit_caller;
    }
    if (undeclared.Has("caller")) {
      if (explicit_caller != nullptr && explicit_caller->default_value == nullptr) {
        return Fail(line,
                    "When defining macros or call blocks the special \"caller\" argument must be "
                    "omitted or be given a default.");
      }
      macro->takes_caller = true;
      macro->caller_slot = explicit_caller != nullptr
                               ? frame.symbols->FindRef("caller")->slot
                               : frame.symbols->DeclareParameter("caller")->slot;
    }
    if (undeclared.Has("kwargs") && !explicit_names.contains("kwargs")) {
      macro->takes_kwargs = true;
      macro->kwargs_slot = frame.symbols->DeclareParameter("kwargs")->slot;
    }
    if (undeclared.Has("varargs") && !explicit_names.contains("varargs")) {
      macro->takes_varargs = true;
      macro->varargs_slot = frame.symbols->DeclareParameter("varargs")->slot;
    }
    macro->scope = Enter(frame);
    for (Parameter& parameter : macro->parameters) {
      parameter.slot = frame.symbols->FindRef(parameter.name)->slot;
      FT_RETURN_IF_ERROR(VisitExpr(parameter.default_value.get(), frame));
    }
    FT_RETURN_IF_ERROR(VisitAll(&macro->body, frame));
    macro->function.num_slots = function->num_slots;
    return {};
  }

  Status AnalyzeMacro(MacroInfo* macro, const Frame& frame) {
    SymbolVisitor visitor(frame.symbols, &budget_);
    for (const Parameter& parameter : macro->parameters) {
      frame.symbols->DeclareParameter(parameter.name);
    }
    for (const Parameter& parameter : macro->parameters) {
      visitor.VisitExpr(parameter.default_value.get());
    }
    return visitor.VisitAll(macro->body);
  }

  Status VisitFilterBlock(Stmt* stmt, const Frame& frame) {
    const Frame inner = Inner(frame);
    SymbolVisitor visitor(inner.symbols, &budget_);
    FT_RETURN_IF_ERROR(visitor.VisitAll(stmt->body));
    visitor.VisitExpr(stmt->value.get());
    stmt->scope = Enter(inner);
    FT_RETURN_IF_ERROR(VisitAll(&stmt->body, inner));
    return VisitExpr(stmt->value.get(), inner);
  }

  Status VisitWith(Stmt* stmt, const Frame& frame) {
    const Frame inner = Inner(frame);
    SymbolVisitor visitor(inner.symbols, &budget_);
    for (const ExprPtr& target : stmt->exprs) {
      visitor.VisitExpr(target.get());
    }
    FT_RETURN_IF_ERROR(visitor.VisitAll(stmt->body));
    stmt->scope = Enter(inner);
    for (size_t i = 0; i < stmt->exprs.size(); ++i) {
      FT_RETURN_IF_ERROR(VisitExpr(stmt->exprs[i].get(), inner));
      FT_RETURN_IF_ERROR(VisitExpr(stmt->values[i].get(), frame));
    }
    return VisitAll(&stmt->body, inner);
  }

  Status VisitAutoescape(Stmt* stmt, const Frame& frame) {
    Frame inner = Inner(frame);
    SymbolVisitor visitor(inner.symbols, &budget_);
    visitor.VisitExpr(stmt->value.get());
    FT_RETURN_IF_ERROR(visitor.VisitAll(stmt->body));
    stmt->scope = Enter(inner);
    FT_RETURN_IF_ERROR(VisitExpr(stmt->value.get(), inner));
    const auto constant = ConstantTruth(*stmt->value);
    inner.escape =
        !constant ? EscapeMode::kRuntime : (*constant ? EscapeMode::kOn : EscapeMode::kOff);
    return VisitAll(&stmt->body, inner);
  }

  Status VisitBlock(Stmt* stmt, const Frame& frame) {
    if (!stmt->is_scoped) {
      return {};
    }
    NameSet seen;
    for (const Symbols* scope = frame.symbols; scope != nullptr; scope = scope->parent()) {
      for (const std::string& name : scope->stores()) {
        if (seen.insert(name).second) {
          stmt->visible.emplace_back(Value::ConstStr(name), RefFrom(frame.symbols->function(),
                                                                    *frame.symbols->FindRef(name)));
        }
      }
    }
    return {};
  }

  // A block is a function that sees the context alone.
  Status ResolveBlock(Stmt* block) {
    FunctionScope* function = NewFunction(/*parent=*/nullptr);
    Frame frame;
    frame.symbols = NewSymbols(function, /*parent=*/nullptr);
    UndeclaredNames undeclared({"self", "super"});
    undeclared.VisitAll(block->body);
    if (undeclared.Has("self")) {
      block->self_slot = frame.symbols->DeclareParameter("self")->slot;
    }
    if (undeclared.Has("super")) {
      block->super_slot = frame.symbols->DeclareParameter("super")->slot;
    }
    FT_RETURN_IF_ERROR(SymbolVisitor(frame.symbols, &budget_).VisitAll(block->body));
    block->scope = Enter(frame);
    FT_RETURN_IF_ERROR(VisitAll(&block->body, frame));
    block->function.num_slots = function->num_slots;
    return {};
  }

  Status VisitName(Expr* expr, const Frame& frame) {
    const Ident* ident = frame.symbols->FindRef(expr->name);
    if (ident == nullptr) {
      return Fail(expr->line, "'" + expr->name +
                                  "' cannot be used in the filter of a set block "
                                  "unless it is used around it");
    }
    expr->variable = RefFrom(frame.symbols->function(), *ident);
    return {};
  }

  Status VisitExpr(Expr* expr, const Frame& frame) {
    if (expr == nullptr) {
      return {};
    }
    expr->escape = frame.escape;
    if (expr->kind == ExprKind::kName || expr->kind == ExprKind::kNsRef) {
      return VisitName(expr, frame);
    }
    if (expr->kind == ExprKind::kGetAttr) {
      expr->text_key = Value::ConstStr(expr->name);
    }
    const bool is_filter = expr->kind == ExprKind::kFilter;
    if ((is_filter && FindFilter(expr->name) == nullptr) ||
        (expr->kind == ExprKind::kTest && FindTest(expr->name) == nullptr)) {
      if (!frame.is_soft) {
        return Fail(expr->line, std::string("No ") + (is_filter ? "filter" : "test") + " named '" +
                                    expr->name + "'.");
      }
    }
    Frame inner = frame;
    inner.is_soft |= expr->kind == ExprKind::kCond;
    for (size_t i = 0; i < expr->items.size(); ++i) {
      if (i == 1 && (expr->kind == ExprKind::kAnd || expr->kind == ExprKind::kOr)) {
        // Folded away at compile time, and with it what is wrong on the right.
        inner.is_soft |= ConstantTruth(*expr->items[0]) == (expr->kind == ExprKind::kOr);
      }
      FT_RETURN_IF_ERROR(VisitExpr(expr->items[i].get(), inner));
    }
    for (const Keyword& keyword : expr->keywords) {
      FT_RETURN_IF_ERROR(VisitExpr(keyword.value.get(), inner));
    }
    FT_RETURN_IF_ERROR(VisitExpr(expr->star_args.get(), inner));
    return VisitExpr(expr->star_kwargs.get(), inner);
  }

  std::deque<FunctionScope> functions_;
  std::deque<Symbols> symbols_;
  std::vector<Stmt*> blocks_;
  int64_t budget_ = kSymbolBudget;
};

}  // namespace

Result<ResolvedTemplate> Resolve(Stmts* body) {
  return Resolver().Run(body);
}

}  // namespace ft::jinja
