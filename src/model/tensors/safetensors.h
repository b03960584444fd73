// Files of the safetensors format: 8 bytes with the length of a JSON header (little endian), the
// header {"name": {"dtype", "shape", "data_offsets"}, ...}, then the data.
// https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/data_type.h"
#include "core/input_file.h"
#include "core/result.h"

namespace assay {

struct StoredTensor {
  std::string name;
  DataType type = DataType::f32;  ///< f32, bf16, f16, e4m3 or i64
  std::vector<std::int64_t> shape;
  std::size_t offset = 0, bytes = 0;  ///< of its data in the file
};

/// What a file holds and where.
struct TensorIndex {
  std::vector<StoredTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< texts

  /// Null if there is none of that name.
  const StoredTensor* find(std::string_view name) const;
};

/// A file in memory; there is one copy of the data, because models are large.
struct TensorFile : TensorIndex {
  std::string bytes;  ///< all of the file

  char* data(const StoredTensor& tensor) { return bytes.data() + tensor.offset; }
  const char* data(const StoredTensor& tensor) const { return bytes.data() + tensor.offset; }
};

/// Returns a file whose header is written and whose data are still 0. Only the name, type and shape
/// of `tensors` are read.
TensorFile lay_out_tensors(std::vector<StoredTensor> tensors,
                           std::vector<std::pair<std::string, std::string>> metadata);

/// Does not trust the file: no two tensors have a name or a byte in common, and all lie inside it.
/// Error: as read_operand(); usage, naming the file and what is wrong with it.
Result<TensorFile> read_tensors(const std::filesystem::path& path);
/// Reads the header alone, without the data.
Result<TensorIndex> read_tensor_index(InputFile& file, const std::filesystem::path& path);

}  // namespace assay
