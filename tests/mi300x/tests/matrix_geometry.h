// The shapes in a matrix instruction's name, and which lanes hold which elements; implemented for
// tests, independently of the emulator's tables.
#pragma once

#include <regex>
#include <stdexcept>
#include <string>

#include "emulator/small_floats.h"

namespace mi300x {

/// A is size x k, B is k x size, C and D are size x size, each `blocks` times.
struct Geometry {
  explicit Geometry(const std::string& the_name) : name(the_name) {
    // v_mfma_f32_16x16x4_4b_f16, v_smfmac_f32_16x16x64_fp8_bf8; gfx90a: v_mfma_f32_32x32x4bf16_1k
    static const std::regex pattern(
        "v_(s?)mfmac?_(f32|f64|i32)_([0-9]+)x[0-9]+x([0-9]+)(_?)(?:([0-9]+)b_)?"
        "(f64|f32|xf32|f16|bf16|fp8|bf8|i8)(?:_(fp8|bf8|1k))?");
    std::smatch part;
    if (!std::regex_match(name, part, pattern)) throw std::invalid_argument(name);
    sparse = part[1].length() > 0;
    result_words = part[2] == "f64" ? 2 : 1;
    size = std::stoi(part[3]);
    k = std::stoi(part[4]);
    is_new = part[5].length() > 0;
    a_type = b_type = part[7];
    const std::string last = part[8];
    if (last == "fp8" || last == "bf8") b_type = last;
    bits = a_type == "f64" ? 64 : a_type.ends_with("f32") ? 32 : a_type.ends_with("f16") ? 16 : 8;
    if (is_new) {
      blocks = part[6].matched ? std::stoi(part[6]) : 1;
    } else if (a_type == "f64") {
      blocks = size == 4 ? 4 : 1;
    } else {  // gfx90a's names do not contain it; blocks fill the wave
      const int of_a_lane = a_type == "f32" ? 1 : a_type == "bf16" && last != "1k" ? 2 : 4;
      blocks = 64 * of_a_lane / (size * k);
    }
  }

  std::string arch() const { return is_new ? "gfx942" : "gfx90a"; }
  /// Returns the number of elements of a lane.
  int a_count() const { return b_count() / (sparse ? 2 : 1); }
  int b_count() const { return size * k * blocks / 64; }
  int d_count() const { return size * size * blocks / 64; }

  // ---- A and B: lanes hold rows of A (columns of B) side by side, then blocks, then groups of k.

  int row(int lane) const { return lane % size; }
  int block(int lane) const { return lane / size % blocks; }
  int group(int lane) const { return lane / (size * blocks); }

  // ---- C and D: columns lie in lanes, rows in registers and in groups of lanes.

  struct Place {
    int first, lane;  ///< first register of the lane
  };
  Place place_of_d(int block, int i, int j) const {
    const bool f64 = result_words == 2;
    if (f64 && size == 4) return {0, 16 * i + 4 * block + j};
    if (f64) return {i / 4 * 2, i % 4 * 16 + j};
    if (size == 4) return {i, block * 4 + j};
    if (size == 16) return {block * 4 + i % 4, i / 4 * 16 + j};
    return {block * 16 + i / 8 * 4 + i % 4, i / 4 % 2 * 32 + j};
  }

  std::string name, a_type, b_type;
  int size, k, blocks, bits, result_words;
  bool sparse, is_new;
};

/// Returns the bits of a value in a type; also for a matrix instruction's result ("i32").
inline u64 encode(const std::string& type, double value) {
  if (type == "f64") return std::bit_cast<u64>(value);
  if (type == "f16") return f16_from_f32(float(value));
  if (type == "bf16") return bf16_from_f32(float(value));
  if (type == "fp8") return fp8_from_f32(float(value));
  if (type == "bf8") return bf8_from_f32(float(value));
  if (type == "i8") return u8(i8(value));
  if (type == "i32") return u32(i32(value));
  return std::bit_cast<u32>(float(value));
}

}  // namespace mi300x
