// What stands between <tool_call> and </tool_call>, as one format writes it. Pure: text in, a call
// or the reason why not out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/parsers/argument_types.h"

namespace ft::parsers {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text of an object
};

enum class CallState {
  kWhole,       // a call, complete
  kInValue,     // so far good, and inside a value: a marker's letters here may belong to it
  kIncomplete,  // so far good, between values
  kBroken       // nothing that follows can make it a call
};

class CallGrammar {
 public:
  virtual ~CallGrammar() = default;

  // `text`: everything since the opening marker. `is_closed`: its closing marker follows, so that
  // what a model likes to leave out at the end may be missing. Fills `call` when whole.
  virtual CallState Read(std::string_view text,
                         const ToolSchemas& schemas,
                         bool is_closed,
                         ToolCall* call) const = 0;

  // Text that begins like this (whitespace aside) may become a call. "{" or "<function=".
  virtual std::string_view opening() const = 0;

  // Values are raw text in which nothing is escaped: a call quoted in a value cannot be told from
  // a call by its letters.
  virtual bool has_raw_values() const = 0;

  // How surely a chat template speaks this format; 0 not at all.
  virtual int32_t Score(std::string_view chat_template) const = 0;
};

// {"name": ..., "arguments": {...}}: Hermes and Qwen 2.5.
const CallGrammar& JsonCallGrammar();

// <function=name><parameter=key>value</parameter></function>: Qwen3-Coder and later Qwen.
const CallGrammar& XmlCallGrammar();

}  // namespace ft::parsers
