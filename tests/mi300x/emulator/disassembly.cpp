#include "emulator/disassembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "advise/occupancy/tool.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "emulator/fault.h"

namespace mi300x {
namespace {

std::string find_disassembler() {
  if (const char* named = std::getenv("MI300X_OBJDUMP")) return named;
  for (const char* name : {"llvm-objdump-19", "llvm-objdump"}) {
    const assay::occupancy::ToolPlaces places = {
        name, {"/usr/lib/llvm-19/bin/llvm-objdump"}, {}, {}};
    if (const auto found = assay::occupancy::find_tool(places)) return *found;
  }
  throw Fault(FaultKind::invalid_launch,
              "no disassembler: looked for llvm-objdump-19 and llvm-objdump on PATH and for "
              "/usr/lib/llvm-19/bin/llvm-objdump; install the package llvm-19, or name a file with "
              "MI300X_OBJDUMP");
}

std::string_view trimmed_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// A branch to a label that the object names, "s_branch done", with the number that is in its code,
/// as it is printed otherwise. `words`: ": BF82000D".
std::string with_number(std::string_view text, std::string_view words) {
  const std::size_t blank = text.find(' ');
  const bool branches = text.starts_with("s_branch ") || text.starts_with("s_cbranch_");
  constexpr std::string_view digits = "0123456789";
  if (!branches || digits.find(text[blank + 1]) != digits.npos) return std::string(text);
  unsigned number = 0;
  std::from_chars(words.data() + words.size() - 4, words.data() + words.size(), number, 16);
  return fmt::format("{} {}", text.substr(0, blank), number);
}

/// "s_nop 0   // 000000001700: BF800000 <kernel+0x4>"
DisassembledLine read_instruction(std::string_view line, std::string_view source) {
  DisassembledLine read;
  const std::size_t comment = line.find("// ");
  const std::size_t colon = line.find(':', comment);
  if (comment == std::string_view::npos || colon == std::string_view::npos) {
    throw Fault(FaultKind::invalid_launch,
                fmt::format("the disassembly has a line without address: '{}'", line));
  }
  std::from_chars(line.data() + comment + 3, line.data() + colon, read.address, 16);
  const std::string_view words = trimmed_end(line.substr(colon, line.find('<', colon) - colon));
  read.text = with_number(trimmed_end(line.substr(0, comment)), words);
  constexpr std::size_t printed_word = 9;  // a blank and eight digits
  read.bytes = static_cast<u32>(4 * (words.size() / printed_word));
  read.source = source;
  return read;
}

/// "/work/memory.cu:42" becomes "memory.cu:42".
std::string_view file_and_line(std::string_view place) {
  const std::size_t slash = place.rfind('/');
  return slash == std::string_view::npos ? place : place.substr(slash + 1);
}

/// What `tool` prints of `file`; it takes longer to start than most kernels here run, so other
/// processes find it in $XDG_CACHE_HOME.
std::string disassembly_text(const std::string& tool, std::string_view file,
                             const std::string& arch) {
  std::error_code unknown;
  const auto written = std::filesystem::last_write_time(tool, unknown).time_since_epoch().count();
  const char* const caches = std::getenv("XDG_CACHE_HOME");
  const std::filesystem::path folder =
      std::filesystem::path(caches == nullptr ? "" : caches) / "disassembly";
  const std::filesystem::path kept =
      folder / fmt::format("{}-{:x}-{:x}", arch, std::hash<std::string_view>()(file),
                           std::hash<std::string>()(fmt::format("{} {}", tool, written)));
  if (caches != nullptr) {
    if (auto text = assay::read_file(kept)) return std::move(*text);
  }
  const std::vector<std::string> arguments = {"-d", "-l", "--mcpu=" + arch,
                                              assay::occupancy::tool_input};
  auto output = assay::occupancy::run_tool(tool, arguments, file);
  if (!output.ok()) throw Fault(FaultKind::invalid_launch, output.error().message);
  if (caches != nullptr) {
    std::filesystem::create_directories(folder, unknown);
    (void)assay::write_file(kept, output->text);  // else the next process disassembles, too
  }
  return std::move(output->text);
}

}  // namespace

Disassembly read_disassembly(std::string_view text) {
  Disassembly lines;
  std::string_view source;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('\t')) {
      lines.push_back(read_instruction(line.substr(1), source));
    } else if (line.starts_with("; ") && !line.ends_with(':')) {
      source = file_and_line(line.substr(2));
    } else if (line.ends_with(">:")) {
      source = {};  // another function
    }
  }
  return lines;
}

std::shared_ptr<const Disassembly> disassemble(std::string_view file, const std::string& arch) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::shared_ptr<const Disassembly>> known;
  const std::lock_guard lock(mutex);
  auto& lines = known[{arch, std::string(file)}];
  if (lines == nullptr) {
    lines = std::make_shared<const Disassembly>(
        read_disassembly(disassembly_text(find_disassembler(), file, arch)));
  }
  return lines;
}

}  // namespace mi300x
