// Layouts of matrix instructions against AMD's calculator (../shared/data/mfma). One element of A
// or B at a time is set to one; the position of the product reveals its row, column and k.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hand_made_wave.h"

namespace mi300x {
namespace {

/// One line of a table: which element of a matrix a lane's register, or part of it, holds.
struct Place {
  char matrix;
  unsigned lane, first, bit;  ///< of the first register and of the element in it
  int row, column;
};

std::vector<Place> read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Place> places;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::istringstream fields(line);
    std::string matrix, lane, name, row, column;
    std::getline(fields, matrix, ',');
    std::getline(fields, lane, ',');
    std::getline(fields, name, ',');
    std::getline(fields, row, ',');
    std::getline(fields, column, ',');
    Place place{matrix[0], unsigned(std::stoul(lane)), 0, 0, std::stoi(row), std::stoi(column)};
    if (name.starts_with("v[")) {  // v[1:0]: 64 bits, the lower register last
      place.first = unsigned(std::stoul(name.substr(name.find(':') + 1)));
    } else {  // v0 or v0.[15:8]
      place.first = unsigned(std::stoul(name.substr(1)));
      if (const auto part = name.find(':'); part != std::string::npos)
        place.bit = unsigned(std::stoul(name.substr(part + 1)));
    }
    places.push_back(place);
  }
  return places;
}

struct One {
  unsigned words;
  u64 in, out;  ///< bits of 1 in A and B, in D
};
One one_of(const std::string& name) {
  if (name.find("f64") != std::string::npos)
    return {2, std::bit_cast<u64>(1.0), std::bit_cast<u64>(1.0)};
  const u32 one = std::bit_cast<u32>(1.0f);
  if (name.find("i8") != std::string::npos) return {1, 1, 1};
  if (name.find("fp8") != std::string::npos) return {1, 0x40, one};
  if (name.find("bf16") != std::string::npos) return {1, 0x3F80, one};
  if (name.ends_with("f16")) return {1, 0x3C00, one};
  return {1, one, one};
}

std::string range(char file, unsigned first, unsigned count) {
  if (count == 1) return file + std::to_string(first);
  return std::string(1, file) + "[" + std::to_string(first) + ":" +
         std::to_string(first + count - 1) + "]";
}

constexpr unsigned a_base = 0, b_base = 32, d_base = 64;

class Layout : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::filesystem::path path =
        std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/data/mfma" / (GetParam() + ".csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
    for (const Place& place : read_table(path)) places_[place.matrix].push_back(place);
    name_ = GetParam().substr(GetParam().find('_') + 1);
    arch_ = GetParam().starts_with("cdna2") ? "gfx90a" : "gfx942";
    one_ = one_of(name_);
    const auto words = [&](char matrix) {
      unsigned most = 0;
      for (const Place& place : places_[matrix]) most = std::max(most, place.first);
      return most + one_.words;
    };
    instruction_ =
        decode(name_ + " " + range('a', d_base, words('D')) + ", " +
                   range('v', a_base, words('A')) + ", " + range('v', b_base, words('B')) + ", 0",
               arch_);
  }
  void put_one(unsigned base, const Place& place) {
    for (unsigned word = 0; word < one_.words; ++word)
      wave_.wave.vector[base + place.first + word].lane[place.lane] |= u32(one_.in >> (32 * word))
                                                                       << place.bit;
  }
  void clear(unsigned base) {
    for (unsigned n = 0; n < 32; ++n) wave_.set(base + n, 0);
  }
  void execute() { instruction_.operation->execute(wave_.wave, instruction_); }
  u64 result(const Place& place) const {
    const unsigned index = first_accumulator + d_base + place.first;
    return one_.words == 2 ? wave_.get64(index, place.lane) : wave_.get(index, place.lane);
  }

  HandMadeWave wave_;
  std::map<char, std::vector<Place>> places_;
  std::string name_, arch_;
  One one_{};
  Instruction instruction_;
};

/// A holds a single 1 and B only ones, so D is 1 in the row of that element only.
TEST_P(Layout, RowsOfA) {
  clear(b_base);
  for (const Place& place : places_['B']) put_one(b_base, place);
  for (const Place& a : places_['A']) {
    clear(a_base);
    put_one(a_base, a);
    execute();
    for (const Place& d : places_['D'])
      ASSERT_EQ(result(d), d.row == a.row ? one_.out : 0)
          << "A lane " << a.lane << " register " << a.first << " bit " << a.bit << ", D lane "
          << d.lane << " register " << d.first;
  }
}

TEST_P(Layout, ColumnsOfB) {
  clear(a_base);
  for (const Place& place : places_['A']) put_one(a_base, place);
  for (const Place& b : places_['B']) {
    clear(b_base);
    put_one(b_base, b);
    execute();
    for (const Place& d : places_['D'])
      ASSERT_EQ(result(d), d.column == b.column ? one_.out : 0)
          << "B lane " << b.lane << " register " << b.first << " bit " << b.bit << ", D lane "
          << d.lane << " register " << d.first;
  }
}

/// An element of A is multiplied with exactly the elements of B that have the same k.
TEST_P(Layout, SameK) {
  for (const Place& a : places_['A']) {
    clear(a_base);
    put_one(a_base, a);
    clear(b_base);
    for (const Place& b : places_['B'])
      if (b.row == a.column) put_one(b_base, b);
    execute();
    for (const Place& d : places_['D']) ASSERT_EQ(result(d), d.row == a.row ? one_.out : 0);
    clear(b_base);
    for (const Place& b : places_['B'])
      if (b.row != a.column) put_one(b_base, b);
    execute();
    for (const Place& d : places_['D']) ASSERT_EQ(result(d), 0u);
  }
}

std::vector<std::string> tables() {
  return {"cdna2_v_mfma_f32_16x16x16bf16_1k",  "cdna2_v_mfma_f32_16x16x16f16",
          "cdna2_v_mfma_f32_32x32x8bf16_1k",   "cdna2_v_mfma_f32_32x32x8f16",
          "cdna3_v_mfma_f32_16x16x16_bf16",    "cdna3_v_mfma_f32_16x16x16_f16",
          "cdna3_v_mfma_f32_16x16x32_fp8_fp8", "cdna3_v_mfma_f32_16x16x4_f32",
          "cdna3_v_mfma_f32_16x16x8_xf32",     "cdna3_v_mfma_f32_32x32x16_fp8_fp8",
          "cdna3_v_mfma_f32_32x32x2_f32",      "cdna3_v_mfma_f32_32x32x8_bf16",
          "cdna3_v_mfma_f32_32x32x8_f16",      "cdna3_v_mfma_f64_16x16x4_f64",
          "cdna3_v_mfma_i32_16x16x32_i8",      "cdna3_v_mfma_i32_32x32x16_i8"};
}
INSTANTIATE_TEST_SUITE_P(Matrix, Layout, ::testing::ValuesIn(tables()),
                         [](const auto& info) { return info.param; });

/// A new table must be added to the list above.
TEST(MatrixLayout, EveryTableIsHeld) {
  const std::filesystem::path folder =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/data/mfma";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    found.push_back(entry.path().stem());
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(tables()));
}

}  // namespace
}  // namespace mi300x
