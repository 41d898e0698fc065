#include "core/text/jinja/symbols.h"

#include "core/base/check.h"
#include "core/base/errors.h"

namespace ft::jinja {

const Ident* Symbols::FindRef(const std::string& name) const {
  for (const Symbols* scope = this; scope != nullptr; scope = scope->parent_) {
    if (const auto found = scope->refs_.find(name); found != scope->refs_.end()) {
      return found->second;
    }
  }
  return nullptr;
}

const Ident* Symbols::Define(const std::string& name, Load load) {
  std::unique_ptr<Ident>& ident = function_->idents[{level_, name}];
  if (ident == nullptr) {
    ident = std::make_unique<Ident>(Ident{function_, function_->num_slots++});
  }
  refs_[name] = ident.get();
  SetLoad(ident.get(), std::move(load));
  return ident.get();
}

void Symbols::SetLoad(const Ident* ident, Load load) {
  const auto [found, is_new] = load_index_.try_emplace(ident, loads_.size());
  if (is_new) {
    loads_.emplace_back(ident, std::move(load));
  } else {
    loads_[found->second].second = std::move(load);
  }
}

void Symbols::Store(const std::string& name) {
  stores_.insert(name);
  if (refs_.contains(name)) {
    return;
  }
  const Ident* outer = parent_ == nullptr ? nullptr : parent_->FindRef(name);
  Define(name, outer != nullptr ? Load{LoadAction::kAlias, outer, ""}
                                : Load{LoadAction::kUndefined, nullptr, ""});
}

void Symbols::LoadName(const std::string& name) {
  if (FindRef(name) == nullptr) {
    Define(name, Load{LoadAction::kResolve, nullptr, name});
  }
}

const Ident* Symbols::DeclareParameter(const std::string& name) {
  stores_.insert(name);
  return Define(name, Load{LoadAction::kParameter, nullptr, ""});
}

void Symbols::UpdateFromBranches(const std::vector<Symbols>& branches) {
  std::set<std::string> stored;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores_) {
      if (!stores_.contains(name)) {
        stored.insert(name);
      }
    }
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, ident] : branch.refs_) {
      refs_[name] = ident;
    }
    for (const auto& [ident, load] : branch.loads_) {
      SetLoad(ident, load);
    }
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  for (const std::string& name : stored) {
    const Ident* target = FindRef(name);
    FT_CHECK(target != nullptr);
    const Ident* outer = parent_ == nullptr ? nullptr : parent_->FindRef(name);
    SetLoad(target, outer != nullptr ? Load{LoadAction::kAlias, outer, ""}
                                     : Load{LoadAction::kResolve, nullptr, name});
  }
}

Status SymbolVisitor::VisitAll(const Stmts& stmts) {
  for (const StmtPtr& stmt : stmts) {
    FT_RETURN_IF_ERROR(Visit(*stmt));
  }
  return {};
}

Status SymbolVisitor::Visit(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kOutput:
      for (const ExprPtr& expr : stmt.exprs) {
        VisitExpr(expr.get());
      }
      return {};
    case StmtKind::kAssign:
      VisitExpr(stmt.value.get());
      VisitExpr(stmt.target.get());
      return {};
    case StmtKind::kAssignBlock:
      VisitExpr(stmt.target.get());
      return {};
    case StmtKind::kFor:
    case StmtKind::kCallBlock:
    case StmtKind::kFilterBlock:
    case StmtKind::kInclude:
      VisitExpr(stmt.value.get());
      return {};
    case StmtKind::kIf:
      return VisitIf(stmt);
    case StmtKind::kMacro:
      symbols_->Store(stmt.macro->name);
      return {};
    case StmtKind::kWith:
      for (const ExprPtr& value : stmt.values) {
        VisitExpr(value.get());
      }
      return {};
    case StmtKind::kImport:
      VisitExpr(stmt.value.get());
      for (const std::string& name : stmt.imported) {
        symbols_->Store(name);
      }
      return {};
    case StmtKind::kGeneration:
    case StmtKind::kAutoescape:
    case StmtKind::kBlock:
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      return {};
  }
  return {};
}

Status SymbolVisitor::VisitBranch(const Stmts& body, std::vector<Symbols>* branches) {
  *budget_ -= static_cast<int64_t>(symbols_->size());
  if (*budget_ < 0) {
    return ResourceExhausted("the template has too many variables in too many branches");
  }
  branches->push_back(*symbols_);
  return SymbolVisitor(&branches->back(), budget_).VisitAll(body);
}

Status SymbolVisitor::VisitIf(const Stmt& stmt) {
  VisitExpr(stmt.branches[0].test.get());
  std::vector<Symbols> branches;
  branches.reserve(3);
  FT_RETURN_IF_ERROR(VisitBranch(stmt.branches[0].body, &branches));
  if (stmt.branches.size() > 1) {
    FT_RETURN_IF_ERROR(VisitBranch({}, &branches));
    SymbolVisitor visitor(&branches.back(), budget_);
    for (size_t i = 1; i < stmt.branches.size(); ++i) {
      visitor.VisitExpr(stmt.branches[i].test.get());
      std::vector<Symbols> body;
      FT_RETURN_IF_ERROR(visitor.VisitBranch(stmt.branches[i].body, &body));
      visitor.symbols_->UpdateFromBranches(body);
    }
  }
  FT_RETURN_IF_ERROR(VisitBranch(stmt.else_body, &branches));
  symbols_->UpdateFromBranches(branches);
  return {};
}

void SymbolVisitor::VisitExpr(const Expr* expr) {
  if (expr == nullptr) {
    return;
  }
  if (expr->kind == ExprKind::kName) {
    switch (expr->use) {
      case NameUse::kLoad:
        symbols_->LoadName(expr->name);
        return;
      case NameUse::kStore:
        symbols_->Store(expr->name);
        return;
      case NameUse::kParam:
        symbols_->DeclareParameter(expr->name);
        return;
    }
  }
  if (expr->kind == ExprKind::kNsRef) {
    symbols_->LoadName(expr->name);
    return;
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

void SymbolVisitor::VisitTargetAsParameter(const Expr& target) {
  if (target.kind == ExprKind::kName) {
    symbols_->DeclareParameter(target.name);
  }
  for (const ExprPtr& item : target.items) {
    VisitTargetAsParameter(*item);
  }
}

}  // namespace ft::jinja
