#include "advise/doctor/gpu_log/gpu_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "core/text.h"

namespace assay {
namespace {

constexpr std::size_t longest_field = 300;

/// Returns the text after the first `mark` of `text`; nullopt without one.
std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  return text.substr(at + mark.size());
}

/// Returns the beginning of `text` up to the first of the letters `ends`.
std::string until(std::string_view text, std::string_view ends) {
  return std::string(text.substr(0, std::min(text.find_first_of(ends), longest_field)));
}

bool is_hexadecimal(char letter) {
  return std::isxdigit(static_cast<unsigned char>(letter)) != 0;
}

/// Returns the first address of a PCI device in `line`, such as "0000:c6:00.0" or, in NVIDIA's
/// messages, "0000:1b:00"; empty without one.
std::string pci_address(std::string_view line) {
  constexpr std::string_view shape = "hhhh:hh:hh";
  for (std::size_t i = 0; i + shape.size() <= line.size(); ++i) {
    if (i > 0 && is_hexadecimal(line[i - 1])) continue;
    const bool fits = std::equal(
        shape.begin(), shape.end(), line.begin() + i,
        [](char wanted, char is) { return wanted == ':' ? is == ':' : is_hexadecimal(is); });
    if (!fits) continue;
    const std::size_t end = i + shape.size();
    const bool has_function =
        end + 1 < line.size() && line[end] == '.' && is_hexadecimal(line[end + 1]);
    return std::string(line.substr(i, shape.size() + (has_function ? 2 : 0)));
  }
  return {};
}

/// Returns "python3 (pid 3710)" of "process python3 pid 3710 thread ..."; empty without one.
std::string process_of(std::string_view line) {
  const auto rest = after(line, "rocess ");
  if (!rest) return {};
  const std::size_t pid = rest->find(" pid ");
  if (pid == rest->npos || pid == 0 || pid > longest_field) return {};
  const std::string number = until(rest->substr(pid + 5), " ,)");
  if (!is_digits(number) || number == "0") return {};
  return std::string(rest->substr(0, pid)) + " (pid " + number + ")";
}

std::string address_after(std::string_view line, std::string_view mark) {
  const auto rest = after(line, mark);
  if (!rest || !rest->starts_with("0x")) return {};
  std::string address = until(*rest, " .,;)");
  std::erase(address, '_');  // NVIDIA's groups of digits
  return address;
}

/// An Xid of NVIDIA's driver: "NVRM: Xid (PCI:0000:1b:00): 31, pid=1896, name=python3, Ch 8, ...".
std::optional<GpuLogEvent> xid_event(std::string_view line) {
  const auto in_parentheses = after(line, "Xid (");
  if (!in_parentheses || line.find("NVRM") == line.npos) return std::nullopt;
  const auto rest = after(*in_parentheses, "): ");
  if (!rest) return std::nullopt;
  const auto number = parse_count(until(*rest, ", "));
  if (!number || *number > 9999) return std::nullopt;
  GpuLogEvent event;
  event.message = &xid_message(static_cast<int>(*number));
  event.device = pci_address(*in_parentheses);
  const std::string pid = until(after(*rest, "pid=").value_or(""), ", ");
  const std::string name = until(after(*rest, "name=").value_or(""), ",");
  if (is_digits(pid)) event.process = (name.empty() ? "process" : name) + " (pid " + pid + ")";
  event.address = address_after(*rest, "faulted @ ");
  const std::string kind = until(after(*rest, "ACCESS_TYPE_VIRT_").value_or(""), " ._,");
  event.access = kind == "READ"     ? "load"
                 : kind == "WRITE"  ? "store"
                 : kind == "ATOMIC" ? "atomic"
                                    : "";
  event.reason = std::string(rest->substr(0, longest_field));
  return event;
}

/// "Memory access fault by GPU node-1 (Agent handle: ...) on address 0x7f... Reason: ..." of ROCm
/// 6, "memory access fault by GPU 4 (agent ...) at virtual address 0x..." of ROCm 7.
void add_runtime_fields(GpuLogEvent& event, std::string_view line) {
  if (const auto gpu = after(line, "fault by GPU ")) event.device = "GPU " + until(*gpu, " (");
  if (const auto gpu = after(line, "xception by GPU ")) event.device = "GPU " + until(*gpu, " (");
  event.address = address_after(line, "address ");
  for (const std::string_view mark : {"Reason: ", "reason: ", "reason :"}) {
    if (const auto reason = after(line, mark)) event.reason = until(*reason, ".)");
  }
  // The debug agent of ROCm 7: "wave_1: pc=... (kernel_code_entry=0x... <name>, kernargs=0x...)
  // ...".
  if (const auto entry = after(line, "kernel_code_entry=")) {
    const std::size_t open = entry->find('<'), end = entry->find(">, kernargs");
    if (open != entry->npos && end != entry->npos && open < end) {
      event.kernel = std::string(entry->substr(open + 1, std::min(end - open - 1, longest_field)));
    }
  }
}

std::optional<GpuLogEvent> event_of(std::string_view line) {
  if (auto xid = xid_event(line)) return xid;
  for (const GpuMessage& message : marked_gpu_messages()) {
    if (line.find(message.mark) == line.npos) continue;
    GpuLogEvent event;
    event.message = &message;
    event.device = pci_address(line);
    add_runtime_fields(event, line);
    event.process = process_of(line);
    return event;
  }
  return std::nullopt;
}

void fill(std::string& field, const std::string& value) {
  if (field.empty()) field = value;
}

bool are_compatible(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

bool is_source_file(std::string_view name) {
  if (name.empty() || name.find(' ') != name.npos) return false;
  constexpr std::array<std::string_view, 10> ends = {".cpp", ".cc", ".cxx", ".c",   ".hip",
                                                     ".cu",  ".h",  ".hpp", ".cuh", ".py"};
  return std::any_of(ends.begin(), ends.end(),
                     [name](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

void GpuLog::add(std::string_view line) {
  ++lines_;
  constexpr std::size_t longest_line = 16'384;
  line = line.substr(0, longest_line);
  if (auto event = event_of(line)) {
    event->line = lines_;
    event->text = std::string(trim(line).substr(0, longest_field));
    const std::string device = pci_address(line);
    begin(device, std::move(*event));
    return;
  }
  if (open_.empty()) return;
  const auto open = open_.find(pci_address(line));
  if (open == open_.end()) return;
  if (open->first.empty()) {
    add_agent_detail(open->second, line);
  } else {
    add_driver_detail(open->second, line);
  }
}

void GpuLog::begin(const std::string& device, GpuLogEvent event) {
  constexpr std::size_t most_devices = 256;
  if (open_.size() >= most_devices && !open_.contains(device)) return close(std::move(event));
  Open& open = open_[device];
  if (open.event.message != nullptr) close(std::move(open.event));
  open = {std::move(event)};
}

void GpuLog::close(GpuLogEvent event) {
  const auto same = std::find_if(events_.begin(), events_.end(), [&](const GpuLogEvent& other) {
    return other.message == event.message && other.device == event.device &&
           are_compatible(other.process, event.process) &&
           are_compatible(other.kernel, event.kernel);
  });
  if (same == events_.end()) {
    if (!is_full()) events_.push_back(std::move(event));
    return;
  }
  same->count += event.count;
  for (std::string GpuLogEvent::*const field :
       {&GpuLogEvent::process, &GpuLogEvent::address, &GpuLogEvent::unit, &GpuLogEvent::access,
        &GpuLogEvent::reason, &GpuLogEvent::kernel, &GpuLogEvent::code, &GpuLogEvent::source}) {
    fill((*same).*field, event.*field);
  }
}

std::vector<GpuLogEvent> GpuLog::finish() {
  for (auto& [device, open] : open_) close(std::move(open.event));
  open_.clear();
  std::stable_sort(events_.begin(), events_.end(),
                   [](const GpuLogEvent& a, const GpuLogEvent& b) { return a.line < b.line; });
  return events_;
}

void GpuLog::add_driver_detail(Open& open, std::string_view line) {
  GpuLogEvent& event = open.event;
  fill(event.process, process_of(line));
  fill(event.address, address_after(line, "starting at address "));
  if (const auto status = after(line, "PROTECTION_FAULT_STATUS:")) {
    open.has_status = trim(*status) != "0x00000000";
  }
  if (!open.has_status) return;
  if (const auto unit = after(line, "Faulty UTCL2 client ID: ")) {
    fill(event.unit, std::string(trim(unit->substr(0, unit->rfind('(')))));
  }
  if (const auto write = after(line, " RW: "))
    fill(event.access, trim(*write) == "0x0" ? "load" : "store");
}

void GpuLog::add_agent_detail(Open& open, std::string_view line) {
  GpuLogEvent& event = open.event;
  const std::string_view text = trim(line);
  if (const auto function = after(text, "Disassembly for function ")) {
    std::string_view name = *function;
    if (name.ends_with(':')) name.remove_suffix(1);
    fill(event.kernel, std::string(name.substr(0, longest_field)));
  } else if (const auto code = after(text, "code object:")) {
    fill(event.code, std::string(trim(*code).substr(0, longest_field)));
  } else if (!event.kernel.empty() && event.code.empty() &&
             (text.starts_with("file://") || text.starts_with("memory://"))) {
    event.code = std::string(text.substr(0, longest_field));
  } else if (text.ends_with(':') && is_source_file(text.substr(0, text.size() - 1))) {
    open.file = std::string(text.substr(0, std::min(text.size() - 1, longest_field)));
    open.source_line.clear();
    fill(event.source, open.file);
  } else if (!open.file.empty() && text.starts_with("=>")) {
    if (!open.source_line.empty() && event.source == open.file)
      event.source += ":" + open.source_line;
    open.file.clear();
  } else if (const std::string number = until(text, " \t");
             !open.file.empty() && is_digits(number)) {
    open.source_line = number;
  }
}

std::string_view unit_meaning(std::string_view unit) {
  struct Unit {
    std::string_view begin, meaning;
  };
  constexpr std::array<Unit, 7> units = {
      {{"TCP", "the vector cache of a compute unit: a load or store of a kernel"},
       {"SQC (inst)", "the instruction cache: the kernel's code was gone, or it jumped into data"},
       {"SQC (data)", "the scalar cache: a kernel's arguments, or a uniform load"},
       {"CPC", "the command processor of compute queues: packets or signals in freed memory"},
       {"CPF",
        "the fetcher of the command processor: a queue in freed memory, or mismatched firmware"},
       {"CPG", "the command processor of graphics"},
       {"SDMA",
        "a copy engine: a copy with a freed or unpinned buffer; HSA_ENABLE_SDMA=0 copies by "
        "kernels"}}};
  for (const Unit& one : units) {
    if (unit.starts_with(one.begin)) return one.meaning;
  }
  return {};
}

}  // namespace assay
