// Tensors in a file of the safetensors format: 8 bytes with the length of a JSON header (little
// endian), the header {"name": {"dtype", "shape", "data_offsets"}, ...}, then the data.
// https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/data_type.h"
#include "core/result.h"

namespace assay {

struct StoredTensor {
  std::string name;
  DataType type = DataType::f32;  ///< f32, bf16, f16 or i64
  std::vector<std::int64_t> shape;
  std::string data;  ///< as in memory
};

struct TensorFile {
  std::vector<StoredTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< texts

  /// Null if there is none of that name.
  const StoredTensor* find(std::string_view name) const;
};

/// Replaces the file as a whole: a reader sees the old or the new one. Error: failed or exhausted,
/// naming the file and the system's reason.
Status write_tensors(const std::filesystem::path& path, const TensorFile& file);

/// Does not trust the file. Error: usage, naming the file and what is wrong with it.
Result<TensorFile> read_tensors(const std::filesystem::path& path);

}  // namespace assay
