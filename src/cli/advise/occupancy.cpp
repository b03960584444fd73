// assay occupancy: how many waves of a kernel fit on a compute unit, and what limits them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "advise/occupancy/own_kernels.h"
#include "cli/advise/occupancy_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/suggest.h"
#include "core/units.h"

namespace assay::cli::occupancy_command {
namespace {

using namespace occupancy;

/// The number given by an option, checked against its limits; `otherwise` if the option is not
/// given.
Result<std::uint64_t> number_of(const Arguments& arguments, std::string_view option,
                                std::uint64_t least, std::uint64_t most, std::uint64_t otherwise,
                                Result<std::uint64_t> (*parse)(std::string_view) = &parse_integer) {
  if (!arguments.has(option)) return otherwise;
  const auto number = parse(arguments.get(option));
  if (!number.ok()) {
    return Error{ErrorKind::usage, fmt::format("{}: {}", option, number.error().message)};
  }
  if (*number < least || *number > most) {
    return Error{ErrorKind::usage,
                 fmt::format("{} {} is not between {} and {}", option, *number, least, most)};
  }
  return *number;
}

constexpr std::uint64_t most_shared = 1 << 20;  // bytes; more than any compute unit has

Result<ReportOptions> read_options(const Arguments& arguments) {
  ReportOptions options;
  options.kernel = arguments.get("--kernel");
  options.scan = !arguments.has("--no-scan");
  options.arch = arguments.get("--arch");
  if (arguments.has("--block")) {
    options.threads =
        static_cast<unsigned>(TRY(number_of(arguments, "--block", 1, most_threads, 0)));
  }
  options.dynamic_shared =
      TRY(number_of(arguments, "--dynamic-lds", 0, most_shared, 0, &parse_size));
  return options;
}

/// Rejects options that do not apply here.
Status refuse(const Arguments& arguments, std::initializer_list<std::string_view> options,
              std::string_view reason) {
  for (const std::string_view option : options) {
    if (arguments.has(option)) {
      return Error{ErrorKind::usage, fmt::format("{} {}", option, reason)};
    }
  }
  return {};
}

// ---- Given numbers ----

Result<std::vector<Report>> calculate(const Arguments& arguments) {
  TRY(refuse(arguments, {"--kernel", "--device", "--block"},
             "cannot be combined with --vgprs, which takes --waves and --arch"));
  const std::string arch = arguments.get("--arch");
  if (!arguments.has("--arch")) {
    return Error{ErrorKind::usage, fmt::format("--arch is missing; allowed: {}", known_archs())};
  }
  const bool amd = find_amd(arch) != nullptr;
  if (!amd && find_nvidia(arch) == nullptr) {
    return Error{ErrorKind::usage,
                 fmt::format("unknown --arch \"{}\"; allowed: {}", arch, known_archs())};
  }
  if (!amd) TRY(refuse(arguments, {"--agprs", "--sgprs"}, "is for AMD's architectures only"));
  const unsigned wave = amd ? amd_wave : nvidia_warp;
  KernelReport kernel;
  KernelUse& use = kernel.use;
  use.name = "(given)";
  use.agprs = static_cast<unsigned>(TRY(number_of(arguments, "--agprs", 0, 256, 0)));
  // .vgpr_count in the metadata counts both kinds of registers; accumulation registers begin at a
  // multiple of 4.
  const std::uint64_t most = !amd ? nvidia_registers_per_thread : use.agprs > 0 ? 256 : amd_vgprs;
  use.vgprs = static_cast<unsigned>(TRY(number_of(arguments, "--vgprs", 0, most, 0)));
  if (use.agprs > 0) use.vgprs = (use.vgprs + 3) / 4 * 4 + use.agprs;
  use.sgprs = static_cast<unsigned>(TRY(number_of(arguments, "--sgprs", 0, 108, 0)));
  use.shared_bytes = TRY(number_of(arguments, "--lds", 0, most_shared, 0, &parse_size));
  const auto waves = TRY(number_of(arguments, "--waves", 1, most_threads / wave, 4));
  kernel.geometry = {static_cast<unsigned>(waves * wave),
                     TRY(number_of(arguments, "--dynamic-lds", 0, most_shared, 0, &parse_size))};
  compute(kernel, arch);
  Report report;
  report.source = arch;
  report.arch = arch;
  report.kernels.push_back(std::move(kernel));
  return std::vector<Report>{std::move(report)};
}

// ---- assay's own kernels ----

Result<std::vector<Report>> measure(const Arguments& arguments) {
  TRY(refuse(arguments, {"--arch"}, "cannot be set with --kernel, which uses the device's own"));
  const ReportOptions options = TRY(read_options(arguments));
  const std::vector<OwnKernel> wanted = TRY(own_kernels_named(options.kernel));
  auto backends = make_backends();
  const auto device = TRY(open_device(backends, arguments.get("--device")));
  const DeviceFacts& facts = device->facts();
  Report report;
  report.source = fmt::format("{}:{} {}, {}", facts.backend, facts.ordinal, facts.name, facts.arch);
  report.arch = facts.arch;
  std::unique_ptr<Program> program;
  std::string built;
  std::vector<std::string> absent;
  for (const OwnKernel& own : wanted) {
    if (own.program != built) program = TRY(device->build({own.program, {}}));
    built = own.program;
    auto found = program->kernel(own.name);
    // Some kernels exist only on architectures with the instructions that they need.
    if (!found.ok() && options.kernel == "all") {
      absent.push_back(own.name);
      continue;
    }
    Kernel* kernel = TRY(std::move(found));
    const Geometry geometry = {options.threads.value_or(256), options.dynamic_shared};
    report.kernels.push_back(TRY(measure_kernel(*device, *kernel, own.name, geometry)));
    if (!driver_agrees(report.kernels.back(), facts.arch)) {
      report.remarks.push_back(fmt::format("the driver gives a different figure for {}", own.name));
    }
  }
  if (!absent.empty()) {
    report.remarks.push_back(fmt::format("{} has no {}", facts.arch, fmt::join(absent, ", ")));
  }
  return std::vector<Report>{std::move(report)};
}

// ---- A file ----

Result<std::vector<Report>> read(const Arguments& arguments) {
  TRY(refuse(arguments, {"--device", "--vgprs", "--agprs", "--sgprs", "--lds", "--waves"},
             "cannot be combined with a file"));
  const ReportOptions options = TRY(read_options(arguments));
  const std::string& path = arguments.positionals.front();
  constexpr std::size_t most_bytes = std::size_t{4} << 30;
  const std::string file = TRY(read_operand(path, most_bytes));
  auto images = read_images(file);
  if (!images.ok()) {
    return Error{images.error().kind, fmt::format("{}: {}", path, images.error().message)};
  }
  std::vector<Report> reports;
  std::vector<std::string> names;
  for (CodeImage& image : *images) {
    for (const KernelUse& kernel : image.kernels) names.push_back(kernel.name);
    Report report = report_of(std::move(image), options);
    if (options.kernel.empty() || !report.kernels.empty()) reports.push_back(std::move(report));
  }
  if (!reports.empty()) return reports;
  return Error{ErrorKind::usage,
               fmt::format("{} has no kernel \"{}\"{}; it has {}", path, options.kernel,
                           did_you_mean(options.kernel, names),
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
}

Result<std::vector<Report>> reports_of(const Arguments& arguments) {
  if (!arguments.positionals.empty()) return read(arguments);
  if (arguments.has("--kernel")) return measure(arguments);
  for (const char* option : {"--vgprs", "--agprs", "--sgprs", "--lds", "--waves"}) {
    if (arguments.has(option)) return calculate(arguments);
  }
  return Error{
      ErrorKind::usage,
      "nothing to analyse: give FILE, --kernel NAME, or --vgprs N --lds BYTES --waves N --arch "
      "ARCH; see assay occupancy --help"};
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto reports = reports_of(arguments);
  if (!reports.ok()) return report(terminal, reports.error());
  bool agrees = true;
  Json list = Json::array();
  for (const Report& one : *reports) {
    for (const KernelReport& kernel : one.kernels) {
      agrees = agrees && (!kernel.driver_groups || driver_agrees(kernel, one.arch));
    }
    list.push_back(occupancy_json(one));
    if (!arguments.has("--json")) {
      const auto width = static_cast<std::size_t>(terminal.width());
      terminal.print(occupancy_text(one, width, terminal.out_style()));
    }
  }
  if (arguments.has("--json")) {
    terminal.print(list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  return agrees ? exit_ok : exit_verification;
}

const Command command = {
    .name = "occupancy",
    .summary = "Show how many waves of a kernel fit on a compute unit, and what limits them",
    .group = CommandGroup::diagnose,
    .positionals = "[FILE]",
    .most_positionals = 1,
    .details =
        R"(FILE is an AMD code object or assembly text, a cubin, PTX, an offload bundle (plain or
compressed), an NVIDIA fat binary, or a program that contains one. Without FILE, --kernel names
one of assay's own kernels (or all), which is built for --device and compared with the driver's
answer; --vgprs, --lds and --waves with --arch are a calculator. Formulas: docs/occupancy.md.

  assay occupancy kernel.co
  assay occupancy libmodel.so --kernel attention --dynamic-lds 32KiB
  assay occupancy --kernel all --device cuda:0
  assay occupancy --vgprs 132 --lds 16KiB --waves 4 --arch gfx942

)",
    .options =
        {
            {"--kernel", "NAME",
             "only this kernel of FILE; without FILE one of assay's own, or all", "all"},
            {"--device", "NAME", "device for assay's own kernels; default: the best one",
             "cpu cuda hip"},
            {"--block", "N",
             "threads per work-group, 1 to 1024; default: the most the kernel allows", ""},
            {"--dynamic-lds", "BYTES", "LDS or shared memory given at launch; default 0", ""},
            {"--no-scan", "", "skip the instruction scan", ""},
            {"--vgprs", "N", "calculator: VGPRs per lane, or registers per thread", ""},
            {"--agprs", "N", "calculator: accumulation VGPRs on top, AMD only", ""},
            {"--sgprs", "N", "calculator: SGPRs, AMD only", ""},
            {"--lds", "BYTES", "calculator: LDS or shared memory of a work-group", ""},
            {"--waves", "N", "calculator: waves or warps of a work-group; default 4", ""},
            {"--arch", "ARCH", "calculator: e.g. gfx942, sm_90; for PTX: the target to compile for",
             "gfx90a gfx942 gfx950 sm_80 sm_90 sm_100 sm_120"},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::occupancy_command
