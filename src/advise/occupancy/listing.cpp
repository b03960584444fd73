#include "advise/occupancy/listing.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "advise/occupancy/words.h"
#include "core/text.h"

namespace assay::occupancy {
namespace {

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A function being built, with the positions of its labels and addresses.
struct Builder {
  Function function;
  std::map<std::string_view, std::size_t> labels;
  std::map<std::uint64_t, std::size_t> addresses;

  void add(Instruction instruction) {
    // A disassembler's comment begins with the address: "000000001C08: 24000082".
    const std::size_t colon = instruction.comment.find(':');
    if (colon != std::string_view::npos) {
      if (const auto address = hexadecimal(instruction.comment.substr(0, colon))) {
        addresses[*address] = function.code.size();
      }
    }
    function.code.push_back(instruction);
  }

  std::optional<std::uint64_t> address_of(const Instruction& instruction) const {
    return hexadecimal(instruction.comment.substr(0, instruction.comment.find(':')));
  }

  /// The target of a branch: a label in a compiler's text, and in a disassembler's the number of
  /// 4-byte words from the next instruction.
  std::optional<std::size_t> target_of(const Instruction& branch) const {
    const auto label = labels.find(branch.operands);
    if (label != labels.end()) return label->second;
    const auto words = leading_number(branch.operands);
    const auto from = address_of(branch);
    if (!words || !from || *words > UINT16_MAX) return std::nullopt;
    const auto distance = static_cast<std::int16_t>(*words);
    const auto at =
        addresses.find(*from + 4 + static_cast<std::uint64_t>(4 * std::int64_t{distance}));
    if (at == addresses.end()) return std::nullopt;
    return at->second;
  }

  /// Marks loops: the code from an earlier target to its branch.
  void mark_loops() {
    std::vector<int> depth_change(function.code.size() + 1, 0);
    std::set<std::size_t> targets;
    for (std::size_t i = 0; i < function.code.size(); ++i) {
      const Instruction& instruction = function.code[i];
      if (!instruction.name.starts_with("s_branch") && !instruction.name.starts_with("s_cbranch")) {
        continue;
      }
      const auto target = target_of(instruction);
      if (!target || *target > i) continue;
      ++depth_change[*target];
      --depth_change[i + 1];
      targets.insert(*target);
    }
    int depth = 0;
    for (std::size_t i = 0; i < function.code.size(); ++i) {
      depth += depth_change[i];
      function.code[i].in_loop = depth > 0;
    }
    function.loops = static_cast<unsigned>(targets.size());
  }
};

/// The name in a disassembler's line: "plain" in "0000000000001c00 <plain>:".
std::optional<std::string_view> disassembled_name(std::string_view line) {
  const std::size_t open = line.find(" <");
  if (open == std::string_view::npos || !line.ends_with(">:")) return std::nullopt;
  if (!hexadecimal(line.substr(0, open))) return std::nullopt;
  return line.substr(open + 2, line.size() - open - 4);
}

bool is_local(std::string_view label) {
  return label.starts_with(".L") || label.starts_with("BB") || label.starts_with("$");
}

struct Line {
  std::string_view text, comment;
};

Line split_comment(std::string_view line) {
  const std::size_t at = std::min(line.find(';'), line.find("//"));
  if (at == std::string_view::npos) return {trim(line), {}};
  return {trim(line.substr(0, at)), trim(line.substr(at + (line[at] == ';' ? 1 : 2)))};
}

}  // namespace

std::vector<Function> read_listing(std::string_view text) {
  std::vector<Function> functions;
  Builder current;
  const auto finish = [&] {
    std::vector<Instruction>& code = current.function.code;
    // Removes the padding before the next function.
    while (!code.empty() && (code.back().name == "s_nop" || code.back().name == "s_code_end")) {
      code.pop_back();
    }
    current.mark_loops();
    if (!code.empty() && !current.function.name.empty())
      functions.push_back(std::move(current.function));
    current = Builder();
  };
  while (!text.empty()) {
    const Line line = split_comment(next_line(text));
    if (line.text.empty()) continue;
    if (const auto name = disassembled_name(line.text)) {
      finish();
      current.function.name = *name;
    } else if (line.text.ends_with(':') &&
               line.text.find_first_of(" \t") == std::string_view::npos) {
      const std::string_view label = line.text.substr(0, line.text.size() - 1);
      if (is_local(label)) {
        current.labels[label] = current.function.code.size();
      } else {
        finish();
        current.function.name = label;
      }
    } else if (line.text.front() != '.') {
      std::string_view rest = line.text;
      const std::string_view mnemonic = next_word(rest);
      current.add({mnemonic, trim(rest), line.comment, false});
    }
  }
  finish();
  return functions;
}

}  // namespace assay::occupancy
