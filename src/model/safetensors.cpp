#include "model/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/json_text.h"
#include "core/read_file.h"
#include "core/write_file.h"

namespace assay {
namespace {

struct NamedType {
  DataType type;
  const char* name;
};
constexpr NamedType types[] = {{DataType::f32, "F32"},
                               {DataType::bf16, "BF16"},
                               {DataType::f16, "F16"},
                               {DataType::i64, "I64"}};
constexpr std::size_t length_bytes = 8;
constexpr std::size_t most_header = 100 << 20;  // as the format's own reader allows

const char* name_in_file(DataType type) {
  for (const NamedType& one : types) {
    if (one.type == type) return one.name;
  }
  return "U8";
}

/// Reads one tensor's entry of the header; `data` is what follows the header.
Result<StoredTensor> read_tensor(const std::string& name, const Json& entry,
                                 std::string_view data) {
  const auto wrong = [&](const char* what) {
    return Error{ErrorKind::usage, fmt::format("tensor \"{}\" {}", name, what)};
  };
  StoredTensor tensor;
  tensor.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return wrong("lacks dtype, shape or data_offsets");
  }
  const auto* const type = std::find_if(std::begin(types), std::end(types), [&](const auto& one) {
    return entry["dtype"] == one.name;
  });
  if (type == std::end(types)) return wrong("has a dtype other than F32, BF16, F16 and I64");
  tensor.type = type->type;
  if (!entry["shape"].is_array()) return wrong("has a shape that is not a list");
  std::uint64_t elements = 1;
  for (const Json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned()) return wrong("has a shape that is not of whole numbers");
    const auto value = extent.get<std::uint64_t>();
    if (value > data.size() || elements > data.size()) return wrong("is larger than the file");
    tensor.shape.push_back(static_cast<std::int64_t>(value));
    elements *= value;
  }
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return wrong("has data_offsets that are not two whole numbers");
  }
  const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (begin > end || end > data.size()) return wrong("lies outside of the file; is it cut off?");
  if (end - begin != elements * size_of(tensor.type)) {
    return wrong("has other bytes than its shape needs");
  }
  tensor.data = data.substr(begin, end - begin);
  return tensor;
}

Result<TensorFile> parse_tensors(std::string_view bytes) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < length_bytes) {
    return Error{ErrorKind::usage, "is shorter than its first number"};
  }
  std::memcpy(&header_bytes, bytes.data(), length_bytes);
  if (header_bytes > most_header || header_bytes > bytes.size() - length_bytes) {
    return Error{ErrorKind::usage,
                 fmt::format("has a header of {} bytes, more than the file; is it a safetensors "
                             "file, and whole?",
                             header_bytes)};
  }
  const Json header = TRY(parse_json(bytes.substr(length_bytes, header_bytes)));
  if (!header.is_object()) return Error{ErrorKind::usage, "has a header that is not an object"};
  const std::string_view data = bytes.substr(length_bytes + header_bytes);
  TensorFile file;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      file.tensors.push_back(TRY(read_tensor(name, entry, data)));
      continue;
    }
    if (!entry.is_object()) return Error{ErrorKind::usage, "has metadata that are not an object"};
    for (const auto& [key, value] : entry.items()) {
      if (value.is_string()) file.metadata.emplace_back(key, value.get<std::string>());
    }
  }
  return file;
}

}  // namespace

const StoredTensor* TensorFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const StoredTensor& one) { return one.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Status write_tensors(const std::filesystem::path& path, const TensorFile& file) {
  Json header = Json::object();
  for (const auto& [key, value] : file.metadata) header["__metadata__"][key] = value;
  std::uint64_t offset = 0;
  for (const StoredTensor& tensor : file.tensors) {
    header[tensor.name] = {{"dtype", name_in_file(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
  std::string bytes(length_bytes, '\0');
  const std::uint64_t header_bytes = text.size();
  std::memcpy(bytes.data(), &header_bytes, length_bytes);
  bytes.reserve(length_bytes + text.size() + offset);
  bytes += text;
  for (const StoredTensor& tensor : file.tensors) bytes += tensor.data;
  return write_file(path, bytes);
}

Result<TensorFile> read_tensors(const std::filesystem::path& path) {
  constexpr std::size_t most = std::size_t{1} << 40;
  const std::string bytes = TRY(read_operand(path, most));
  auto file = parse_tensors(bytes);
  if (!file.ok()) {
    return Error{ErrorKind::usage, fmt::format("{}: {}", path.string(), file.error().message)};
  }
  return file;
}

}  // namespace assay
