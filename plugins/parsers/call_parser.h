// Tool calls between <tool_call> and </tool_call>, in any CallGrammar.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "plugins/parsers/call_grammar.h"
#include "plugins/parsers/instance.h"

namespace ft::parsers {

const std::vector<Marker>& CallMarkers();

// `grammar` must outlive the instance.
std::unique_ptr<Instance> MakeCallParser(const CallGrammar* grammar,
                                         std::vector<int32_t> marker_ids,
                                         std::string_view tools_json);

}  // namespace ft::parsers
