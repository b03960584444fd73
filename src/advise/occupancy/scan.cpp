#include "advise/occupancy/scan.h"

#include <algorithm>
#include <map>

#include "advise/occupancy/words.h"

namespace assay::occupancy {
namespace {

constexpr const char* isa_section =
    "AMD Instinct MI300X workload optimization, \"ISA assembly analysis\"";
constexpr const char* tiles_section =
    "AMD Instinct MI300X workload optimization, \"Auto-tunable kernel configurations\"";
constexpr const char* memory_section =
    "AMD Instinct MI300X workload optimization, \"Memory usage optimization\"";

/// The n-th part of a name split at underscores; empty beyond the last.
std::string_view part(std::string_view name, unsigned n) {
  for (; n > 0; --n) {
    const std::size_t end = name.find('_');
    if (end == std::string_view::npos) return {};
    name.remove_prefix(end + 1);
  }
  return name.substr(0, name.find('_'));
}

/// Bytes per lane of "dwordx4", "b128", "ubyte", "u16"; 0 for anything else.
unsigned bytes_of(std::string_view type) {
  static const std::map<std::string_view, unsigned> known = {
      {"byte", 1}, {"ubyte", 1},    {"sbyte", 1},  {"u8", 1},       {"i8", 1},
      {"b8", 1},   {"short", 2},    {"ushort", 2}, {"sshort", 2},   {"u16", 2},
      {"i16", 2},  {"b16", 2},      {"dword", 4},  {"b32", 4},      {"dwordx2", 8},
      {"b64", 8},  {"dwordx3", 12}, {"b96", 12},   {"dwordx4", 16}, {"b128", 16}};
  const auto at = known.find(type);
  return at == known.end() ? 0 : at->second;
}

bool begins(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Whether an instruction accesses scratch. gfx908 and gfx90a use the buffer descriptor that the
/// driver puts in s[0:3]; later processors have scratch instructions.
bool is_scratch(const Instruction& instruction, const KernelUse& use, std::string_view arch) {
  if (begins(instruction.name, {"scratch_load", "scratch_store"})) return true;
  return (arch == "gfx908" || arch == "gfx90a") && use.scratch_bytes > 0 &&
         begins(instruction.name, {"buffer_load", "buffer_store"}) &&
         instruction.operands.find("s[0:3]") != std::string_view::npos;
}

/// The shape in an instruction's name: "f32_16x16x16_f16" in "v_mfma_f32_16x16x16_f16".
std::string_view mfma_shape(std::string_view name) {
  for (const std::string_view prefix : {"v_mfma_", "v_smfmac_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

class Tally {
 public:
  void add(const std::string& topic, std::string_view what, unsigned bytes, bool in_loop) {
    Finding& finding = by_name_[{topic, std::string(what)}];
    finding.topic = topic;
    finding.what = what;
    finding.bytes = bytes;
    ++finding.count;
    finding.in_loops += in_loop ? 1 : 0;
  }

  std::vector<Finding> findings() const {
    std::vector<Finding> list;
    for (const auto& [name, finding] : by_name_) list.push_back(finding);
    return list;
  }

 private:
  std::map<std::pair<std::string, std::string>, Finding> by_name_;
};

void look_at(const Instruction& instruction, const KernelUse& use, std::string_view arch,
             Tally& tally) {
  const std::string_view name = instruction.name;
  const bool in_loop = instruction.in_loop;
  if (is_scratch(instruction, use, arch)) {
    tally.add("scratch", name, bytes_of(part(name, 2)), in_loop);
  } else if (begins(name, {"global_load", "buffer_load", "flat_load"})) {
    const std::string_view type = part(name, 2);
    const unsigned bytes = bytes_of(type == "lds" ? part(name, 3) : type);
    if (bytes > 0) tally.add("global load", name, bytes, in_loop);
  } else if (begins(name, {"ds_read", "ds_write", "ds_load", "ds_store"})) {
    const bool two = begins(name, {"ds_read2", "ds_write2", "ds_load_2addr", "ds_store_2addr"});
    unsigned bytes = bytes_of(part(name, 2));
    if (bytes == 0) bytes = bytes_of(part(name, 3));  // ds_load_2addr_b32, ds_read_addtid_b32
    tally.add("LDS", name, two ? 2 * bytes : bytes, in_loop);
  } else if (const std::string_view shape = mfma_shape(name); !shape.empty()) {
    tally.add("MFMA", shape, 0, in_loop);
  } else if (name == "s_waitcnt") {
    for (const std::string_view counter : {"vmcnt(0)", "lgkmcnt(0)"}) {
      if (instruction.operands.find(counter) != std::string_view::npos) {
        tally.add("wait", counter, 0, in_loop);
      }
    }
  }
}

void advise(Finding& finding, bool has_loops) {
  const bool matters = finding.in_loops > 0 || !has_loops;
  const auto say = [&](const char* advice, const char* source) {
    finding.advice = advice;
    finding.source = source;
  };
  if (finding.topic == "global load" && finding.bytes < 16 && matters) {
    say("load 16 bytes per lane with global_load_dwordx4: consecutive elements for each lane, "
        "pointers aligned to 16",
        isa_section);
  } else if (finding.topic == "LDS" && finding.bytes < 16 && matters) {
    say("use the _b128 forms: lay out LDS so that each lane accesses 16 bytes aligned to 16",
        isa_section);
  } else if (finding.topic == "MFMA" && finding.what.find("32x32") != std::string::npos) {
    say("on MI300X mfma_16x16 is typically faster than mfma_32x32, even for large tiles "
        "(matrix_instr_nonkdim = 16)",
        tiles_section);
  } else if (finding.topic == "wait" && finding.in_loops > 0) {
    say(finding.what == "vmcnt(0)"
            ? "every iteration waits for all its loads: load the next tile before computing on "
              "this one, so that vmcnt(n > 0) is enough"
            : "every iteration waits for all LDS and scalar accesses: read ahead, so that "
              "lgkmcnt(n > 0) is enough",
        isa_section);
  } else if (finding.topic == "scratch") {
    say("registers are spilled, or arrays are indexed at run time: both go to memory; make tiles "
        "smaller, unroll less, or let fewer waves share the registers",
        memory_section);
  }
}

}  // namespace

Scan scan(const Function& function, const KernelUse& use, std::string_view arch) {
  Scan result;
  result.instructions = static_cast<unsigned>(function.code.size());
  result.loops = function.loops;
  Tally tally;
  for (const Instruction& instruction : function.code) {
    look_at(instruction, use, arch, tally);
    if (instruction.name == "s_swappc_b64") result.calls = true;
  }
  result.findings = tally.findings();
  for (Finding& finding : result.findings) advise(finding, result.loops > 0);
  return result;
}

}  // namespace assay::occupancy
