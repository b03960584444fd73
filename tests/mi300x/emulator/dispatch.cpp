#include "emulator/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "emulator/memory_map.h"

namespace mi300x {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Fault(FaultKind::invalid_launch, reason);
}

bool hidden(const KernelInfo::Argument& argument) {
  return argument.kind.starts_with("hidden_");
}

/// Returns the end of the arguments that the launcher passes.
u32 explicit_bytes(const KernelInfo& kernel) {
  u32 end = 0;
  for (const auto& argument : kernel.arguments)
    if (!hidden(argument)) end = std::max(end, argument.offset + argument.bytes);
  return end;
}

/// Returns what the packet processor's software writes for a hidden argument of code object version
/// 5. Empty for arguments that need a service which does not exist here (printf, heap, hostcall).
std::optional<u64> hidden_value(const std::string& kind, const Dimensions& grid,
                                const Dimensions& block, u32 dynamic_shared_bytes) {
  if (kind == "hidden_block_count_x") return grid.x;
  if (kind == "hidden_block_count_y") return grid.y;
  if (kind == "hidden_block_count_z") return grid.z;
  if (kind == "hidden_group_size_x") return block.x;
  if (kind == "hidden_group_size_y") return block.y;
  if (kind == "hidden_group_size_z") return block.z;
  // HIP's grids consist of whole workgroups, so nothing remains.
  if (kind.starts_with("hidden_remainder_")) return 0;
  if (kind.starts_with("hidden_global_offset_")) return 0;
  if (kind == "hidden_grid_dims") return grid.z * block.z > 1 ? 3 : grid.y * block.y > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size") return dynamic_shared_bytes;
  if (kind == "hidden_shared_base") return shared_aperture >> 32;
  if (kind == "hidden_private_base") return private_aperture >> 32;
  return std::nullopt;
}

/// Returns the prices, which are computed at a code object's first launch.
std::shared_ptr<const std::vector<Price>> prices_of(const CodeObject& code,
                                                    const std::string& arch) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!code.prices) {
    auto prices = std::make_shared<std::vector<Price>>();
    prices->reserve(code.code.size());
    for (const Instruction& instruction : code.code) prices->push_back(price(instruction, arch));
    code.prices = std::move(prices);
  }
  return code.prices;
}

}  // namespace

Dispatch::Dispatch(const Launch& launch, const Chip& chip, const Settings& settings)
    : code_(std::dynamic_pointer_cast<const CodeObject>(launch.module)),
      chip_(chip),
      grid_(launch.grid),
      block_(launch.block),
      seed_(settings.seed) {
  if (!code_) refuse("the launch has no code object");
  const auto found = code_->kernels.find(launch.kernel);
  if (found == code_->kernels.end())
    refuse(fmt::format("the code object has no kernel {}", launch.kernel));
  kernel_ = &found->second;
  shared_bytes_ = u64{kernel_->info.shared_bytes} + launch.dynamic_shared_bytes;
  check_shape();
  check_arguments(launch.arguments);

  const unsigned per_unit = groups_per_unit(kernel_->info, waves(), shared_bytes_, chip_);
  if (per_unit == 0) {
    refuse(fmt::format("{}: {} waves of {} vector registers do not fit a compute unit",
                       launch.kernel, waves(), kernel_->info.vector_registers));
  }
  resident_groups_ = u64{per_unit} * static_cast<unsigned>(chip_.compute_units);

  prices_ = prices_of(*code_, chip_.arch);

  // The compiler widens loads up to the granularity in which arguments are allocated.
  constexpr std::size_t granularity = 64;
  const std::size_t bytes =
      packet_bytes + (kernel_->info.argument_bytes + granularity - 1) / granularity * granularity;
  memory_ = std::make_unique<char[]>(bytes);
  MemoryMap::instance().add(memory_.get(), bytes, chip_.device, "kernel arguments", false);
  const std::size_t end = packet_bytes + kernel_->info.argument_bytes;
  MemoryMap::instance().mark_written(memory_.get() + end, bytes - end);
  write_packet();
  write_arguments(launch.arguments, launch.dynamic_shared_bytes);
}

Dispatch::~Dispatch() {
  if (memory_) MemoryMap::instance().remove(memory_.get());
}

void Dispatch::check_shape() const {
  const KernelInfo& info = kernel_->info;
  const std::array<std::array<unsigned, 2>, 3> sides = {
      {{grid_.x, block_.x}, {grid_.y, block_.y}, {grid_.z, block_.z}}};
  u64 lanes = 1;
  for (const auto& [groups, items] : sides) {
    if (groups == 0 || items == 0) refuse(fmt::format("{}: a side of the grid is 0", info.name));
    if (u64{groups} * items > std::numeric_limits<u32>::max()) {
      refuse(fmt::format("{}: {} workgroups of {} lanes on one side are more than 2^32 - 1",
                         info.name, groups, items));
    }
    lanes = std::min<u64>(lanes * items, std::numeric_limits<u32>::max());
  }
  if (lanes > static_cast<u64>(info.max_threads)) {
    refuse(fmt::format("{}: a workgroup of {} lanes, the kernel allows {}", info.name, lanes,
                       info.max_threads));
  }
  if (shared_bytes_ > chip_.shared_bytes_per_unit) {
    refuse(fmt::format("{}: {} bytes of LDS, {} of them static; a compute unit has {}", info.name,
                       shared_bytes_, info.shared_bytes, chip_.shared_bytes_per_unit));
  }
}

void Dispatch::check_arguments(const std::vector<char>& arguments) const {
  const KernelInfo& info = kernel_->info;
  const u32 needed = explicit_bytes(info);
  if (arguments.size() < needed || arguments.size() > std::max(needed, info.argument_bytes)) {
    refuse(fmt::format("{}: {} bytes of arguments, the kernel takes {}", info.name,
                       arguments.size(), needed));
  }
}

void Dispatch::write(std::size_t offset, u64 value, std::size_t bytes) {
  std::memcpy(memory_.get() + offset, &value, bytes);
  MemoryMap::instance().mark_written(memory_.get() + offset, bytes);
}

/// Writes hsa_kernel_dispatch_packet_t. The completion signal belongs to the queue and stays
/// unwritten.
void Dispatch::write_packet() {
  const u64 dimensions = grid_.z * block_.z > 1 ? 3 : grid_.y * block_.y > 1 ? 2 : 1;
  constexpr u64 kernel_dispatch = 2;
  write(0, kernel_dispatch, 2);
  write(2, dimensions, 2);
  write(4, block_.x, 2);
  write(6, block_.y, 2);
  write(8, block_.z, 2);
  write(10, 0, 2);
  write(12, u64{grid_.x} * block_.x, 4);
  write(16, u64{grid_.y} * block_.y, 4);
  write(20, u64{grid_.z} * block_.z, 4);
  write(24, kernel_->descriptor.scratch_bytes, 4);
  write(28, shared_bytes_, 4);
  write(32, code_->code.at(kernel_->descriptor.entry).address, 8);
  write(40, argument_address(), 8);
}

/// Writes explicit arguments with the padding between them, then the hidden ones. Bytes between
/// hidden arguments count as uninitialised.
void Dispatch::write_arguments(const std::vector<char>& arguments, u32 dynamic_shared_bytes) {
  const KernelInfo& info = kernel_->info;
  const u32 given = explicit_bytes(info);
  char* place = memory_.get() + packet_bytes;
  std::copy_n(arguments.begin(), given, place);
  const u32 padded = std::min((given + 7) / 8 * 8, info.argument_bytes);
  MemoryMap::instance().mark_written(place, padded);
  for (const auto& argument : info.arguments) {
    if (!hidden(argument)) continue;
    const auto value = hidden_value(argument.kind, grid_, block_, dynamic_shared_bytes);
    if (!value) continue;
    write(packet_bytes + argument.offset, *value, std::min<u32>(argument.bytes, 8));
    // The compiler loads whole words to get one half.
    MemoryMap::instance().mark_written(place + argument.offset / 4 * 4, 4);
  }
}

}  // namespace mi300x
