// Tests the relations between the two instructions of a wait-state rule.
#include <algorithm>

#include "emulator/hazard_rules.h"

namespace mi300x {
namespace {

bool overlap(const RegisterRange& range, unsigned first, unsigned count) {
  return range.first < first + count && first < unsigned(range.first) + range.count;
}

/// Returns whether both lists contain one of the registers in [from, to).
bool share(const std::vector<RegisterRange>& one, const std::vector<RegisterRange>& other,
           unsigned from, unsigned to) {
  return std::any_of(one.begin(), one.end(), [&](const RegisterRange& range) {
    return range.first >= from && range.first < to && touches(other, range.first, range.count);
  });
}
bool share_vector(const std::vector<RegisterRange>& one, const std::vector<RegisterRange>& other) {
  return share(one, other, 0, first_scalar);
}
/// EXEC is excluded, because it has separate rules.
bool share_scalar(const std::vector<RegisterRange>& one, const std::vector<RegisterRange>& other) {
  return share(one, other, first_scalar, first_scalar + scalar::exec);
}
bool has_vector(const std::vector<RegisterRange>& ranges) {
  return touches(ranges, 0, first_scalar);
}
bool has_scalar(const std::vector<RegisterRange>& ranges) {
  return touches(ranges, first_scalar, scalar::exec);
}

bool writes_operand(const Instruction& first, const Operand& operand, OperandKind kind) {
  if (operand.kind != kind) return false;
  const unsigned base = kind == OperandKind::scalar ? first_scalar : 0;
  return touches(first.writes, base + operand.index, operand.words);
}

/// Returns C of a matrix instruction: src2, or for a sparse one its accumulator.
const Operand& matrix_c(const Instruction& instruction) {
  return instruction.operation->reads_target ? instruction.targets[0] : instruction.sources[2];
}
}  // namespace

bool touches(const std::vector<RegisterRange>& ranges, unsigned first, unsigned count) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const RegisterRange& range) { return overlap(range, first, count); });
}

bool meet(Meeting meeting, const Instruction& first, const Instruction& second) {
  constexpr OperandKind vector = OperandKind::vector;
  const auto& a = second.sources[0];
  const auto& b = second.sources[1];
  switch (meeting) {
    case Meeting::always:
      return true;
    case Meeting::scalar_read:
      return share_scalar(first.writes, second.reads);
    case Meeting::select_read:
      return writes_operand(first, b, OperandKind::scalar);
    case Meeting::vector_read:
      return share_vector(first.writes, second.reads);
    case Meeting::vector_written:
      return share_vector(first.writes, second.writes);
    case Meeting::read_as_ab:
      return writes_operand(first, a, vector) || writes_operand(first, b, vector) ||
             (second.operation->reads_target && writes_operand(first, second.sources[2], vector));
    case Meeting::read_as_same_c:
    case Meeting::read_as_other_c: {
      const Operand& c = matrix_c(second);
      const Operand& d = first.targets[0];
      const bool same = c.kind == d.kind && c.index == d.index && c.words == d.words;
      return writes_operand(first, c, vector) && same == (meeting == Meeting::read_as_same_c);
    }
    case Meeting::c_written: {
      const Operand& c = matrix_c(first);
      return c.kind == vector && touches(second.writes, c.index, c.words);
    }
    case Meeting::data_written:
      for (const Operand& source : first.sources)
        if (source.kind == vector && source.words > 2 &&
            touches(second.writes, source.index, source.words))
          return true;
      return false;
    case Meeting::same_register:
      return (first.immediate & 63) == (second.immediate & 63);
    case Meeting::read_as_product:
      if (first.operation != second.operation) return share_vector(first.writes, second.reads);
      return writes_operand(first, a, vector) || writes_operand(first, b, vector);
    case Meeting::written_by_other:
      return first.operation != second.operation && share_vector(first.writes, second.writes);
  }
  return false;
}

bool can_begin(Meeting meeting, const Instruction& instruction) {
  switch (meeting) {
    case Meeting::always:
    case Meeting::same_register:
    case Meeting::data_written:  // what it reads of them its trait says
    case Meeting::c_written:
      return true;
    case Meeting::scalar_read:
    case Meeting::select_read:
      return has_scalar(instruction.writes);
    default:
      return has_vector(instruction.writes);
  }
}

bool can_end(Meeting meeting, const Instruction& instruction) {
  switch (meeting) {
    case Meeting::always:
    case Meeting::same_register:
      return true;
    case Meeting::scalar_read:
    case Meeting::select_read:
      return has_scalar(instruction.reads);
    case Meeting::vector_written:
    case Meeting::c_written:
    case Meeting::data_written:
    case Meeting::written_by_other:
      return has_vector(instruction.writes);
    default:
      return has_vector(instruction.reads);
  }
}

}  // namespace mi300x
