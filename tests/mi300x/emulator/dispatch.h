// What all workgroups of a launch share: the checked launch, and its kernel arguments and dispatch
// packet in memory.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "emulator/code_object.h"
#include "emulator/time_model.h"

namespace mi300x {

class Dispatch {
 public:
  /// Throws Fault (invalid_launch) naming what the code object or the chip does not allow.
  Dispatch(const Launch& launch, const Chip& chip, const Settings& settings);
  ~Dispatch();
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;

  const CodeObject& code() const { return *code_; }
  const Kernel& kernel() const { return *kernel_; }
  const Chip& chip() const { return chip_; }
  const Dimensions& grid() const { return grid_; }
  const Dimensions& block() const { return block_; }
  u64 seed() const { return seed_; }
  u64 groups() const { return u64{grid_.x} * grid_.y * grid_.z; }
  unsigned threads() const { return block_.x * block_.y * block_.z; }
  unsigned waves() const { return (threads() + wave_lanes - 1) / wave_lanes; }
  u64 shared_bytes() const { return shared_bytes_; }
  /// Returns how many workgroups fit on the chip at a time; the others wait for one of them to end.
  u64 resident_groups() const { return resident_groups_; }
  /// Returns the time since the launch began, on the host's steady clock.
  u64 host_nanoseconds() const {
    return static_cast<u64>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun_).count());
  }
  const std::vector<Price>& prices() const { return *prices_; }

  u64 packet_address() const { return reinterpret_cast<u64>(memory_.get()); }
  u64 argument_address() const { return packet_address() + packet_bytes; }

 private:
  static constexpr std::size_t packet_bytes = 64;

  void check_shape() const;
  void check_arguments(const std::vector<char>& arguments) const;
  void write_packet();
  void write_arguments(const std::vector<char>& arguments, u32 dynamic_shared_bytes);
  void write(std::size_t offset, u64 value, std::size_t bytes);

  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::shared_ptr<const CodeObject> code_;
  const Kernel* kernel_ = nullptr;
  Chip chip_;
  Dimensions grid_, block_;
  u64 seed_ = 1, shared_bytes_ = 0, resident_groups_ = 0;
  std::shared_ptr<const std::vector<Price>> prices_;
  std::unique_ptr<char[]> memory_;  ///< the packet, then the arguments
};

}  // namespace mi300x
