// Occupancy as assay computes it, compared with the driver's own query: for assay's kernels, and
// for kernels with chosen registers and shared memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "advise/occupancy/image.h"
#include "advise/occupancy/own_kernels.h"
#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/backends/cuda/cuda_dialect.h"
#include "compute/backends/hip/hip_dialect.h"
#include "compute/device/matrix_unit_types.h"

namespace assay::selftest::occupancy_check {
namespace {

using namespace occupancy;

Status expect_agreement(const KernelReport& report, const std::string& arch) {
  TRY(expect(report.occupancy.has_value(), report.use.name + ": its occupancy is unknown"));
  if (driver_agrees(report, arch)) return {};
  return wrong(fmt::format(
      "{}, {} registers, {} threads, {} bytes: {} groups by the driver, {} "
      "computed",
      report.use.name, report.use.vgprs, report.geometry.threads, report.geometry.dynamic_shared,
      report.driver_groups.value_or(-1), report.occupancy->groups));
}

Answer own_kernels_agree(Stage& stage) {
  std::unique_ptr<Program> program;
  std::string built;
  std::set<std::string> programs;
  std::vector<std::string> absent;
  int compared = 0;
  TRY(expect(own_kernels().size() > 30, "assay has lost kernels"));
  for (const OwnKernel& own : own_kernels()) {
    if (own.program != built) {
      constexpr std::size_t few = 3;  // compiling them all takes an emulated device minutes
      if (!stage.large && programs.size() == few) break;
      program = TRY(stage.device.build({own.program, {}}));
      built = own.program;
      programs.insert(built);
    }
    const auto kernel = program->kernel(own.name);
    // Some kernels exist only on architectures with the instructions that they need.
    if (!kernel.ok()) {
      absent.push_back(own.name);
      continue;
    }
    for (const unsigned threads : {32u, 64u, 96u, 256u, 512u, 1000u, 1024u}) {
      for (const std::uint64_t dynamic : {0u, 1000u, 16384u, 48000u}) {
        const auto report =
            TRY(measure_kernel(stage.device, **kernel, own.name, {threads, dynamic}));
        TRY(expect_agreement(report, stage.device.facts().arch));
        ++compared;
      }
    }
  }
  TRY(expect(absent.empty() || compute_capability(stage.device.facts()) < 90,
             fmt::format("kernels are missing: {}", fmt::join(absent, ", "))));
  return fmt::format("{} cases of kernels of {} programs{}{}", compared, programs.size(),
                     absent.empty() ? "" : "; this architecture has no ", fmt::join(absent, ", "));
}

/// A kernel that holds about `values` numbers in registers and `shared` bytes in shared memory.
std::string source_of(unsigned values, unsigned shared, unsigned threads) {
  std::string loads, turns, stores;
  for (unsigned i = 0; i < values; ++i) {
    loads += fmt::format("  float v{0} = x[{0} * n];\n", i);
    turns += fmt::format("    v{} = v{} * v{} + 1.0f;\n", i, i, (i * 7 + 3) % values);
    stores += fmt::format("  x[{0} + n] = v{0};\n", i);
  }
  const std::string fill =
      shared == 0
          ? ""
          : fmt::format("  __shared__ volatile char s[{}];\n  s[n % {}] = n;\n  x[n] = s[0];\n",
                        shared, shared);
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) chosen(float* x, int n) {{\n{}{}"
      "  for (int i = 0; i < n; ++i) {{\n{}  }}\n{}}}\n",
      threads, fill, loads, turns, stores);
}

/// Compiles kernels for the driver's own query; a Device compiles only built-in sources.
class ChosenKernels {
 public:
  static Result<ChosenKernels> create(const DeviceFacts& facts) {
    auto dialect = TRY(facts.is_amd() ? hip::HipDialect::load() : cuda::CudaDialect::load());
    ChosenKernels made(facts.arch, std::move(dialect));
    TRY(made.check(made.dialect_->make_current(facts.ordinal)));
    return made;
  }

  Status compare(unsigned values, unsigned shared, unsigned most_threads) {
    const auto compiler = TRY(dialect_->rtc());
    const std::string code =
        TRY(dialect_->compile("chosen.cu", source_of(values, shared, most_threads),
                              dialect_->compile_options(arch_, compiler)));
    const auto images = TRY(read_images(code));
    TRY(expect(!images.empty() && !images[0].kernels.empty(), "the compiled kernel was not found"));
    driver::ModuleObject* module = nullptr;
    TRY(check(dialect_->api().module_load(&module, code.data())));
    const Status held = compare_loaded(module, images[0].kernels[0], shared, most_threads);
    dialect_->api().module_unload(module);
    if (held.ok()) return {};
    return Error{held.error().kind, fmt::format("{} values, {} bytes, {} threads: {}", values,
                                                shared, most_threads, held.error().message)};
  }
  std::string answer() const {
    return fmt::format("{} cases with {} to {} registers", compared_, *registers_.begin(),
                       *registers_.rbegin());
  }
  std::size_t register_counts() const { return registers_.size(); }

 private:
  ChosenKernels(std::string arch, std::unique_ptr<driver::Dialect> dialect)
      : arch_(std::move(arch)), dialect_(std::move(dialect)) {}

  Status check(driver::Code code) const {
    if (code == driver::code::success) return {};
    return Error{ErrorKind::failed, dialect_->describe(code)};
  }
  Status expect_attribute(driver::FunctionObject* function, int number, std::uint64_t of_file,
                          std::string_view what) const {
    int value = -1;
    TRY(check(dialect_->api().function_attribute(&value, number, function)));
    return expect_equal(fmt::format("{} by the driver", what), static_cast<std::uint64_t>(value),
                        of_file);
  }
  Status compare_loaded(driver::ModuleObject* module, const KernelUse& use, unsigned shared,
                        unsigned most_threads) {
    driver::FunctionObject* function = nullptr;
    TRY(check(dialect_->api().module_function(&function, module, "chosen")));
    namespace attributes = driver::function_attribute;
    TRY(expect_attribute(function, attributes::registers, use.vgprs, "registers"));
    TRY(expect_attribute(function, attributes::shared_bytes, use.shared_bytes, "shared memory"));
    TRY(expect_attribute(function, attributes::max_threads_per_block, use.max_threads,
                         "most threads"));
    registers_.insert(use.vgprs);
    for (const unsigned threads : {32u, 64u, 160u, 256u, 1024u}) {
      if (threads > most_threads) continue;
      for (const std::uint64_t dynamic : {0u, 5000u, 30000u}) {
        if (shared + dynamic > 48 * 1024) continue;  // larger sizes need an attribute of the kernel
        KernelReport report{use, {threads, dynamic}, {}, {}, {}, {}};
        compute(report, arch_);
        int blocks = -1;
        TRY(check(
            dialect_->api().occupancy(&blocks, function, static_cast<int>(threads), dynamic)));
        report.driver_groups = blocks;
        TRY(expect_agreement(report, arch_));
        ++compared_;
      }
    }
    return {};
  }

  std::string arch_;
  std::unique_ptr<driver::Dialect> dialect_;
  std::set<unsigned> registers_;  // all numbers of registers seen
  int compared_ = 0;
};

Answer chosen_kernels_agree(Stage& stage) {
  ChosenKernels kernels = TRY(ChosenKernels::create(stage.device.facts()));
  if (!stage.large) {
    TRY(kernels.compare(4, 0, 128));
    TRY(kernels.compare(48, 4097, 256));
    return kernels.answer();
  }
  for (const unsigned values : {4u, 16u, 24u, 32u, 48u, 64u, 96u, 128u, 160u, 200u}) {
    TRY(kernels.compare(values, 0, 128));
    TRY(kernels.compare(values, values * 200 + 3, 256));
  }
  for (const unsigned shared : {1u, 1024u, 4097u, 33000u, 49152u}) {
    TRY(kernels.compare(8, shared, 1024));
  }
  for (const unsigned threads : {128u, 256u, 512u, 1024u}) {
    TRY(kernels.compare(100, 2000, threads));
  }
  TRY(expect(kernels.register_counts() >= 10,
             "the kernels use too few numbers of registers: " + kernels.answer()));
  return kernels.answer();
}

const AddChecks registered{
    {.name = "occupancy-own-kernels",
     .topic = Topic::hardware,
     .about = "the driver agrees with the computed occupancy of assay's kernels",
     .limit_seconds = 180,  // it compiles all programs, unless they are in the cache
     .run = &own_kernels_agree},
    {.name = "occupancy-chosen-kernels",
     .topic = Topic::hardware,
     .about = "the driver agrees with the occupancy of kernels of many sizes, read from their code",
     .run = &chosen_kernels_agree},
};

}  // namespace
}  // namespace assay::selftest::occupancy_check
