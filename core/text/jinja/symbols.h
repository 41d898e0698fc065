// The tables of names that the resolver builds, one per scope (jinja2's idtracking.Symbols).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/text/jinja/ast.h"

namespace ft::jinja {

struct FunctionScope;

/// A local variable of a function. Scopes of one level and function share those of one name.
struct Ident {
  FunctionScope* function = nullptr;
  int slot = 0;
};

/// A function of the compiled template while it is being resolved.
struct FunctionScope {
  FunctionScope* parent = nullptr;
  int num_slots = 0;
  int loop_depth = 0;  ///< loops around the statement being visited, in this function
  std::map<std::pair<int, std::string>, std::unique_ptr<Ident>> idents;
};

struct Load {
  LoadAction action = LoadAction::kParameter;
  const Ident* source = nullptr;
  std::string name;
};

class Symbols {
 public:
  Symbols(FunctionScope* function, const Symbols* parent)
      : function_(function), parent_(parent), level_(parent == nullptr ? 0 : parent->level_ + 1) {}

  const Ident* FindRef(const std::string& name) const;
  void Store(const std::string& name);
  void LoadName(const std::string& name);
  const Ident* DeclareParameter(const std::string& name);
  /// Merges what branches of an if stored into this, which they were copies of.
  void UpdateFromBranches(const std::vector<Symbols>& branches);

  FunctionScope* function() const { return function_; }

  const Symbols* parent() const { return parent_; }

  const std::set<std::string>& stores() const { return stores_; }

  const std::vector<std::pair<const Ident*, Load>>& loads() const { return loads_; }

  size_t size() const { return refs_.size() + loads_.size() + stores_.size(); }

 private:
  const Ident* Define(const std::string& name, Load load);
  void SetLoad(const Ident* ident, Load load);

  FunctionScope* function_;
  const Symbols* parent_;
  int level_;
  std::unordered_map<std::string, const Ident*> refs_;
  std::vector<std::pair<const Ident*, Load>> loads_;  // in the order of first definition
  std::unordered_map<const Ident*, size_t> load_index_;
  std::set<std::string> stores_;
};

/// Fills a scope's Symbols from the statements that are in it (jinja2's FrameSymbolVisitor).
class SymbolVisitor {
 public:
  /// `budget` counts down the names copied for branches; below 0 the template is refused.
  SymbolVisitor(Symbols* symbols, int64_t* budget) : symbols_(symbols), budget_(budget) {}

  Status VisitAll(const Stmts& stmts);
  Status Visit(const Stmt& stmt);
  void VisitExpr(const Expr* expr);
  void VisitTargetAsParameter(const Expr& target);

 private:
  Status VisitIf(const Stmt& stmt);
  Status VisitBranch(const Stmts& body, std::vector<Symbols>* branches);

  Symbols* symbols_;
  int64_t* budget_;
};

}  // namespace ft::jinja
