// A wave without a launch: registers, scratch and LDS, and instructions given as text.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "emulator/code_object.h"
#include "emulator/local_memory.h"
#include "emulator/memory_map.h"

namespace mi300x {

class HandMadeWave {
 public:
  explicit HandMadeWave(LocalMemory* local = nullptr, unsigned index = 0) {
    wave.vector = registers_.data();
    wave.local = local;
    wave.index = index;
    wave.set_exec(all_lanes);
    wave.scratch_bytes = 64;
    wave.scratch = scratch_.data();
  }
  HandMadeWave(const HandMadeWave&) = delete;

  void execute(const std::string& text, const std::string& arch = "gfx942") {
    const Instruction instruction = decode(text, arch);
    instruction.operation->execute(wave, instruction);
  }

  /// Sets a register in every lane to a function of the lane.
  void set(unsigned index, const std::function<u32(unsigned)>& value) {
    for (unsigned i = 0; i < wave_lanes; ++i) wave.vector[index].lane[i] = value(i);
  }
  void set(unsigned index, u32 value) {
    set(index, [=](unsigned) { return value; });
  }
  /// Sets two registers in every lane.
  void set64(unsigned index, const std::function<u64(unsigned)>& value) {
    set(index, [&](unsigned lane) { return u32(value(lane)); });
    set(index + 1, [&](unsigned lane) { return u32(value(lane) >> 32); });
  }
  u32 get(unsigned index, unsigned lane) const { return wave.vector[index].lane[lane]; }
  u64 get64(unsigned index, unsigned lane) const {
    return u64{get(index + 1, lane)} << 32 | get(index, lane);
  }

  Wave wave;

 private:
  std::vector<Lanes> registers_ = std::vector<Lanes>(512);
  std::vector<char> scratch_ = std::vector<char>(64 * wave_lanes, 'x');
};

/// Host memory that kernels may touch while it exists.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count, bool initialised = true) : values(count) {
    MemoryMap::instance().add(values.data(), count * sizeof(T), 0, "device allocation",
                              initialised);
  }
  ~DeviceArray() { MemoryMap::instance().remove(values.data()); }
  DeviceArray(const DeviceArray&) = delete;
  u64 address() const { return reinterpret_cast<u64>(values.data()); }
  T& operator[](std::size_t i) { return values[i]; }

  std::vector<T> values;
};

template <class Action>
void expect_fault(Action action, FaultKind kind, const std::string& text) {
  try {
    action();
    ADD_FAILURE() << "no fault; expected: " << text;
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, kind) << fault.what();
    EXPECT_THAT(fault.what(), ::testing::HasSubstr(text));
  }
}

}  // namespace mi300x
