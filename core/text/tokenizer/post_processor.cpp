#include "core/text/tokenizer/post_processor.h"

#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/text/tokenizer/json_fields.h"

namespace ft::text {
namespace {

constexpr int kMaxSequenceDepth = 8;
constexpr size_t kMaxIds = 1024;

// Appends the ids of a template's special token.
Status AppendSpecial(const json::Value& special,
                     const json::Value& special_tokens,
                     std::vector<int32_t>* ids) {
  FT_ASSIGN_OR_RETURN(const std::string name, RequireString(special, "id"));
  const json::Value* token = special_tokens.Find(name);
  if (token == nullptr || !token->is_object()) {
    return DataLoss("TemplateProcessing: \"{}\" is not in special_tokens", name);
  }
  FT_ASSIGN_OR_RETURN(const json::Value* list, RequireMember(*token, "ids", json::Kind::kArray));
  for (const json::Value& value : list->as_array()) {
    FT_ASSIGN_OR_RETURN(const int32_t id, ReadTokenId(value));
    ids->push_back(id);
  }
  if (ids->size() > kMaxIds) {
    return ResourceExhausted("TemplateProcessing: more than {} ids", kMaxIds);
  }
  return Status();
}

Result<PostProcessor> ReadTemplate(const json::Value& value) {
  FT_ASSIGN_OR_RETURN(const json::Value* single,
                      RequireMember(value, "single", json::Kind::kArray));
  FT_ASSIGN_OR_RETURN(const json::Value* special_tokens,
                      RequireMember(value, "special_tokens", json::Kind::kObject));
  PostProcessor result;
  bool has_text = false;
  for (const json::Value& piece : single->as_array()) {
    if (const json::Value* special = piece.Find("SpecialToken")) {
      FT_RETURN_IF_ERROR(
          AppendSpecial(*special, *special_tokens, has_text ? &result.suffix : &result.prefix));
    } else if (const json::Value* sequence = piece.Find("Sequence")) {
      FT_ASSIGN_OR_RETURN(const std::string name, RequireString(*sequence, "id"));
      if (name != "A" || has_text) {
        return Unimplemented("TemplateProcessing: single must hold sequence A exactly once");
      }
      has_text = true;
    } else {
      return DataLoss("TemplateProcessing: a piece is neither SpecialToken nor Sequence");
    }
  }
  if (!has_text) {
    return Unimplemented("TemplateProcessing: single must hold sequence A exactly once");
  }
  return result;
}

Status Apply(const json::Value& value, int depth, PostProcessor* result) {
  FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(value));
  if (depth > kMaxSequenceDepth || result->prefix.size() + result->suffix.size() > kMaxIds) {
    return ResourceExhausted("too many steps");
  }
  if (type.empty() || type == "ByteLevel") {  // ByteLevel only trims offsets
    return Status();
  }
  if (type == "Sequence") {
    FT_ASSIGN_OR_RETURN(const json::Value* members,
                        RequireMember(value, "processors", json::Kind::kArray));
    for (const json::Value& member : members->as_array()) {
      FT_RETURN_IF_ERROR(Apply(member, depth + 1, result));
    }
    return Status();
  }
  if (type != "TemplateProcessing") {
    return Unimplemented("type \"{}\"; ft knows TemplateProcessing, ByteLevel, Sequence", type);
  }
  FT_ASSIGN_OR_RETURN(const PostProcessor outer, ReadTemplate(value));
  result->prefix.insert(result->prefix.begin(), outer.prefix.begin(), outer.prefix.end());
  result->suffix.insert(result->suffix.end(), outer.suffix.begin(), outer.suffix.end());
  return Status();
}

}  // namespace

Result<PostProcessor> PostProcessor::FromJson(const json::Value& post_processor) {
  PostProcessor result;
  FT_RETURN_IF_ERROR(Apply(post_processor, 0, &result));
  return result;
}

}  // namespace ft::text
