// qwen2's config.json. Source: ../shared/reference/models.md §2.
#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/checkpoint/model_config.h"
#include "core/models/registry.h"

namespace ft::models::qwen2 {

/// Errors: as ModelFamily::read_config.
Result<std::unique_ptr<ModelBuilder>> ReadConfig(const ModelConfig& model);

}  // namespace ft::models::qwen2
