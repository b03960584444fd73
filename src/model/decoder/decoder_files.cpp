#include "model/decoder/decoder_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"

namespace assay {
namespace {

constexpr std::size_t piece_bytes = 32 << 20;  // to the device at a time

Error of_path(const std::filesystem::path& path, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{}: {}", path.string(), what)};
}

/// The names of the shards, each once. Error: usage, not naming the file.
Result<std::vector<std::string>> shards_in(std::string_view text) {
  constexpr std::size_t most_tensors = 200'000, most_shards = 4096;
  const SortedJson json = try_parse_sorted_json(text);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object() ||
      json["weight_map"].size() > most_tensors) {
    return Error{ErrorKind::usage, "has no object \"weight_map\" of names and files"};
  }
  std::vector<std::string> names;
  for (const SortedJson& value : json["weight_map"]) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos || !name.ends_with(".safetensors")) {
      return Error{
          ErrorKind::usage,
          fmt::format(
              "names {}, which is no file NAME.safetensors beside it",
              shown_line(value.dump(-1, ' ', false, SortedJson::error_handler_t::replace), 100))};
    }
    names.push_back(name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty() || names.size() > most_shards) {
    return Error{ErrorKind::usage,
                 fmt::format("names {} files, allowed are 1 to {}", names.size(), most_shards)};
  }
  return names;
}

/// What old checkpoints hold beside the weights, and tied ones twice.
bool is_computed_here(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name == "lm_head.weight";
}

/// The first of `numbers` that is NaN or infinite: all bits of its exponent are set. Their number
/// if there is none.
template <typename Bits>
std::size_t first_not_finite(std::span<const std::byte> numbers, Bits exponent) {
  constexpr std::size_t block = 4096;
  const std::size_t count = numbers.size() / sizeof(Bits);
  const auto is_odd = [&](std::size_t i) {
    Bits bits;
    std::memcpy(&bits, numbers.data() + i * sizeof(Bits), sizeof(Bits));
    return (bits & exponent) == exponent;
  };
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t end = std::min(begin + block, count);
    bool any = false;
    for (std::size_t i = begin; i < end; ++i) any |= is_odd(i);
    if (!any) continue;
    while (!is_odd(begin)) ++begin;
    return begin;
  }
  return count;
}

/// Error: usage, if a number is NaN or infinite.
Status check_numbers(std::span<const std::byte> numbers, DataType type) {
  const std::size_t at = is_fp8(type) ? first_not_finite<std::uint8_t>(numbers, 0x7F)
                         : type == DataType::f32
                             ? first_not_finite<std::uint32_t>(numbers, 0x7F800000)
                         : type == DataType::f16 ? first_not_finite<std::uint16_t>(numbers, 0x7C00)
                                                 : first_not_finite<std::uint16_t>(numbers, 0x7F80);
  if (at == numbers.size() / size_of(type)) return {};
  return Error{ErrorKind::usage,
               "has a number that is NaN or infinite; the file is damaged or its "
               "training failed"};
}

/// Reads numbers of a file and checks them, by several threads: one alone copies no faster than
/// about 5 GB/s. Error: usage, if a number is not finite; as from InputFile.
Status read_piece(const InputFile& file, std::span<std::byte> room, std::size_t offset,
                  DataType type) {
  constexpr std::size_t readers = 4, least = 4 << 20, aligned = 64;
  if (room.size() < least) {
    TRY(file.read_all_at(room, offset));
    return check_numbers(room, type);
  }
  const std::size_t share = (room.size() / readers + aligned) / aligned * aligned;
  std::array<Status, readers> found;
  {
    std::array<std::jthread, readers> threads;
    for (std::size_t i = 0; i < readers; ++i) {
      threads[i] = std::jthread([&, i] {
        const std::size_t begin = std::min(i * share, room.size());
        const std::size_t bytes = std::min(share, room.size() - begin);
        found[i] = file.read_all_at(room.subspan(begin, bytes), offset + begin);
        if (found[i].ok()) found[i] = check_numbers(room.subspan(begin, bytes), type);
      });
    }
  }
  for (const Status& one : found) TRY(one);
  return {};
}

/// Moves `kept` bytes from `begin` on of each of `rows` rows of `row_bytes` bytes together.
void keep_columns(std::byte* data, std::size_t rows, std::size_t row_bytes, std::size_t begin,
                  std::size_t kept) {
  if (kept == row_bytes) return;
  for (std::size_t row = 0; row < rows; ++row) {
    std::memmove(data + row * kept, data + row * row_bytes + begin, kept);
  }
}

}  // namespace

Result<DecoderFiles> DecoderFiles::open(const std::filesystem::path& folder,
                                        std::vector<NamedTensor> tensors) {
  constexpr std::size_t most_index = 64 << 20;
  DecoderFiles made;
  made.tensors_ = std::move(tensors);
  const std::filesystem::path whole = folder / "model.safetensors";
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  std::error_code ignored;
  if (!std::filesystem::exists(whole, ignored) && std::filesystem::exists(index, ignored)) {
    const std::string text = TRY(read_operand(index, most_index));
    const auto shards = shards_in(text);
    if (!shards.ok()) return of_path(index, shards.error().message);
    for (const std::string& name : *shards) TRY(made.add_file(folder / name));
  } else {
    TRY(made.add_file(whole));
  }
  TRY(made.find_sources());
  return made;
}

Status DecoderFiles::add_file(const std::filesystem::path& path) {
  InputFile file;
  if (const int error = file.open(path)) return unreadable(path, error);
  indices_.push_back(TRY(read_tensor_index(file, path)));
  paths_.push_back(path);
  files_.push_back(std::move(file));
  return {};
}

Status DecoderFiles::find_sources() {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < tensors_.size(); ++i) places.emplace(tensors_[i].name, i);
  std::vector<bool> found(tensors_.size());
  std::vector<std::optional<Source>> factors(tensors_.size());
  sources_.resize(tensors_.size());
  for (std::size_t f = 0; f < files_.size(); ++f) {
    for (const StoredTensor& stored : indices_[f].tensors) {
      const auto wrong = [&](const std::string& what) {
        return of_path(paths_[f],
                       fmt::format("tensor \"{}\" {}", shown_line(stored.name, 100), what));
      };
      const Fp8Part part = fp8_part(stored.name);
      if (part == Fp8Part::unused) continue;
      if (part == Fp8Part::factors) {
        const std::string of_matrix = matrix_of_factors(stored.name);
        const auto matrix = places.find(of_matrix);
        if (matrix == places.end()) {
          if (is_computed_here(of_matrix)) continue;
          return wrong("has factors of no matrix of this model");
        }
        if (factors[matrix->second]) return wrong("has factors of a matrix that has others, too");
        factors[matrix->second] = {f, stored};
        continue;
      }
      const auto place = places.find(stored.name);
      if (place == places.end()) {
        if (is_computed_here(stored.name)) continue;
        return wrong("is not one of this model; is config.json of another?");
      }
      const std::size_t i = place->second;
      if (found[i]) return wrong("is in another file, too");
      if (stored.type == DataType::i64) {
        return wrong("is I64, allowed: BF16, F16, F32 and, with factors, F8_E4M3");
      }
      if (stored.shape != tensors_[i].shape) {
        return wrong(fmt::format("has the shape [{}], config.json says [{}]",
                                 fmt::join(stored.shape, ", "),
                                 fmt::join(tensors_[i].shape, ", ")));
      }
      found[i] = true;
      sources_[i] = {f, stored};
    }
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (found[i]) continue;
    return of_path(paths_.front(),
                   fmt::format("tensor \"{}\" is missing{}", tensors_[i].name,
                               paths_.size() > 1 ? ", here and in other shards" : ""));
  }
  return read_scales(factors);
}

Status DecoderFiles::read_scales(const std::vector<std::optional<Source>>& factors) {
  scales_.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto& [f, stored] = sources_[i];
    if (is_fp8(stored.type) != factors[i].has_value() || (factors[i] && stored.shape.size() != 2)) {
      return of_path(paths_[f], fmt::format("tensor \"{}\" {}", shown_line(stored.name, 100),
                                            factors[i] ? "has factors, but is no matrix of F8_E4M3"
                                                       : "is F8_E4M3 without factors"));
    }
    if (!factors[i]) continue;
    const auto& [of_factors, stored_factors] = *factors[i];
    auto scales =
        Fp8Scales::read(files_[of_factors], stored_factors, stored.shape[0], stored.shape[1]);
    if (!scales.ok()) {
      return of_path(paths_[of_factors],
                     fmt::format("tensor \"{}\" {}", shown_line(stored_factors.name, 100),
                                 scales.error().message));
    }
    scales_[i] = std::move(*scales);
  }
  return {};
}

DataType DecoderFiles::handed_out_type(std::size_t tensor) const {
  const StoredTensor& stored = sources_[tensor].stored;
  const bool computed = scales_[tensor] || adapter_.find(stored.name) != nullptr;
  return computed ? DataType::f32 : stored.type;
}

std::size_t DecoderFiles::row_bytes(std::size_t tensor) const {
  return static_cast<std::size_t>(tensors_[tensor].columns_in_file()) *
         size_of(sources_[tensor].stored.type);
}

std::uint64_t DecoderFiles::bytes() const {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    all += row_bytes(i) * static_cast<std::size_t>(tensors_[i].tensor.rows);
  }
  return all;
}

Status DecoderFiles::read(Device& device, Stream& stream, const Keep& keep) const {
  // Files are read from front to back.
  std::vector<std::size_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(sources_[i].file, sources_[i].stored.offset);
  });
  std::size_t room = piece_bytes;
  for (const std::size_t i : order) {
    room = std::max(room, row_bytes(i) / size_of(sources_[i].stored.type) * sizeof(float));
  }
  struct Half {
    Buffer host;
    std::unique_ptr<Event> taken;  // by the device
  };
  std::array<Half, 2> halves;
  for (Half& half : halves) {
    half.host = TRY(device.allocate(room, MemoryKind::pinned));
    half.taken = TRY(device.create_event(EventKind::untimed));
    TRY(stream.record(*half.taken));
  }
  std::size_t turn = 0;
  std::vector<std::byte> stored_rows;  // before they are decoded, or an adapter is added
  std::vector<float> decoded_rows;     // between both
  const auto read_tensor_rows = [&](std::size_t i) -> Status {
    const Tensor& tensor = tensors_[i].tensor;
    const auto& [f, stored] = sources_[i];
    const LoraMatrix* const added = adapter_.find(stored.name);
    const DataType type = handed_out_type(i);
    const std::size_t of_row = row_bytes(i), element = size_of(type);
    const std::size_t handed_out = of_row / size_of(stored.type) * element;  // bytes of a row
    const auto rows = static_cast<std::int64_t>(room / handed_out);
    for (std::int64_t first = 0; first < tensor.rows; first += rows) {
      const std::int64_t count = std::min(rows, tensor.rows - first);
      const std::int64_t in_file = tensors_[i].row + first;
      const std::size_t bytes = static_cast<std::size_t>(count) * of_row;
      if (scales_[i] && added != nullptr) decoded_rows.resize(bytes);  // a byte for each
      Half& half = halves[turn++ % halves.size()];
      TRY(half.taken->synchronize());
      std::byte* const host = half.host.as<std::byte>();
      const bool computed = added != nullptr || scales_[i];
      if (computed) stored_rows.resize(bytes);
      const std::span<std::byte> to(computed ? stored_rows.data() : host, bytes);
      const Status got = read_piece(
          files_[f], to, stored.offset + static_cast<std::size_t>(in_file) * of_row, stored.type);
      if (!got.ok()) {
        return of_path(paths_[f], fmt::format("tensor \"{}\" {}", shown_line(stored.name, 100),
                                              got.error().message));
      }
      const void* numbers = to.data();
      DataType of_numbers = stored.type;
      if (scales_[i]) {
        float* const decoded = added != nullptr ? decoded_rows.data() : half.host.as<float>();
        scales_[i]->apply(in_file, to, decoded);
        numbers = decoded;
        of_numbers = DataType::f32;
      }
      if (added != nullptr) {
        add_adapter(adapter_, *added, in_file, count, numbers, of_numbers, half.host.as<float>());
      }
      keep_columns(host, static_cast<std::size_t>(count), handed_out,
                   static_cast<std::size_t>(tensors_[i].column) * element,
                   static_cast<std::size_t>(tensor.columns) * element);
      TRY(keep(tensor.rows_from(first, count), host, type));
      TRY(stream.record(*half.taken));
    }
    return {};
  };
  Status all;
  for (std::size_t i = 0; i < order.size() && all.ok(); ++i) all = read_tensor_rows(order[i]);
  const Status done = stream.synchronize();  // also after an error: the halves are still read
  TRY(all);
  return done;
}

}  // namespace assay
