// The contract of the kernel dialect on every device: conversions with the bits of
// src/compute/kernels/element_types.h, element by element and in packs, stochastic rounding, and
// copies to shared memory. It uses the kernels of tests/dialect; the tests of each build and device
// run it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "compute/device/helpers.h"
#include "compute/kernels/random.h"

namespace assay {

/// Returns every sign and exponent of f32 with mantissas at the corners of every narrower one:
/// around 0, 1 and the ties between neighbours. Random patterns follow, in all 2^20 + `random`.
inline std::vector<float> corner_floats(std::size_t random) {
  std::vector<unsigned> mantissas;
  for (unsigned bit = 0; bit <= 23; ++bit) {
    for (const unsigned base : {0u, 0x7FFFFFu ^ (0x7FFFFFu >> bit)}) {
      for (const unsigned offset : {0u, 1u, 0x7FFFFFu}) {
        for (const unsigned odd : {0u, bit < 22 ? 2u << bit : 0u}) {
          mantissas.push_back(((1u << bit >> 1) + base + odd + offset) & 0x7FFFFF);
        }
      }
    }
  }
  std::vector<float> floats;
  for (unsigned sign_and_exponent = 0; sign_and_exponent < 512; ++sign_and_exponent) {
    for (const unsigned mantissa : mantissas) {
      floats.push_back(float_of(sign_and_exponent << 23 | mantissa));
    }
  }
  std::mt19937 bits(7);
  while (floats.size() < random || floats.size() % 64 != 0) floats.push_back(float_of(bits()));
  return floats;
}

class DialectContract {
 public:
  DialectContract(Device& device, Stream& stream)
      : device_(device), stream_(stream), program_(device.build({"dialect", {}})) {
    EXPECT_TRUE(program_) << program_.error().message;
  }

  void codes_are_those_of_bit_operations(std::size_t random) {
    const std::vector<float> floats = corner_floats(random);
    for_each_type([&]<typename T>(T, const std::string& type) { encode<T>(type, floats); });
  }
  void every_code_becomes_its_number() {
    for_each_type([&]<typename T>(T, const std::string& type) { decode<T>(type); });
  }
  /// Compares on the device with the same bit operations, for `n` bit patterns from `first` on.
  void device_agrees_with_itself(std::uint64_t first, std::uint64_t n) {
    for_each_type([&]<typename T>(T, const std::string& type) {
      const LaunchShape shape = filling_shape(device_.facts());
      const Buffer found = allocate(shape.grid.x * 16);
      run("check_encoding_" + type, shape, found.data(), first, n);
      const auto counts = download<std::uint64_t>(found, shape.grid.x * 2);
      for (unsigned block = 0; block < shape.grid.x; ++block) {
        ASSERT_EQ(counts[2 * block], 0u) << type << " of bits " << first + counts[2 * block + 1];
      }
    });
  }
  void packs_round_stochastically_like_single_numbers() {
    constexpr std::uint64_t n = 1 << 14, key = 0x123456789ABCDEF;
    std::vector<float> floats(n, 1 + 0.3f / 128);  // three tenths of the way to the next bf16
    for (std::uint64_t i = 0; i < n; i += 2) floats[i] = float_of(static_cast<u32>(i * 0x40003));
    const Buffer x = upload(floats), rounded = allocate(n * 2);
    run("round_all", filling_shape(device_.facts()), rounded.data(), x.data(), n, key);
    const auto codes = download<Bf16>(rounded, n);
    unsigned up = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const u32 random = random_bits(i / 2, key) >> (i % 2 == 0 ? 0 : 16);
      ASSERT_EQ(codes[i].bits, round_stochastically(floats[i], random).bits) << i;
      up += i % 2 == 1 && codes[i].bits == 0x3F81;
    }
    EXPECT_NEAR(up, 0.3 * n / 2, 4 * std::sqrt(0.3 * 0.7 * n / 2));
  }
  void copies_pass_through_shared_memory() {
    constexpr unsigned parts = 3 * 2 * 2, chunks = 100, words = 4;
    std::vector<std::uint32_t> numbers(std::size_t{parts} * chunks * words);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(i);
    const Buffer from = upload(numbers), to = allocate(from.bytes());
    run("reverse_parts", {{3, 2, 2}, {64}, chunks * 16}, to.data(), from.data(), chunks);
    const auto copied = download<std::uint32_t>(to, numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t chunk = i / words, part = chunk / chunks;
      const std::size_t source = part * chunks + chunks - 1 - chunk % chunks;
      ASSERT_EQ(copied[i], numbers[source * words + i % words]) << i;
    }
  }

 private:
  template <typename Body>
  static void for_each_type(Body body) {
    body(F16{}, "f16");
    body(Bf16{}, "bf16");
    body(E4m3{}, "e4m3");
    body(E5m2{}, "e5m2");
    body(E4m3Fnuz{}, "e4m3_fnuz");
    body(E5m2Fnuz{}, "e5m2_fnuz");
  }

  template <typename T>
  void encode(const std::string& type, const std::vector<float>& floats) {
    const std::uint64_t n = floats.size();
    const Buffer x = upload(floats), single = allocate(n * sizeof(T)),
                 packed = allocate(n * sizeof(T));
    run("encode_" + type, filling_shape(device_.facts()), single.data(), packed.data(), x.data(),
        n);
    const auto codes = download<T>(single, n), codes_of_packs = download<T>(packed, n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const unsigned right = T::encode(floats[i]).bits;
      ASSERT_EQ(codes[i].bits, right) << type << " of bits " << bits_of(floats[i]);
      ASSERT_EQ(codes_of_packs[i].bits, right) << "pack of " << type << ", " << bits_of(floats[i]);
    }
  }

  /// Checks all codes in a row, then each beside a NaN or a number.
  template <typename T>
  void decode(const std::string& type) {
    using Bits = decltype(T::bits);
    constexpr unsigned all = 1u << 8 * sizeof(T);
    std::vector<T> codes;
    for (unsigned i = 0; i < all; ++i) codes.push_back({static_cast<Bits>(i)});
    for (unsigned i = 0; i < 2 * all; ++i) {
      codes.push_back({static_cast<Bits>(i % 2 == 0 ? i / 2 * 40503 : i / 2)});
    }
    const std::uint64_t n = codes.size();
    const Buffer x = upload(codes), single = allocate(n * 4), packed = allocate(n * 4);
    run("decode_" + type, filling_shape(device_.facts()), single.data(), packed.data(), x.data(),
        n);
    const auto numbers = download<std::uint32_t>(single, n),
               numbers_of_packs = download<std::uint32_t>(packed, n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const unsigned right = bits_of(codes[i].decode());
      ASSERT_EQ(numbers[i], right) << type << " code " << codes[i].bits;
      ASSERT_EQ(numbers_of_packs[i], right) << "pack of " << type << ", code " << codes[i].bits;
    }
  }

  template <typename... Arguments>
  void run(const std::string& kernel, const LaunchShape& shape, Arguments... arguments) {
    auto found = (*program_)->kernel(kernel);
    ASSERT_TRUE(found) << found.error().message;
    const Status launched = launch(stream_, **found, shape, arguments...);
    ASSERT_TRUE(launched) << launched.error().message;
  }
  Buffer allocate(std::size_t bytes) {
    return std::move(device_.allocate(bytes, MemoryKind::device)).value();
  }
  template <typename T>
  Buffer upload(const std::vector<T>& values) {
    Buffer buffer = allocate(values.size() * sizeof(T));
    EXPECT_TRUE(stream_.copy(buffer.data(), values.data(), buffer.bytes()));
    EXPECT_TRUE(stream_.synchronize());
    return buffer;
  }
  template <typename T>
  std::vector<T> download(const Buffer& buffer, std::size_t count) {
    auto values = read_back<T>(stream_, buffer.data(), count);
    EXPECT_TRUE(values) << values.error().message;
    return std::move(values).value();
  }

  Device& device_;
  Stream& stream_;
  Result<std::unique_ptr<Program>> program_;
};

}  // namespace assay
