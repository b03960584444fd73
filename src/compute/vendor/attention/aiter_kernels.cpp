#include "compute/vendor/attention/aiter_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/file_error.h"
#include "core/hash.h"
#include "core/library_search.h"
#include "core/read_file.h"
#include "machine/code_object/kernel_interface.h"

namespace assay::aiter {
namespace {

constexpr const char* folder_variable = "AITER_ASM_DIR";

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == line.npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Returns the next line and removes it from the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Returns whether `name` is one of a slot's names; "a|b" has two.
bool is_named(std::string_view slot, std::string_view name) {
  for (;;) {
    const std::size_t bar = slot.find('|');
    if (slot.substr(0, bar) == name) return true;
    if (bar == slot.npos) return false;
    slot.remove_prefix(bar + 1);
  }
}

/// Returns why the kernel does not take these slots; empty if it does.
std::string misfit(const KernelInterface& kernel, std::span<const std::string_view> slots,
                   std::size_t slot_bytes, unsigned threads) {
  std::size_t next = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.name == "pad") continue;
    if (next == slots.size()) return fmt::format("it also takes \"{}\"", argument.name);
    const std::size_t offset = next * slot_bytes;
    if (!is_named(slots[next], argument.name) || argument.offset != offset) {
      return fmt::format("it takes \"{}\" at {}, where \"{}\" at {} is expected", argument.name,
                         argument.offset, slots[next], offset);
    }
    if (argument.bytes > slot_bytes) {
      return fmt::format("\"{}\" has {} bytes, more than its slot of {}", argument.name,
                         argument.bytes, slot_bytes);
    }
    ++next;
  }
  if (next < slots.size()) return fmt::format("it does not take \"{}\"", slots[next]);
  if (kernel.argument_bytes != slots.size() * slot_bytes) {
    return fmt::format("its arguments have {} bytes, {} are expected", kernel.argument_bytes,
                       slots.size() * slot_bytes);
  }
  if (kernel.most_threads < threads) {
    return fmt::format("its blocks have at most {} threads, {} are expected", kernel.most_threads,
                       threads);
  }
  return "";
}

}  // namespace

Result<Entry> find_entry(std::string_view table, const Wanted& wanted,
                         std::string_view tile_column) {
  const std::vector<std::string_view> columns = fields_of(take_line(table));
  const auto column = [&](std::string_view name) -> Result<std::size_t> {
    const auto at = std::find(columns.begin(), columns.end(), name);
    if (at != columns.end()) return static_cast<std::size_t>(at - columns.begin());
    return Error{ErrorKind::unsupported, fmt::format("has no column \"{}\"", name)};
  };
  const std::size_t symbol = TRY(column("knl_name")), file = TRY(column("co_name")),
                    tile = TRY(column(tile_column));
  std::vector<std::pair<std::size_t, std::string_view>> conditions;
  for (const auto& [name, value] : wanted) conditions.emplace_back(TRY(column(name)), value);
  while (!table.empty()) {
    const std::vector<std::string_view> fields = fields_of(take_line(table));
    if (fields.size() != columns.size()) continue;
    const bool fits = std::all_of(conditions.begin(), conditions.end(), [&](const auto& one) {
      return is_named(one.second, fields[one.first]);
    });
    if (!fits) continue;
    Entry entry{std::string(fields[symbol]), std::string(fields[file]), 0};
    const std::string_view rows = fields[tile];
    std::from_chars(rows.data(), rows.data() + rows.size(), entry.tile);
    if (entry.tile > 0 && entry.file.find('/') == std::string::npos) return entry;
  }
  std::string text;
  for (const auto& [name, value] : wanted) text += fmt::format(" {}={}", name, value);
  return Error{ErrorKind::unsupported, "has no kernel with" + text};
}

Result<std::string> code_folder(const std::string& arch) {
  std::vector<std::string> patterns;
  if (const char* const named = std::getenv(folder_variable)) {
    patterns = {named};
  } else {
    patterns = python_library_folders({"aiter_meta/hsa"});
    patterns.emplace_back("/app/aiter/hsa");
  }
  for (const std::string& pattern : patterns) {
    for (const std::string& folder : expand_folders(pattern)) {
      // AITER_ASM_DIR may also name the folder of one architecture.
      for (const std::string& candidate : {folder + "/" + arch, folder}) {
        std::error_code ignored;
        const bool named = std::filesystem::path(candidate).filename() == arch;
        if (named && std::filesystem::is_directory(candidate + "/fmha_v3_fwd", ignored)) {
          return candidate;
        }
      }
    }
  }
  return Error{
      ErrorKind::unavailable,
      fmt::format("AITER's code for {} was not found in {}; install it (pip: amd-aiter), or "
                  "let {} name its folder hsa",
                  arch, fmt::join(patterns, ", "), folder_variable)};
}

Result<SlotKernel> SlotKernel::load(Device& device, const std::string& file, const Entry& entry,
                                    std::span<const std::string_view> slots, unsigned threads) {
  const auto wrong = [&](ErrorKind kind, const std::string& what) {
    return Error{kind, fmt::format("{}: {}", file, what)};
  };
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  const FileBytes code = read_bytes(file, most_bytes);
  if (code.error != 0) {
    // No user named this file, so none named it wrongly: it is missing from what was installed.
    const ErrorKind kind = kind_of_file_error(code.error);
    return wrong(kind == ErrorKind::usage ? ErrorKind::unavailable : kind,
                 std::strerror(code.error));
  }
  const auto kernels = read_kernel_interfaces(code.text);
  if (!kernels.ok()) return wrong(ErrorKind::unsupported, kernels.error().message);
  const auto kernel = std::find_if(kernels->begin(), kernels->end(),
                                   [&](const auto& one) { return one.name == entry.symbol; });
  if (kernel == kernels->end()) {
    return wrong(ErrorKind::unsupported, "has no kernel " + entry.symbol);
  }
  if (const std::string reason = misfit(*kernel, slots, slot_bytes, threads); !reason.empty()) {
    return wrong(ErrorKind::unsupported,
                 fmt::format("kernel {} is not the one that is known: {}", entry.symbol, reason));
  }
  SlotKernel made;
  made.program_ = TRY(device.load(file, code.text));
  made.kernel_ = TRY(made.program_->kernel(entry.symbol));
  made.slots_ = slots;
  made.threads_ = threads;
  made.tile_ = entry.tile;
  made.hash_ = hash_of_parts(std::span(&code.text, 1));
  return made;
}

void SlotKernel::Arguments::put(std::string_view name, const void* value, std::size_t bytes) {
  const auto slot = std::find_if(kernel_.slots_.begin(), kernel_.slots_.end(),
                                 [&](std::string_view one) { return is_named(one, name); });
  if (slot == kernel_.slots_.end()) return;  // the kernel has no such argument
  std::memcpy(bytes_.data() + (slot - kernel_.slots_.begin()) * std::ptrdiff_t(slot_bytes), value,
              bytes);
}

SlotKernel::Arguments& SlotKernel::Arguments::set(std::string_view name, const void* address) {
  put(name, &address, sizeof address);
  return *this;
}

SlotKernel::Arguments& SlotKernel::Arguments::set(std::string_view name, float number) {
  put(name, &number, sizeof number);
  return *this;
}

SlotKernel::Arguments& SlotKernel::Arguments::set(std::string_view name, std::int64_t number) {
  const auto narrow = static_cast<std::uint32_t>(number);
  put(name, &narrow, sizeof narrow);
  return *this;
}

}  // namespace assay::aiter
