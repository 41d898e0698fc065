// "a.b.0": the attribute argument of filters such as map, sort and groupby.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

class AttributePath {
 public:
  AttributePath() = default;  ///< the item itself
  /// `attribute`: text with dots (digits are indexes), an index, or None for the item itself.
  AttributePath(Interp& interp, const Value& attribute);

  /// Looks up step by step; a `fallback` other than None stands in for what is undefined.
  Result<Value> Get(Interp& interp, Value item, const Value& fallback) const;

 private:
  Values parts_;
};

/// Lower case of strings, everything else as it is.
Value IgnoreCase(Interp& interp, const Value& value);

}  // namespace ft::jinja
