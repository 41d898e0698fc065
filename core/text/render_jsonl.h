// The logic of `ft render --jsonl`: JSON lines in, JSON lines out. No flags and no files here.
#pragma once

#include <istream>
#include <ostream>

#include "core/base/status.h"
#include "core/text/chat_template.h"

namespace ft::text {

/// Answers each line {"template": t, "context": {…}, "now": "2025-03-07T09:05:03"} of `in` with one
/// line on `out`, in order: {"text": …}, or {"error": message} when the template does not parse or
/// render. `context` and `now` (absent: the real time) are optional; numbers of a context keep
/// their written form; a line ends at "\n" only; an empty last line is none. A message that the
/// template raised is passed on alone.
/// Errors: kInvalidArgument naming the line number (from 1): not JSON, no template, bad time;
/// kUnavailable: `in` cannot be read or `out` not written.
Status RenderJsonl(std::istream* in, std::ostream* out, const RenderLimits& limits = {});

}  // namespace ft::text
