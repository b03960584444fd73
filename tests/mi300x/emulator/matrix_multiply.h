// Executes a matrix instruction: operands from registers to matrices, sums, and back. EXEC is
// ignored; every operand may be in VGPRs or accumulation VGPRs.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "emulator/aligned_sums.h"
#include "emulator/fault.h"
#include "emulator/small_floats.h"
#include "emulator/wave.h"

namespace mi300x::matrix {

enum class Element : u8 { f64, f32, xf32, f16, bf16, fp8, bf8, i8 };

/// How products are added; see matrix_sums.h.
enum class Sum : u8 { in_turn, in_pairs, in_fours, aligned };

/// The meaning of the modifiers cbsz, abid and blgp for an instruction; other uses are refused.
enum class Broadcast : u8 {
  none,
  lanes_of_b,        ///< blgp
  lanes_and_blocks,  ///< blgp; cbsz and abid choose A's block
  negation,          ///< the bits of blgp negate A, B, C: f64 of gfx942
  set_of_indices,    ///< abid chooses among the indices of a sparse A
};

/// An instruction's geometry: A is size x k, B is k x size, `blocks` of them at once.
struct Shape {
  int size, k, blocks;
  Element a, b;
  Sum sum;
  Broadcast broadcast;
  bool sparse = false;  ///< A keeps 2 of 4 neighbours; src2 holds their indices

  constexpr int element_bits() const {
    return a == Element::f64                         ? 64
           : a == Element::f32 || a == Element::xf32 ? 32
           : a == Element::f16 || a == Element::bf16 ? 16
                                                     : 8;
  }
  constexpr int depth() const { return sparse ? k / 2 : k; }  ///< kept values of a row of A
};

template <Shape shape>
using Value = std::conditional_t<shape.a == Element::f64, double,
                                 std::conditional_t<shape.a == Element::i8, i32, float>>;
template <Shape shape>
using BlockOf = Block<Value<shape>, shape.size, shape.depth(), shape.k>;

[[noreturn]] inline void refuse(const Instruction& instruction, const char* what) {
  throw Fault(FaultKind::unknown_instruction, std::string(what) + ": " + instruction.text);
}

// ---- Elements ----

/// Returns the values of all codes of fp8 or bf8.
template <class Format>
inline const std::array<float, 256> byte_values = [] {
  std::array<float, 256> values;
  for (u32 code = 0; code < 256; ++code) values[code] = widen<Format>(code);
  return values;
}();

constexpr int least_exponent(Element element) {
  return element == Element::f16   ? -14
         : element == Element::fp8 ? -7
         : element == Element::bf8 ? -15
                                   : -126;
}

/// Returns element `n` of the elements that a lane holds in registers from `first` on.
template <Element element>
auto element_at(const Lanes* first, int lane, int n) {
  if constexpr (element == Element::f64) {
    return std::bit_cast<double>(u64{first[2 * n + 1].lane[lane]} << 32 | first[2 * n].lane[lane]);
  } else if constexpr (element == Element::f32) {
    return std::bit_cast<float>(first[n].lane[lane]);
  } else if constexpr (element == Element::xf32) {  // 10 bits of fraction; the others are cut off
    return std::bit_cast<float>(first[n].lane[lane] & 0xFFFFE000);
  } else if constexpr (element == Element::f16 || element == Element::bf16) {
    const u16 code = u16(first[n / 2].lane[lane] >> (n % 2 * 16));
    return element == Element::f16 ? f32_from_f16(code) : f32_from_bf16(code);
  } else {
    const u8 code = u8(first[n / 4].lane[lane] >> (n % 4 * 8));
    if constexpr (element == Element::i8) return i32{i8(code)};
    if constexpr (element == Element::fp8) return byte_values<Fp8>[code];
    if constexpr (element == Element::bf8) return byte_values<Bf8>[code];
  }
}

/// CDNA 2 reads f16 and bf16 below the least normal value as +0.
template <Shape shape, class T>
T as_read(T value, Element element) {
  if constexpr (shape.sum == Sum::in_pairs || shape.sum == Sum::in_fours)
    if (std::fabs(value) < (element == Element::f16 ? 0x1p-14f : 0x1p-126f)) return 0;
  return value;
}

// ---- Layouts ----

/// Lanes hold rows of A (columns of B) side by side, then blocks, then groups of k.
template <Shape shape>
struct Place {
  explicit Place(int lane)
      : row(lane % shape.size),
        block(lane / shape.size % shape.blocks),
        group(lane / (shape.size * shape.blocks)) {}
  int row, block, group;
};

/// C and D: a register holds one row of some lanes' columns. With 32-bit elements, four
/// neighbouring rows follow each other in registers; with f64 they are 64 / size rows apart.
template <Shape shape, class Body>
void for_each_row(Body body) {
  constexpr int size = shape.size, per_register = 64 / size;
  constexpr int elements = size * size * shape.blocks / 64;
  for (int element = 0; element < elements; ++element)
    for (int part = 0; part < per_register; ++part) {
      if constexpr (shape.a == Element::f64) {
        const int line = element * per_register + part;
        body(element, part * size, line % shape.blocks, line / shape.blocks);
      } else {
        const int line = element / 4 * per_register + part;
        body(element, part * size, line / (size / 4), line % (size / 4) * 4 + element % 4);
      }
    }
}

inline int lane_after_pattern(int lane, unsigned blgp) {
  switch (blgp) {
    case 0:
      return lane;
    case 1:
      return lane % 32;
    case 2:
      return lane % 32 + 32;
    case 3:
      return (lane + 16) % 64;
    default:
      return (int(blgp) - 4) * 16 + lane % 16;
  }
}

// ---- Operands ----

inline const Lanes* registers(const Wave& wave, const Instruction& instruction,
                              const Operand& operand) {
  if (operand.kind != OperandKind::vector) refuse(instruction, "matrix operand in no register");
  return wave.vector + operand.index;
}

template <Shape shape>
void check_modifiers(const Instruction& instruction) {
  const unsigned cbsz = instruction.cbsz, abid = instruction.abid;
  bool known = !instruction.clamp;
  switch (shape.broadcast) {
    case Broadcast::none:
      known &= cbsz == 0 && abid == 0 && instruction.blgp == 0;
      break;
    case Broadcast::negation:
    case Broadcast::lanes_of_b:
      known &= cbsz == 0 && abid == 0;
      break;
    case Broadcast::lanes_and_blocks:
      known &= (1u << cbsz) <= unsigned(shape.blocks) && abid < (1u << cbsz);
      break;
    case Broadcast::set_of_indices:
      known &= instruction.blgp == 0 && abid * unsigned(shape.element_bits() == 8 ? 2 : 1) < 4;
      break;
  }
  if (!known) refuse(instruction, "modifier without meaning to this instruction");
}

/// Converts the elements of all lanes for the sums: values[n][lane] is a lane's element n.
template <Shape shape, Element element, int per_lane>
void read_elements(const Lanes* first, Value<shape> (&values)[per_lane][wave_lanes]) {
  for (int n = 0; n < per_lane; ++n)
    for (int lane = 0; lane < 64; ++lane)
      values[n][lane] = as_read<shape>(element_at<element>(first, lane, n), element);
}

template <Shape shape>
void read_a(const Wave& wave, const Instruction& instruction, BlockOf<shape>* blocks) {
  constexpr int per_lane = shape.size * shape.depth() * shape.blocks / 64;
  Value<shape> values[per_lane][wave_lanes];
  read_elements<shape, shape.a>(registers(wave, instruction, instruction.sources[0]), values);
  for (int lane = 0; lane < 64; ++lane) {
    const Place<shape> place(lane);
    for (int n = 0; n < per_lane; ++n)
      blocks[place.block].a[place.row][place.group * per_lane + n] = values[n][lane];
  }
  if constexpr (shape.broadcast == Broadcast::lanes_and_blocks)
    if (instruction.cbsz != 0)
      for (int block = 0; block < shape.blocks; ++block) {
        const int source = (block >> instruction.cbsz << instruction.cbsz) + instruction.abid;
        std::memmove(blocks[block].a, blocks[source].a, sizeof blocks[block].a);
      }
}

template <Shape shape>
void read_b(const Wave& wave, const Instruction& instruction, BlockOf<shape>* blocks) {
  constexpr int per_lane = shape.size * shape.k * shape.blocks / 64;
  Value<shape> values[per_lane][wave_lanes];
  read_elements<shape, shape.b>(registers(wave, instruction, instruction.sources[1]), values);
  if (const unsigned pattern = shape.broadcast == Broadcast::negation ? 0 : instruction.blgp)
    for (auto& elements : values) {
      Value<shape> moved[wave_lanes];
      for (int lane = 0; lane < 64; ++lane)
        moved[lane] = elements[lane_after_pattern(lane, pattern)];
      std::memcpy(elements, moved, sizeof moved);
    }
  for (int lane = 0; lane < 64; lane += shape.size) {  // its neighbours hold a row of B
    const Place<shape> place(lane);
    for (int n = 0; n < per_lane; ++n) {
      auto& row = blocks[place.block].b[place.group * per_lane + n];
      std::memcpy(row, values[n] + lane, sizeof row);
    }
  }
}

/// Returns the row of B that is multiplied with each kept value of A. It is the value's own index;
/// for a sparse A it is 4 * (index / 2) + the 2 bits that src2's lane has for it.
template <Shape shape>
void read_rows_of_b(const Wave& wave, const Instruction& instruction, BlockOf<shape>* blocks) {
  constexpr int depth = shape.depth();
  if constexpr (shape.sparse) {
    const Lanes* first = registers(wave, instruction, instruction.sources[2]);
    constexpr int per_lane = shape.size * depth / 64;
    const unsigned set = instruction.cbsz == 0 ? instruction.abid : 0;
    for (int lane = 0; lane < 64; ++lane) {
      const Place<shape> place(lane);
      const u32 indices = first->lane[lane] >> (set * per_lane * 2);
      for (int n = 0; n < per_lane; ++n) {
        const int number = place.group * per_lane + n;
        blocks->row_of_b[place.row][number] = u8(number / 2 * 4 + (indices >> (2 * n) & 3));
      }
    }
  } else {
    for (int block = 0; block < shape.blocks; ++block)
      for (auto& row : blocks[block].row_of_b)
        for (int number = 0; number < depth; ++number) row[number] = u8(number);
  }
}

template <Shape shape>
void read_c(const Wave& wave, const Instruction& instruction, BlockOf<shape>* blocks) {
  using T = Value<shape>;
  const Operand& operand = shape.sparse ? instruction.targets[0] : instruction.sources[2];
  if (operand.kind == OperandKind::constant) {
    T value;
    std::memcpy(&value, &operand.constant, sizeof value);
    for (int block = 0; block < shape.blocks; ++block)
      for (auto& row : blocks[block].c)
        for (T& element : row) element = value;
    return;
  }
  const Lanes* first = registers(wave, instruction, operand);
  for_each_row<shape>([&](int element, int lane, int block, int row) {
    for (int j = 0; j < shape.size; ++j)
      if constexpr (shape.a == Element::f64)
        blocks[block].c[row][j] = element_at<Element::f64>(first, lane + j, element);
      else
        blocks[block].c[row][j] = std::bit_cast<T>(first[element].lane[lane + j]);
  });
}

/// Writes a NaN as the quiet one that the chip's own operations make.
template <Shape shape>
void write_d(const Wave& wave, const Instruction& instruction, const BlockOf<shape>* blocks) {
  const Operand& operand = instruction.targets[0];
  if (operand.kind != OperandKind::vector) refuse(instruction, "matrix result in no register");
  Lanes* first = wave.vector + operand.index;
  for_each_row<shape>([&](int element, int lane, int block, int row) {
    for (int j = 0; j < shape.size; ++j) {
      const auto value = blocks[block].c[row][j];
      if constexpr (shape.a == Element::f64) {
        const u64 bits = value != value ? 0x7FF8000000000000 : std::bit_cast<u64>(value);
        first[2 * element].lane[lane + j] = u32(bits);
        first[2 * element + 1].lane[lane + j] = u32(bits >> 32);
      } else {
        const u32 bits = value != value ? 0x7FC00000 : std::bit_cast<u32>(value);
        first[element].lane[lane + j] = bits;
      }
    }
  });
}

// ---- Execution ----

template <Shape shape>
void add_products(BlockOf<shape>& block) {
  if constexpr (shape.sum == Sum::in_turn)
    add_in_turn(block);
  else if constexpr (shape.sum == Sum::in_pairs)
    add_in_pairs<2>(block);
  else if constexpr (shape.sum == Sum::in_fours)
    add_in_pairs<4>(block);
  else {
    constexpr int length = shape.element_bits() == 32 ? 4 : shape.element_bits() == 16 ? 8 : 16;
    add_aligned_products<length, shape.element_bits() == 8>(block, least_exponent(shape.a),
                                                            least_exponent(shape.b));
  }
}

template <Shape shape>
void multiply(Wave& wave, const Instruction& instruction) {
  check_modifiers<shape>(instruction);
  alignas(64) BlockOf<shape> blocks[shape.blocks];
  read_a<shape>(wave, instruction, blocks);
  read_b<shape>(wave, instruction, blocks);
  read_rows_of_b<shape>(wave, instruction, blocks);
  read_c<shape>(wave, instruction, blocks);
  if constexpr (shape.broadcast == Broadcast::negation)
    if (const unsigned negated = instruction.blgp)
      for (auto& block : blocks) {
        if ((negated ^ negated >> 1) & 1)  // negating both A and B changes nothing
          for (auto& row : block.a)
            for (auto& value : row) value = -value;
        if (negated & 4)
          for (auto& row : block.c)
            for (auto& value : row) value = -value;
      }
  for (auto& block : blocks) add_products<shape>(block);
  write_d<shape>(wave, instruction, blocks);
}

template <Shape shape>
void add(OperationTable& table, std::string_view name) {
  Operation operation;
  operation.name = name;
  operation.execute = multiply<shape>;
  operation.unit = Unit::matrix;
  const Type result = shape.a == Element::f64  ? Type::f64
                      : shape.a == Element::i8 ? Type::b32
                                               : Type::f32;
  operation.sources = {Type::b32, Type::b32, shape.sparse ? Type::b32 : result, Type::b32};
  operation.reads_target = shape.sparse;
  table.emplace(name, operation);
}

}  // namespace mi300x::matrix
