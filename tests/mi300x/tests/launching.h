// Memory that kernels may touch, and launches with typed arguments, for tests and benchmarks.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/emulator.h"
#include "emulator/memory_map.h"

namespace mi300x {

/// Memory of device 0. A buffer constructed with a value counts as written.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : Buffer(count, std::nullopt) {}
  Buffer(std::size_t count, T value) : Buffer(count, std::optional<T>(value)) {}
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size(), T{}) {
    std::copy(values.begin(), values.end(), data());
  }
  ~Buffer() { MemoryMap::instance().remove(memory_.get()); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return memory_.get(); }
  T& operator[](std::size_t i) const { return memory_.get()[i]; }
  std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  Buffer(std::size_t count, std::optional<T> value)
      : count_(count),
        memory_(static_cast<T*>(std::aligned_alloc(256, (count * sizeof(T) + 255) / 256 * 256))) {
    if (value) std::fill_n(data(), count, *value);
    MemoryMap::instance().add(data(), count * sizeof(T), 0, "device allocation", value.has_value());
  }
  std::size_t count_;
  std::unique_ptr<T, Free> memory_;
};

/// Kernel arguments laid out as the compiler does: each aligned to its size.
template <typename... T>
std::vector<char> pack(const T&... arguments) {
  std::vector<char> bytes;
  const auto add = [&bytes](const auto& argument) {
    const std::size_t at = (bytes.size() + sizeof argument - 1) / sizeof argument * sizeof argument;
    bytes.resize(at + sizeof argument);
    std::memcpy(bytes.data() + at, &argument, sizeof argument);
  };
  (add(arguments), ...);
  return bytes;
}

struct Shape {
  Dimensions grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
};

template <typename... T>
LaunchReport launch(const std::shared_ptr<Module>& module, const std::string& kernel,
                    const Shape& shape, const Settings& settings, const T&... arguments) {
  return run(
      {module, kernel, shape.grid, shape.block, shape.dynamic_shared_bytes, pack(arguments...)}, {},
      settings);
}

}  // namespace mi300x
