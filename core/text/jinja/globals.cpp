// What every template finds without being given it: range, dict, namespace, raise_exception …
#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/strftime.h"

namespace ft::jinja {
namespace {

constexpr int64_t kMaxRange = 100000;

Result<Value> Range(Interp& interp, CallArgs& args) {
  if (!args.keywords.empty() || args.positional.empty() || args.positional.size() > 3) {
    return InvalidArgument("range expected 1 to 3 arguments, got {}", args.positional.size());
  }
  int64_t numbers[3] = {0, 0, 1};
  for (size_t i = 0; i < args.positional.size(); ++i) {
    const Value& value = args.positional[i];
    if (value.is_undefined()) {
      return InvalidArgument("'Undefined' object cannot be interpreted as an integer");
    }
    const std::optional<int64_t> number = ToIndex(value);
    if (!number) {
      return InvalidArgument("'{}' object cannot be interpreted as an integer", TypeName(value));
    }
    numbers[i] = *number;
  }
  if (args.positional.size() == 1) {
    std::swap(numbers[0], numbers[1]);
  }
  if (numbers[2] == 0) {
    return InvalidArgument("range() arg 3 must not be zero");
  }
  auto* range = interp.heap().New<RangeObject>(numbers[0], numbers[1], numbers[2]);
  if (range->size() > kMaxRange || range->size() < 0) {
    return InvalidArgument("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
                           kMaxRange);
  }
  return Value::Obj(range);
}

// dict(mapping or pairs, **keywords) into `data`.
Status FillDict(Interp& interp, CallArgs& args, DictData* data) {
  if (args.positional.size() > 1) {
    return InvalidArgument("dict expected at most 1 argument, got {}", args.positional.size());
  }
  if (!args.positional.empty() && args.positional[0].is_undefined()) {
    return UndefinedError(args.positional[0]);
  }
  if (!args.positional.empty() && args.positional[0].is(ObjectKind::kDict)) {
    *data = args.positional[0].As<DictObject>()->data;
  } else if (!args.positional.empty()) {
    FT_ASSIGN_OR_RETURN(const Values pairs, ToValues(interp, args.positional[0]));
    for (const Value& pair : pairs) {
      if (!IsIterable(pair)) {
        return InvalidArgument("cannot convert dictionary update sequence element to a sequence");
      }
      FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, pair));
      if (items.size() != 2) {
        return InvalidArgument("dictionary update sequence element has length {}; 2 is required",
                               items.size());
      }
      FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(items[0]));
      data->Set(items[0], hash, items[1]);
    }
  }
  for (const auto& [name, value] : args.keywords) {
    data->SetStr(interp.heap().Str(name), value);
  }
  interp.heap().Count(data->size() * sizeof(DictData::Entry));
  return interp.WorkBytes(data->size() * sizeof(DictData::Entry));
}

Result<Value> Dict(Interp& interp, CallArgs& args) {
  auto* dict = interp.heap().New<DictObject>();
  FT_RETURN_IF_ERROR(FillDict(interp, args, &dict->data));
  return Value::Obj(dict);
}

Result<Value> Namespace(Interp& interp, CallArgs& args) {
  auto* space = interp.heap().New<NamespaceObject>();
  FT_RETURN_IF_ERROR(FillDict(interp, args, &space->attributes));
  for (const DictData::Entry& entry : space->attributes.entries()) {
    if (entry.key.is_str() && entry.key.text().starts_with('_')) {
      return InvalidArgument(
          "Chat templates cannot store underscore-prefixed attributes on a namespace, but got {}. "
          "Please rename the attribute.",
          ReprText(entry.key.text()));
    }
  }
  return Value::Obj(space);
}

Result<Value> Cycler(Interp& interp, CallArgs& args) {
  if (!args.keywords.empty()) {
    return InvalidArgument("cycler got an unexpected keyword argument");
  }
  if (args.positional.empty()) {
    return InvalidArgument("at least one item has to be provided");
  }
  return Value::Obj(interp.heap().New<CyclerObject>(std::move(args.positional)));
}

Result<Value> Joiner(Interp& interp, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("joiner", args, {"sep"}, {}));
  return Value::Obj(interp.heap().New<JoinerObject>(bound.get(0, interp.heap().Str(", "))));
}

Result<Value> RaiseException(Interp& interp, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("raise_exception", args, {"message"}, {.num_required = 1}));
  FT_ASSIGN_OR_RETURN(const std::string message, ToStr(interp, bound.at(0)));
  interp.set_raised();
  return InvalidArgument("{}", message);
}

Result<Value> StrftimeNow(Interp& interp, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("strftime_now", args, {"format"}, {.num_required = 1}));
  if (!bound.at(0).is_str()) {
    return InvalidArgument("strftime() argument 1 must be str, not {}", TypeName(bound.at(0)));
  }
  FT_ASSIGN_OR_RETURN(std::string text, FormatTime(bound.at(0).text(), interp.now()));
  return interp.heap().Str(std::move(text));
}

// jinja2's filler text is random; this one is not.
Result<Value> Lipsum(Interp& interp, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("lipsum", args, {"n", "html", "min", "max"}, {}));
  FT_ASSIGN_OR_RETURN(const int64_t count, bound.Int(0, 5));
  const bool is_html = bound.Flag(1, /*otherwise=*/true);
  std::string out;
  for (int64_t i = 0; i < count; ++i) {
    FT_RETURN_IF_ERROR(interp.WorkBytes(256));
    out += i == 0 ? "" : (is_html ? "\n" : "\n\n");
    out += is_html ? "<p>" : "";
    out += "Lorem ipsum dolor sit amet consectetuer adipiscing elit.";
    out += is_html ? "</p>" : "";
    if (out.size() > interp.max_string_bytes()) {
      return ResourceExhausted("lipsum text is too long");
    }
  }
  return interp.heap().MakeStr(std::move(out), is_html);
}

}  // namespace

void AddGlobals(Interp& interp, DictData* globals) {
  struct Global {
    const char* name;
    Result<Value> (*body)(Interp& interp, CallArgs& args);
    const char* type_name;
    const char* repr;
  };

  static constexpr Global kGlobals[] = {
      {"range", Range, "function", ""},
      {"dict", Dict, "transformers.utils.chat_template_utils.TemplateDict", ""},
      {"lipsum", Lipsum, "function", ""},
      {"cycler", Cycler, "type", "<class 'jinja2.utils.Cycler'>"},
      {"joiner", Joiner, "type", "<class 'jinja2.utils.Joiner'>"},
      {"namespace", Namespace, "type",
       "<class 'transformers.utils.chat_template_utils._cached_compile_jinja_template.<locals>."
       "TemplateNamespace'>"},
      {"raise_exception", RaiseException, "function", ""},
      {"strftime_now", StrftimeNow, "function", ""},
  };
  for (const Global& global : kGlobals) {
    Value function = interp.MakeFunction(global.name, global.body);
    function.As<FunctionObject>()->type_name = global.type_name;
    function.As<FunctionObject>()->repr = global.repr;
    globals->SetStr(interp.heap().Str(global.name), function);
  }
}

}  // namespace ft::jinja
