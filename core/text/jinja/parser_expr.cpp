// Expressions of the template grammar.
#include <algorithm>

#include "core/text/jinja/number.h"
#include "core/text/jinja/parser_internal.h"

namespace ft::jinja {
namespace {

// Counts a level of recursion for as long as it lives.
class Level {
 public:
  explicit Level(int* depth) : depth_(depth) { ++*depth_; }

  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  ~Level() { --*depth_; }

 private:
  int* depth_;
};

ExprPtr Node(ExprKind kind, int line) {
  return std::make_unique<Expr>(kind, line);
}

}  // namespace

Result<ExprPtr> Parser::Finish(ExprPtr expr) {
  int deepest = 0;
  const auto look = [&deepest](const ExprPtr& child) {
    if (child != nullptr) {
      deepest = std::max(deepest, child->depth);
    }
  };
  for (const ExprPtr& item : expr->items) {
    look(item);
  }
  for (const Keyword& keyword : expr->keywords) {
    look(keyword.value);
  }
  look(expr->star_args);
  look(expr->star_kwargs);
  expr->depth = deepest + 1;
  if (expr->depth > kMaxExprDepth) {
    return ResourceExhausted("line {}: an expression is nested more than {} deep", expr->line,
                             kMaxExprDepth);
  }
  return expr;
}

bool Parser::IsTupleEnd(const TupleOptions& options) const {
  const TokenKind kind = current().kind;
  return kind == TokenKind::kVariableEnd || kind == TokenKind::kBlockEnd || current().IsOp(")") ||
         (options.ends_at_recursive && current().IsName("recursive"));
}

Result<ExprPtr> Parser::ParseTuple(const TupleOptions& options) {
  int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    if (IsTupleEnd(options)) {
      break;
    }
    FT_ASSIGN_OR_RETURN(ExprPtr item, options.with_condition ? ParseExpression() : ParseOr());
    items.push_back(std::move(item));
    if (!current().IsOp(",")) {
      break;
    }
    is_tuple = true;
    line = current().line;
  }
  if (!is_tuple) {
    if (!items.empty()) {
      return std::move(items[0]);
    }
    if (!options.in_parentheses) {
      return Fail("Expected an expression, got '" + Describe(current()) + "'");
    }
  }
  ExprPtr tuple = Node(ExprKind::kTuple, line);
  tuple->items = std::move(items);
  return Finish(std::move(tuple));
}

Result<ExprPtr> Parser::ParseExpression() {
  const Level level(&expr_depth_);
  if (expr_depth_ > kMaxExprDepth) {
    return ResourceExhausted("line {}: expressions are nested more than {} deep", current().line,
                             kMaxExprDepth);
  }
  return ParseCondition();
}

Result<ExprPtr> Parser::ParseCondition() {
  int line = current().line;
  FT_ASSIGN_OR_RETURN(ExprPtr then, ParseOr());
  while (SkipName("if")) {
    ExprPtr node = Node(ExprKind::kCond, line);
    FT_ASSIGN_OR_RETURN(ExprPtr test, ParseOr());
    ExprPtr otherwise;
    if (SkipName("else")) {
      FT_ASSIGN_OR_RETURN(otherwise, ParseExpression());
    }
    node->items.push_back(std::move(test));
    node->items.push_back(std::move(then));
    node->items.push_back(std::move(otherwise));
    FT_ASSIGN_OR_RETURN(then, Finish(std::move(node)));
    line = current().line;
  }
  return then;
}

Result<ExprPtr> Parser::BinaryNode(ExprKind kind, BinaryOp op, ExprPtr left, ExprPtr right) {
  ExprPtr node = Node(kind, left->line);
  node->op = op;
  node->items.push_back(std::move(left));
  node->items.push_back(std::move(right));
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseOr() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseAnd());
  while (SkipName("or")) {
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseAnd());
    FT_ASSIGN_OR_RETURN(
        left, BinaryNode(ExprKind::kOr, BinaryOp::kAdd, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> Parser::ParseAnd() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseNot());
  while (SkipName("and")) {
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseNot());
    FT_ASSIGN_OR_RETURN(
        left, BinaryNode(ExprKind::kAnd, BinaryOp::kAdd, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> Parser::ParseNot() {
  if (!current().IsName("not")) {
    return ParseCompare();
  }
  const Level level(&expr_depth_);
  if (expr_depth_ > kMaxExprDepth) {
    return ResourceExhausted("line {}: 'not' is repeated more than {} times", current().line,
                             kMaxExprDepth);
  }
  ExprPtr node = Node(ExprKind::kNot, current().line);
  Skip();
  FT_ASSIGN_OR_RETURN(ExprPtr operand, ParseNot());
  node->items.push_back(std::move(operand));
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseCompare() {
  static constexpr std::pair<std::string_view, CompareOp> kOps[] = {
      {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
      {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};
  ExprPtr node = Node(ExprKind::kCompare, current().line);
  FT_ASSIGN_OR_RETURN(ExprPtr first, ParseSum());
  node->items.push_back(std::move(first));
  for (;;) {
    const auto* found = std::find_if(std::begin(kOps), std::end(kOps), [this](const auto& entry) {
      return current().IsOp(entry.first);
    });
    if (found != std::end(kOps)) {
      node->compare_ops.push_back(found->second);
      Skip();
    } else if (SkipName("in")) {
      node->compare_ops.push_back(CompareOp::kIn);
    } else if (current().IsName("not") && ahead().IsName("in")) {
      node->compare_ops.push_back(CompareOp::kNotIn);
      Skip();
      Skip();
    } else {
      break;
    }
    FT_ASSIGN_OR_RETURN(ExprPtr next, ParseSum());
    node->items.push_back(std::move(next));
  }
  if (node->compare_ops.empty()) {
    return std::move(node->items[0]);
  }
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseSum() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseConcat());
  while (current().IsOp("+") || current().IsOp("-")) {
    const BinaryOp op = current().IsOp("+") ? BinaryOp::kAdd : BinaryOp::kSub;
    Skip();
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseConcat());
    FT_ASSIGN_OR_RETURN(left, BinaryNode(ExprKind::kBinary, op, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> Parser::ParseConcat() {
  ExprPtr node = Node(ExprKind::kConcat, current().line);
  FT_ASSIGN_OR_RETURN(ExprPtr first, ParseProduct());
  node->items.push_back(std::move(first));
  while (SkipOp("~")) {
    FT_ASSIGN_OR_RETURN(ExprPtr next, ParseProduct());
    node->items.push_back(std::move(next));
  }
  if (node->items.size() == 1) {
    return std::move(node->items[0]);
  }
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseProduct() {
  static constexpr std::pair<std::string_view, BinaryOp> kOps[] = {{"*", BinaryOp::kMul},
                                                                   {"/", BinaryOp::kDiv},
                                                                   {"//", BinaryOp::kFloorDiv},
                                                                   {"%", BinaryOp::kMod}};
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParsePower());
  for (;;) {
    const auto* found = std::find_if(std::begin(kOps), std::end(kOps), [this](const auto& entry) {
      return current().IsOp(entry.first);
    });
    if (found == std::end(kOps)) {
      return left;
    }
    Skip();
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParsePower());
    FT_ASSIGN_OR_RETURN(
        left, BinaryNode(ExprKind::kBinary, found->second, std::move(left), std::move(right)));
  }
}

Result<ExprPtr> Parser::ParsePower() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseUnary(true));
  while (SkipOp("**")) {
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseUnary(true));
    FT_ASSIGN_OR_RETURN(
        left, BinaryNode(ExprKind::kBinary, BinaryOp::kPow, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> Parser::ParseUnary(bool with_filter) {
  const Level level(&expr_depth_);
  if (expr_depth_ > kMaxExprDepth) {
    return ResourceExhausted("line {}: expressions are nested more than {} deep", current().line,
                             kMaxExprDepth);
  }
  ExprPtr node;
  if (current().IsOp("-") || current().IsOp("+")) {
    node = Node(current().IsOp("-") ? ExprKind::kNegate : ExprKind::kPositive, current().line);
    Skip();
    FT_ASSIGN_OR_RETURN(ExprPtr operand, ParseUnary(false));
    node->items.push_back(std::move(operand));
    FT_ASSIGN_OR_RETURN(node, Finish(std::move(node)));
  } else {
    FT_ASSIGN_OR_RETURN(node, ParsePrimary(false));
  }
  FT_ASSIGN_OR_RETURN(node, ParsePostfix(std::move(node)));
  return with_filter ? ParseFilterExpr(std::move(node)) : Result<ExprPtr>(std::move(node));
}

Result<ExprPtr> Parser::ParseNamePrimary(bool with_namespace) {
  const Token token = current();
  Skip();
  ExprPtr node = Node(ExprKind::kConst, token.line);
  if (token.text == "true" || token.text == "True" || token.text == "false" ||
      token.text == "False") {
    node->value = Value::Bool(token.text[0] == 't' || token.text[0] == 'T');
  } else if (token.text == "none" || token.text == "None") {
    node->value = Value::None();
  } else {
    node->kind = ExprKind::kName;
    node->name = token.text;
    if (with_namespace && SkipOp(".")) {
      node->kind = ExprKind::kNsRef;
      FT_ASSIGN_OR_RETURN(node->attr, ExpectAnyName());
    }
  }
  return node;
}

Result<ExprPtr> Parser::ParsePrimary(bool with_namespace) {
  const Token& token = current();
  ExprPtr node = Node(ExprKind::kConst, token.line);
  switch (token.kind) {
    case TokenKind::kName:
      return ParseNamePrimary(with_namespace);
    case TokenKind::kString: {
      std::string text;
      for (; current().kind == TokenKind::kString; Skip()) {
        text += current().text;
      }
      node->value = Value::ConstStr(std::move(text));
      return node;
    }
    case TokenKind::kInteger:
      if (const auto small = token.integer.ToInt64()) {
        node->value = Value::Int(*small);
      } else {
        // No heap yet: the interpreter makes the big integer of its digits.
        node->name = token.integer.ToString();
        node->value = Value::Missing();
      }
      Skip();
      return node;
    case TokenKind::kFloat:
      node->value = Value::Float(token.number);
      Skip();
      return node;
    case TokenKind::kOperator:
      if (token.IsOp("(")) {
        Skip();
        FT_ASSIGN_OR_RETURN(node, ParseTuple({.in_parentheses = true}));
        FT_RETURN_IF_ERROR(ExpectOp(")"));
        return node;
      }
      if (token.IsOp("[")) {
        return ParseList();
      }
      if (token.IsOp("{")) {
        return ParseDict();
      }
      break;
    case TokenKind::kData:
    case TokenKind::kVariableBegin:
    case TokenKind::kVariableEnd:
    case TokenKind::kBlockBegin:
    case TokenKind::kBlockEnd:
    case TokenKind::kEnd:
      break;
  }
  return Fail("unexpected '" + Describe(token) + "'");
}

Result<ExprPtr> Parser::ParseList() {
  ExprPtr node = Node(ExprKind::kList, current().line);
  Skip();
  while (!current().IsOp("]")) {
    if (!node->items.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    if (current().IsOp("]")) {
      break;
    }
    FT_ASSIGN_OR_RETURN(ExprPtr item, ParseExpression());
    node->items.push_back(std::move(item));
  }
  FT_RETURN_IF_ERROR(ExpectOp("]"));
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseDict() {
  ExprPtr node = Node(ExprKind::kDict, current().line);
  Skip();
  while (!current().IsOp("}")) {
    if (!node->items.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    if (current().IsOp("}")) {
      break;
    }
    FT_ASSIGN_OR_RETURN(ExprPtr key, ParseExpression());
    FT_RETURN_IF_ERROR(ExpectOp(":"));
    FT_ASSIGN_OR_RETURN(ExprPtr value, ParseExpression());
    node->items.push_back(std::move(key));
    node->items.push_back(std::move(value));
  }
  FT_RETURN_IF_ERROR(ExpectOp("}"));
  return Finish(std::move(node));
}

}  // namespace ft::jinja
