#include "core/text/jinja/undeclared.h"

namespace ft::jinja {

void UndeclaredNames::VisitAll(const Stmts& stmts) {
  for (const StmtPtr& stmt : stmts) {
    Visit(*stmt);
  }
}

void UndeclaredNames::Visit(const Stmt& stmt) {
  if (stmt.kind == StmtKind::kBlock) {
    return;
  }
  VisitExpr(stmt.target.get());
  VisitExpr(stmt.value.get());
  for (const auto* list : {&stmt.exprs, &stmt.values}) {
    for (const ExprPtr& expr : *list) {
      VisitExpr(expr.get());
    }
  }
  for (const Branch& branch : stmt.branches) {
    VisitExpr(branch.test.get());
    VisitAll(branch.body);
  }
  if (stmt.macro != nullptr) {
    for (const Parameter& parameter : stmt.macro->parameters) {
      names_.erase(parameter.name);
    }
    for (const Parameter& parameter : stmt.macro->parameters) {
      VisitExpr(parameter.default_value.get());
    }
    VisitAll(stmt.macro->body);
  }
  VisitAll(stmt.body);
  VisitAll(stmt.else_body);
  VisitExpr(stmt.test.get());
}

void UndeclaredNames::VisitExpr(const Expr* expr) {
  if (expr == nullptr) {
    return;
  }
  if (expr->kind == ExprKind::kName) {
    if (expr->use == NameUse::kLoad && names_.contains(expr->name)) {
      found_.insert(expr->name);
    } else {
      names_.erase(expr->name);
    }
  }
  for (const ExprPtr& item : expr->items) {
    VisitExpr(item.get());
  }
  for (const Keyword& keyword : expr->keywords) {
    VisitExpr(keyword.value.get());
  }
  VisitExpr(expr->star_args.get());
  VisitExpr(expr->star_kwargs.get());
}

void ForEachStmt(const Stmt& stmt, const std::function<void(const Stmt&)>& visit) {
  visit(stmt);
  const auto all = [&visit](const Stmts& stmts) {
    for (const StmtPtr& inner : stmts) {
      ForEachStmt(*inner, visit);
    }
  };
  for (const Branch& branch : stmt.branches) {
    all(branch.body);
  }
  if (stmt.macro != nullptr) {
    all(stmt.macro->body);
  }
  all(stmt.body);
  all(stmt.else_body);
}

}  // namespace ft::jinja
