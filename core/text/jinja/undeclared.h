// Walks over statements that the resolver needs: who reads a name, and every statement below one.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/text/jinja/ast.h"

namespace ft::jinja {

using NameSet = std::set<std::string>;

/// Which of some names a body reads without assigning them first (jinja2's find_undeclared).
class UndeclaredNames {
 public:
  explicit UndeclaredNames(NameSet names) : names_(std::move(names)) {}

  void VisitAll(const Stmts& stmts);

  bool Has(const std::string& name) const { return found_.contains(name); }

 private:
  void Visit(const Stmt& stmt);
  void VisitExpr(const Expr* expr);

  NameSet names_;
  NameSet found_;
};

/// Calls `visit` for a statement and all below it.
void ForEachStmt(const Stmt& stmt, const std::function<void(const Stmt&)>& visit);

}  // namespace ft::jinja
