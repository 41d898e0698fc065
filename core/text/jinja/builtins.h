// The tables of what templates find by name: filters, tests, global functions, methods.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

class Interp;

/// `value` is what stands before the bar (or `is`); `args` the rest.
using FilterFunction = Result<Value> (*)(Interp& interp, const Value& value, CallArgs& args);

struct NamedFilter {
  std::string_view name;
  FilterFunction function;
};

/// Null when there is none of that name.
FilterFunction FindFilter(std::string_view name);
FilterFunction FindTest(std::string_view name);

// Parts of the tables, by topic.
std::span<const NamedFilter> TextFilters();      // filters_text.cpp
std::span<const NamedFilter> HtmlFilters();      // filters_html.cpp
std::span<const NamedFilter> NumberFilters();    // filters_number.cpp
std::span<const NamedFilter> SequenceFilters();  // filters_sequence.cpp
std::span<const NamedFilter> LazyFilters();      // filters_lazy.cpp
std::span<const NamedFilter> Tests();            // tests.cpp

/// Puts range, dict, namespace, raise_exception … into `globals`.
void AddGlobals(Interp& interp, DictData* globals);  // globals.cpp

/// Python's getattr of a built-in type: a bound method or a property. Nothing when there is none.
Result<std::optional<Value>> FindAttribute(Interp& interp,
                                           const Value& owner,
                                           std::string_view name);  // attributes.cpp

// Methods by type; null when there is none of that name.
FilterFunction FindStringMethod(std::string_view name);  // methods_string.cpp
FilterFunction FindContainerMethod(const Value& owner, std::string_view name);  // methods_other.cpp
FilterFunction FindNumberMethod(const Value& owner, std::string_view name);     // methods_other.cpp

/// Arguments of a call bound to parameters.
class BoundArgs {
 public:
  struct Rules {
    size_t num_required = 0;
    size_t num_positional_only = 0;  ///< the first of `names` cannot be keywords
  };

  /// Binds `args` to `names`. Errors: too many, unknown, repeated or missing arguments.
  static Result<BoundArgs> Bind(std::string_view function,
                                const CallArgs& args,
                                std::initializer_list<std::string_view> names,
                                Rules rules);

  bool has(size_t index) const { return values_[index].has_value(); }

  const Value& at(size_t index) const { return *values_[index]; }

  Value get(size_t index, const Value& otherwise) const {
    return values_[index] ? *values_[index] : otherwise;
  }

  /// An integer argument. Errors: another type.
  Result<int64_t> Int(size_t index, int64_t otherwise) const;
  /// Truth of an argument.
  bool Flag(size_t index, bool otherwise) const;

 private:
  std::vector<std::optional<Value>> values_;
};

/// No arguments at all, or the failure that says so.
Status NoArgs(std::string_view function, const CallArgs& args);

}  // namespace ft::jinja
