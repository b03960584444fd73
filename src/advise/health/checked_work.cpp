#include "advise/health/checked_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "compute/device/helpers.h"
#include "core/hash.h"
#include "ranks/team/team_wait.h"

namespace assay::health {
namespace {

constexpr std::size_t most_blocks = 1 << 18;
/// Notes of a case that say which of several ways it computes; others hold times.
constexpr std::array<std::string_view, 9> notes_of_variant = {"library",
                                                              "layout",
                                                              "algorithm",
                                                              "gemm",
                                                              "attention",
                                                              "vector_products",
                                                              "products_of_few_rows",
                                                              "products",
                                                              "geometry"};

std::uint64_t address_number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// Empties a member at the end of a scope.
template <typename Member>
class Cleared {
 public:
  explicit Cleared(Member& member) : member_(member) {}
  ~Cleared() { member_ = {}; }
  Cleared(const Cleared&) = delete;
  Cleared& operator=(const Cleared&) = delete;

 private:
  Member& member_;
};

}  // namespace

CheckedWork::CheckedWork(const WorkDescription& description, Device& device, Team& team)
    : description_(description),
      device_(device),
      team_(team),
      watched_(watched_device(device, watch_)) {}

CheckedWork::~CheckedWork() {
  watch_.after_operation = nullptr;
  watch_.before_fill = nullptr;
}

Status CheckedWork::run_steps() {
  for (int i = 0; i < description_.steps; ++i) TRY(case_->enqueue(*stream_));
  return wait_idle(*stream_, *idle_, team_);
}

Status CheckedWork::keep_state() {
  memory_bytes_ = 0;
  for (const WatchedBuffer& buffer : watch_.buffers()) {
    Kept kept;
    kept.buffer = buffer;
    const MemoryKind kind = buffer.kind == MemoryKind::peer ? MemoryKind::device : buffer.kind;
    kept.state = TRY(device_.allocate(buffer.bytes, kind));
    TRY(own_stream_->copy(kept.state.data(), buffer.address, buffer.bytes));
    kept_.push_back(std::move(kept));
    if (kind == MemoryKind::device) memory_bytes_ += 2 * buffer.bytes;
  }
  left_out_.assign(kept_.size(), false);
  return own_stream_->synchronize();
}

Status CheckedWork::restore() {
  for (const Kept& kept : kept_) {
    TRY(own_stream_->copy(kept.buffer.address, kept.state.data(), kept.buffer.bytes));
  }
  return own_stream_->synchronize();
}

Status CheckedWork::lay_out_blocks() {
  std::uint64_t all = 0;
  for (const Kept& kept : kept_) all += kept.buffer.bytes;
  std::size_t block = least_block;
  while (all / block > most_blocks) block *= 2;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const WatchedBuffer& buffer = kept_[i].buffer;
    const void* from = buffer.address;
    if (buffer.kind == MemoryKind::pageable && !device_.facts().runs_on_host) {
      kept_[i].shadow = TRY(device_.allocate(buffer.bytes, MemoryKind::device));
      from = kept_[i].shadow.data();
    }
    for (std::size_t at = 0; at < buffer.bytes; at += block) {
      ends_.push_back({address_number(from) + at, std::min(block, buffer.bytes - at)});
      buffer_of_end_.push_back(i);
    }
  }
  end_written_.assign(ends_.size(), false);
  return upload_table();
}

/// The table holds the blocks of all launches, one launch after the other, then those of the end.
Status CheckedWork::upload_table() {
  std::vector<ChecksumBlock> table;
  table.reserve(written_.size() + ends_.size());
  for (const std::size_t end : written_) table.push_back(ends_[end]);
  table.insert(table.end(), ends_.begin(), ends_.end());
  table_ = {};
  sums_ = {};
  table_ = TRY(device_.allocate(table.size() * sizeof(ChecksumBlock), MemoryKind::device));
  sums_ = TRY(device_.allocate(table.size() * sizeof(std::uint64_t), MemoryKind::device));
  TRY(own_stream_->copy(table_.data(), table.data(), table.size() * sizeof(ChecksumBlock)));
  return own_stream_->synchronize();
}

Status CheckedWork::queue_shadows(Stream& stream) {
  for (const Kept& kept : kept_) {
    if (kept.shadow.bytes() == 0) continue;
    TRY(stream.copy(kept.shadow.data(), kept.buffer.address, kept.buffer.bytes));
  }
  return {};
}

Result<Sums> CheckedWork::end_sums(Stream& stream) {
  TRY(queue_shadows(stream));
  const std::size_t at = written_.size();
  TRY(checksums_->queue(stream, sums_.as<std::uint64_t>() + at, table_.as<ChecksumBlock>() + at,
                        ends_.size()));
  return read_back<std::uint64_t>(stream, sums_.as<std::uint64_t>() + at, ends_.size());
}

Result<Sums> CheckedWork::learn_once() {
  written_.clear();
  TRY(upload_table());
  TRY(restore());
  Sums sums, before = TRY(end_sums(*own_stream_));
  std::vector<Launch> launches;
  std::vector<std::size_t> written;
  std::vector<bool> end_written(ends_.size(), false);
  watch_.after_operation = [&](Stream& stream, const std::string& name) -> Status {
    TRY(stream.synchronize());
    Sums now = TRY(end_sums(stream));
    Launch launch{name, written.size(), 0, watch_.is_of_library()};
    for (std::size_t i = 0; i < now.size(); ++i) {
      // Pageable memory is written when the host gets there, not when the stream does.
      if (now[i] == before[i] || kept_[buffer_of_end_[i]].shadow.bytes() > 0) continue;
      written.push_back(i);
      sums.push_back(now[i]);
      end_written[i] = true;
      ++launch.count;
    }
    before = std::move(now);
    launches.push_back(std::move(launch));
    return {};
  };
  const Cleared cleared(watch_.after_operation);
  TRY(run_steps());
  const Sums ends = TRY(end_sums(*own_stream_));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] != before[i]) end_written[i] = true;
  }
  sums.insert(sums.end(), ends.begin(), ends.end());
  launches_ = std::move(launches);
  written_ = std::move(written);
  end_written_ = std::move(end_written);
  checked_bytes_ = 0;
  for (const std::size_t end : written_) checked_bytes_ += static_cast<double>(ends_[end].bytes);
  for (const ChecksumBlock& block : ends_) checked_bytes_ += static_cast<double>(block.bytes);
  TRY(upload_table());
  return sums;
}

Status CheckedWork::can_plant(const PlantedFault& fault) const {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorKind::usage, fmt::format("fault \"{}\": {}", fault.text, why)};
  };
  if (fault.launch > launches_.size()) {
    return wrong(fmt::format("there is no operation {}; a repetition of \"{}\" has {}",
                             fault.launch, name(), launches_.size()));
  }
  const bool has_buffer = std::ranges::any_of(
      kept_, [&](const Kept& kept) { return kept.buffer.number == fault.buffer; });
  if (fault.buffer > 0 && !has_buffer) {
    return wrong(fmt::format("there is no buffer {}; \"{}\" has buffers {} to {}", fault.buffer,
                             name(), kept_.front().buffer.number, kept_.back().buffer.number));
  }
  const Launch& launch = launches_[fault.launch - 1];
  if (fault.buffer == 0 && launch.count == 0) {
    return wrong(
        fmt::format("operation {} of \"{}\", {}, changes no memory; name another launch, or "
                    "a buffer",
                    fault.launch, name(), launch.name));
  }
  return {};
}

Status CheckedWork::apply_fault(Stream& stream, const Launch& launch) {
  std::uint64_t at = fault_->offset;
  void* word = nullptr;
  if (fault_->buffer > 0) {
    for (const Kept& kept : kept_) {
      if (kept.buffer.number != fault_->buffer || kept.buffer.bytes < 8) continue;
      const std::uint64_t last = kept.buffer.bytes - 8;
      word =
          static_cast<char*>(kept.buffer.address) + std::min(at % kept.buffer.bytes, last) / 8 * 8;
    }
  } else if (launch.count > 0) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < launch.count; ++i) all += ends_[written_[launch.first + i]].bytes;
    at %= all;
    for (std::size_t i = 0; i < launch.count && word == nullptr; ++i) {
      const ChecksumBlock& block = ends_[written_[launch.first + i]];
      if (at < block.bytes && block.bytes >= 8) {
        word = reinterpret_cast<void*>(static_cast<std::uintptr_t>(
            block.address + std::min<std::uint64_t>(at, block.bytes - 8) / 8 * 8));
      }
      at -= std::min<std::uint64_t>(at, block.bytes);
    }
  }
  if (word == nullptr) return {};
  ++planted_;
  return checksums_->flip(stream, word, fault_->mask);
}

Status CheckedWork::check_launch(Stream& stream, const std::string& name) {
  const std::size_t number = next_++;
  if (number >= launches_.size() || launches_[number].name != name) {
    if (unexpected_.empty()) unexpected_ = name;
    return {};
  }
  if (observer_) TRY(observer_(stream, number));
  const Launch& launch = launches_[number];
  if (fault_ && fault_->launch == number + 1) TRY(apply_fault(stream, launch));
  TRY(checksums_->queue(stream, sums_.as<std::uint64_t>() + launch.first,
                        table_.as<ChecksumBlock>() + launch.first, launch.count));
  if (look_at_ && look_at_->launch == number) {
    TRY(stream.synchronize());
    looked_ = TRY(bytes_of(look_at_->sum));
  }
  return {};
}

Result<Sums> CheckedWork::repeat() {
  TRY(restore());
  next_ = 0;
  unexpected_.clear();
  watch_.after_operation = [this](Stream& stream, const std::string& name) {
    return check_launch(stream, name);
  };
  const Cleared cleared(watch_.after_operation);
  const auto begin = std::chrono::steady_clock::now();
  TRY(run_steps());
  TRY(queue_shadows(*own_stream_));
  const std::size_t at = written_.size(), all = at + ends_.size();
  TRY(checksums_->queue(*own_stream_, sums_.as<std::uint64_t>() + at,
                        table_.as<ChecksumBlock>() + at, ends_.size()));
  Sums sums = TRY(read_back<std::uint64_t>(*own_stream_, sums_.data(), all));
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (unexpected_.empty() && next_ == launches_.size()) return sums;
  return Error{ErrorKind::failed,
               fmt::format("its operations differ between repetitions: operation {} of {} is {}",
                           next_, launches_.size(), unexpected_.empty() ? "missing" : unexpected_)};
}

Result<CheckedWork::Look> CheckedWork::repeat_and_look(const DifferentBlock& block) {
  look_at_ = block;
  const Cleared cleared(look_at_);
  Look look;
  look.sums = TRY(repeat());
  if (block.launch >= launches_.size()) looked_ = TRY(bytes_of(block.sum));
  look.bytes = std::exchange(looked_, {});
  return look;
}

Result<std::vector<std::byte>> CheckedWork::bytes_of(std::size_t sum) {
  const ChecksumBlock& block = ends_[sum < written_.size() ? written_[sum] : sum - written_.size()];
  return read_back<std::byte>(
      *own_stream_, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(block.address)),
      block.bytes);
}

Result<std::vector<std::byte>> CheckedWork::all_bytes() {
  std::vector<std::byte> all;
  for (const Kept& kept : kept_) {
    const auto bytes =
        TRY(read_back<std::byte>(*own_stream_, kept.buffer.address, kept.buffer.bytes));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

std::size_t CheckedWork::kept_of(std::size_t sum) const {
  return buffer_of_end_[sum < written_.size() ? written_[sum] : sum - written_.size()];
}

std::vector<DifferentBlock> CheckedWork::differing(const Sums& sums, const Sums& expected) const {
  std::vector<DifferentBlock> all;
  for (std::size_t launch = 0; launch < launches_.size() && all.empty(); ++launch) {
    for (std::size_t i = 0; i < launches_[launch].count; ++i) {
      const std::size_t sum = launches_[launch].first + i;
      if (sums[sum] != expected[sum] && !is_left_out(sum)) all.push_back({launch, sum});
    }
  }
  if (!all.empty()) return all;
  for (std::size_t sum = written_.size(); sum < sums.size(); ++sum) {
    if (sums[sum] != expected[sum] && !is_left_out(sum)) all.push_back({launches_.size(), sum});
  }
  return all;
}

bool CheckedWork::is_written(std::size_t final_sum) const {
  return end_written_[final_sum - written_.size()];
}

bool CheckedWork::stays_until_end(const DifferentBlock& block) const {
  if (block.launch >= launches_.size()) return true;
  const std::size_t next = launches_[block.launch].first + launches_[block.launch].count;
  return std::find(written_.begin() + static_cast<std::ptrdiff_t>(next), written_.end(),
                   written_[block.sum]) == written_.end();
}

bool CheckedWork::leave_out(const Sums& a, const Sums& b) {
  std::vector<bool> of_library(kept_.size(), false);
  for (const Launch& launch : launches_) {
    for (std::size_t sum = launch.first; sum < launch.first + launch.count; ++sum) {
      if (launch.of_library) of_library[kept_of(sum)] = true;
    }
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!of_library[kept_of(i)]) return false;
    left_out_[kept_of(i)] = true;
  }
  return compares_most({});
}

bool CheckedWork::compares_most(const std::vector<std::size_t>& without) const {
  double all = 0, kept = 0;
  for (std::size_t sum = 0; sum < written_.size(); ++sum) {
    const auto bytes = static_cast<double>(ends_[written_[sum]].bytes);
    all += bytes;
    if (!is_left_out(sum) && !std::ranges::count(without, buffer_of(sum).number)) kept += bytes;
  }
  return kept >= all / 2 && kept > 0;
}

std::vector<std::size_t> CheckedWork::scratch() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (left_out_[i]) numbers.push_back(kept_[i].buffer.number);
  }
  return numbers;
}

void CheckedWork::leave_out(const std::vector<std::size_t>& numbers) {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (std::ranges::find(numbers, kept_[i].buffer.number) != numbers.end()) left_out_[i] = true;
  }
}

std::string CheckedWork::left_out_text() const {
  std::string text;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!left_out_[i]) continue;
    std::string writer = "no operation";
    for (const Launch& launch : launches_) {
      for (std::size_t sum = launch.first; sum < launch.first + launch.count; ++sum) {
        if (buffer_of_end_[written_[sum]] == i && writer == "no operation") writer = launch.name;
      }
    }
    text += fmt::format("{}buffer {} ({} bytes, first written by {})", text.empty() ? "" : ", ",
                        kept_[i].buffer.number, kept_[i].buffer.bytes, writer);
  }
  return text;
}

WatchedBuffer CheckedWork::buffer_of(std::size_t sum) const {
  return kept_[kept_of(sum)].buffer;
}

std::uint64_t CheckedWork::offset_of(std::size_t sum) const {
  const std::size_t end = sum < written_.size() ? written_[sum] : sum - written_.size();
  const Kept& kept = kept_[buffer_of_end_[end]];
  return ends_[end].address -
         address_number(kept.shadow.bytes() > 0 ? kept.shadow.data() : kept.buffer.address);
}

std::string CheckedWork::variant() const {
  constexpr std::size_t digits = 16;
  std::vector<std::string> parts;
  for (const Launch& launch : launches_) parts.push_back(launch.name);
  for (const auto& [key, value] : case_->notes()) {
    if (std::ranges::find(notes_of_variant, key) != notes_of_variant.end()) {
      parts.push_back(key + "=" + value);
    }
  }
  return hash_of_parts(parts).substr(0, digits);
}

std::vector<std::uint64_t> CheckedWork::trail(const Sums& sums,
                                              const std::vector<std::size_t>& without) const {
  std::vector<std::uint64_t> all;
  const auto part = [&](std::size_t first, std::size_t count) {
    Sums kept;
    for (std::size_t i = first; i < first + count; ++i) {
      const bool compared = !is_left_out(i) && !std::ranges::count(without, buffer_of(i).number);
      kept.push_back(compared ? sums[i] : 0);
    }
    all.push_back(Checksums::combined(kept));
  };
  for (const Launch& launch : launches_) part(launch.first, launch.count);
  part(written_.size(), ends_.size());
  return all;
}

Work CheckedWork::work() const {
  Work work = case_->work();
  work.bytes *= description_.steps;
  work.flops *= description_.steps;
  return work;
}

}  // namespace assay::health
