// AMD assembly, from a compiler or a disassembler, as a list of instructions per function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::occupancy {

/// An instruction of a disassembler's listing.
struct Instruction {
  std::string_view name;      ///< "global_load_dwordx4"
  std::string_view operands;  ///< "v[0:3], v4, s[2:3]"
  std::string_view comment;   ///< the text after ";" or "//"
  bool in_loop = false;       ///< it lies between a backward branch and its target
};

struct Function {
  std::string_view name;
  std::vector<Instruction> code;  ///< in the order of addresses
  unsigned loops = 0;             ///< distinct targets of backward branches
};

/// Returns the functions in `text`, except those without instructions. Text before the first name
/// and padding at a function's end are skipped. The result points into `text`.
std::vector<Function> read_listing(std::string_view text);

}  // namespace assay::occupancy
