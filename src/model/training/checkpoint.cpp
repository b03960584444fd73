#include "model/training/checkpoint.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/shown_text.h"
#include "core/text.h"
#include "core/write_file.h"
#include "model/tensors/safetensors.h"

namespace assay {
namespace {

/// A part of the parameters with the prefix of its tensors' names.
struct Part {
  const char* prefix;
  ParameterPart part;
};

std::vector<Part> parts_of(const Training& training) {
  std::vector<Part> parts = {{"weights", ParameterPart::weights}};
  for (const auto& [prefix, part] : {Part{"first", ParameterPart::first},
                                     {"second", ParameterPart::second},
                                     {"master", ParameterPart::master}}) {
    if (training.arenas().kept_of(part, 0).address != nullptr) parts.push_back({prefix, part});
  }
  return parts;
}

bool lies_in(const Section& section, const Tensor& tensor) {
  return tensor.offset >= section.begin && tensor.offset < section.end;
}

constexpr std::string_view format = "assay training";
constexpr std::string_view checksum_key = "crc32", no_checksum = "00000000";

/// The text of this key in the file's metadata; empty if there is none.
std::string text_in(const TensorFile& file, std::string_view key) {
  for (const auto& [name, text] : file.metadata) {
    if (name == key) return text;
  }
  return {};
}

/// A checksum, which is taken while its own place in the file holds `no_checksum`.
std::uint32_t checksum_of(const TensorFile& file) {
  // SHA-256 would take as long as reading the file.
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(file.bytes.data()), file.bytes.size()));
}

/// Replaces the checksum in the header, which is now `old`.
void put_checksum(TensorFile& file, std::string_view old, std::string_view checksum) {
  const std::string member = fmt::format("\"{}\":\"{}\"", checksum_key, old);
  const std::size_t at = file.bytes.find(member);
  if (at == std::string::npos) return;
  file.bytes.replace(at + member.size() - 1 - old.size(), old.size(), checksum);
}

/// Files of earlier versions have no checksum.
Status check_checksum(TensorFile& file, std::uint32_t& checksum) {
  const std::string stored = text_in(file, checksum_key);
  if (stored.size() == no_checksum.size()) put_checksum(file, stored, no_checksum);
  checksum = checksum_of(file);
  if (stored.empty() || stored == fmt::format("{:08x}", checksum)) return {};
  return Error{ErrorKind::usage,
               fmt::format("was changed since it was written: its checksum is {:08x}, and it says "
                           "{}; use another copy",
                           checksum, shown_line(stored, no_checksum.size()))};
}

/// Bits, so that nothing is rounded.
std::string text_of(double x) {
  return std::to_string(std::bit_cast<std::uint64_t>(x));
}

Result<std::uint64_t> number_in(const TensorFile& file, std::string_view key) {
  if (const auto number = parse_count(text_in(file, key))) return *number;
  return Error{ErrorKind::usage, fmt::format("lacks the number \"{}\"", key)};
}

/// Reads the loss scale with which training continues, and its counters.
Status read_scaling(const TensorFile& file, StepState& state) {
  const double scale = std::bit_cast<double>(TRY(number_in(file, "loss_scale")));
  const std::uint64_t good_steps = TRY(number_in(file, "good_steps"));
  if (!(scale >= 1 && scale <= 0x1p31) || good_steps > 0xFFFFFFFF) {
    return Error{ErrorKind::usage, "has a loss scale that no training has; allowed: 1 to 2^31"};
  }
  state.loss_scale = static_cast<float>(scale);
  state.good_steps = static_cast<unsigned>(good_steps);
  state.skipped = TRY(number_in(file, "skipped_updates"));
  return {};
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

double checkpoint_bytes(const ParameterPlan& plan, double parameters) {
  return parameters * static_cast<double>(size_of(plan.type) + plan.optimizer_bytes());
}

Status save_checkpoint(Training& training, Stream& stream, const std::filesystem::path& path) {
  const StepState state = TRY(training.state(stream));
  const std::vector<Part> parts = parts_of(training);
  std::vector<StoredTensor> tensors;
  for (const Part& part : parts) {
    for (const NamedTensor& one : training.tensors()) {
      tensors.push_back({fmt::format("{}.{}", part.prefix, one.name),
                         training.arenas().type_of(part.part),
                         {one.tensor.rows, one.tensor.columns}});
    }
  }
  std::vector<std::pair<std::string, std::string>> metadata = {
      {"format", std::string(format)},
      {std::string(checksum_key), std::string(no_checksum)},
      {"step", std::to_string(state.step)},
      {"beta1_power", text_of(state.beta1_power)},
      {"beta2_power", text_of(state.beta2_power)}};
  if (training.scales_loss()) {
    metadata.insert(metadata.end(), {{"loss_scale", text_of(state.loss_scale)},
                                     {"good_steps", std::to_string(state.good_steps)},
                                     {"skipped_updates", std::to_string(state.skipped)}});
  }
  for (auto& [key, text] : TRY(training.identity(stream))) metadata.emplace_back(key, text);
  TensorFile file = lay_out_tensors(std::move(tensors), std::move(metadata));
  std::size_t next = 0;  // of the file's tensors, which are in the order of sections
  for (const Part& part : parts) {
    const std::size_t element = size_of(training.arenas().type_of(part.part));
    auto named = training.tensors().begin();
    for (std::size_t i = 0; i < training.arenas().sections().size(); ++i) {
      const Section& section = training.arenas().sections()[i];
      const auto* const whole =
          static_cast<const std::byte*>(TRY(training.section(stream, part.part, i)));
      for (; named != training.tensors().end() && lies_in(section, named->tensor); ++named) {
        const StoredTensor& tensor = file.tensors[next++];
        TRY(stream.copy(file.data(tensor), whole + (named->tensor.offset - section.begin) * element,
                        tensor.bytes));
      }
      TRY(stream.synchronize());
    }
  }
  if (training.rank() > 0) return {};
  put_checksum(file, no_checksum, fmt::format("{:08x}", checksum_of(file)));
  return write_file(path, file.bytes);
}

Result<std::uint64_t> load_checkpoint(Training& training, Stream& stream,
                                      const std::filesystem::path& path) {
  TensorFile file = TRY(read_tensors(path));
  const auto of_file = [&](const Error& error) {
    return Error{error.kind, fmt::format("{}: {}", path.string(), error.message)};
  };
  if (text_in(file, "format") != format) {
    return of_file({ErrorKind::usage,
                    "is not a training's checkpoint; allowed: a file that save= "
                    "has written"});
  }
  std::uint32_t checksum = 0;
  if (const Status sound = check_checksum(file, checksum); !sound.ok()) {
    return of_file(sound.error());
  }
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
  if (training.scales_loss()) {
    const Status read = read_scaling(file, state);
    if (!read.ok()) return of_file(read.error());
  }
  for (const auto& [key, expected] : TRY(training.identity(stream))) {
    const std::string found = text_in(file, key);
    if (found.empty() || found == expected) continue;  // files of earlier versions do not say it
    return of_file(
        {ErrorKind::usage, fmt::format("is of another training: {} is {} there and {} here", key,
                                       shown_line(found, 40), expected)});
  }
  const std::vector<Part> parts = parts_of(training);
  std::vector<const StoredTensor*> tensors;  // part by part, all of the training's
  for (const Part& part : parts) {
    for (const NamedTensor& one : training.tensors()) {
      const auto stored = matching(file, fmt::format("{}.{}", part.prefix, one.name), one.tensor,
                                   training.arenas().type_of(part.part));
      if (!stored.ok()) return of_file(stored.error());
      tensors.push_back(*stored);
    }
  }
  std::size_t next = 0;
  for (const Part& part : parts) {
    const std::size_t element = size_of(training.arenas().type_of(part.part));
    auto named = training.tensors().begin();
    for (std::size_t i = 0; i < training.arenas().sections().size(); ++i) {
      const Section& section = training.arenas().sections()[i];
      std::vector<std::byte> whole(section.elements() * element);
      for (; named != training.tensors().end() && lies_in(section, named->tensor); ++named) {
        const StoredTensor& tensor = *tensors[next++];
        std::memcpy(whole.data() + (named->tensor.offset - section.begin) * element,
                    file.data(tensor), tensor.bytes);
      }
      const auto own = training.arenas().kept_of(part.part, i);
      TRY(stream.copy(own.address, whole.data() + (own.first - section.begin) * element,
                      own.elements * element));
      TRY(stream.synchronize());
    }
  }
  state.step = *step;
  state.beta1_power = beta1_power;
  state.beta2_power = beta2_power;
  TRY(training.set_state(stream, state));
  return std::uint64_t{checksum};
}

}  // namespace assay
