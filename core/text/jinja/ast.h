// The tree of a parsed template, and what the resolver (resolver.h) writes into it: which variable
// of which function each name is. Immutable once resolved, so renders share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/jinja/ops.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Stmts = std::vector<StmtPtr>;

enum class ExprKind : uint8_t {
  kConst,    ///< value
  kData,     ///< value: text of the template itself
  kName,     ///< name
  kNsRef,    ///< name.attr, as the target of a set
  kTuple,    ///< items
  kList,     ///< items
  kDict,     ///< items: key, value, key, value …
  kCond,     ///< items: condition, then, else (may be null)
  kFilter,   ///< items[0] (null in a filter block) | name(items[1…])
  kTest,     ///< items[0] is name(items[1…])
  kCall,     ///< items[0](items[1…])
  kGetItem,  ///< items[0][items[1]]
  kGetAttr,  ///< items[0].name
  kSlice,    ///< items: start, stop, step (each may be null)
  kConcat,   ///< items joined by ~
  kCompare,  ///< items[0] op items[1] op items[2] …
  kBinary,   ///< items[0] op items[1]
  kAnd,      ///< items: left, right
  kOr,       ///< items: left, right
  kNot,      ///< items[0]
  kNegate,   ///< items[0]
  kPositive  ///< items[0]
};

enum class CompareOp : uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn
};

/// Whether output is escaped for HTML, as an autoescape block around the text says.
enum class EscapeMode : uint8_t {
  kOff,
  kOn,
  kRuntime  ///< the block's condition is no constant
};

enum class NameUse : uint8_t {
  kLoad,
  kStore,
  kParam
};

/// A variable: `hops` functions outwards, `slot` in that function's activation.
struct VariableRef {
  int hops = 0;
  int slot = 0;
};

struct Keyword {
  std::string name;
  ExprPtr value;
};

struct Expr {
  Expr(ExprKind expr_kind, int at_line) : kind(expr_kind), line(at_line) {}

  ExprKind kind;
  NameUse use = NameUse::kLoad;
  BinaryOp op = BinaryOp::kAdd;
  int line;
  int depth = 1;  ///< levels of expressions below and with this one
  Value value;
  std::string name;
  std::string attr;
  std::vector<ExprPtr> items;
  std::vector<CompareOp> compare_ops;
  std::vector<Keyword> keywords;
  ExprPtr star_args;
  ExprPtr star_kwargs;

  // Written by the resolver.
  VariableRef variable;
  EscapeMode escape = EscapeMode::kOff;  ///< kConcat, and kFilter without operand
  Value text_key;                        ///< name as a value, for lookups
};

/// How a variable gets its value where a scope begins.
enum class LoadAction : uint8_t {
  kParameter,  ///< by other means
  kResolve,    ///< from the context
  kAlias,      ///< from an outer variable
  kUndefined   ///< none yet
};

struct ScopeLoad {
  int slot = 0;
  LoadAction action = LoadAction::kParameter;
  VariableRef source;  ///< kAlias
  Value name;          ///< kResolve
};

/// What happens when a scope is entered; all its slots are emptied when it is left.
struct ScopeInfo {
  std::vector<ScopeLoad> loads;
};

/// What the generated function of Python would be: root, macro, caller, block, loop.
struct FunctionInfo {
  int num_slots = 0;
};

struct Branch {
  ExprPtr test;
  Stmts body;
};

struct Parameter {
  std::string name;
  ExprPtr default_value;  ///< may be null
  int slot = 0;
};

/// Body of a macro or caller.
struct MacroInfo {
  std::string name;
  bool has_name = false;
  std::vector<Parameter> parameters;
  Stmts body;

  FunctionInfo function;
  ScopeInfo scope;
  bool takes_caller = false;
  bool takes_kwargs = false;
  bool takes_varargs = false;
  int caller_slot = 0;
  int kwargs_slot = 0;
  int varargs_slot = 0;
};

enum class StmtKind : uint8_t {
  kOutput,       ///< exprs
  kAssign,       ///< target = value
  kAssignBlock,  ///< target = body, through value (a filter with no operand, may be null)
  kFor,          ///< target in value if test
  kIf,           ///< branches, else_body
  kMacro,        ///< macro
  kCallBlock,    ///< value (a call) with macro as caller
  kGeneration,   ///< macro: called in place
  kFilterBlock,  ///< value (a filter with no operand) over body
  kWith,         ///< exprs (targets) = values
  kAutoescape,   ///< value, body
  kBlock,        ///< name, body
  kInclude,      ///< value
  kImport,       ///< value (import, from and extends: there is nothing to load from)
  kBreak,
  kContinue
};

struct Stmt {
  Stmt(StmtKind stmt_kind, int at_line) : kind(stmt_kind), line(at_line) {}

  StmtKind kind;
  int line;
  std::string name;
  ExprPtr target;
  ExprPtr value;
  ExprPtr test;
  ExprPtr test_target;  ///< kFor: the target again, in the function of the test
  std::vector<ExprPtr> exprs;
  std::vector<ExprPtr> values;
  std::vector<Branch> branches;
  Stmts body;
  Stmts else_body;
  std::unique_ptr<MacroInfo> macro;
  std::vector<std::string> imported;  ///< names an import binds
  bool is_recursive = false;
  bool is_scoped = false;
  bool is_required = false;
  bool is_extends = false;
  bool ignores_missing = false;

  // Written by the resolver.
  ScopeInfo scope;              ///< of body
  ScopeInfo else_scope;         ///< kFor
  ScopeInfo test_scope;         ///< kFor
  FunctionInfo function;        ///< of a recursive loop or a block
  FunctionInfo test_function;   ///< kFor with a test
  int loop_slot = -1;           ///< kFor: the variable `loop`, when it is used
  int self_slot = -1;           ///< kBlock
  int super_slot = -1;          ///< kBlock
  VariableRef variable;         ///< kMacro: what it is assigned to
  std::vector<Value> exported;  ///< kAssign…: names that go to the context (top level only)
  std::vector<VariableRef> exported_variables;
  std::vector<std::pair<Value, VariableRef>> visible;  ///< kBlock scoped: what the block sees
  EscapeMode escape = EscapeMode::kOff;                ///< kOutput
};

}  // namespace ft::jinja
