// The recursive-descent parser's one class; its halves are parser.cpp (statements) and
// parser_expr.cpp (expressions).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/text/jinja/lexer.h"
#include "core/text/jinja/parser.h"

namespace ft::jinja {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Stmts> ParseAll();

 private:
  using Names = std::initializer_list<std::string_view>;

  // Statements.
  Result<Stmts> ParseBody(Names ends);
  Result<Stmts> ParseUntil(Names ends);
  Result<StmtPtr> ParseStatement();
  Result<StmtPtr> ParseSet();
  Result<StmtPtr> ParseFor();
  Result<StmtPtr> ParseIf();
  Result<StmtPtr> ParseWith();
  Result<StmtPtr> ParseAutoescape();
  Result<StmtPtr> ParseBlock();
  Result<StmtPtr> ParseInclude();
  Result<StmtPtr> ParseImport();
  Result<StmtPtr> ParseFrom();
  Result<StmtPtr> ParseExtends();
  Result<StmtPtr> ParseMacro();
  Result<StmtPtr> ParseCallBlock();
  Result<StmtPtr> ParseGeneration();
  Result<StmtPtr> ParseFilterBlock();
  Result<StmtPtr> ParsePrint();
  Status ParseSignature(MacroInfo* macro);
  void SkipImportContext();
  Result<StmtPtr> CloseBody(StmtPtr stmt, std::string_view end);

  // Targets of assignments.
  struct TargetOptions {
    bool ends_at_in = false;
    bool with_namespace = false;
    NameUse use = NameUse::kStore;
  };

  Result<ExprPtr> ParseTarget(const TargetOptions& options);
  Result<std::string> ParseNameTarget();
  Status MakeTarget(Expr* expr, NameUse use);

  // Expressions, loosest first.
  struct TupleOptions {
    bool with_condition = true;
    bool in_parentheses = false;
    bool ends_at_recursive = false;
  };

  Result<ExprPtr> ParseTuple(const TupleOptions& options);
  Result<ExprPtr> ParseExpression();
  Result<ExprPtr> ParseCondition();
  Result<ExprPtr> ParseOr();
  Result<ExprPtr> ParseAnd();
  Result<ExprPtr> ParseNot();
  Result<ExprPtr> ParseCompare();
  Result<ExprPtr> ParseSum();
  Result<ExprPtr> ParseConcat();
  Result<ExprPtr> ParseProduct();
  Result<ExprPtr> ParsePower();
  Result<ExprPtr> ParseUnary(bool with_filter);
  Result<ExprPtr> ParsePrimary(bool with_namespace);
  Result<ExprPtr> ParseNamePrimary(bool with_namespace);
  Result<ExprPtr> ParseList();
  Result<ExprPtr> ParseDict();
  Result<ExprPtr> ParsePostfix(ExprPtr node);
  Result<ExprPtr> ParseFilterExpr(ExprPtr node);
  Result<ExprPtr> ParseSubscript(ExprPtr node);
  Result<ExprPtr> ParseSubscribed();
  Result<ExprPtr> ParseCall(ExprPtr node);
  Status ParseCallArgs(Expr* call);
  Status ParseCallArg(Expr* call);
  Result<ExprPtr> ParseFilter(ExprPtr node, bool starts_inline);
  Result<ExprPtr> ParseTest(ExprPtr node);
  Result<std::string> ParseDottedName();
  bool IsTestArgument() const;
  Result<ExprPtr> BinaryNode(ExprKind kind, BinaryOp op, ExprPtr left, ExprPtr right);
  /// Sets the depth, and refuses what is too deep.
  Result<ExprPtr> Finish(ExprPtr expr);
  bool IsTupleEnd(const TupleOptions& options) const;

  // Tokens.
  const Token& current() const { return tokens_[at_]; }

  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }

  void Skip() { at_ += at_ + 1 < tokens_.size() ? 1U : 0U; }

  bool SkipName(std::string_view name);
  bool SkipOp(std::string_view op);
  Status ExpectOp(std::string_view op);
  Status ExpectName(std::string_view name);
  Status ExpectKind(TokenKind kind, std::string_view what);
  Result<std::string> ExpectAnyName();

  Status Fail(std::string_view message) const;
  Status Unexpected(std::string_view wanted) const;
  static std::string Describe(const Token& token);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int expr_depth_ = 0;
  int stmt_depth_ = 0;
};

}  // namespace ft::jinja
