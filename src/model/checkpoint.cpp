#include "model/checkpoint.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "core/write_file.h"
#include "model/safetensors.h"

namespace assay {
namespace {

/// An arena with the prefix of its tensors' names.
struct Part {
  const char* prefix;
  void* address;
  DataType type;
};

std::vector<Part> parts_of(const Training& training) {
  const UpdateArenas arenas = training.arenas();
  const ParameterPlan& plan = training.plan_of_parameters();
  std::vector<Part> parts = {{"weights", arenas.weights, plan.type}};
  if (arenas.first != nullptr) {
    parts.push_back({"first", arenas.first, plan.moment_type()});
    parts.push_back({"second", arenas.second, plan.moment_type()});
  }
  if (arenas.master != nullptr) parts.push_back({"master", arenas.master, DataType::f32});
  return parts;
}

std::byte* address_in(const Part& part, const Tensor& tensor) {
  return static_cast<std::byte*>(part.address) + tensor.offset * size_of(part.type);
}

/// Bits, so that nothing is rounded.
std::string text_of(double x) {
  return std::to_string(std::bit_cast<std::uint64_t>(x));
}

Result<std::uint64_t> number_in(const TensorFile& file, std::string_view key) {
  for (const auto& [name, text] : file.metadata) {
    if (name != key) continue;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  return Error{ErrorKind::usage, fmt::format("lacks the number \"{}\"", key)};
}

/// The tensor of the file, if it is what this place holds.
Result<const StoredTensor*> matching(const TensorFile& file, const std::string& name,
                                     const Tensor& tensor, DataType type) {
  const StoredTensor* const stored = file.find(name);
  if (stored == nullptr) {
    return Error{ErrorKind::usage,
                 fmt::format("has no tensor \"{}\"; is it of another model?", name)};
  }
  if (stored->type != type || stored->shape != std::vector{tensor.rows, tensor.columns}) {
    return Error{
        ErrorKind::usage,
        fmt::format("tensor \"{}\" is not {} [{}, {}]; is it of another model or precision?", name,
                    name_of(type), tensor.rows, tensor.columns)};
  }
  return stored;
}

}  // namespace

Status save_checkpoint(Training& training, Stream& stream, const std::filesystem::path& path) {
  const StepState state = TRY(training.state(stream));
  const std::vector<NamedTensor>& named = training.tensors();
  std::vector<StoredTensor> tensors;
  std::vector<const std::byte*> sources;
  for (const Part& part : parts_of(training)) {
    for (const NamedTensor& one : named) {
      tensors.push_back({fmt::format("{}.{}", part.prefix, one.name),
                         part.type,
                         {one.tensor.rows, one.tensor.columns}});
      sources.push_back(address_in(part, one.tensor));
    }
  }
  TensorFile file =
      lay_out_tensors(std::move(tensors), {{"format", "assay training"},
                                           {"step", std::to_string(state.step)},
                                           {"beta1_power", text_of(state.beta1_power)},
                                           {"beta2_power", text_of(state.beta2_power)}});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const StoredTensor& tensor = file.tensors[i];
    TRY(stream.copy(file.data(tensor), sources[i], tensor.bytes));
  }
  TRY(stream.synchronize());
  return write_file(path, file.bytes);
}

Status load_checkpoint(Training& training, Stream& stream, const std::filesystem::path& path) {
  const TensorFile file = TRY(read_tensors(path));
  const auto of_file = [&](const Error& error) {
    return Error{error.kind, fmt::format("{}: {}", path.string(), error.message)};
  };
  StepState state = TRY(training.state(stream));
  const auto step = number_in(file, "step"), power1 = number_in(file, "beta1_power"),
             power2 = number_in(file, "beta2_power");
  for (const auto* number : {&step, &power1, &power2}) {
    if (!number->ok()) return of_file(number->error());
  }
  const double beta1_power = std::bit_cast<double>(*power1);
  const double beta2_power = std::bit_cast<double>(*power2);
  constexpr std::uint64_t most_steps = std::uint64_t{1} << 40;
  const auto is_power = [](double x) { return x >= 0 && x <= 1; };
  if (*step > most_steps || !is_power(beta1_power) || !is_power(beta2_power)) {
    return of_file({ErrorKind::usage, "has a step or a power of beta that no training has"});
  }
  std::vector<std::pair<std::byte*, const StoredTensor*>> copies;
  const std::vector<NamedTensor>& named = training.tensors();
  for (const Part& part : parts_of(training)) {
    for (const NamedTensor& one : named) {
      const auto stored =
          matching(file, fmt::format("{}.{}", part.prefix, one.name), one.tensor, part.type);
      if (!stored.ok()) return of_file(stored.error());
      copies.emplace_back(address_in(part, one.tensor), *stored);
    }
  }
  for (const auto& [to, tensor] : copies) {
    TRY(stream.copy(to, file.data(*tensor), tensor->bytes));
  }
  state.step = *step;
  state.beta1_power = beta1_power;
  state.beta2_power = beta2_power;
  return training.set_state(stream, state);
}

}  // namespace assay
