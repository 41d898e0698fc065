// Thoughts between <think> and </think> (Qwen3 and its relatives). Whitespace around a thought
// belongs to the markers: it reaches neither the thought nor the content.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/parsers/instance.h"

namespace ft::parsers {

const std::vector<Marker>& ThinkMarkers();

// How surely a chat template speaks this format; 0 not at all.
int32_t ScoreThinkTemplate(std::string_view chat_template);

// Does this rendered prompt end inside a thought? Only what follows the last turn marker counts:
// a user may have written <think> too.
bool PromptEndsInThink(std::string_view prompt);

std::unique_ptr<Instance> MakeThinkParser(std::vector<int32_t> marker_ids, bool starts_in_thought);

}  // namespace ft::parsers
