// Which variable is each name? jinja2 compiles templates to Python functions and decides at compile
// time, per scope, whether a name is a local, an outer function's local or looked up in the
// context. This follows its idtracking.py and compiler.py, because templates can see the result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/text/jinja/ast.h"

namespace ft::jinja {

/// What the resolver finds out about a template as a whole.
struct ResolvedTemplate {
  FunctionInfo function;  ///< of the root
  ScopeInfo scope;
  int self_slot = -1;
  std::map<std::string, const Stmt*, std::less<>> blocks;
};

/// Writes variables and scopes into `body`, which must outlive the result.
/// Errors: kInvalidArgument "line N: …": unknown filter or test outside an if, break outside a
/// loop, a block defined twice …; kResourceExhausted: too many variables in too many branches.
Result<ResolvedTemplate> Resolve(Stmts* body);

}  // namespace ft::jinja
