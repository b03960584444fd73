#include "emulator/workgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "emulator/corruption.h"
#include "emulator/dispatch.h"
#include "emulator/hazards.h"
#include "emulator/memory_map.h"
#include "emulator/random.h"

namespace mi300x {
namespace {

constexpr unsigned vector_count = 512;
constexpr u64 longest_slice = 64;  // instructions that a wave executes before another's turn
constexpr u64 sleep_price = 256;   // cost in the budget: a sleeping wave soon lets others run

/// Returns random words to copy from. Drawing each word of a wave's registers took a third of the
/// time of short kernels.
const std::vector<u64>& garbage_pool() {
  static const std::vector<u64> pool = [] {
    std::vector<u64> words(8192);
    u64 random = 1;
    for (u64& word : words) word = next_random(random);
    return words;
  }();
  return pool;
}

/// Copies a different piece of the pool for every KiB.
template <typename T>
void fill_with_garbage(T* first, std::size_t count, u64& random) {
  static_assert(sizeof(T) % sizeof(u64) == 0);
  constexpr std::size_t piece = 128;  // words
  const std::vector<u64>& pool = garbage_pool();
  auto* to = reinterpret_cast<char*>(first);
  for (std::size_t left = count * sizeof(T) / sizeof(u64); left > 0;) {
    const std::size_t words = std::min(left, piece);
    std::memcpy(to, pool.data() + next_random(random) % (pool.size() - piece), words * sizeof(u64));
    to += words * sizeof(u64);
    left -= words;
  }
}

}  // namespace

/// A wave with its registers; only the pages that the kernel uses are touched.
struct Workgroup::WaveStorage {
  struct Free {
    void operator()(Lanes* registers) const { std::free(registers); }
  };
  Wave wave;
  std::unique_ptr<Lanes, Free> registers{
      static_cast<Lanes*>(std::aligned_alloc(alignof(Lanes), vector_count * sizeof(Lanes)))};
  std::vector<u64> scratch;
  std::optional<HazardCheck> hazards;
};

Workgroup::Workgroup(const Dispatch& dispatch) : dispatch_(dispatch) {
  for (unsigned i = 0; i < dispatch.waves(); ++i) waves_.push_back(std::make_unique<WaveStorage>());
}

Workgroup::~Workgroup() = default;

const CodeObject& Workgroup::code() const {
  return dispatch_.code();
}
const Chip& Workgroup::chip() const {
  return dispatch_.chip();
}
u64 Workgroup::host_nanoseconds() const {
  return dispatch_.host_nanoseconds();
}

Place Workgroup::place() const {
  // The packet processor assigns workgroups to the dies in turn, and a die assigns them to its four
  // shader engines.
  constexpr unsigned engines = 4;
  const auto dies = static_cast<u64>(chip().dies);
  const u64 units_of_die = std::max<u64>(1, static_cast<u64>(chip().compute_units) / dies);
  const u64 unit = number_ / dies % units_of_die;
  // 38 of a die's 40 units are enabled, and parts differ in which ones. Here the first and one more
  // are disabled, so that no code may rely on them.
  constexpr u64 second_disabled = 22;
  const u64 physical = unit + 1 + (unit + 1 >= second_disabled ? 1 : 0);
  return {static_cast<unsigned>(number_ % dies), static_cast<unsigned>(physical % engines),
          static_cast<unsigned>(physical / engines)};
}

// ---- The beginning ----

void Workgroup::begin(u64 number) {
  const Dimensions& grid = dispatch_.grid();
  number_ = number;
  id_ = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
         static_cast<unsigned>(number / grid.x / grid.y)};
  random_ = mix(dispatch_.seed(), number);
  local_.begin(dispatch_.shared_bytes(), next_random(random_));
  ended_ = 0;
  begin_corruption();
  runnable_.clear();
  for (unsigned i = 0; i < waves_.size(); ++i) {
    begin_wave(i);
    runnable_.push_back(i);
  }
}

void Workgroup::begin_wave(unsigned index) {
  const Kernel& kernel = dispatch_.kernel();
  WaveStorage& storage = *waves_[index];
  Wave& wave = storage.wave = Wave{};
  wave.group = this;
  wave.local = &local_;
  wave.index = index;
  wave.random = mix(dispatch_.seed(), mix(number_, index));
  wave.next = kernel.descriptor.entry;
  wave.mode = kernel.descriptor.mode;
  storage.hazards.emplace();
  wave.hazards = &*storage.hazards;

  wave.vector = storage.registers.get();
  const auto accumulators = static_cast<unsigned>(kernel.info.accumulators);
  const unsigned others = std::min(
      static_cast<unsigned>(kernel.info.vector_registers) - accumulators, first_accumulator);
  fill_with_garbage(wave.vector, others, wave.random);
  fill_with_garbage(wave.vector + first_accumulator, accumulators, wave.random);

  wave.scratch_bytes = kernel.descriptor.scratch_bytes;
  storage.scratch.resize((std::size_t{wave.scratch_bytes} * wave_lanes + 7) / 8);
  fill_with_garbage(storage.scratch.data(), storage.scratch.size(), wave.random);
  wave.scratch = reinterpret_cast<char*>(storage.scratch.data());

  set_scalar_registers(wave);
  set_item_ids(wave);
}

/// Sets user SGPRs, then system SGPRs, in the order of LLVM's AMDGPUUsage, "Initial Kernel
/// Execution State"; all others become garbage.
void Workgroup::set_scalar_registers(Wave& wave) const {
  const KernelDescriptor& descriptor = dispatch_.kernel().descriptor;
  for (u32& word : wave.scalar_registers) word = static_cast<u32>(next_random(wave.random));
  wave.scc = next_random(wave.random) & 1;

  unsigned at = 0;
  const auto put32 = [&](u64 value) { wave.set_scalar32(at++, static_cast<u32>(value)); };
  const auto put64 = [&](u64 value) {
    put32(value);
    put32(value >> 32);
  };
  const u64 scratch = reinterpret_cast<u64>(wave.scratch);
  if (descriptor.private_segment_buffer) {
    put64(scratch);  // base address, then stride and format, which only buffer instructions read
    put64(0);
  }
  if (descriptor.dispatch_pointer) put64(dispatch_.packet_address());
  if (descriptor.queue_pointer) put64(0);
  if (descriptor.kernarg_pointer) put64(dispatch_.argument_address());
  if (descriptor.dispatch_id) put64(0);
  if (descriptor.flat_scratch) put64(scratch);
  if (descriptor.private_segment_size) put32(descriptor.scratch_bytes);
  for (unsigned word = 0; word < descriptor.preloaded_words; ++word) {
    u32 argument;
    std::memcpy(&argument,
                reinterpret_cast<const char*>(dispatch_.argument_address()) +
                    4 * (descriptor.preload_offset + word),
                sizeof argument);
    put32(argument);
  }
  at = descriptor.user_registers;
  if (descriptor.group_id_x) put32(id_.x);
  if (descriptor.group_id_y) put32(id_.y);
  if (descriptor.group_id_z) put32(id_.z);
  if (descriptor.group_info) put32(waves_.size());
  if (descriptor.private_wave_offset) put32(0);

  wave.set_scalar64(scalar::flat_scratch, scratch);
  const unsigned first = wave.index * wave_lanes;
  const unsigned lanes = std::min(dispatch_.threads() - first, wave_lanes);
  wave.set_exec(lanes == wave_lanes ? all_lanes : (u64{1} << lanes) - 1);
}

/// v0 holds the three ids, 10 bits each; ids that the kernel did not request are 0.
void Workgroup::set_item_ids(Wave& wave) const {
  const Dimensions& block = dispatch_.block();
  const u32 wanted = dispatch_.kernel().descriptor.item_ids;
  for (unsigned lane = 0; lane < wave_lanes; ++lane) {
    const unsigned item = wave.index * wave_lanes + lane;
    if (item >= dispatch_.threads()) break;  // lanes outside EXEC keep garbage
    const u32 x = item % block.x, y = item / block.x % block.y, z = item / block.x / block.y;
    wave.vector[0].lane[lane] = x | (wanted > 0 ? y << 10 : 0) | (wanted > 1 ? z << 20 : 0);
  }
}

// ---- Taking turns ----

Workgroup::Progress Workgroup::run(u64 budget, Tally& tally) {
  const u64 end = tally.instructions + budget;
  sleeps_ = 0;
  while (tally.instructions + sleeps_ * sleep_price < end) {
    if (runnable_.empty()) {
      if (ended_ == waves_.size()) return Progress::ended;
      release_barrier();
    }
    const u64 random = next_random(random_);
    const auto turn = static_cast<std::size_t>((random >> 32) % runnable_.size());
    Wave& wave = waves_[runnable_[turn]]->wave;
    step(wave, 1 + random % longest_slice, tally);
    if (!wave.ended && !wave.at_barrier) continue;
    runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(turn));
    if (wave.ended) {
      ++ended_;
      tally.longest_wave = std::max(tally.longest_wave, wave.cycles);
    }
  }
  return sleeps_ * sleep_price > budget / 2 ? Progress::slept : Progress::ran;
}

void Workgroup::begin_corruption() {
  Corruption& corruption = Corruption::instance();
  corrupts_ = corruption.concerns(dispatch_.kernel().info.name);
  if (!corrupts_) return;
  corruption_random_ = mix(mix(corruption.plan().seed, corruption.launch()), number_);
  sticks_ = corruption.plan().kind == CorruptionKind::vgpr &&
            corruption.takes(next_random(corruption_random_));
}

/// Executes the load once for nothing: its registers are as before afterwards.
bool Workgroup::stale_load_would_differ(Wave& wave, const Instruction& instruction) {
  const Operand& target = instruction.targets[0];
  const Lanes* const registers = wave.vector + target.index;
  const unsigned words = instruction.target_count == 0 ? 0 : target.words;  // 0: into LDS
  const std::vector<Lanes> before(registers, registers + words);
  load_fault = LoadFault::compared;
  stale_load_differs = false;
  instruction.operation->execute(wave, instruction);
  load_fault = LoadFault::none;
  std::ranges::copy(before, wave.vector + target.index);
  return stale_load_differs;
}

void Workgroup::execute_wrongly(Wave& wave, const Instruction& instruction) {
  Corruption& corruption = Corruption::instance();
  const CorruptionKind kind = corruption.plan().kind;
  const Operation& operation = *instruction.operation;
  const bool global = operation.unit == Unit::global || operation.unit == Unit::flat;
  const auto is_hit = [&] {
    return wave.exec() != 0 && corruption.takes(next_random(corruption_random_));
  };
  const auto names = [&](std::string_view part) {
    return operation.name.find(part) != std::string_view::npos;
  };
  if (kind == CorruptionKind::store && global && names("store") && is_hit()) return;
  if (kind == CorruptionKind::lds && operation.unit == Unit::local && is_hit()) {
    local_.flip(next_random(corruption_random_));
  }
  const bool loads = global && names("load");
  if (kind == CorruptionKind::stale && loads && stale_load_would_differ(wave, instruction) &&
      is_hit()) {
    load_fault = LoadFault::stale;
  }
  if (kind == CorruptionKind::hbm && loads && is_hit()) {
    load_fault_random = next_random(corruption_random_);
    load_fault = LoadFault::hbm;
  }
  operation.execute(wave, instruction);
  load_fault = LoadFault::none;
  if (sticks_) {
    u64 random = corruption.plan().seed;
    constexpr unsigned registers = 24;  // most kernels use that many
    const u64 index = next_random(random) % registers, lane = next_random(random) % wave_lanes;
    const u32 bit = u32{1} << next_random(random) % 32;
    u32& word = wave.vector[index].lane[lane];
    word = next_random(random) % 2 == 0 ? word | bit : word & ~bit;
  }
  if (kind == CorruptionKind::mfma && operation.unit == Unit::matrix && is_hit()) {
    const Operand& target = instruction.targets[0];
    const u64 random = next_random(corruption_random_);
    u32& word = wave.vector[target.index + random % target.words].lane[random / 64 % wave_lanes];
    word ^= u32{1} << random / 4096 % 32;
  }
}

/// The hot loop: checks, executes and counts up to `slice` instructions of one wave.
void Workgroup::step(Wave& wave, u64 slice, Tally& tally) {
  const std::vector<Instruction>& code = dispatch_.code().code;
  const Price* prices = dispatch_.prices().data();
  HazardCheck& hazards = *wave.hazards;
  last_wave_ = wave.index;
  u64 executed = 0;
  try {
    while (executed < slice) {
      last_instruction_ = wave.next;
      if (wave.next >= code.size())
        throw Fault(FaultKind::illegal_address, "the wave ran past the end of the code");
      const Instruction& instruction = code[wave.next];
      const Price price = prices[wave.next];
      hazards.before(wave, instruction);
      ++tally.executions[wave.next];
      ++wave.next;
      ++executed;
      tally.global_bytes += price.global_bytes * static_cast<u64>(std::popcount(wave.exec()));
      wave.cycles += price.cycles;
      if (corrupts_) [[unlikely]] {
        execute_wrongly(wave, instruction);
      } else {
        instruction.operation->execute(wave, instruction);
      }
      if (wave.ended) break;
      if (wave.at_barrier) {
        meet_barrier(wave);
        break;
      }
      if (price.sleeps) {
        ++sleeps_;
        break;
      }
    }
  } catch (const Fault& fault) {
    load_fault = LoadFault::none;
    fail(fault);
  }
  wave.instructions += executed;
  tally.instructions += executed;
}

void Workgroup::meet_barrier(const Wave& wave) const {
  if (wave.hazards->local_writes_pending()) {
    throw Fault(FaultKind::missing_wait,
                "writes to LDS are under way at the barrier: it needs s_waitcnt lgkmcnt(0) before");
  }
}

/// Releases the barrier, at which all waves are that have not ended.
void Workgroup::release_barrier() {
  local_.barrier();
  u64 latest = 0;
  for (const auto& storage : waves_)
    if (!storage->wave.ended) latest = std::max(latest, storage->wave.cycles);
  for (const auto& storage : waves_) {
    if (storage->wave.ended) continue;
    storage->wave.at_barrier = false;
    storage->wave.cycles = latest;
    runnable_.push_back(storage->wave.index);
  }
}

void Workgroup::fail(const Fault& fault) const {
  const std::vector<Instruction>& code = dispatch_.code().code;
  std::string where = "past the code's end";
  if (last_instruction_ < code.size()) {
    const Instruction& instruction = code[last_instruction_];
    where = fmt::format("{} (at {:#x}{}{})", instruction.text, instruction.address,
                        instruction.source.empty() ? "" : ", ", instruction.source);
  }
  throw Fault(fault.kind, fmt::format("{}: workgroup ({}, {}, {}), wave {}: {}: {}",
                                      dispatch_.kernel().info.name, id_.x, id_.y, id_.z, last_wave_,
                                      where, fault.what()));
}

}  // namespace mi300x
