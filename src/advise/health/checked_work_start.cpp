// How checked work is prepared: its first runs, its own check, and the memory that every repetition
// begins from.
#include <algorithm>
#include <map>
#include <utility>

#include "advise/health/checked_work.h"
#include "compute/device/helpers.h"

namespace assay::health {

Result<std::unique_ptr<CheckedWork>> CheckedWork::prepare(
    const WorkDescription& description, Device& device, Team& team, std::uint64_t seed,
    const std::function<bool()>& stop_requested, std::vector<KeptChoice> choices) {
  std::unique_ptr<CheckedWork> work(new CheckedWork(description, device, team));
  const ChoiceJournal journal(std::move(choices));
  TRY(work->start(seed, stop_requested));
  work->choices_ = journal.made();
  return work;
}

Status CheckedWork::start(std::uint64_t seed, const std::function<bool()>& stop_requested) {
  const Benchmark& benchmark = *find_benchmark(description_.cell.benchmark());
  stream_ = TRY(watched_->create_stream());
  own_stream_ = TRY(device_.create_stream());
  idle_ = TRY(device_.create_event(EventKind::untimed));
  checksums_ = TRY(Checksums::create(device_));
  communicators_ = std::make_unique<Communicators>(*watched_, team_);
  case_ = TRY(benchmark.prepare(description_.cell, {.device = *watched_,
                                                    .stream = *stream_,
                                                    .seed = seed,
                                                    .team = team_,
                                                    .communicators = *communicators_,
                                                    .stop_requested = stop_requested,
                                                    .repeatable = true}));
  Fills untouched;
  if (!description_.of_team) untouched = TRY(untouched_blocks());
  // Libraries allocate memory and choose kernels in the first runs.
  TRY(run_steps());
  Fills fills;
  if (description_.verifies) {
    watch_.before_fill = [&](void* address, std::uint8_t value, std::size_t bytes) {
      fills.push_back({reinterpret_cast<std::uintptr_t>(address), bytes, value});
    };
    const auto verification = case_->verify(*stream_);
    watch_.before_fill = nullptr;
    if (!verification.ok()) return verification.error();
    if (!verification->passed) {
      return Error{ErrorKind::verification, "its own check fails: " + verification->detail};
    }
  }
  TRY(run_steps());
  TRY(keep_state());
  TRY(lay_out_blocks());
  TRY(run_steps());
  const Sums ends = TRY(end_sums(*own_stream_));
  TRY(empty_results(untouched, fills, ends));
  return restore();
}

/// Results of the run before would hide a store that is lost, and which operation writes them. So
/// they are overwritten: memory that nobody wrote before the first run, and what the check fills
/// before it runs the work. What changes the results at the end, such as an input that another pass
/// computes, stays as it is.
Status CheckedWork::empty_results(const Fills& untouched, const Fills& fills, const Sums& ends) {
  constexpr std::size_t most_tries = 16;
  Fills all = untouched, kept;
  all.insert(all.end(), fills.begin(), fills.end());
  if (all.empty()) return {};
  if (TRY(gives_with(all, ends))) {
    kept = std::move(all);
  } else if (!description_.of_team) {  // ranks that work together run equally often
    std::vector<Fills> parts;
    if (!untouched.empty()) parts.push_back(untouched);
    for (const Fill& fill : fills) parts.push_back({fill});
    for (std::size_t i = 0; i < parts.size() && i < most_tries; ++i) {
      Fills with = kept;
      with.insert(with.end(), parts[i].begin(), parts[i].end());
      if (TRY(gives_with(with, ends))) kept = std::move(with);
    }
  }
  return fill_memory(kept, true);
}

/// An operation that gives what the run before gave seems to write nothing. So its results are
/// emptied, if whole buffers hold them, and what it writes is learnt again.
Result<Sums> CheckedWork::learn() {
  Sums sums = TRY(learn_once());
  const bool all_write =
      std::ranges::all_of(launches_, [](const Launch& launch) { return launch.count > 0; });
  if (all_write || description_.of_team) return sums;
  const auto first_end = sums.begin() + static_cast<std::ptrdiff_t>(written_.size());
  const Sums ends(first_end, sums.end());
  // Where the ends do not repeat themselves, what emptying a buffer changes cannot be seen.
  if (!TRY(gives_with({}, ends)) || !TRY(empty_buffers(ends))) return sums;
  return learn_once();
}

Result<bool> CheckedWork::empty_buffers(const Sums& ends) {
  constexpr int most_tries = 32;
  int tries = 0;
  bool any = false;
  for (const Kept& kept : kept_) {
    if (kept.shadow.bytes() > 0 || tries++ >= most_tries) continue;
    const Fills whole = {{kept.buffer.begin(), kept.buffer.bytes, 0}};
    if (!TRY(gives_with(whole, ends))) continue;
    TRY(fill_memory(whole, true));
    any = true;
  }
  return any;
}

Status CheckedWork::fill_memory(const Fills& fills, bool kept_state) {
  for (const Fill& fill : fills) {
    for (const Kept& kept : kept_) {
      const std::uint64_t begin = kept.buffer.begin();
      if (fill.address < begin || fill.address + fill.bytes > begin + kept.buffer.bytes) continue;
      auto* const memory = static_cast<char*>(kept_state ? kept.state.data() : kept.buffer.address);
      TRY(own_stream_->fill(memory + (fill.address - begin), fill.value, fill.bytes));
    }
  }
  return own_stream_->synchronize();
}

Result<bool> CheckedWork::gives_with(const Fills& fills, const Sums& ends) {
  TRY(restore());
  TRY(fill_memory(fills, false));
  TRY(run_steps());
  return TRY(end_sums(*own_stream_)) == ends;
}

Result<CheckedWork::Fills> CheckedWork::untouched_blocks() {
  std::vector<ChecksumBlock> blocks;
  std::vector<std::size_t> buffers;  // the number of each block's
  for (const WatchedBuffer& buffer : watch_.buffers()) {
    if (buffer.kind == MemoryKind::pageable && !device_.facts().runs_on_host) continue;
    for (std::size_t at = 0; at < buffer.bytes; at += least_block) {
      blocks.push_back({buffer.begin() + at, std::min(least_block, buffer.bytes - at)});
      buffers.push_back(buffer.number);
    }
  }
  if (blocks.empty()) return Fills();
  const Buffer table =
      TRY(device_.allocate(blocks.size() * sizeof(ChecksumBlock), MemoryKind::device));
  const Buffer sums =
      TRY(device_.allocate(blocks.size() * sizeof(std::uint64_t), MemoryKind::device));
  TRY(own_stream_->copy(table.data(), blocks.data(), table.bytes()));
  TRY(checksums_->queue(*own_stream_, sums.as<std::uint64_t>(), table.as<ChecksumBlock>(),
                        blocks.size()));
  const auto found = TRY(read_back<std::uint64_t>(*own_stream_, sums.data(), blocks.size()));
  std::map<std::uint64_t, std::uint64_t> of_zeros;  // by size
  const std::vector<std::byte> zeros(least_block);
  Fills untouched;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint64_t bytes = blocks[i].bytes;
    const auto known = of_zeros.find(bytes);
    const std::uint64_t zero = known != of_zeros.end()
                                   ? known->second
                                   : of_zeros[bytes] = Checksums::of(zeros.data(), bytes);
    if (found[i] != zero) continue;
    if (i > 0 && buffers[i] == buffers[i - 1] && found[i - 1] == of_zeros[blocks[i - 1].bytes]) {
      untouched.back().bytes += bytes;
    } else {
      untouched.push_back({blocks[i].address, bytes, 0});
    }
  }
  return untouched;
}

}  // namespace assay::health
