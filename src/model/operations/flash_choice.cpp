#include "model/operations/flash_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/contest.h"
#include "compute/device/backend.h"
#include "compute/device/helpers.h"
#include "compute/device/kernel_source.h"
#include "compute/vendor/blas/matrix_fill.h"
#include "core/hash.h"
#include "core/shown_text.h"
#include "model/operations/flash_forward.h"
#include "model/tensors/weights.h"

namespace assay {
namespace {

constexpr std::size_t trial_element = 2;  // bytes

/// A trial of that shape, with the forward pass done.
Result<AttentionTrial> make_trial(Device& device, Stream& stream, DataType type,
                                  const AttentionShape& shape) {
  const std::int64_t tokens = shape.batch * shape.sequence, width = shape.width();
  const auto allocate = [&](std::uint64_t bytes) {
    return device.allocate(static_cast<std::size_t>(bytes), MemoryKind::device);
  };
  const std::uint64_t bytes = trial_element * static_cast<std::uint64_t>(tokens * width);
  const std::int64_t heads = shape.batch * shape.heads;
  AttentionTrial trial = {
      shape,
      TRY(allocate(3 * bytes)),
      TRY(allocate(bytes)),
      TRY(allocate(bytes)),
      TRY(allocate(3 * bytes)),
      TRY(allocate(sizeof(float) * static_cast<std::uint64_t>(heads * shape.sequence))),
      TRY(allocate(flash_attention_scratch_bytes(heads, shape.sequence, shape.head_width)))};
  const auto program = TRY(device.build({"matrix", {}}));
  const FlashForward forward =
      TRY(choose_flash_forward(device, type, shape.head_width, FlashKind::waves));
  TRY(fill_matrix(stream, device.facts(), *program, trial.qkv.data(), type,
                  {tokens, 3 * width, 3 * width}, Inputs::normal, 1));
  TRY(fill_matrix(stream, device.facts(), *program, trial.dy.data(), type, {tokens, width, width},
                  Inputs::normal, 2));
  TRY(forward.enqueue(stream, trial.y.data(), trial.qkv.data(), trial.log_sum.data(), shape));
  TRY(stream.synchronize());  // before the programs of these kernels are unloaded
  return trial;
}

/// Why `found` is not `expected` but for rounding, by rows of a head's elements; empty: it is.
std::optional<std::string> difference_of(const std::vector<float>& found,
                                         const std::vector<float>& expected,
                                         std::size_t head_width) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += std::pow(double(found[i]) - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  constexpr double of_norm = 1e-2;
  const double distance = std::sqrt(difference / size);
  if (!(distance < of_norm)) return fmt::format("its result is {:.2g} of its norm away", distance);
  // Two steps of bf16 where an element is eight times as large as usual in its row.
  constexpr double of_row = 0.125, least_row = 1e-2;
  const double usual = std::sqrt(size / static_cast<double>(found.size()));
  for (std::size_t row = 0; row < found.size(); row += head_width) {
    double squares = 0, most = 0;
    for (std::size_t i = row; i < row + head_width; ++i) {
      squares += std::pow(expected[i], 2);
      most = std::max(most, std::abs(double(found[i]) - expected[i]));
    }
    const double of =
        std::max(std::sqrt(squares / static_cast<double>(head_width)), least_row * usual);
    if (most > of_row * of) {
      return fmt::format("an element of row {} is {:.2g} of the row's usual size away",
                         row / head_width, most / of);
    }
  }
  return std::nullopt;
}

/// The version of the compiler at run time, which decides about the kernels' speed as their sources
/// do; empty where they are compiled in.
std::string compiler_of(const DeviceFacts& facts) {
  for (const auto& backend : make_backends()) {
    if (backend->name() != facts.backend) continue;
    for (const LibraryFact& library : backend->libraries()) {
      if (library.role == "rtc") return library.version;
    }
  }
  return "";
}

/// One choice among candidates.
class OwnContest {
 public:
  OwnContest(Device& device, Stream& stream, DataType type, std::int64_t head_width,
             const OwnCandidates& candidates, std::string& left_out)
      : device_(device),
        stream_(stream),
        type_(type),
        head_width_(head_width),
        candidates_(candidates),
        left_out_(left_out) {
    for (std::size_t i = 0; i < candidates.count; ++i) right_.push_back(i);
  }

  Result<std::size_t> best() {
    // The last tiles are not full, and the first ones of a sequence have one step alone.
    TRY(with_trial({1, 300, 2, head_width_},
                   [&](const AttentionTrial& trial) { return leave_out_wrong(trial); }));
    std::string sources;
    for (const char* source : candidates_.sources) sources += TRY(complete_source(source));
    const DeviceFacts& facts = device_.facts();
    const ChoiceCache cache = ChoiceCache::of_user(facts);
    const ChoiceKey key = {"own attention", sha256_hex(sources) + " " + compiler_of(facts),
                           fmt::format("{} {} {}", candidates_.pass, name_of(type_), head_width_)};
    const auto known = cache.find(facts, key);
    for (const std::size_t i : right_) {
      if (known && *known == "of " + candidates_.describe(i)) return i;
    }
    if (right_.size() == 1) {
      cache.note(facts, key, "of " + candidates_.describe(right_.front()));
      return right_.front();
    }
    // The trial is as long as a training sequence, or several tiles where that would take minutes.
    AttentionShape large = {4, 2048, 16, head_width_};
    if (!suits_large_work(facts)) large = {1, 700, 2, head_width_};
    std::size_t fastest = 0;
    TRY(with_trial(large, [&](const AttentionTrial& trial) -> Status {
      TRY(leave_out_wrong(trial));
      std::vector<Contender> contenders;
      for (const std::size_t i : right_) {
        contenders.emplace_back([&, i](Stream& on) { return candidates_.enqueue(on, trial, i); });
      }
      fastest =
          right_[TRY(find_fastest(device_, stream_, contenders, {.final_seconds = 0.02})).fastest];
      return {};
    }));
    cache.keep(facts, key, "of " + candidates_.describe(fastest));
    return fastest;
  }

 private:
  /// One trial at a time: the caller may have taken nearly all memory.
  template <typename Use>
  Status with_trial(const AttentionShape& shape, const Use& use) {
    const AttentionTrial trial = TRY(make_trial(device_, stream_, type_, shape));
    const Status used = use(trial);
    const Status ended = stream_.synchronize();  // what was queued before an error uses the trial
    return used.ok() ? ended : used;
  }

  Result<std::vector<float>> result_of(const AttentionTrial& trial, std::size_t i) {
    const Buffer& made = *candidates_.result(trial);
    TRY(stream_.fill(made.data(), 0xFF, made.bytes()));  // no number in either type
    TRY(candidates_.enqueue(stream_, trial, i));
    return read_weights(stream_, made.data(), type_, made.bytes() / trial_element);
  }

  Status leave_out_wrong(const AttentionTrial& trial) {
    const std::vector<float> expected = TRY(result_of(trial, 0));
    std::erase_if(right_, [&](std::size_t i) {
      if (i == 0) return false;
      const auto found = result_of(trial, i);
      const auto reason =
          found.ok() ? difference_of(*found, expected, static_cast<std::size_t>(head_width_))
                     : found.error().message;
      if (reason) leave_out(left_out_, candidates_.describe(i), *reason);
      return reason.has_value();
    });
    return {};
  }

  Device& device_;
  Stream& stream_;
  DataType type_;
  std::int64_t head_width_;
  const OwnCandidates& candidates_;
  std::string& left_out_;
  std::vector<std::size_t> right_;  // the first, and those whose results are its
};

}  // namespace

bool gains_by_groups(const DeviceFacts& facts) {
  return facts.is_nvidia() && facts.arch == "sm_90";
}

void leave_out(std::string& left_out, const std::string& candidate, const std::string& reason) {
  std::string line = reason;
  std::replace(line.begin(), line.end(), '\n', ' ');  // a compiler's log
  left_out +=
      fmt::format("{}{}: {}", left_out.empty() ? "" : "; ", candidate, shown_line(line, 300));
}

OwnChosen best_of_own(Device& device, DataType type, std::int64_t head_width,
                      const OwnCandidates& candidates) {
  OwnChosen chosen = {0, candidates.left_out};
  const auto choose = [&]() -> Result<std::size_t> {
    const auto stream = TRY(device.create_stream());
    return OwnContest(device, *stream, type, head_width, candidates, chosen.left_out).best();
  };
  const Result<std::size_t> best = choose();
  if (best.ok()) {
    chosen.index = *best;
  } else {
    leave_out(chosen.left_out, "all but the first", "measuring failed: " + best.error().message);
  }
  return chosen;
}

}  // namespace assay
