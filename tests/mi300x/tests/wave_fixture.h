// Compares register instructions with plain functions of one lane's values, for random and special
// values and EXEC masks.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "emulator/lane_type.h"
#include "hand_made_wave.h"

namespace mi300x {

/// Values of a type: often special ones, otherwise seeded random bits.
class ValueSource {
 public:
  template <class T>
  T next() {
    if constexpr (std::same_as<T, float>) {
      static constexpr u32 special[] = {0,          0x80000000, 0x3F800000, 0xBF800000, 0x7F800000,
                                        0xFF800000, 0x7FC00001, 0xFFC12345, 0x7F800001, 1,
                                        0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x3F7FFFFF, 0xC2C80000};
      return std::bit_cast<float>(pick(special));
    } else if constexpr (std::same_as<T, double>) {
      static constexpr u64 special[] = {0,
                                        u64{1} << 63,
                                        0x3FF0000000000000,
                                        0xBFF0000000000000,
                                        0x7FF0000000000000,
                                        0xFFF0000000000000,
                                        0x7FF8000000000001,
                                        0x7FF0000000000001,
                                        1,
                                        0x800FFFFFFFFFFFFF,
                                        0x7FEFFFFFFFFFFFFF};
      return std::bit_cast<double>(pick(special));
    } else {
      using U = std::make_unsigned_t<T>;
      static constexpr U special[] = {0,  1,   U(~U{0}), U(U(~U{0}) >> 1), U(U(~U{0}) / 2 + 1),
                                      31, 0xFF};
      return T(pick(special));
    }
  }
  u64 mask() {
    switch (random_() % 3) {
      case 0:
        return all_lanes;
      case 1:
        return random_() & random_() & random_();
      default:
        return random_();
    }
  }
  u64 bits() { return random_(); }

 private:
  template <class T, std::size_t count>
  T pick(const T (&special)[count]) {
    return random_() % 3 == 0 ? special[random_() % count] : T(random_());
  }
  std::mt19937_64 random_{20250101};
};

template <class T>
bool same_value(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) && std::isnan(b)) return true;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class VectorTest : public ::testing::Test {
 protected:
  VectorTest() { hand.wave.mode = 0x3F0; }

  static std::string registers(unsigned first, unsigned bytes) {
    if (bytes <= 4) return "v" + std::to_string(first);
    return "v[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]";
  }
  template <class T>
  void put(unsigned index, unsigned lane, T value) {
    u64 bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    hand.wave.vector[index].lane[lane] = u32(bits);
    if (sizeof(T) == 8) hand.wave.vector[index + 1].lane[lane] = u32(bits >> 32);
  }
  template <class T>
  T taken(unsigned index, unsigned lane) const {
    const u64 bits = sizeof(T) == 8 ? hand.get64(index, lane) : hand.get(index, lane);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  /// Checks NAME v[10:11], v[2:3], v[4:5], v[6:7] against `reference` in every active lane; other
  /// lanes keep their values. A bool goes to s[10:11], with 0 for inactive lanes. `accumulates`
  /// means that the last argument is the target's old value.
  template <class R, class... A>
  void check(const std::string& name, R (*reference)(A...), bool accumulates = false,
             const std::string& arch = "gfx942") {
    check_forms(name, reference, accumulates, arch, std::index_sequence_for<A...>{});
  }

  HandMadeWave hand;
  ValueSource values;

 private:
  template <class R, class... A, std::size_t... n>
  void check_forms(const std::string& name, R (*reference)(A...), bool accumulates,
                   const std::string& arch, std::index_sequence<n...>) {
    constexpr unsigned count = sizeof...(A), target = 10;
    std::string text =
        name + " " + (std::same_as<R, bool> ? "s[10:11]" : registers(target, sizeof(R)));
    const unsigned sizes[] = {sizeof(A)...};
    unsigned places[] = {unsigned(2 + 2 * n)...};
    if (accumulates) places[count - 1] = target;
    for (unsigned i = 0; i + accumulates < count; ++i)
      text += ", " + registers(places[i], sizes[i]);
    for (unsigned round = 0; round < 40; ++round) {
      for (unsigned lane = 0; lane < wave_lanes; ++lane) {
        put(target, lane, u64{0xDEADBEEF12345678});
        (put(places[n], lane, values.next<A>()), ...);
      }
      const auto before = [&] {
        std::vector<Lanes> copy(hand.wave.vector, hand.wave.vector + 16);
        return copy;
      }();
      const u64 exec = values.mask();
      hand.wave.set_exec(exec);
      hand.execute(text, arch);
      for (unsigned lane = 0; lane < wave_lanes; ++lane) {
        const bool active = exec >> lane & 1;
        const auto argument = [&]<class T>(std::type_identity<T>, unsigned place) {
          u64 bits = before[place].lane[lane];
          if (sizeof(T) == 8) bits |= u64{before[place + 1].lane[lane]} << 32;
          T value;
          std::memcpy(&value, &bits, sizeof value);
          return value;
        };
        const R expected = reference(argument(std::type_identity<A>{}, places[n])...);
        if constexpr (std::same_as<R, bool>) {
          ASSERT_EQ(hand.wave.scalar64(10) >> lane & 1, u64{active && expected})
              << text << " lane " << lane;
        } else if (active) {
          ASSERT_TRUE(same_value(taken<R>(target, lane), expected))
              << text << " lane " << lane << ": " << std::hex << hand.get64(target, lane)
              << " from " << hand.get64(2, lane) << " " << hand.get64(4, lane) << " "
              << hand.get64(6, lane);
        } else {
          ASSERT_EQ(hand.get(target, lane), before[target].lane[lane]) << text << " lane " << lane;
        }
      }
    }
  }
};

}  // namespace mi300x
