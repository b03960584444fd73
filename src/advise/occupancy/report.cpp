#include "advise/occupancy/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/occupancy/disassemble.h"
#include "advise/occupancy/ptx.h"

namespace assay::occupancy {
namespace {

constexpr unsigned usual_threads = 256;

unsigned threads_of(const KernelUse& use, const ReportOptions& options) {
  if (options.threads) return *options.threads;
  return use.max_threads > 0 ? std::min(use.max_threads, most_threads) : usual_threads;
}

void add_scans(const CodeImage& image, Report& report) {
  std::string listing = image.code;
  if (image.kind == ImageKind::amd_object) {
    auto text = disassemble(image);
    if (!text.ok()) {
      report.remarks.push_back("no instruction scan: " + text.error().message);
      return;
    }
    listing = std::move(*text);
  }
  const std::vector<Function> functions = read_listing(listing);
  for (KernelReport& kernel : report.kernels) {
    const auto function =
        std::find_if(functions.begin(), functions.end(),
                     [&](const Function& one) { return one.name == kernel.use.name; });
    if (function != functions.end()) kernel.scan = scan(*function, kernel.use, image.arch);
  }
}

}  // namespace

bool is_amd(std::string_view arch) {
  return arch.starts_with("gfx");
}

void compute(KernelReport& kernel, std::string_view arch) {
  if (!kernel.use.registers_known) return;
  if (const AmdLimits* limits = find_amd(arch)) {
    kernel.occupancy = occupancy_of(*limits, kernel.use, kernel.geometry);
    kernel.guide = guide_figure(*limits, kernel.use, kernel.geometry, *kernel.occupancy);
  } else if (const NvidiaLimits* nvidia = find_nvidia(arch)) {
    kernel.occupancy = occupancy_of(*nvidia, kernel.use, kernel.geometry);
  }
}

Report report_of(CodeImage image, const ReportOptions& options) {
  Report report;
  if (image.kind == ImageKind::ptx) {
    const Status completed = complete_by_ptxas(image, options.arch);
    if (!completed.ok()) {
      report.remarks.push_back("PTX has virtual registers only; ptxas allocates the real ones: " +
                               completed.error().message);
    }
  }
  report.source = fmt::format("{} {}", name_of(image.kind), image.target);
  report.arch = image.arch;
  report.remarks.insert(report.remarks.end(), image.remarks.begin(), image.remarks.end());
  if (find_amd(image.arch) == nullptr && find_nvidia(image.arch) == nullptr) {
    report.remarks.push_back(
        fmt::format("no occupancy for {}; known are {}", image.arch, known_archs()));
  }
  for (const KernelUse& use : image.kernels) {
    if (!options.kernel.empty() && use.name != options.kernel) continue;
    KernelReport kernel;
    kernel.use = use;
    kernel.geometry = {threads_of(use, options), options.dynamic_shared};
    if (use.max_threads > 0 && kernel.geometry.threads > use.max_threads) {
      report.remarks.push_back(fmt::format("{} was compiled for at most {} threads per work-group",
                                           use.name, use.max_threads));
    }
    compute(kernel, image.arch);
    report.kernels.push_back(std::move(kernel));
  }
  if (options.scan && is_amd(image.arch) && !report.kernels.empty()) add_scans(image, report);
  return report;
}

}  // namespace assay::occupancy
