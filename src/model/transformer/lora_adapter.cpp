#include "model/transformer/lora_adapter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "compute/kernels/element_types.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "core/write_file.h"
#include "model/tensors/safetensors.h"
#include "model/transformer/checkpoint_tensors.h"
#include "model/transformer/lora.h"

namespace assay {
namespace {

constexpr const char* config_name = "adapter_config.json";
constexpr const char* tensors_name = "adapter_model.safetensors";
constexpr std::string_view prefix = "base_model.model.";
constexpr std::string_view name_of_a = ".lora_A.weight", name_of_b = ".lora_B.weight";
constexpr std::int64_t most_rank = 4096;

Error about_adapter(const std::filesystem::path& path, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{}: {}", path.string(), what)};
}

/// Whether a setting asks for nothing.
bool is_off(const Json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

/// Reads all but the matrices. Error: usage, without the file.
Result<LoraAdapter> parse_adapter_config(std::string_view text) {
  const Json config = TRY(parse_json(text));
  const auto wrong = [](std::string what) { return Error{ErrorKind::usage, std::move(what)}; };
  if (!config.is_object()) return wrong("is no JSON object");
  const auto member = [&](const char* key) { return config.value(key, Json()); };
  const auto shown = [&](const char* key) {
    const Json value = member(key);
    return shown_line(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
  };
  if (member("peft_type") != "LORA") {
    return wrong(fmt::format("peft_type is {}, allowed: \"LORA\"", shown("peft_type")));
  }
  if (!is_off(member("bias")) && member("bias") != "none") {
    return wrong(fmt::format("bias is {}, allowed: \"none\"", shown("bias")));
  }
  for (const char* key :
       {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "fan_in_fan_out", "modules_to_save",
        "rank_pattern", "alpha_pattern", "layer_replication", "target_parameters",
        "trainable_token_indices", "alora_invocation_tokens"}) {
    if (is_off(member(key))) continue;
    return wrong(fmt::format("{} is {}, which is not computed here", key, shown(key)));
  }
  // With other initial values PEFT trains beside weights that it has changed.
  const Json initial = member("init_lora_weights");
  if (!initial.is_null() && !initial.is_boolean() && initial != "gaussian" && initial != "eva" &&
      initial != "orthogonal") {
    return wrong(
        fmt::format("init_lora_weights is {}, which changes the base model; allowed: "
                    "true, false, \"gaussian\", \"eva\", \"orthogonal\"",
                    shown("init_lora_weights")));
  }
  LoraAdapter adapter;
  const Json rank = member("r"), alpha = member("lora_alpha");
  if (!rank.is_number_integer() || rank < 1 || rank > most_rank) {
    return wrong(fmt::format("r is {}, allowed: 1 to {}", shown("r"), most_rank));
  }
  adapter.rank = rank.get<std::int64_t>();
  if (!alpha.is_number() || std::fabs(alpha.get<double>()) > most_lora_alpha) {
    return wrong(fmt::format("lora_alpha is {}, allowed: -{} to {}", shown("lora_alpha"),
                             most_lora_alpha, most_lora_alpha));
  }
  adapter.alpha = alpha.get<double>();
  const Json root = member("use_rslora");
  if (!root.is_null() && !root.is_boolean()) {
    return wrong(fmt::format("use_rslora is {}, allowed: true and false", shown("use_rslora")));
  }
  adapter.divides_by_root = root == true;
  return adapter;
}

/// Numbers of a file in f32.
void read_numbers(const void* from, DataType type, std::size_t count, float* to) {
  const auto decode = [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      T stored;
      std::memcpy(&stored, static_cast<const char*>(from) + i * sizeof stored, sizeof stored);
      to[i] = stored.decode();
    }
  };
  if (type == DataType::bf16) {
    decode(Bf16());
  } else if (type == DataType::f16) {
    decode(F16());
  } else {
    std::memcpy(to, from, count * sizeof(float));
  }
}

/// Both halves of the matrices, checked against those of the model.
class AdapterTensors {
 public:
  AdapterTensors(const TransformerShape& shape, LoraAdapter& adapter) : adapter_(&adapter) {
    const auto tensors = tensors_of_shard(shape, TransformerParameters::of(shape));
    for (const NamedTensor& tensor : tensors) {
      if (tensor.kind != NamedTensor::Kind::matrix || tensor.name == "model.embed_tokens.weight") {
        continue;
      }
      const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
      extents_.emplace(module, std::pair(tensor.shape[0], tensor.shape[1]));
    }
  }

  Status read(const TensorFile& file) {
    for (const StoredTensor& tensor : file.tensors) {
      const Status status = add(file, tensor);
      if (status.ok()) continue;
      return Error{
          status.error().kind,
          fmt::format("tensor \"{}\" {}", shown_line(tensor.name, 120), status.error().message)};
    }
    if (matrices_.empty()) return Error{ErrorKind::usage, "holds no tensors"};
    for (auto& [module, matrix] : matrices_) {
      for (const auto& [half, name] : {std::pair(&matrix.a, name_of_a), {&matrix.b, name_of_b}}) {
        if (!half->empty()) continue;
        return Error{ErrorKind::usage,
                     fmt::format("tensor \"{}{}{}\" is missing", prefix, module, name)};
      }
      adapter_->matrices.push_back(std::move(matrix));
    }
    return {};
  }

 private:
  Status add(const TensorFile& file, const StoredTensor& tensor) {
    const auto wrong = [](std::string what) { return Error{ErrorKind::usage, std::move(what)}; };
    std::string_view module = tensor.name;
    const bool is_a = module.ends_with(name_of_a);
    const bool is_lora = module.starts_with(prefix) && (is_a || module.ends_with(name_of_b));
    if (is_lora) {
      module.remove_prefix(prefix.size());
      module.remove_suffix(name_of_a.size());
    }
    const auto found = extents_.find(std::string(module));
    if (!is_lora || found == extents_.end()) {
      return wrong("belongs to no matrix of the model; is the adapter of another one?");
    }
    const auto& [rows, columns] = found->second;
    const std::vector<std::int64_t> expected =
        is_a ? std::vector{adapter_->rank, columns} : std::vector{rows, adapter_->rank};
    if (tensor.shape != expected) {
      return wrong(
          fmt::format("has the shape [{}], the model and r need [{}]; is the adapter of "
                      "another one?",
                      fmt::join(tensor.shape, ", "), fmt::join(expected, ", ")));
    }
    if (tensor.type == DataType::i64 || is_fp8(tensor.type)) {
      return wrong("is I64 or F8_E4M3, allowed: BF16, F16 and F32");
    }
    LoraMatrix& matrix = matrices_[std::string(module)];
    matrix.module = module;
    matrix.rows = rows;
    matrix.columns = columns;
    std::vector<float>& numbers = is_a ? matrix.a : matrix.b;
    numbers.resize(tensor.bytes / size_of(tensor.type));
    read_numbers(file.data(tensor), tensor.type, numbers.size(), numbers.data());
    if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); })) {
      return wrong(
          "has a number that is NaN or infinite; the file is damaged or its training "
          "failed");
    }
    return {};
  }

  LoraAdapter* adapter_;
  std::unordered_map<std::string, std::pair<std::int64_t, std::int64_t>> extents_;
  std::map<std::string, LoraMatrix> matrices_;
};

void write_numbers(const std::vector<float>& numbers, DataType type, char* to) {
  if (type == DataType::f32) {
    std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
    return;
  }
  for (const float number : numbers) {
    const Bf16 rounded = Bf16::encode(number);
    std::memcpy(to, &rounded, sizeof rounded);
    to += sizeof rounded;
  }
}

/// The most bytes of a file with adapters of all matrices in f32.
std::uint64_t most_bytes(const TransformerShape& shape, std::int64_t rank) {
  constexpr std::uint64_t most_header = std::uint64_t{16} << 20;
  const std::int64_t attention = 2 * (shape.query_width() + shape.width) +  // q and o
                                 2 * (shape.kv_width() + shape.width);
  const std::int64_t perceptron = 3 * (shape.hidden + shape.width);
  const std::int64_t numbers = shape.layers * rank * (attention + perceptron);
  return most_header + 4 * static_cast<std::uint64_t>(numbers);
}

}  // namespace

double LoraAdapter::scale() const {
  const auto count = static_cast<double>(rank);
  return alpha / (divides_by_root ? std::sqrt(count) : count);
}

const LoraMatrix* LoraAdapter::find(std::string_view tensor) const {
  constexpr std::string_view ending = ".weight";
  if (!tensor.ends_with(ending)) return nullptr;
  tensor.remove_suffix(ending.size());
  const auto found = std::ranges::find(matrices, tensor, &LoraMatrix::module);
  return found == matrices.end() ? nullptr : &*found;
}

Result<LoraAdapter> read_adapter(const std::filesystem::path& folder,
                                 const TransformerShape& shape) {
  constexpr std::size_t most_config = 1 << 20;
  const std::filesystem::path config = folder / config_name, tensors = folder / tensors_name;
  const std::string text = TRY(read_operand(config, most_config));
  auto parsed = parse_adapter_config(text);
  if (!parsed.ok()) return about_adapter(config, parsed.error().message);
  std::error_code unknown;  // reading the file reports what is wrong
  const std::uintmax_t bytes = std::filesystem::file_size(tensors, unknown);
  if (const std::uint64_t most = most_bytes(shape, parsed->rank); !unknown && bytes > most) {
    return about_adapter(tensors, fmt::format("has {} bytes; an adapter of rank {} of this model "
                                              "has at most {}",
                                              bytes, parsed->rank, most));
  }
  const TensorFile file = TRY(read_tensors(tensors));
  const Status read = AdapterTensors(shape, *parsed).read(file);
  if (!read.ok()) return about_adapter(tensors, read.error().message);
  return parsed;
}

Status write_adapter(const std::filesystem::path& folder, const LoraAdapter& adapter, DataType type,
                     std::string_view base) {
  std::error_code ignored;  // writing the files reports what is wrong
  std::filesystem::create_directories(folder, ignored);
  std::vector<StoredTensor> stored;
  std::set<std::string> targets;
  for (const LoraMatrix& matrix : adapter.matrices) {
    const auto name = [&](std::string_view half) {
      return fmt::format("{}{}{}", prefix, matrix.module, half);
    };
    stored.push_back({name(name_of_a), type, {adapter.rank, matrix.columns}});
    stored.push_back({name(name_of_b), type, {matrix.rows, adapter.rank}});
    targets.insert(matrix.module.substr(matrix.module.rfind('.') + 1));
  }
  TensorFile file = lay_out_tensors(std::move(stored), {{"format", "pt"}});
  for (std::size_t i = 0; i < adapter.matrices.size(); ++i) {
    write_numbers(adapter.matrices[i].a, type, file.data(file.tensors[2 * i]));
    write_numbers(adapter.matrices[i].b, type, file.data(file.tensors[2 * i + 1]));
  }
  const Json config = {{"base_model_name_or_path", std::string(base)},
                       {"bias", "none"},
                       {"fan_in_fan_out", false},
                       {"inference_mode", true},
                       {"lora_alpha", adapter.alpha},
                       {"lora_dropout", 0.0},
                       {"modules_to_save", nullptr},
                       {"peft_type", "LORA"},
                       {"r", adapter.rank},
                       {"target_modules", targets},
                       {"task_type", "CAUSAL_LM"},
                       {"use_dora", false},
                       {"use_rslora", adapter.divides_by_root}};
  const std::string text = config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  // Both are written before the first takes the place of an older one: a full disk leaves the old
  // adapter as it was.
  NewFile tensors = TRY(NewFile::create(folder / tensors_name));
  TRY(tensors.append(file.bytes));
  NewFile settings = TRY(NewFile::create(folder / config_name));
  TRY(settings.append(text));
  TRY(tensors.finish());
  return settings.finish();
}

void add_adapter(const LoraAdapter& adapter, const LoraMatrix& matrix, std::int64_t first,
                 std::int64_t count, const void* weights, DataType type, float* sums) {
  constexpr std::int64_t most_threads = 16, least_products = 1 << 20;
  const auto columns = static_cast<std::size_t>(matrix.columns);
  const auto rank = static_cast<std::size_t>(adapter.rank);
  const auto scale = static_cast<float>(adapter.scale());
  const auto* const rows = static_cast<const std::byte*>(weights);
  const auto add_rows = [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      float* const sum = sums + row * columns;
      read_numbers(rows + row * columns * size_of(type), type, columns, sum);
      const float* const b = &matrix.b[(static_cast<std::size_t>(first) + row) * rank];
      for (std::size_t r = 0; r < rank; ++r) {
        const float factor = scale * b[r];
        const float* const a = &matrix.a[r * columns];
        for (std::size_t i = 0; i < columns; ++i) sum[i] += factor * a[i];
      }
    }
  };
  const std::int64_t products = count * matrix.columns * adapter.rank;
  const std::int64_t threads = std::clamp<std::int64_t>(
      std::min<std::int64_t>(std::thread::hardware_concurrency(), products / least_products), 1,
      most_threads);
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < threads; ++i) {
    others.emplace_back(add_rows, count * i / threads, count * (i + 1) / threads);
  }
  add_rows(0, count / threads);
}

}  // namespace assay
