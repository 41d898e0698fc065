// Statements of the template grammar.
#include "core/text/jinja/parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/parser_internal.h"
#include "core/text/jinja/text_util.h"

namespace ft::jinja {
namespace {

StmtPtr NewStmt(StmtKind kind, int line) {
  return std::make_unique<Stmt>(kind, line);
}

bool CanAssign(const std::string& name) {
  return name != "true" && name != "false" && name != "none" && name != "True" && name != "False" &&
         name != "None";
}

}  // namespace

Result<Stmts> ParseTemplate(std::string_view source) {
  FT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).ParseAll();
}

// Tokens.

bool Parser::SkipName(std::string_view name) {
  if (!current().IsName(name)) {
    return false;
  }
  Skip();
  return true;
}

bool Parser::SkipOp(std::string_view op) {
  if (!current().IsOp(op)) {
    return false;
  }
  Skip();
  return true;
}

Status Parser::ExpectOp(std::string_view op) {
  return SkipOp(op) ? Status() : Unexpected(op);
}

Status Parser::ExpectName(std::string_view name) {
  return SkipName(name) ? Status() : Unexpected(name);
}

Status Parser::ExpectKind(TokenKind kind, std::string_view what) {
  if (current().kind != kind) {
    return Unexpected(what);
  }
  Skip();
  return {};
}

Result<std::string> Parser::ExpectAnyName() {
  if (current().kind != TokenKind::kName) {
    return Unexpected("name");
  }
  std::string name = current().text;
  Skip();
  return name;
}

Status Parser::Fail(std::string_view message) const {
  return InvalidArgument("line {}: {}", current().line, message);
}

Status Parser::Unexpected(std::string_view wanted) const {
  if (current().kind == TokenKind::kEnd) {
    return Fail(fmt::format("unexpected end of template, expected '{}'.", wanted));
  }
  return Fail(fmt::format("expected token '{}', got '{}'", wanted, Describe(current())));
}

std::string Parser::Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template data / text";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kName:
    case TokenKind::kString:
    case TokenKind::kOperator:
      return token.text;
    case TokenKind::kInteger:
      return "integer";
    case TokenKind::kFloat:
      return "float";
    case TokenKind::kEnd:
      return "end of template";
  }
  return "";
}

// Bodies.

Result<Stmts> Parser::ParseAll() {
  FT_ASSIGN_OR_RETURN(Stmts body, ParseUntil({}));
  if (current().kind != TokenKind::kEnd) {
    return Fail("unexpected end tag");
  }
  return body;
}

Result<Stmts> Parser::ParseBody(Names ends) {
  static_cast<void>(SkipOp(":"));
  FT_RETURN_IF_ERROR(ExpectKind(TokenKind::kBlockEnd, "end of statement block"));
  FT_ASSIGN_OR_RETURN(Stmts body, ParseUntil(ends));
  if (current().kind == TokenKind::kEnd) {
    return Fail(
        fmt::format("Unexpected end of template. Jinja was looking for the following "
                    "tags: '{}'.",
                    fmt::join(ends, "' or '")));
  }
  return body;
}

Result<Stmts> Parser::ParseUntil(Names ends) {
  Stmts body;
  StmtPtr output;
  const auto flush = [&] {
    if (output != nullptr) {
      body.push_back(std::move(output));
      output = nullptr;
    }
  };
  const auto add = [&](ExprPtr expr) {
    if (output == nullptr) {
      output = NewStmt(StmtKind::kOutput, expr->line);
    }
    output->exprs.push_back(std::move(expr));
  };
  while (current().kind != TokenKind::kEnd) {
    if (current().kind == TokenKind::kData) {
      auto data = std::make_unique<Expr>(ExprKind::kData, current().line);
      data->value = Value::ConstStr(current().text);
      add(std::move(data));
      Skip();
    } else if (current().kind == TokenKind::kVariableBegin) {
      Skip();
      FT_ASSIGN_OR_RETURN(ExprPtr expr, ParseTuple({}));
      FT_RETURN_IF_ERROR(ExpectKind(TokenKind::kVariableEnd, "end of print statement"));
      add(std::move(expr));
    } else if (current().kind == TokenKind::kBlockBegin) {
      flush();
      Skip();
      if (std::any_of(ends.begin(), ends.end(),
                      [this](std::string_view name) { return current().IsName(name); })) {
        return body;
      }
      FT_ASSIGN_OR_RETURN(StmtPtr stmt, ParseStatement());
      body.push_back(std::move(stmt));
      FT_RETURN_IF_ERROR(ExpectKind(TokenKind::kBlockEnd, "end of statement block"));
    } else {
      return Fail("internal parsing error");
    }
  }
  flush();
  return body;
}

Result<StmtPtr> Parser::ParseStatement() {
  using Handler = Result<StmtPtr> (Parser::*)();
  static constexpr std::pair<std::string_view, Handler> kTags[] = {
      {"for", &Parser::ParseFor},
      {"if", &Parser::ParseIf},
      {"set", &Parser::ParseSet},
      {"macro", &Parser::ParseMacro},
      {"call", &Parser::ParseCallBlock},
      {"filter", &Parser::ParseFilterBlock},
      {"generation", &Parser::ParseGeneration},
      {"with", &Parser::ParseWith},
      {"block", &Parser::ParseBlock},
      {"print", &Parser::ParsePrint},
      {"include", &Parser::ParseInclude},
      {"import", &Parser::ParseImport},
      {"from", &Parser::ParseFrom},
      {"extends", &Parser::ParseExtends},
      {"autoescape", &Parser::ParseAutoescape}};
  if (current().kind != TokenKind::kName) {
    return Fail("tag name expected");
  }
  if (current().IsName("break") || current().IsName("continue")) {
    StmtPtr stmt =
        NewStmt(current().IsName("break") ? StmtKind::kBreak : StmtKind::kContinue, current().line);
    Skip();
    return stmt;
  }
  for (const auto& [tag, handler] : kTags) {
    if (!current().IsName(tag)) {
      continue;
    }
    if (stmt_depth_ >= kMaxStmtDepth) {
      return ResourceExhausted("line {}: statements are nested more than {} deep", current().line,
                               kMaxStmtDepth);
    }
    ++stmt_depth_;
    Result<StmtPtr> stmt = (this->*handler)();
    --stmt_depth_;
    return stmt;
  }
  return Fail(fmt::format("Encountered unknown tag '{}'.", current().text));
}

Result<StmtPtr> Parser::CloseBody(StmtPtr stmt, std::string_view end) {
  FT_ASSIGN_OR_RETURN(stmt->body, ParseBody({end}));
  Skip();
  return stmt;
}

// Targets.

Result<std::string> Parser::ParseNameTarget() {
  FT_ASSIGN_OR_RETURN(std::string name, ExpectAnyName());
  if (!CanAssign(name)) {
    return Fail("can't assign to '" + name + "'");
  }
  return name;
}

Status Parser::MakeTarget(Expr* expr, NameUse use) {
  expr->use = use;
  if (expr->kind == ExprKind::kTuple) {
    for (const ExprPtr& item : expr->items) {
      FT_RETURN_IF_ERROR(MakeTarget(item.get(), use));
    }
    return {};
  }
  if (expr->kind == ExprKind::kName || expr->kind == ExprKind::kNsRef) {
    return {};
  }
  return InvalidArgument("line {}: can't assign to an expression", expr->line);
}

Result<ExprPtr> Parser::ParseTarget(const TargetOptions& options) {
  int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    if (IsTupleEnd({}) || (options.ends_at_in && current().IsName("in"))) {
      break;
    }
    FT_ASSIGN_OR_RETURN(ExprPtr item, ParsePrimary(options.with_namespace));
    items.push_back(std::move(item));
    if (!current().IsOp(",")) {
      break;
    }
    is_tuple = true;
    line = current().line;
  }
  ExprPtr target;
  if (!is_tuple) {
    if (items.empty()) {
      return Fail("Expected an expression, got '" + Describe(current()) + "'");
    }
    target = std::move(items[0]);
  } else {
    target = std::make_unique<Expr>(ExprKind::kTuple, line);
    target->items = std::move(items);
    FT_ASSIGN_OR_RETURN(target, Finish(std::move(target)));
  }
  FT_RETURN_IF_ERROR(MakeTarget(target.get(), options.use));
  return target;
}

// Statements.

Result<StmtPtr> Parser::ParseSet() {
  StmtPtr stmt = NewStmt(StmtKind::kAssign, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->target, ParseTarget({.with_namespace = true}));
  if (SkipOp("=")) {
    FT_ASSIGN_OR_RETURN(stmt->value, ParseTuple({}));
    return stmt;
  }
  stmt->kind = StmtKind::kAssignBlock;
  FT_ASSIGN_OR_RETURN(stmt->value, ParseFilter(nullptr, false));
  return CloseBody(std::move(stmt), "endset");
}

Result<StmtPtr> Parser::ParseFor() {
  StmtPtr stmt = NewStmt(StmtKind::kFor, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->target, ParseTarget({.ends_at_in = true, .use = NameUse::kStore}));
  FT_RETURN_IF_ERROR(ExpectName("in"));
  FT_ASSIGN_OR_RETURN(stmt->value,
                      ParseTuple({.with_condition = false, .ends_at_recursive = true}));
  if (SkipName("if")) {
    FT_ASSIGN_OR_RETURN(stmt->test, ParseExpression());
  }
  stmt->is_recursive = SkipName("recursive");
  FT_ASSIGN_OR_RETURN(stmt->body, ParseBody({"endfor", "else"}));
  const bool has_else = current().IsName("else");
  Skip();
  if (has_else) {
    FT_ASSIGN_OR_RETURN(stmt->else_body, ParseBody({"endfor"}));
    Skip();
  }
  return stmt;
}

Result<StmtPtr> Parser::ParseIf() {
  StmtPtr stmt = NewStmt(StmtKind::kIf, current().line);
  Skip();
  for (;;) {
    Branch branch;
    FT_ASSIGN_OR_RETURN(branch.test, ParseTuple({.with_condition = false}));
    FT_ASSIGN_OR_RETURN(branch.body, ParseBody({"elif", "else", "endif"}));
    stmt->branches.push_back(std::move(branch));
    if (SkipName("elif")) {
      continue;
    }
    if (SkipName("else")) {
      FT_ASSIGN_OR_RETURN(stmt->else_body, ParseBody({"endif"}));
    }
    Skip();
    return stmt;
  }
}

Result<StmtPtr> Parser::ParseWith() {
  StmtPtr stmt = NewStmt(StmtKind::kWith, current().line);
  Skip();
  while (current().kind != TokenKind::kBlockEnd) {
    if (!stmt->exprs.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    FT_ASSIGN_OR_RETURN(ExprPtr target, ParseTarget({.use = NameUse::kParam}));
    FT_RETURN_IF_ERROR(ExpectOp("="));
    FT_ASSIGN_OR_RETURN(ExprPtr value, ParseExpression());
    stmt->exprs.push_back(std::move(target));
    stmt->values.push_back(std::move(value));
  }
  return CloseBody(std::move(stmt), "endwith");
}

Result<StmtPtr> Parser::ParseAutoescape() {
  StmtPtr stmt = NewStmt(StmtKind::kAutoescape, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->value, ParseExpression());
  return CloseBody(std::move(stmt), "endautoescape");
}

Result<StmtPtr> Parser::ParseBlock() {
  StmtPtr stmt = NewStmt(StmtKind::kBlock, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->name, ExpectAnyName());
  stmt->is_scoped = SkipName("scoped");
  stmt->is_required = SkipName("required");
  FT_ASSIGN_OR_RETURN(stmt, CloseBody(std::move(stmt), "endblock"));
  if (stmt->is_required) {
    for (const StmtPtr& inner : stmt->body) {
      const bool is_space =
          inner->kind == StmtKind::kOutput &&
          std::all_of(inner->exprs.begin(), inner->exprs.end(), [](const ExprPtr& expr) {
            return expr->kind == ExprKind::kData && TrimRight(expr->value.text()).empty();
          });
      if (!is_space) {
        return Fail("Required blocks can only contain comments or whitespace");
      }
    }
  }
  static_cast<void>(SkipName(stmt->name));
  return stmt;
}

void Parser::SkipImportContext() {
  if ((current().IsName("with") || current().IsName("without")) && ahead().IsName("context")) {
    Skip();
    Skip();
  }
}

Result<StmtPtr> Parser::ParseInclude() {
  StmtPtr stmt = NewStmt(StmtKind::kInclude, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->value, ParseExpression());
  if (current().IsName("ignore") && ahead().IsName("missing")) {
    stmt->ignores_missing = true;
    Skip();
    Skip();
  }
  SkipImportContext();
  return stmt;
}

Result<StmtPtr> Parser::ParseImport() {
  StmtPtr stmt = NewStmt(StmtKind::kImport, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->value, ParseExpression());
  FT_RETURN_IF_ERROR(ExpectName("as"));
  FT_ASSIGN_OR_RETURN(const std::string name, ParseNameTarget());
  stmt->imported.push_back(name);
  SkipImportContext();
  return stmt;
}

Result<StmtPtr> Parser::ParseFrom() {
  StmtPtr stmt = NewStmt(StmtKind::kImport, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->value, ParseExpression());
  FT_RETURN_IF_ERROR(ExpectName("import"));
  const auto is_context = [this] {
    return (current().IsName("with") || current().IsName("without")) && ahead().IsName("context");
  };
  for (;;) {
    if (!stmt->imported.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    if (is_context()) {
      SkipImportContext();
      return stmt;
    }
    FT_ASSIGN_OR_RETURN(std::string name, ParseNameTarget());
    if (name[0] == '_') {
      return Fail("names starting with an underline can not be imported");
    }
    if (SkipName("as")) {
      FT_ASSIGN_OR_RETURN(name, ParseNameTarget());
    }
    stmt->imported.push_back(name);
    if (is_context()) {
      SkipImportContext();
      return stmt;
    }
    if (!current().IsOp(",")) {
      return stmt;
    }
  }
}

Result<StmtPtr> Parser::ParseExtends() {
  StmtPtr stmt = NewStmt(StmtKind::kImport, current().line);
  stmt->is_extends = true;
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->value, ParseExpression());
  return stmt;
}

Status Parser::ParseSignature(MacroInfo* macro) {
  FT_RETURN_IF_ERROR(ExpectOp("("));
  bool has_defaults = false;
  while (!current().IsOp(")")) {
    if (!macro->parameters.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    Parameter parameter;
    FT_ASSIGN_OR_RETURN(parameter.name, ParseNameTarget());
    for (const Parameter& other : macro->parameters) {
      if (other.name == parameter.name) {
        return Fail("duplicate argument '" + other.name + "' in function definition");
      }
    }
    if (SkipOp("=")) {
      FT_ASSIGN_OR_RETURN(parameter.default_value, ParseExpression());
      has_defaults = true;
    } else if (has_defaults) {
      return Fail("non-default argument follows default argument");
    }
    macro->parameters.push_back(std::move(parameter));
  }
  return ExpectOp(")");
}

Result<StmtPtr> Parser::ParseMacro() {
  StmtPtr stmt = NewStmt(StmtKind::kMacro, current().line);
  Skip();
  stmt->macro = std::make_unique<MacroInfo>();
  FT_ASSIGN_OR_RETURN(stmt->macro->name, ParseNameTarget());
  stmt->macro->has_name = true;
  FT_RETURN_IF_ERROR(ParseSignature(stmt->macro.get()));
  FT_ASSIGN_OR_RETURN(stmt->macro->body, ParseBody({"endmacro"}));
  Skip();
  return stmt;
}

Result<StmtPtr> Parser::ParseCallBlock() {
  StmtPtr stmt = NewStmt(StmtKind::kCallBlock, current().line);
  Skip();
  stmt->macro = std::make_unique<MacroInfo>();
  if (current().IsOp("(")) {
    FT_RETURN_IF_ERROR(ParseSignature(stmt->macro.get()));
  }
  FT_ASSIGN_OR_RETURN(stmt->value, ParseExpression());
  if (stmt->value->kind != ExprKind::kCall) {
    return Fail("expected call");
  }
  FT_ASSIGN_OR_RETURN(stmt->macro->body, ParseBody({"endcall"}));
  Skip();
  return stmt;
}

Result<StmtPtr> Parser::ParseGeneration() {
  StmtPtr stmt = NewStmt(StmtKind::kGeneration, current().line);
  Skip();
  stmt->macro = std::make_unique<MacroInfo>();
  FT_ASSIGN_OR_RETURN(stmt->macro->body, ParseBody({"endgeneration"}));
  Skip();
  return stmt;
}

Result<StmtPtr> Parser::ParseFilterBlock() {
  StmtPtr stmt = NewStmt(StmtKind::kFilterBlock, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(stmt->value, ParseFilter(nullptr, true));
  return CloseBody(std::move(stmt), "endfilter");
}

Result<StmtPtr> Parser::ParsePrint() {
  StmtPtr stmt = NewStmt(StmtKind::kOutput, current().line);
  Skip();
  while (current().kind != TokenKind::kBlockEnd) {
    if (!stmt->exprs.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    FT_ASSIGN_OR_RETURN(ExprPtr expr, ParseExpression());
    stmt->exprs.push_back(std::move(expr));
  }
  return stmt;
}

}  // namespace ft::jinja
