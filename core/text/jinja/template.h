// One parsed and resolved template, ready to be rendered by any number of threads.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/jinja/ast.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/resolver.h"

namespace ft::jinja {

class Template {
 public:
  /// Errors: see text::ChatTemplate::Parse.
  static Result<Template> Parse(std::string_view source);

  /// Errors: see text::ChatTemplate::Render.
  Result<std::string> Render(const json::Value& context,
                             const std::tm& now,
                             const Limits& limits) const;

 private:
  Stmts body_;
  ResolvedTemplate resolved_;
};

}  // namespace ft::jinja
