// Expressions.
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {

Result<Value> Interp::Eval(const Expr& expr, Activation* frame) {
  FT_RETURN_IF_ERROR(Enter());
  switch (expr.kind) {
    case ExprKind::kConst:
      if (expr.value.is_missing()) {
        return heap_.Integer(BigInt::FromDigits(expr.name, 10));
      }
      return expr.value;
    case ExprKind::kData:
      return expr.value;
    case ExprKind::kName:
    case ExprKind::kNsRef:
      return EvalName(expr, frame);
    case ExprKind::kTuple:
    case ExprKind::kList:
      return EvalItems(expr, frame);
    case ExprKind::kDict:
      return EvalDict(expr, frame);
    case ExprKind::kCond:
      return EvalCond(expr, frame);
    case ExprKind::kFilter:
      return EvalFilter(expr, frame, /*operand=*/nullptr);
    case ExprKind::kTest:
      return EvalTest(expr, frame);
    case ExprKind::kCall:
      return EvalCall(expr, frame, /*caller=*/nullptr);
    case ExprKind::kGetAttr:
    case ExprKind::kGetItem:
      return EvalGetItem(expr, frame);
    case ExprKind::kSlice:
      return EvalSlice(expr, frame);
    case ExprKind::kConcat:
      return EvalConcat(expr, frame);
    case ExprKind::kCompare:
      return EvalCompare(expr, frame);
    case ExprKind::kBinary:
      return EvalBinary(expr, frame);
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return EvalLogic(expr, frame);
    case ExprKind::kNot:
    case ExprKind::kNegate:
    case ExprKind::kPositive:
      return EvalUnary(expr, frame);
  }
  return Value();
}

Result<Value> Interp::EvalName(const Expr& expr, Activation* frame) {
  const Value& value = SlotOf(expr.variable, frame);
  return value.is_missing() ? UndefinedName(expr.name) : value;
}

Result<Value> Interp::EvalItems(const Expr& expr, Activation* frame) {
  Values items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*item, frame));
    items.push_back(std::move(value));
  }
  return expr.kind == ExprKind::kTuple ? heap_.Tuple(std::move(items))
                                       : heap_.List(std::move(items));
}

Result<Value> Interp::EvalDict(const Expr& expr, Activation* frame) {
  auto* dict = heap_.New<DictObject>();
  heap_.Count(expr.items.size() * sizeof(DictData::Entry));
  for (size_t i = 0; i + 1 < expr.items.size(); i += 2) {
    FT_ASSIGN_OR_RETURN(const Value key, Eval(*expr.items[i], frame));
    FT_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[i + 1], frame));
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(key));
    dict->data.Set(key, hash, std::move(value));
  }
  return Value::Obj(dict);
}

Result<Value> Interp::EvalCond(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(const Value test, Eval(*expr.items[0], frame));
  if (IsTrue(test)) {
    return Eval(*expr.items[1], frame);
  }
  if (expr.items[2] != nullptr) {
    return Eval(*expr.items[2], frame);
  }
  return UndefinedHint("the inline if-expression on line " + std::to_string(expr.line) +
                       " evaluated to false and no else section was defined.");
}

Status Interp::EvalArgs(const Expr& expr, Activation* frame, CallArgs* args) {
  for (size_t i = 1; i < expr.items.size(); ++i) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[i], frame));
    args->positional.push_back(std::move(value));
  }
  for (const Keyword& keyword : expr.keywords) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*keyword.value, frame));
    args->keywords.emplace_back(keyword.name, std::move(value));
  }
  if (expr.star_args != nullptr) {
    FT_ASSIGN_OR_RETURN(const Value star, Eval(*expr.star_args, frame));
    FT_ASSIGN_OR_RETURN(const Values values, ToValues(*this, star));
    args->positional.insert(args->positional.end(), values.begin(), values.end());
  }
  if (expr.star_kwargs == nullptr) {
    return {};
  }
  FT_ASSIGN_OR_RETURN(const Value star, Eval(*expr.star_kwargs, frame));
  if (!star.is(ObjectKind::kDict)) {
    return InvalidArgument("argument after ** must be a mapping, not {}", TypeName(star));
  }
  for (const DictData::Entry& entry : star.As<DictObject>()->data.entries()) {
    if (!entry.key.is_str()) {
      return InvalidArgument("keywords must be strings");
    }
    for (const auto& [name, value] : args->keywords) {
      if (name == entry.key.text()) {
        return InvalidArgument("got multiple values for keyword argument '{}'", name);
      }
    }
    args->keywords.emplace_back(entry.key.text(), entry.value);
  }
  return {};
}

Result<Value> Interp::EvalFilter(const Expr& expr, Activation* frame, const Value* operand) {
  Value value;
  if (expr.items[0] != nullptr) {
    // In a block, only the innermost filter lacks its operand.
    FT_ASSIGN_OR_RETURN(value, expr.items[0]->kind == ExprKind::kFilter
                                   ? EvalFilter(*expr.items[0], frame, operand)
                                   : Eval(*expr.items[0], frame));
  } else if (operand != nullptr) {
    value = *operand;
  }
  CallArgs args;
  FT_RETURN_IF_ERROR(EvalArgs(expr, frame, &args));
  line_ = expr.line;
  return CallFilter(expr.name, value, args);
}

Result<Value> Interp::EvalTest(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(const Value value, Eval(*expr.items[0], frame));
  CallArgs args;
  FT_RETURN_IF_ERROR(EvalArgs(expr, frame, &args));
  return CallTest(expr.name, value, args);
}

Result<Value> Interp::EvalCall(const Expr& expr, Activation* frame, const Value* caller) {
  const Expr& target = *expr.items[0];
  Value callee;
  if (target.kind == ExprKind::kGetAttr) {
    FT_ASSIGN_OR_RETURN(const Value owner, Eval(*target.items[0], frame));
    // Most calls: no bound method is made, which would keep its owner until the render ends.
    if (owner.is_str() && caller == nullptr) {
      if (const FilterFunction method = FindStringMethod(target.name)) {
        CallArgs args;
        FT_RETURN_IF_ERROR(EvalArgs(expr, frame, &args));
        line_ = expr.line;
        FT_RETURN_IF_ERROR(Enter());
        return method(*this, owner, args);
      }
    }
    FT_ASSIGN_OR_RETURN(callee, GetAttr(owner, target.text_key));
  } else {
    FT_ASSIGN_OR_RETURN(callee, Eval(target, frame));
  }
  CallArgs args;
  FT_RETURN_IF_ERROR(EvalArgs(expr, frame, &args));
  if (caller != nullptr) {
    args.keywords.emplace_back("caller", *caller);
  }
  line_ = expr.line;
  return Call(callee, args);
}

Result<Value> Interp::EvalGetItem(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(const Value owner, Eval(*expr.items[0], frame));
  if (expr.kind == ExprKind::kGetAttr) {
    return GetAttr(owner, expr.text_key);
  }
  if (expr.items[1]->kind == ExprKind::kSlice) {
    FT_ASSIGN_OR_RETURN(const Value slice, EvalSlice(*expr.items[1], frame));
    if (expr.items[0]->kind == ExprKind::kConst) {
      // jinja2 folds constants through its lenient access, and slices of variables through
      // Python's.
      return GetItem(owner, slice);
    }
    return Slice(*this, owner, *slice.As<SliceObject>());
  }
  FT_ASSIGN_OR_RETURN(const Value key, Eval(*expr.items[1], frame));
  return GetItem(owner, key);
}

Result<Value> Interp::EvalSlice(const Expr& expr, Activation* frame) {
  auto* slice = heap_.New<SliceObject>();
  Value* const parts[] = {&slice->start, &slice->stop, &slice->step};
  for (size_t i = 0; i < 3; ++i) {
    if (expr.items[i] != nullptr) {
      FT_ASSIGN_OR_RETURN(*parts[i], Eval(*expr.items[i], frame));
    }
  }
  return Value::Obj(slice);
}

Result<Value> Interp::EvalConcat(const Expr& expr, Activation* frame) {
  Values parts;
  bool has_markup = false;
  for (const ExprPtr& item : expr.items) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*item, frame));
    has_markup |= value.is_markup();
    parts.push_back(std::move(value));
  }
  const bool joins_markup = has_markup && Escapes(expr.escape);
  std::string text;
  for (const Value& part : parts) {
    FT_RETURN_IF_ERROR(AppendOutput(part, joins_markup, &text));
  }
  return heap_.MakeStr(std::move(text), joins_markup);
}

Result<Value> Interp::EvalCompare(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(Value left, Eval(*expr.items[0], frame));
  bool holds = true;
  for (size_t i = 0; i < expr.compare_ops.size() && holds; ++i) {
    FT_ASSIGN_OR_RETURN(Value right, Eval(*expr.items[i + 1], frame));
    Result<bool> result = false;
    switch (expr.compare_ops[i]) {
      case CompareOp::kEq:
      case CompareOp::kNe:
        result = Equal(*this, left, right);
        break;
      case CompareOp::kLt:
        result = Less(*this, left, right);
        break;
      case CompareOp::kGt:
        result = Less(*this, right, left, ">");
        break;
      case CompareOp::kLe:
      case CompareOp::kGe:
        result = LessOrEqual(*this, left, right, expr.compare_ops[i] == CompareOp::kGe);
        break;
      case CompareOp::kIn:
      case CompareOp::kNotIn:
        result = Contains(*this, right, left);
        break;
    }
    FT_ASSIGN_OR_RETURN(holds, std::move(result));
    holds ^= expr.compare_ops[i] == CompareOp::kNe || expr.compare_ops[i] == CompareOp::kNotIn;
    left = std::move(right);
  }
  return Value::Bool(holds);
}

Result<Value> Interp::EvalLogic(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(Value left, Eval(*expr.items[0], frame));
  if (IsTrue(left) == (expr.kind == ExprKind::kOr)) {
    return left;
  }
  return Eval(*expr.items[1], frame);
}

Result<Value> Interp::EvalBinary(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(const Value left, Eval(*expr.items[0], frame));
  FT_ASSIGN_OR_RETURN(const Value right, Eval(*expr.items[1], frame));
  return Arithmetic(*this, expr.op, left, right);
}

Result<Value> Interp::EvalUnary(const Expr& expr, Activation* frame) {
  FT_ASSIGN_OR_RETURN(const Value operand, Eval(*expr.items[0], frame));
  if (expr.kind == ExprKind::kNot) {
    return Value::Bool(!IsTrue(operand));
  }
  return expr.kind == ExprKind::kNegate ? Negate(*this, operand) : Positive(*this, operand);
}

}  // namespace ft::jinja
