#include "advise/occupancy/ptx.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/occupancy/limits.h"
#include "advise/occupancy/tool.h"
#include "advise/occupancy/words.h"
#include "core/text.h"

namespace assay::occupancy {
namespace {

/// The product of the numbers in ".maxntid 256, 1, 1", at most most_threads.
unsigned threads_of(std::string_view line) {
  std::uint64_t threads = 1;
  while (!line.empty()) {
    const std::size_t comma = line.find(',');
    const auto number = leading_number(trim(line.substr(0, comma)));
    threads *= std::clamp<std::uint64_t>(number.value_or(1), 1, most_threads);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  return static_cast<unsigned>(std::min<std::uint64_t>(threads, most_threads));
}

/// The size of a shared variable: 4000 for ".shared .align 4 .b8 name[4000];", 4 for ".shared .f32
/// x;", and 0 for an array without a size, which is dynamic.
std::uint64_t shared_bytes(std::string_view line) {
  const std::size_t type = line.find_last_of('.', line.find_first_of("[;"));
  if (type == std::string_view::npos) return 0;
  std::string_view name = line.substr(type + 1);
  const std::size_t digit = name.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  const std::uint64_t element = leading_number(name.substr(digit)).value_or(0) / 8;
  const std::size_t bracket = name.find('[');
  if (bracket == std::string_view::npos) return element;
  const std::uint64_t count = leading_number(trim(name.substr(bracket + 1))).value_or(0);
  return element * count;
}

}  // namespace

bool is_ptx(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  return head.find(".version") != std::string_view::npos &&
         head.find(".target") != std::string_view::npos &&
         head.find(".address_size") != std::string_view::npos;
}

Result<CodeImage> read_ptx(std::string_view text) {
  CodeImage image;
  image.kind = ImageKind::ptx;
  image.code = text.substr(0, text.find('\0'));  // in fat binaries it ends with a zero byte
  std::uint64_t module_shared = 0;
  bool in_kernel = false;
  std::string_view rest = image.code;
  while (!rest.empty()) {
    const std::string_view line = trim(next_line(rest));
    const auto after = [&](std::string_view word) { return trim(line.substr(word.size())); };
    if (line.starts_with(".target ")) {
      const std::string_view target = after(".target ");
      image.target = target.substr(0, target.find_first_of(", "));
      image.arch = image.target;
    } else if (const std::size_t entry = line.find(".entry "); entry != std::string_view::npos) {
      const std::string_view name = trim(line.substr(entry + 7));
      KernelUse kernel;
      kernel.name = name.substr(0, name.find_first_of("( \t"));
      kernel.registers_known = false;
      image.kernels.push_back(std::move(kernel));
      in_kernel = true;
    } else if (line == "}" || line.starts_with(".func") ||
               line.find(" .func ") != std::string_view::npos) {
      in_kernel = false;
    } else if (line.find(".shared ") < line.find_first_of("[;")) {
      // A module variable is counted for every kernel: only ptxas finds out which kernels use it.
      if (line.starts_with(".shared") && in_kernel) {
        image.kernels.back().shared_bytes += shared_bytes(line);
      } else if (line.starts_with('.') && !line.starts_with(".extern")) {
        module_shared += shared_bytes(line);
      }
    } else if (in_kernel && (line.starts_with(".maxntid ") || line.starts_with(".reqntid "))) {
      image.kernels.back().max_threads = threads_of(line.substr(9));
    } else if (in_kernel && line.starts_with(".minnctapersm ")) {
      image.kernels.back().min_blocks =
          static_cast<unsigned>(leading_number(after(".minnctapersm ")).value_or(0));
    }
  }
  if (image.kernels.empty()) return malformed("PTX without a kernel (.entry)");
  for (KernelUse& kernel : image.kernels) kernel.shared_bytes += module_shared;
  return image;
}

Status apply_ptxas_report(std::string_view report, CodeImage& image) {
  KernelUse* kernel = nullptr;
  while (!report.empty()) {
    const std::string_view line = next_line(report);
    constexpr std::string_view properties = "Function properties for ";
    constexpr std::string_view entry = "Compiling entry function '";
    for (const std::string_view label : {properties, entry}) {
      const std::size_t at = line.find(label);
      if (at == std::string_view::npos) continue;
      const std::string_view rest = line.substr(at + label.size());
      const std::string_view name = trim(rest.substr(0, rest.find('\'')));
      const auto found = std::find_if(image.kernels.begin(), image.kernels.end(),
                                      [&](const KernelUse& use) { return use.name == name; });
      kernel = found == image.kernels.end() ? nullptr : &*found;
    }
    if (kernel == nullptr) continue;
    if (line.find("bytes stack frame") != std::string_view::npos) {
      kernel->scratch_bytes = leading_number(trim(line)).value_or(0);
      kernel->spill_bytes = number_after(line, "stack frame, ").value_or(0) +
                            number_after(line, "spill stores, ").value_or(0);
    }
    if (const auto registers = number_after(line, "Used ")) {
      kernel->vgprs = static_cast<unsigned>(*registers);
      kernel->registers_known = true;
      kernel->barriers = static_cast<unsigned>(number_after(line, "used ").value_or(0));
      const std::size_t shared = line.find(" bytes smem");
      const std::size_t comma = line.rfind(", ", shared);
      kernel->shared_bytes = 0;
      if (shared != std::string_view::npos && comma != std::string_view::npos) {
        kernel->shared_bytes = leading_number(line.substr(comma + 2)).value_or(0);
      }
    }
  }
  for (const KernelUse& use : image.kernels) {
    if (!use.registers_known) {
      return Error{ErrorKind::failed, fmt::format("ptxas did not report on kernel {}", use.name)};
    }
  }
  return {};
}

Status complete_by_ptxas(CodeImage& image, std::string_view arch) {
  if (arch.empty()) arch = image.arch;
  const std::string ptxas = TRY(find_tool(ptxas_places()));
  const ToolOutput output = TRY(run_tool(
      ptxas, {"-v", "-arch", std::string(arch), "-o", "/dev/null", tool_input}, image.code));
  image.arch = arch;
  return apply_ptxas_report(output.messages, image);
}

}  // namespace assay::occupancy
