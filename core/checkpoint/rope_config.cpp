#include "core/checkpoint/rope_config.h"

#include <string>

#include "core/base/errors.h"

namespace ft {
namespace {

struct TypeName {
  const char* name;
  RopeType type;
};

// "mrope" with text only is plain: the three positions of a text token are equal.
constexpr TypeName kTypeNames[] = {
    {"default", RopeType::kPlain},   {"linear", RopeType::kLinear},
    {"dynamic", RopeType::kDynamic}, {"yarn", RopeType::kYarn},
    {"llama3", RopeType::kLlama3},   {"longrope", RopeType::kLongRope},
    {"su", RopeType::kLongRope},     {"proportional", RopeType::kProportional},
    {"mrope", RopeType::kPlain},
};

Result<RopeType> ParseType(const std::string& name, const std::string& where) {
  for (const TypeName& entry : kTypeNames) {
    if (name == entry.name) {
      return entry.type;
    }
  }
  return Unimplemented("{}: rope type \"{}\" is not known to ft", where, name);
}

Status ReadOptional(ConfigReader* reader, std::string_view key, std::optional<double>* out) {
  if (reader->Has(key)) {
    FT_ASSIGN_OR_RETURN(*out, reader->Float(key));
  }
  return Status();
}

Status ReadOptionalNumbers(ConfigReader* reader, RopeConfig* rope) {
  FT_RETURN_IF_ERROR(ReadOptional(reader, "attention_factor", &rope->attention_factor));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "beta_fast", &rope->beta_fast));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "beta_slow", &rope->beta_slow));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "mscale", &rope->mscale));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "mscale_all_dim", &rope->mscale_all_dim));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "low_freq_factor", &rope->low_freq_factor));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "high_freq_factor", &rope->high_freq_factor));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "short_mscale", &rope->short_mscale));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "long_mscale", &rope->long_mscale));
  FT_RETURN_IF_ERROR(ReadOptional(reader, "alpha", &rope->alpha));
  if (reader->Has("short_factor")) {
    FT_ASSIGN_OR_RETURN(rope->short_factor, reader->FloatList("short_factor"));
  }
  if (reader->Has("long_factor")) {
    FT_ASSIGN_OR_RETURN(rope->long_factor, reader->FloatList("long_factor"));
  }
  return Status();
}

// What each type cannot do without.
Status CheckComplete(const RopeConfig& rope, bool has_factor, const std::string& where) {
  const auto need = [&where, &rope](bool is_there, const char* key) {
    return is_there ? Status()
                    : InvalidArgument("{}: rope type \"{}\" needs \"{}\"", where,
                                      RopeTypeName(rope.type), key);
  };
  const bool scales = rope.type == RopeType::kLinear || rope.type == RopeType::kYarn ||
                      rope.type == RopeType::kLlama3 ||
                      (rope.type == RopeType::kDynamic && !rope.alpha.has_value());
  if (scales) {
    FT_RETURN_IF_ERROR(need(has_factor, "factor"));
  }
  if (rope.type == RopeType::kLlama3) {
    FT_RETURN_IF_ERROR(need(rope.low_freq_factor.has_value(), "low_freq_factor"));
    FT_RETURN_IF_ERROR(need(rope.high_freq_factor.has_value(), "high_freq_factor"));
    FT_RETURN_IF_ERROR(
        need(rope.original_max_positions.has_value(), "original_max_position_embeddings"));
  }
  if (rope.type == RopeType::kLongRope) {
    FT_RETURN_IF_ERROR(need(!rope.short_factor.empty(), "short_factor"));
    FT_RETURN_IF_ERROR(need(!rope.long_factor.empty(), "long_factor"));
  }
  const bool is_sane = rope.theta > 0.0 && rope.factor > 0.0 && rope.partial_rotary_factor > 0.0 &&
                       rope.partial_rotary_factor <= 1.0;
  return is_sane ? Status()
                 : InvalidArgument(
                       "{}: rope theta {} and factor {} must be above 0, partial_rotary_factor {} "
                       "in (0, 1]",
                       where, rope.theta, rope.factor, rope.partial_rotary_factor);
}

// One object in either spelling: rope_scaling, rope_parameters or one layer kind of it.
Status ReadObject(const json::Value& object, const std::string& where, RopeConfig* rope) {
  ConfigReader reader(object, where);
  FT_ASSIGN_OR_RETURN(std::string type, reader.StringOr("type", "default"));
  FT_ASSIGN_OR_RETURN(type, reader.StringOr("rope_type", type));
  FT_ASSIGN_OR_RETURN(rope->type, ParseType(type, where));
  FT_ASSIGN_OR_RETURN(rope->theta, reader.FloatOr("rope_theta", rope->theta));
  FT_ASSIGN_OR_RETURN(rope->partial_rotary_factor,
                      reader.FloatOr("partial_rotary_factor", rope->partial_rotary_factor));
  const bool has_factor = reader.Has("factor");
  FT_ASSIGN_OR_RETURN(rope->factor, reader.FloatOr("factor", 1.0));
  FT_ASSIGN_OR_RETURN(rope->truncate, reader.BoolOr("truncate", true));
  if (reader.Has("original_max_position_embeddings")) {
    FT_ASSIGN_OR_RETURN(rope->original_max_positions,
                        reader.Dim("original_max_position_embeddings"));
  }
  FT_RETURN_IF_ERROR(ReadOptionalNumbers(&reader, rope));
  // Positions of images only (models.md §0.3), and numbers that transformers copies in from above.
  reader.Ignore({"mrope_section", "mrope_interleaved", "max_position_embeddings"});
  FT_RETURN_IF_ERROR(reader.RefuseUnknownKeys());
  return CheckComplete(*rope, has_factor, where);
}

// rope_parameters is flat, or nests {"full_attention": {…}, …}: then the values are objects.
bool NestsPerLayerKind(const json::Value& parameters) {
  for (const json::Member& member : parameters.as_object()) {
    if (member.value.is_object()) {
      return true;
    }
  }
  return false;
}

Status ReadNewSpelling(const json::Value& parameters,
                       const std::string& where,
                       std::string_view layer_kind,
                       RopeConfig* rope) {
  if (!parameters.is_object()) {
    return InvalidArgument("{}: want an object, got {}", where, DescribeJson(parameters));
  }
  if (!NestsPerLayerKind(parameters)) {
    return ReadObject(parameters, where, rope);
  }
  const json::Value* kind = parameters.Find(layer_kind);
  if (kind == nullptr || !kind->is_object()) {
    return InvalidArgument("{}: nests per layer kind, and has no object \"{}\"", where, layer_kind);
  }
  return ReadObject(*kind, fmt::format("{} {}", where, layer_kind), rope);
}

}  // namespace

const char* RopeTypeName(RopeType type) {
  for (const TypeName& entry : kTypeNames) {
    if (entry.type == type) {
      return entry.name;
    }
  }
  return "?";
}

Result<RopeConfig> ReadRopeConfig(ConfigReader* config, const RopeOptions& options) {
  RopeConfig rope;
  FT_ASSIGN_OR_RETURN(rope.theta, config->FloatOr("rope_theta", options.default_theta));
  FT_ASSIGN_OR_RETURN(rope.partial_rotary_factor,
                      config->FloatOr("partial_rotary_factor", options.default_partial_factor));
  const json::Value* scaling = config->Raw("rope_scaling");
  const json::Value* parameters = config->Raw("rope_parameters");
  if (parameters != nullptr && !parameters->is_null()) {
    FT_RETURN_IF_ERROR(ReadNewSpelling(*parameters, config->where() + " rope_parameters",
                                       options.layer_kind, &rope));
    return rope;
  }
  const std::string where = config->where() + " rope_scaling";
  if (scaling != nullptr && !scaling->is_null()) {
    if (!scaling->is_object()) {
      return InvalidArgument("{}: want an object, got {}", where, DescribeJson(*scaling));
    }
    FT_RETURN_IF_ERROR(ReadObject(*scaling, where, &rope));
    return rope;
  }
  FT_RETURN_IF_ERROR(CheckComplete(rope, true, config->where()));
  return rope;
}

}  // namespace ft
