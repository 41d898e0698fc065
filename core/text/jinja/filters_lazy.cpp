// Filters that give a generator: nothing is computed, and nothing fails, before it is read.
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/attribute_path.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

// One item in; what to give for it, or nothing to leave it out.
using Step = std::function<Result<std::optional<Value>>(const Value& item)>;

// A generator over `value` that is started when it is first read, as Python's are. `prepare` makes
// the step then; an empty value ends before it.
Value Generator(Interp& interp, const Value& value, std::function<Result<Step>()> prepare) {
  struct State {
    IteratorObject* source = nullptr;
    Step step;
    bool is_started = false;
  };

  // Shared: std::function copies its closure.
  auto state = std::make_shared<State>();
  auto next = [&interp, value, prepare = std::move(prepare), state](Value* item) -> Result<bool> {
    if (!state->is_started) {
      state->is_started = true;
      if (!IsTrue(value)) {
        return false;
      }
      FT_ASSIGN_OR_RETURN(state->step, prepare());
      FT_ASSIGN_OR_RETURN(state->source, Iterate(interp, value));
    }
    if (state->source == nullptr) {
      return false;
    }
    for (;;) {
      FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, state->source, item));
      if (!has_item) {
        return false;
      }
      FT_ASSIGN_OR_RETURN(std::optional<Value> given, state->step(*item));
      if (given) {
        *item = std::move(*given);
        return true;
      }
    }
  };
  return Value::Obj(interp.heap().New<IteratorObject>("generator", std::move(next)));
}

CallArgs Rest(const CallArgs& args, size_t from) {
  CallArgs rest;
  rest.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(from),
                         args.positional.end());
  rest.keywords = args.keywords;
  return rest;
}

// The name of a filter or test; what is no string names none.
Result<std::string> NameOf(Interp& interp, const Value& name) {
  if (name.is_str()) {
    return name.text();
  }
  return ToRepr(interp, name);
}

Result<Step> MapStep(Interp& interp, const CallArgs& args) {
  const Value* attribute = nullptr;
  const Value* otherwise = nullptr;
  for (const auto& [name, value] : args.keywords) {
    attribute = name == "attribute" ? &value : attribute;
    otherwise = name == "default" ? &value : otherwise;
  }
  if (args.positional.empty() && attribute != nullptr) {
    for (const auto& [name, value] : args.keywords) {
      if (name != "attribute" && name != "default") {
        return InvalidArgument("Unexpected keyword argument {}", ReprText(name));
      }
    }
    const AttributePath path(interp, *attribute);
    const Value fallback = otherwise != nullptr ? *otherwise : Value::None();
    return Step([&interp, path, fallback](const Value& item) -> Result<std::optional<Value>> {
      FT_ASSIGN_OR_RETURN(Value value, path.Get(interp, item, fallback));
      return std::optional<Value>(std::move(value));
    });
  }
  if (args.positional.empty()) {
    return InvalidArgument("map requires a filter argument");
  }
  FT_ASSIGN_OR_RETURN(const std::string name, NameOf(interp, args.positional[0]));
  const CallArgs rest = Rest(args, 1);
  return Step([&interp, name, rest](const Value& item) -> Result<std::optional<Value>> {
    CallArgs call = rest;
    FT_ASSIGN_OR_RETURN(Value value, interp.CallFilter(name, item, call));
    return std::optional<Value>(std::move(value));
  });
}

Result<Value> Map(Interp& interp, const Value& value, CallArgs& args) {
  return Generator(interp, value, [&interp, args] { return MapStep(interp, args); });
}

struct Selection {
  bool by_attribute = false;
  bool keeps = true;  // what passes, or what does not
};

Result<Step> SelectStep(Interp& interp, const CallArgs& args, Selection selection) {
  const size_t offset = selection.by_attribute ? 1 : 0;
  if (selection.by_attribute && args.positional.empty()) {
    return InvalidArgument("Missing parameter for attribute name");
  }
  const AttributePath path =
      selection.by_attribute ? AttributePath(interp, args.positional[0]) : AttributePath();
  std::optional<std::string> test;
  CallArgs rest;
  if (args.positional.size() > offset) {
    FT_ASSIGN_OR_RETURN(test, NameOf(interp, args.positional[offset]));
    rest = Rest(args, offset + 1);
  }
  return Step([=, &interp](const Value& item) -> Result<std::optional<Value>> {
    FT_ASSIGN_OR_RETURN(Value tested, path.Get(interp, item, Value::None()));
    if (test) {
      CallArgs call = rest;
      FT_ASSIGN_OR_RETURN(tested, interp.CallTest(*test, tested, call));
    }
    return IsTrue(tested) == selection.keeps ? std::optional<Value>(item) : std::nullopt;
  });
}

template <bool kByAttribute, bool kKeeps>
Result<Value> Select(Interp& interp, const Value& value, CallArgs& args) {
  return Generator(interp, value, [&interp, args] {
    return SelectStep(interp, args, {.by_attribute = kByAttribute, .keeps = kKeeps});
  });
}

Result<Value> Unique(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("unique", args, {"case_sensitive", "attribute"}, {}));
  const bool ignores_case = !bound.Flag(0, /*otherwise=*/false);
  const Value attribute = bound.get(1, Value::None());
  FT_ASSIGN_OR_RETURN(IteratorObject * source, Iterate(interp, value));
  const AttributePath path(interp, attribute);
  // Shared: std::function copies its closure.
  auto seen = std::make_shared<DictData>();
  auto next = [&interp, source, path, ignores_case, seen](Value* item) -> Result<bool> {
    for (;;) {
      FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, source, item));
      if (!has_item) {
        return false;
      }
      FT_ASSIGN_OR_RETURN(Value key, path.Get(interp, *item, Value::None()));
      key = ignores_case ? IgnoreCase(interp, key) : key;
      FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(key));
      if (seen->Find(key, hash) == nullptr) {
        seen->Set(key, hash, Value::None());
        interp.heap().Count(sizeof(DictData::Entry));
        return true;
      }
    }
  };
  return Value::Obj(interp.heap().New<IteratorObject>("generator", std::move(next)));
}

Result<Value> Batch(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("batch", args, {"linecount", "fill_with"}, {.num_required = 1}));
  const Value& size = bound.at(0);
  const Value fill = bound.get(1, Value::None());
  if (!IsIterable(value)) {
    return InvalidArgument("'{}' object is not iterable", TypeName(value));
  }
  FT_ASSIGN_OR_RETURN(IteratorObject * source, Iterate(interp, value));
  // Shared: std::function copies its closure.
  auto row = std::make_shared<Values>();
  auto next = [&interp, source, size, fill, row](Value* item) -> Result<bool> {
    for (;;) {
      Value read;
      FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, source, &read));
      if (!has_item) {
        break;
      }
      FT_ASSIGN_OR_RETURN(const bool is_full,
                          Equal(interp, Value::Int(static_cast<int64_t>(row->size())), size));
      Values full = is_full ? std::exchange(*row, {}) : Values();
      row->push_back(read);
      if (is_full) {
        *item = interp.heap().List(std::move(full));
        return true;
      }
    }
    if (row->empty()) {
      return false;
    }
    if (!fill.is_none()) {
      const int64_t wanted = ToIndex(size).value_or(0);
      if (wanted > 100'000'000) {
        return ResourceExhausted("a batch of {} items is more than a template may make", wanted);
      }
      FT_RETURN_IF_ERROR(
          interp.WorkBytes(static_cast<size_t>(std::max<int64_t>(0, wanted)) * sizeof(Value)));
      while (static_cast<int64_t>(row->size()) < wanted) {
        row->push_back(fill);
      }
    }
    *item = interp.heap().List(std::exchange(*row, {}));
    return true;
  };
  return Value::Obj(interp.heap().New<IteratorObject>("generator", std::move(next)));
}

// One of the slices of `items`.
Values SlicePart(const Values& items, int64_t number, int64_t num_slices, const Value& fill) {
  const auto size = static_cast<int64_t>(items.size());
  const int64_t per_slice = size / num_slices;
  const int64_t num_longer = size % num_slices;
  const int64_t start = number * per_slice + std::min(number, num_longer);
  const int64_t end = (number + 1) * per_slice + std::min(number + 1, num_longer);
  Values part(items.begin() + start, items.begin() + end);
  if (!fill.is_none() && number >= num_longer) {
    part.push_back(fill);
  }
  return part;
}

Result<Value> SliceFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("slice", args, {"slices", "fill_with"}, {.num_required = 1}));
  FT_ASSIGN_OR_RETURN(const int64_t num_slices, bound.Int(0, 0));
  const Value fill = bound.get(1, Value::None());
  // Shared: std::function copies its closure.
  auto items = std::make_shared<Values>();
  auto next = [&interp, value, num_slices, fill, items,
               number = int64_t{0}](Value* item) mutable -> Result<bool> {
    if (number == 0) {
      FT_ASSIGN_OR_RETURN(*items, ToValues(interp, value));
      if (num_slices == 0) {
        return InvalidArgument("integer division or modulo by zero");
      }
    }
    if (number >= num_slices) {
      return false;
    }
    *item = interp.heap().List(SlicePart(*items, number, num_slices, fill));
    ++number;
    return true;
  };
  return Value::Obj(interp.heap().New<IteratorObject>("generator", std::move(next)));
}

Result<Value> Items(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("items", args));
  auto next = [&interp, value, at = size_t{0}](Value* item) mutable -> Result<bool> {
    if (value.is_undefined()) {
      return false;
    }
    if (!value.is(ObjectKind::kDict)) {
      return InvalidArgument("Can only get item pairs from a mapping.");
    }
    const auto& entries = value.As<DictObject>()->data.entries();
    if (at >= entries.size()) {
      return false;
    }
    *item = interp.heap().Tuple({entries[at].key, entries[at].value});
    ++at;
    return true;
  };
  return Value::Obj(interp.heap().New<IteratorObject>("generator", std::move(next)));
}

}  // namespace

std::span<const NamedFilter> LazyFilters() {
  static constexpr NamedFilter kFilters[] = {{"map", Map},
                                             {"select", Select<false, true>},
                                             {"reject", Select<false, false>},
                                             {"selectattr", Select<true, true>},
                                             {"rejectattr", Select<true, false>},
                                             {"unique", Unique},
                                             {"batch", Batch},
                                             {"slice", SliceFilter},
                                             {"items", Items}};
  return kFilters;
}

}  // namespace ft::jinja
