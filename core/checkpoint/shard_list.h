// Which files make a checkpoint: a single file, an index and its shards, or what lies in a folder.
// Opens no shard. Used by tensor_index.cpp only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace ft {

struct ShardList {
  std::vector<std::string> paths;
  std::string index_path;  ///< empty without an index
  /// Tensor and the position in `paths` where the index puts it; in the order of the index.
  std::vector<std::pair<std::string, size_t>> index_entries;
};

/// Errors: see TensorIndex::Open. Every path in the result exists.
Result<ShardList> FindShards(const std::string& path);

/// From the text of an index file; `folder` holds the shards, which need not exist. For FindShards
/// and fuzzing. Errors: kDataLoss for no JSON, no "weight_map", a shard name that leaves `folder`.
Result<ShardList> ParseShardIndex(std::string_view text,
                                  const std::string& folder,
                                  const std::string& index_path);

}  // namespace ft
