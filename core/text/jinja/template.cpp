#include "core/text/jinja/template.h"

#include <utility>

#include "core/base/utf8.h"
#include "core/text/jinja/parser.h"

namespace ft::jinja {

Result<Template> Template::Parse(std::string_view source) {
  Template result;
  FT_ASSIGN_OR_RETURN(
      result.body_,
      ParseTemplate(IsValidUtf8(source) ? std::string(source) : ReplaceInvalidUtf8(source)));
  FT_ASSIGN_OR_RETURN(result.resolved_, Resolve(&result.body_));
  return result;
}

Result<std::string> Template::Render(const json::Value& context,
                                     const std::tm& now,
                                     const Limits& limits) const {
  Interp interp(body_, resolved_, limits, now);
  Result<std::string> text = interp.Render(context);
  if (text.ok() || interp.was_raised()) {
    return text;
  }
  return Status(text.status().code(),
                "template line " + std::to_string(interp.line()) + ": " + text.status().message());
}

}  // namespace ft::jinja
