#include "model/training/weight_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "model/decoder/decoder_files.h"
#include "model/operations/elementwise.h"
#include "model/tensors/weights.h"
#include "model/transformer/checkpoint_tensors.h"
#include "model/transformer/lora_adapter.h"

namespace assay {
namespace {

/// The files beside the weights that other programs need to use them.
constexpr const char* files_of_a_model[] = {"config.json",       "generation_config.json",
                                            "tokenizer.json",    "tokenizer_config.json",
                                            "vocab.json",        "merges.txt",
                                            "tokenizer.model",   "chat_template.jinja",
                                            "added_tokens.json", "special_tokens_map.json"};

/// Tensors that one file holds.
struct Shard {
  std::size_t begin = 0, end = 0;  // among all
};

std::size_t bytes_of(const NamedTensor& named, DataType type) {
  return static_cast<std::size_t>(named.tensor.elements()) * size_of(type);
}

std::vector<Shard> cut_into_shards(const std::vector<NamedTensor>& tensors, DataType type,
                                   std::size_t most) {
  std::vector<Shard> shards = {{}};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t more = bytes_of(tensors[i], type);
    if (bytes > 0 && bytes + more > most) {
      shards.push_back({i, i});
      bytes = 0;
    }
    bytes += more;
    shards.back().end = i + 1;
  }
  return shards;
}

std::string name_of_shard(std::size_t index, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

/// The name of a type in config.json.
std::string_view name_in_config(DataType type) {
  return type == DataType::bf16 ? "bfloat16" : type == DataType::f16 ? "float16" : "float32";
}

/// Returns a model's config.json with the type that its weights have now: transformers would round
/// them to the one that is written there.
Result<std::string> with_type(std::string_view config, DataType type) {
  Json json = TRY(parse_json(config));
  json.erase("quantization_config");
  for (const char* name : {"dtype", "torch_dtype"}) {  // of newer and of older versions
    if (json.contains(name)) json[name] = name_in_config(type);
  }
  return json.dump(2) + "\n";
}

/// Files that are written, but not at their places yet, so that a failure to write leaves the old
/// ones.
using NewFiles = std::vector<NewFile>;

Status add_file(NewFiles& files, const std::filesystem::path& path, std::string_view text) {
  files.push_back(TRY(NewFile::create(path)));
  return files.back().append(text);
}

Status add_model_files(NewFiles& files, const std::filesystem::path& from,
                       const std::filesystem::path& to, DataType type) {
  constexpr std::size_t most = std::size_t{256} << 20;
  for (const char* name : files_of_a_model) {
    std::error_code ignored;
    if (!std::filesystem::exists(from / name, ignored)) continue;
    std::string text = TRY(read_operand(from / name, most));
    if (name == files_of_a_model[0]) text = TRY(with_type(text, type));
    TRY(add_file(files, to / name, text));
  }
  return {};
}

/// Puts the files at their places. What would be read instead of the shards is removed first; if a
/// file then cannot be put there, some of the old ones are gone.
Status put_in_place(NewFiles& files, const std::filesystem::path& folder, std::size_t shards) {
  std::error_code ignored;  // what stays is found when somebody reads the folder
  std::filesystem::remove(
      folder / (shards > 1 ? "model.safetensors" : "model.safetensors.index.json"), ignored);
  for (NewFile& file : files) TRY(file.finish());
  return {};
}

TensorFile laid_out(const std::vector<NamedTensor>& tensors, const Shard& shard, DataType type) {
  std::vector<StoredTensor> stored;
  for (std::size_t i = shard.begin; i < shard.end; ++i) {
    stored.push_back({.name = tensors[i].name, .type = type, .shape = tensors[i].shape});
  }
  return lay_out_tensors(std::move(stored), {{"format", "pt"}});
}

std::string index_of(const std::vector<NamedTensor>& tensors, const std::vector<Shard>& shards,
                     DataType type) {
  std::size_t bytes = 0;
  SortedJson places = SortedJson::object();
  for (std::size_t s = 0; s < shards.size(); ++s) {
    for (std::size_t i = shards[s].begin; i < shards[s].end; ++i) {
      places[tensors[i].name] = name_of_shard(s, shards.size());
      bytes += bytes_of(tensors[i], type);
    }
  }
  return SortedJson{{"metadata", {{"total_size", bytes}}}, {"weight_map", places}}.dump(2) + "\n";
}

}  // namespace

Status read_weight_files(Device& device, Stream& stream, DataType type,
                         const std::vector<ParameterArenas::Range>& kept,
                         const TransformerShape& shape, const TransformerParameters& layout,
                         const std::filesystem::path& folder) {
  const DecoderFiles files = TRY(DecoderFiles::open(folder, tensors_of_shard(shape, layout)));
  Elementwise elementwise = TRY(Elementwise::create(device, type));
  Buffer stored, converted;
  const auto make_room = [&](Buffer& buffer, std::size_t bytes) -> Status {
    if (buffer.bytes() >= bytes) return {};
    TRY(stream.synchronize());  // what is replaced may still be read
    buffer = TRY(device.allocate(bytes, MemoryKind::device));
    return {};
  };
  /// Copies what is kept of `elements` numbers that begin with number `first` of the layout.
  const auto keep = [&](std::size_t first, std::size_t elements, const void* numbers) -> Status {
    for (const ParameterArenas::Range& own : kept) {
      const std::size_t begin = std::max(first, own.first),
                        end = std::min(first + elements, own.first + own.elements);
      if (begin >= end) continue;
      TRY(stream.copy(static_cast<std::byte*>(own.address) + (begin - own.first) * size_of(type),
                      static_cast<const std::byte*>(numbers) + (begin - first) * size_of(type),
                      (end - begin) * size_of(type)));
    }
    return {};
  };
  const Status got = files.read(
      device, stream, [&](const Tensor& place, const void* rows, DataType in_file) -> Status {
        const auto elements = static_cast<std::size_t>(place.elements());
        if (in_file == type) return keep(place.offset, elements, rows);
        if (type == DataType::f16) {
          return Error{ErrorKind::unsupported,
                       fmt::format("{}: weights in {} are not rounded to f16; allowed: "
                                   "precision=bf16, f32, tf32",
                                   folder.string(), name_of(in_file))};
        }
        constexpr std::size_t multiple = 8;  // of Elementwise::convert()
        const std::size_t rounded = (elements + multiple - 1) / multiple * multiple;
        TRY(make_room(stored, rounded * size_of(in_file)));
        TRY(make_room(converted, rounded * size_of(type)));
        TRY(stream.copy(stored.data(), rows, elements * size_of(in_file)));
        TRY(elementwise.convert(stream, converted.data(), stored.data(), in_file, rounded));
        return keep(place.offset, elements, converted.data());
      });
  TRY(stream.synchronize());  // buffers are still read, also after an error
  return got;
}

Status save_weights(Training& training, Stream& stream, const TransformerShape& shape,
                    const TransformerParameters& layout, const std::filesystem::path& model,
                    const std::filesystem::path& folder, std::size_t most_shard_bytes) {
  const DataType type = training.arenas().type_of(ParameterPart::weights);
  std::vector<NamedTensor> tensors = tensors_of_shard(shape, layout);
  // In the order of sections, so that each is gathered once for a shard.
  std::ranges::sort(tensors, {}, [](const NamedTensor& one) { return one.tensor.offset; });
  const std::vector<Shard> shards = cut_into_shards(tensors, type, most_shard_bytes);
  const bool writes = training.rank() == 0;
  // Where rank 0 cannot write, it gathers with the others to the end.
  Status written = writes ? create_folder(folder) : Status();
  NewFiles files;
  const std::vector<Section>& sections = training.arenas().sections();
  for (std::size_t s = 0; s < shards.size(); ++s) {
    TensorFile file = writes ? laid_out(tensors, shards[s], type) : TensorFile();
    std::size_t next = shards[s].begin;
    for (std::size_t i = 0; i < sections.size() && next < shards[s].end; ++i) {
      if (tensors[next].tensor.offset >= sections[i].end) continue;
      const auto* const whole =
          static_cast<const std::byte*>(TRY(training.section(stream, ParameterPart::weights, i)));
      for (; next < shards[s].end && tensors[next].tensor.offset < sections[i].end; ++next) {
        if (!writes) continue;
        const StoredTensor& tensor = file.tensors[next - shards[s].begin];
        const std::size_t at = tensors[next].tensor.offset - sections[i].begin;
        TRY(stream.copy(file.data(tensor), whole + at * size_of(type), tensor.bytes));
      }
      TRY(stream.synchronize());
    }
    if (writes && written.ok()) {
      written = add_file(files, folder / name_of_shard(s, shards.size()), file.bytes);
    }
  }
  TRY(std::move(written));
  if (!writes) return {};
  if (shards.size() > 1) {
    TRY(add_file(files, folder / "model.safetensors.index.json", index_of(tensors, shards, type)));
  }
  TRY(add_model_files(files, model, folder, type));
  return put_in_place(files, folder, shards.size());
}

Status save_adapters(Training& training, Stream& stream, const LoraParameters& adapters,
                     const LoraSettings& settings, const std::filesystem::path& base,
                     const std::filesystem::path& folder) {
  const DataType type = training.arenas().type_of(ParameterPart::weights);
  const void* const whole = TRY(training.section(stream, ParameterPart::weights, 0));
  const std::vector<float> numbers =
      TRY(read_weights(stream, whole, type, adapters.sections.front().end));
  if (training.rank() != 0) return {};
  LoraAdapter adapter{.rank = settings.rank, .alpha = settings.alpha};
  const auto cut = [&](std::size_t first, std::int64_t count) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<float>(begin, begin + count);
  };
  for (std::size_t layer = 0; layer < adapters.layers.size(); ++layer) {
    const LoraLayer& groups = adapters.layers[layer];
    for (const LoraGroup* group : {&groups.qkv, &groups.proj, &groups.up, &groups.down}) {
      std::size_t a = group->a.offset;
      for (const LoraGroup::Part& part : group->parts) {
        const std::int64_t elements_of_a = settings.rank * group->a.columns;
        adapter.matrices.push_back({.module = module_of(layer, part.target),
                                    .rows = part.b.rows,
                                    .columns = group->a.columns,
                                    .a = cut(a, elements_of_a),
                                    .b = cut(part.b.offset, part.b.elements())});
        a += static_cast<std::size_t>(elements_of_a);
      }
    }
  }
  return write_adapter(folder, adapter, type == DataType::bf16 ? type : DataType::f32,
                       base.string());
}

Status check_output(const std::filesystem::path& folder, const std::filesystem::path& base,
                    bool adapters) {
  std::error_code ignored;  // a folder that is not there yet is another one
  if (std::filesystem::equivalent(folder, base, ignored)) {
    return Error{
        ErrorKind::usage,
        fmt::format("{}: the weights are read from this folder; choose another for what is "
                    "learnt",
                    folder.string())};
  }
  // Other programs load an adapter beside a model's weights with them.
  const char* const other = adapters ? "config.json" : "adapter_config.json";
  if (std::filesystem::exists(folder / other, ignored)) {
    return Error{ErrorKind::usage, fmt::format("{}: the folder holds {}; choose another for {}",
                                               folder.string(), adapters ? "a model" : "an adapter",
                                               adapters ? "the adapter" : "the weights")};
  }
  TRY(create_folder(folder));
  return check_writable(folder / "model.safetensors");
}

}  // namespace assay
