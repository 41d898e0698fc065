// What follows a primary expression: attributes, indexes, calls, filters and tests.
#include "core/text/jinja/parser_internal.h"

namespace ft::jinja {
namespace {

ExprPtr Node(ExprKind kind, int line) {
  return std::make_unique<Expr>(kind, line);
}

}  // namespace

Result<ExprPtr> Parser::ParsePostfix(ExprPtr node) {
  for (;;) {
    if (current().IsOp(".") || current().IsOp("[")) {
      FT_ASSIGN_OR_RETURN(node, ParseSubscript(std::move(node)));
    } else if (current().IsOp("(")) {
      FT_ASSIGN_OR_RETURN(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> Parser::ParseFilterExpr(ExprPtr node) {
  for (;;) {
    if (current().IsOp("|")) {
      FT_ASSIGN_OR_RETURN(node, ParseFilter(std::move(node), false));
    } else if (current().IsName("is")) {
      FT_ASSIGN_OR_RETURN(node, ParseTest(std::move(node)));
    } else if (current().IsOp("(")) {
      FT_ASSIGN_OR_RETURN(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> Parser::ParseSubscript(ExprPtr node) {
  ExprPtr result = Node(ExprKind::kGetItem, current().line);
  if (SkipOp(".")) {
    if (current().kind == TokenKind::kName) {
      result->kind = ExprKind::kGetAttr;
      result->name = current().text;
      Skip();
      result->items.push_back(std::move(node));
      return Finish(std::move(result));
    }
    if (current().kind != TokenKind::kInteger) {
      return Fail("expected name or number");
    }
    FT_ASSIGN_OR_RETURN(ExprPtr index, ParsePrimary(false));
    result->items.push_back(std::move(node));
    result->items.push_back(std::move(index));
    return Finish(std::move(result));
  }
  Skip();
  std::vector<ExprPtr> indexes;
  while (!current().IsOp("]")) {
    if (!indexes.empty()) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
    }
    FT_ASSIGN_OR_RETURN(ExprPtr index, ParseSubscribed());
    indexes.push_back(std::move(index));
  }
  Skip();
  result->items.push_back(std::move(node));
  if (indexes.size() == 1) {
    result->items.push_back(std::move(indexes[0]));
    return Finish(std::move(result));
  }
  ExprPtr tuple = Node(ExprKind::kTuple, result->line);
  for (const ExprPtr& index : indexes) {
    if (index->kind == ExprKind::kSlice) {
      return Fail("invalid syntax: a slice among several indexes");
    }
  }
  tuple->items = std::move(indexes);
  FT_ASSIGN_OR_RETURN(tuple, Finish(std::move(tuple)));
  result->items.push_back(std::move(tuple));
  return Finish(std::move(result));
}

Result<ExprPtr> Parser::ParseSubscribed() {
  ExprPtr slice = Node(ExprKind::kSlice, current().line);
  slice->items.resize(3);
  if (!current().IsOp(":")) {
    FT_ASSIGN_OR_RETURN(ExprPtr start, ParseExpression());
    if (!current().IsOp(":")) {
      return start;
    }
    slice->items[0] = std::move(start);
  }
  Skip();
  const auto is_end = [this] { return current().IsOp("]") || current().IsOp(","); };
  if (!current().IsOp(":") && !is_end()) {
    FT_ASSIGN_OR_RETURN(slice->items[1], ParseExpression());
  }
  if (SkipOp(":") && !is_end()) {
    FT_ASSIGN_OR_RETURN(slice->items[2], ParseExpression());
  }
  return Finish(std::move(slice));
}

Result<ExprPtr> Parser::ParseCall(ExprPtr node) {
  ExprPtr call = Node(ExprKind::kCall, current().line);
  call->items.push_back(std::move(node));
  FT_RETURN_IF_ERROR(ParseCallArgs(call.get()));
  return Finish(std::move(call));
}

Status Parser::ParseCallArgs(Expr* call) {
  FT_RETURN_IF_ERROR(ExpectOp("("));
  bool needs_comma = false;
  while (!current().IsOp(")")) {
    if (needs_comma) {
      FT_RETURN_IF_ERROR(ExpectOp(","));
      if (current().IsOp(")")) {
        break;
      }
    }
    FT_RETURN_IF_ERROR(ParseCallArg(call));
    needs_comma = true;
  }
  return ExpectOp(")");
}

Status Parser::ParseCallArg(Expr* call) {
  const bool has_stars = call->star_args != nullptr || call->star_kwargs != nullptr;
  const auto invalid = [this] { return Fail("invalid syntax for function call expression"); };
  if (SkipOp("*")) {
    if (has_stars) {
      return invalid();
    }
    FT_ASSIGN_OR_RETURN(call->star_args, ParseExpression());
    return {};
  }
  if (SkipOp("**")) {
    if (call->star_kwargs != nullptr) {
      return invalid();
    }
    FT_ASSIGN_OR_RETURN(call->star_kwargs, ParseExpression());
    return {};
  }
  if (current().kind == TokenKind::kName && ahead().IsOp("=")) {
    if (call->star_kwargs != nullptr) {
      return invalid();
    }
    Keyword keyword;
    keyword.name = current().text;
    Skip();
    Skip();
    FT_ASSIGN_OR_RETURN(keyword.value, ParseExpression());
    for (const Keyword& other : call->keywords) {
      if (other.name == keyword.name) {
        return Fail("keyword argument repeated: " + keyword.name);
      }
    }
    call->keywords.push_back(std::move(keyword));
    return {};
  }
  if (has_stars || !call->keywords.empty()) {
    return invalid();
  }
  FT_ASSIGN_OR_RETURN(ExprPtr argument, ParseExpression());
  call->items.push_back(std::move(argument));
  return {};
}

Result<std::string> Parser::ParseDottedName() {
  FT_ASSIGN_OR_RETURN(std::string name, ExpectAnyName());
  while (SkipOp(".")) {
    FT_ASSIGN_OR_RETURN(const std::string part, ExpectAnyName());
    name += "." + part;
  }
  return name;
}

Result<ExprPtr> Parser::ParseFilter(ExprPtr node, bool starts_inline) {
  while (starts_inline || current().IsOp("|")) {
    if (!starts_inline) {
      Skip();
    }
    starts_inline = false;
    ExprPtr filter = Node(ExprKind::kFilter, current().line);
    FT_ASSIGN_OR_RETURN(filter->name, ParseDottedName());
    filter->items.push_back(std::move(node));
    if (current().IsOp("(")) {
      FT_RETURN_IF_ERROR(ParseCallArgs(filter.get()));
    }
    FT_ASSIGN_OR_RETURN(node, Finish(std::move(filter)));
  }
  return node;
}

bool Parser::IsTestArgument() const {
  switch (current().kind) {
    case TokenKind::kName:
      return !current().IsName("else") && !current().IsName("or") && !current().IsName("and");
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    case TokenKind::kOperator:
      return current().IsOp("[") || current().IsOp("{");
    case TokenKind::kData:
    case TokenKind::kVariableBegin:
    case TokenKind::kVariableEnd:
    case TokenKind::kBlockBegin:
    case TokenKind::kBlockEnd:
    case TokenKind::kEnd:
      return false;
  }
  return false;
}

Result<ExprPtr> Parser::ParseTest(ExprPtr node) {
  ExprPtr test = Node(ExprKind::kTest, current().line);
  Skip();
  const bool is_negated = SkipName("not");
  FT_ASSIGN_OR_RETURN(test->name, ParseDottedName());
  test->items.push_back(std::move(node));
  if (current().IsOp("(")) {
    FT_RETURN_IF_ERROR(ParseCallArgs(test.get()));
  } else if (IsTestArgument()) {
    if (current().IsName("is")) {
      return Fail("You cannot chain multiple tests with is");
    }
    FT_ASSIGN_OR_RETURN(ExprPtr argument, ParsePrimary(false));
    FT_ASSIGN_OR_RETURN(argument, ParsePostfix(std::move(argument)));
    test->items.push_back(std::move(argument));
  }
  FT_ASSIGN_OR_RETURN(test, Finish(std::move(test)));
  if (!is_negated) {
    return test;
  }
  ExprPtr negated = Node(ExprKind::kNot, test->line);
  negated->items.push_back(std::move(test));
  return Finish(std::move(negated));
}

}  // namespace ft::jinja
