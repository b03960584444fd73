#include "model/tensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_set>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"

namespace assay {
namespace {

struct NamedType {
  DataType type;
  const char* name;
};
constexpr NamedType types[] = {{DataType::f32, "F32"},
                               {DataType::bf16, "BF16"},
                               {DataType::f16, "F16"},
                               {DataType::e4m3, "F8_E4M3"},
                               {DataType::i64, "I64"}};
constexpr std::size_t length_bytes = 8;
constexpr std::size_t most_header = 100 << 20;  // as the format's own reader allows

const char* name_in_file(DataType type) {
  for (const NamedType& one : types) {
    if (one.type == type) return one.name;
  }
  return "U8";
}

/// Size in bytes of a tensor of this shape; nullopt above `most`.
std::optional<std::size_t> bytes_of(const StoredTensor& tensor, std::size_t most) {
  std::size_t bytes = size_of(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    if (extent == 0) return 0;
    if (bytes > most / static_cast<std::size_t>(extent)) return std::nullopt;
    bytes *= static_cast<std::size_t>(extent);
  }
  return bytes;
}

/// Reads one tensor's entry of the header. The data begin at `start` of a file of `size` bytes.
Result<StoredTensor> read_tensor(const std::string& name, const Json& entry, std::size_t start,
                                 std::size_t size) {
  const auto wrong = [&](const char* what) {
    return Error{ErrorKind::usage, fmt::format("tensor \"{}\" {}", shown_line(name, 100), what)};
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
  if (type == std::end(types))
    return wrong("has a dtype other than F32, BF16, F16, F8_E4M3 and I64");
  tensor.type = type->type;
  if (!entry["shape"].is_array()) return wrong("has a shape that is not a list");
  for (const Json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > size) {
      return wrong("has a shape that is not of whole numbers, or larger than the file");
    }
    tensor.shape.push_back(extent.get<std::int64_t>());
  }
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return wrong("has data_offsets that are not two whole numbers");
  }
  const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (begin > end || end > size - start) return wrong("lies outside of the file; is it cut off?");
  if (bytes_of(tensor, size) != end - begin) return wrong("has other bytes than its shape needs");
  tensor.offset = start + begin;
  tensor.bytes = end - begin;
  return tensor;
}

/// The length of the header of a file of `size` bytes, which begins with `start`.
Result<std::size_t> header_length(std::string_view start, std::size_t size) {
  std::uint64_t header_bytes = 0;
  if (start.size() < length_bytes) {
    return Error{ErrorKind::usage, "is shorter than its first number"};
  }
  std::memcpy(&header_bytes, start.data(), length_bytes);
  if (header_bytes > most_header || header_bytes > size - length_bytes) {
    return Error{ErrorKind::usage,
                 fmt::format("has a header of {} bytes, more than the file; is it a safetensors "
                             "file, and whole?",
                             header_bytes)};
  }
  return static_cast<std::size_t>(header_bytes);
}

/// A member that comes twice, of which a parsed value would keep one; empty if there is none.
std::string repeated_member(std::string_view object) {
  std::unordered_set<std::string> names;
  std::string repeated;
  const auto note = [&](int depth, Json::parse_event_t event, Json& name) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !names.insert(name.get<std::string>()).second) {
      repeated = name.get<std::string>();
    }
    return false;  // keep no values
  };
  [[maybe_unused]] const Json none = try_parse_json(object, note);
  return repeated;
}

Status check_overlaps(const std::vector<StoredTensor>& tensors) {
  std::vector<const StoredTensor*> in_order;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.bytes > 0) in_order.push_back(&tensor);
  }
  std::ranges::sort(in_order, {}, &StoredTensor::offset);
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    if (in_order[i - 1]->offset + in_order[i - 1]->bytes <= in_order[i]->offset) continue;
    return Error{ErrorKind::usage, fmt::format("tensors \"{}\" and \"{}\" share bytes",
                                               shown_line(in_order[i - 1]->name, 100),
                                               shown_line(in_order[i]->name, 100))};
  }
  return {};
}

/// `text`: the header of a file of `size` bytes.
Result<TensorIndex> parse_header(std::string_view text, std::size_t size) {
  const Json header = TRY(parse_json(text));
  if (!header.is_object()) return Error{ErrorKind::usage, "has a header that is not an object"};
  if (const std::string name = repeated_member(text); !name.empty()) {
    return Error{ErrorKind::usage, fmt::format("has tensor \"{}\" twice", shown_line(name, 100))};
  }
  TensorIndex index;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      index.tensors.push_back(TRY(read_tensor(name, entry, length_bytes + text.size(), size)));
      continue;
    }
    if (!entry.is_object()) return Error{ErrorKind::usage, "has metadata that are not an object"};
    for (const auto& [key, value] : entry.items()) {
      if (value.is_string()) index.metadata.emplace_back(key, value.get<std::string>());
    }
  }
  TRY(check_overlaps(index.tensors));
  return index;
}

Error error_in(const std::filesystem::path& path, const Error& error) {
  return {ErrorKind::usage, fmt::format("{}: {}", path.string(), error.message)};
}

}  // namespace

const StoredTensor* TensorIndex::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const StoredTensor& one) { return one.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

TensorFile lay_out_tensors(std::vector<StoredTensor> tensors,
                           std::vector<std::pair<std::string, std::string>> metadata) {
  TensorFile file = {{std::move(tensors), std::move(metadata)}, {}};
  Json header = Json::object();
  for (const auto& [key, value] : file.metadata) header["__metadata__"][key] = value;
  std::size_t end = 0;
  for (StoredTensor& tensor : file.tensors) {
    tensor.offset = end;
    tensor.bytes = bytes_of(tensor, SIZE_MAX).value_or(0);
    end += tensor.bytes;
    header[tensor.name] = {{"dtype", name_in_file(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.offset, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
  const std::uint64_t header_bytes = text.size();
  const std::size_t start = length_bytes + text.size();
  for (StoredTensor& tensor : file.tensors) tensor.offset += start;
  file.bytes.resize(start + end);
  std::memcpy(file.bytes.data(), &header_bytes, length_bytes);
  std::memcpy(file.bytes.data() + length_bytes, text.data(), text.size());
  return file;
}

Result<TensorFile> read_tensors(const std::filesystem::path& path) {
  constexpr std::size_t most = std::size_t{1} << 40;
  TensorFile file;
  file.bytes = TRY(read_operand(path, most));
  const auto parse = [&]() -> Result<TensorIndex> {
    const std::string_view all = file.bytes;
    const std::size_t header_bytes = TRY(header_length(all, all.size()));
    return parse_header(all.substr(length_bytes, header_bytes), all.size());
  };
  auto index = parse();
  if (!index.ok()) return error_in(path, index.error());
  static_cast<TensorIndex&>(file) = std::move(*index);
  return file;
}

Result<TensorIndex> read_tensor_index(InputFile& file, const std::filesystem::path& path) {
  const auto parse = [&]() -> Result<TensorIndex> {
    std::string text(std::min(length_bytes, file.size()), 0);
    TRY(file.read_all_at(std::as_writable_bytes(std::span(text)), 0));
    text.resize(TRY(header_length(text, file.size())));
    TRY(file.read_all_at(std::as_writable_bytes(std::span(text)), length_bytes));
    return parse_header(text, file.size());
  };
  auto index = parse();
  if (!index.ok()) return error_in(path, index.error());
  return index;
}

}  // namespace assay
