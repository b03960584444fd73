// memory: bandwidth of device memory and caches, with the operations of BabelStream and pure reads
// and writes. `size` is the size of one array.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/contest.h"
#include "compute/device/helpers.h"
#include "compute/device/kernel_source.h"
#include "core/hash.h"
#include "core/units.h"
#include "measure/benchmarks/memory/memory_geometry.h"
#include "measure/grid/benchmark.h"

namespace assay::memory_benchmark {
namespace {

struct Operation {
  std::string_view name;
  int code;     // enum Operation in src/compute/kernels/memory.cu
  int inputs;   // number of arrays read
  bool writes;  // whether an array is written; otherwise one partial sum per block
};
constexpr std::array<Operation, 7> operations = {{
    {"copy", 0, 1, true},
    {"mul", 1, 1, true},
    {"add", 2, 2, true},
    {"triad", 3, 2, true},
    {"dot", 4, 2, false},
    {"read", 5, 1, false},
    {"write", 6, 0, true},
}};

const Operation& operation_of(const Cell& cell) {
  return *std::find_if(operations.begin(), operations.end(),
                       [&](const Operation& o) { return o.name == cell.text("op"); });
}

int arrays_of(const Operation& operation) {
  return operation.inputs + (operation.writes ? 1 : 0);
}

/// A result counts as DRAM only if no array can stay in the last-level cache.
bool is_dram(const DeviceFacts& facts, std::uint64_t array_bytes) {
  return facts.last_level_cache_bytes > 0 && array_bytes >= 4 * facts.last_level_cache_bytes;
}

class MemoryCase final : public Case {
 public:
  MemoryCase(const Cell& cell, PrepareContext context)
      : device_(context.device),
        operation_(operation_of(cell)),
        type_(*parse_data_type(cell.text("dtype"))),
        bytes_(cell.integer("size")),
        cold_(cell.text("cache") == "cold") {}

  Status prepare(Stream& stream, const std::function<bool()>& stop_requested) {
    elements_ = bytes_ / size_of(type_);
    // Partial sums need one element per block; 64 Ki blocks is more than any candidate's persistent
    // grid, and grids over all tiles are sized by launch_shape().
    const std::uint64_t output_bytes =
        operation_.writes ? bytes_ : partial_limit() * sizeof(double);
    output_ = TRY(device_.allocate(output_bytes, MemoryKind::device));
    if (operation_.inputs > 0) a_ = TRY(device_.allocate(bytes_, MemoryKind::device));
    if (operation_.inputs > 1) b_ = TRY(device_.allocate(bytes_, MemoryKind::device));
    TRY(use({}));
    Kernel* initialize = TRY(program_->kernel("initialize_" + suffix()));
    const LaunchShape shape = filling_shape(device_.facts());
    for (int which = 0; which < operation_.inputs; ++which) {
      void* array = which == 0 ? a_.data() : b_.data();
      TRY(launch(stream, *initialize, shape, array, elements_, static_cast<std::uint32_t>(which)));
    }
    TRY(stream.synchronize());
    return choose_geometry(stream, stop_requested);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(arrays_of(operation_)) * static_cast<double>(bytes_),
            .math = type_};
  }
  Quantity quantity() const override { return Quantity::bandwidth; }
  Limit limit() const override {
    return is_dram(device_.facts(), bytes_) ? Limit::memory : Limit::none;
  }
  CacheState cache_state() const override { return cold_ ? CacheState::cold : CacheState::hot; }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"level", is_dram(device_.facts(), bytes_) ? "dram" : "cache"},
            {"geometry", describe(geometry_)}};
  }

  /// Waking the CPU's threads can take as long as a small array does, and longer in some processes
  /// than in others; several launches in a row wake them once.
  int launches_per_sample(double) const override {
    if (!device_.facts().is_host_cpu() || cold_) return 1;
    // Their number depends on the size, not on a time, so that it is the same in every process.
    constexpr double sample_bytes = 64 << 20, most_behind_gate = 20;
    return static_cast<int>(std::clamp(sample_bytes / work().bytes, 1.0, most_behind_gate));
  }

  Status enqueue(Stream& stream) override {
    return launch(stream, *kernel_, shape_, output_.data(), input(a_), input(b_), elements_,
                  static_cast<int>(geometry_.hints));
  }

  Result<Verification> verify(Stream& stream) override {
    TRY(stream.fill(output_.data(), 0xFF, output_.bytes()));  // the poison is NaN in every element
    TRY(enqueue(stream));
    return operation_.writes ? verify_elements(stream) : verify_sum(stream);
  }

 private:
  std::string suffix() const { return std::string(name_of(type_)); }
  /// Kernels never get a null array, even if they ignore it.
  void* input(const Buffer& buffer) const {
    return buffer.data() != nullptr ? buffer.data() : output_.data();
  }

  /// The largest number of blocks that any candidate launches for this size.
  std::uint64_t partial_limit() const {
    std::uint64_t most = 1;
    for (const MemoryGeometry& candidate : candidate_geometries(device_.facts())) {
      most = std::max<std::uint64_t>(most, launch_shape(candidate, device_.facts(), bytes_).grid.x);
    }
    return most;
  }

  Status use(const MemoryGeometry& geometry) {
    geometry_ = geometry;
    const ProgramSource source = program_source(geometry);
    std::unique_ptr<Program>& program = programs_[source.defines];
    if (!program) program = TRY(device_.build(source));
    program_ = program.get();
    kernel_ = TRY(program_->kernel(std::string(operation_.name) + "_" + suffix()));
    shape_ = launch_shape(geometry, device_.facts(), bytes_);
    return {};
  }

  Status choose_geometry(Stream& stream, const std::function<bool()>& stop_requested) {
    const DeviceFacts& facts = device_.facts();
    const std::vector<MemoryGeometry> candidates = candidate_geometries(facts);
    if (facts.emulated)
      return use(candidates.front());  // an emulator's times are no basis for a choice
    const ChoiceCache cache = ChoiceCache::of_user(facts);
    const ChoiceKey key = {"memory geometry", sha256_hex(TRY(complete_source("memory"))),
                           fmt::format("{} {} {}", operation_.name, suffix(), bytes_)};
    const auto known = cache.find(facts, key);
    for (const MemoryGeometry& candidate : candidates) {
      if (known == describe(candidate)) return use(candidate);
    }
    std::vector<Contender> contenders;
    for (const MemoryGeometry& candidate : candidates) {
      contenders.emplace_back([this, candidate](Stream& on) -> Status {
        TRY(use(candidate));
        return enqueue(on);
      });
    }
    // The final rounds can be short because memory-bound work stays below the power cap, and they
    // should be short because a whole sweep is searched.
    const ContestLimits limits{.most_finalists = 6,
                               .final_rounds = 7,
                               .final_seconds = 0.005,
                               .stop_requested = stop_requested};
    const ContestResult result = TRY(find_fastest(device_, stream, contenders, limits));
    cache.keep(facts, key, describe(candidates[result.fastest]));
    return use(candidates[result.fastest]);
  }

  Result<Verification> verify_elements(Stream& stream) {
    const LaunchShape shape = filling_shape(device_.facts());
    Buffer found =
        TRY(device_.allocate(2 * sizeof(std::uint64_t) * shape.grid.x, MemoryKind::device));
    Kernel* check = TRY(program_->kernel("check_" + suffix()));
    TRY(launch(stream, *check, shape, found.data(), output_.data(), elements_, operation_.code));
    const auto counts = TRY(read_back<std::uint64_t>(stream, found.data(), 2 * shape.grid.x));
    std::uint64_t wrong = 0, first = elements_;
    for (std::size_t block = 0; block < shape.grid.x; ++block) {
      wrong += counts[2 * block];
      first = std::min(first, counts[2 * block + 1]);
    }
    Verification verification{wrong == 0, "every element against its closed form, exact",
                              static_cast<double>(wrong), 0, ""};
    if (wrong > 0) {
      verification.detail = std::to_string(wrong) + " of " + std::to_string(elements_) +
                            " elements wrong, the first at index " + std::to_string(first);
    }
    return verification;
  }

  Result<Verification> verify_sum(Stream& stream) {
    const double sum = TRY(partial_sum(stream));
    const LaunchShape shape = filling_shape(device_.facts());
    Buffer partial =
        TRY(device_.allocate(sizeof(std::uint64_t) * shape.grid.x, MemoryKind::device));
    Kernel* exact_sum = TRY(program_->kernel("exact_sum"));
    TRY(launch(stream, *exact_sum, shape, partial.data(), elements_, operation_.inputs));
    const auto exact = TRY(read_back<std::uint64_t>(stream, partial.data(), shape.grid.x));
    const auto expected =
        static_cast<double>(std::accumulate(exact.begin(), exact.end(), std::uint64_t{0}));
    // Sums of L positive terms in a type with unit roundoff u err by at most 8 sqrt(L) u with
    // overwhelming probability (Higham & Mary 2019, SIAM J. Sci. Comput. 41(5)); L is the length of
    // one thread's chain. The error of a lost or doubled tile is far larger.
    const double roundoff = type_ == DataType::f64 ? std::numeric_limits<double>::epsilon() / 2
                                                   : std::numeric_limits<float>::epsilon() / 2;
    const double threads = static_cast<double>(shape_.grid.x) * shape_.block.x;
    const double chain = std::max(1.0, static_cast<double>(elements_) / threads);
    const double tolerance = 8 * std::sqrt(chain + 64) * roundoff;
    const double error = std::abs(sum - expected) / expected;
    Verification verification{error <= tolerance, "sum against the exact integer sum, relative",
                              error, tolerance, ""};
    if (!verification.passed) {
      verification.detail =
          "sum is " + std::to_string(sum) + ", must be " + std::to_string(expected);
    }
    return verification;
  }

  Result<double> partial_sum(Stream& stream) {
    const auto add_up = [](const auto& partials) {
      return std::accumulate(partials.begin(), partials.end(), 0.0);
    };
    if (type_ == DataType::f64) {
      return add_up(TRY(read_back<double>(stream, output_.data(), shape_.grid.x)));
    }
    return add_up(TRY(read_back<float>(stream, output_.data(), shape_.grid.x)));
  }

  Device& device_;
  Operation operation_;
  DataType type_;
  std::uint64_t bytes_;
  bool cold_;
  std::uint64_t elements_ = 0;
  Buffer output_, a_, b_;
  MemoryGeometry geometry_;
  // Programs are kept because the search alternates between them.
  std::map<decltype(ProgramSource::defines), std::unique_ptr<Program>> programs_;
  Program* program_ = nullptr;
  Kernel* kernel_ = nullptr;
  LaunchShape shape_;
};

class MemoryBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "memory"; }
  std::string_view summary() const override {
    return "bandwidth of memory and caches: copy, triad, read and others";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"op",
         "operation on the arrays",
         Axis::Kind::choice,
         {"all"},
         {"copy", "mul", "add", "triad", "dot", "read", "write"}},
        {"dtype", "element type", Axis::Kind::choice, {"f32", "f64"}, {"f32", "f64"}},
        {"size", "bytes of one array", Axis::Kind::size, {"1MiB..8GiB*2"}, {}, 4096},
        {"cache",
         "state of the caches before each sample",
         Axis::Kind::choice,
         {"hot"},
         {"hot", "cold"}},
    };
    return axes;
  }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    const auto memory = device.memory_free_and_total();
    if (!memory) return memory.error().message;
    const std::uint64_t size = cell.integer("size");
    const auto arrays = static_cast<std::uint64_t>(arrays_of(operation_of(cell)));
    // Leave a tenth of the memory to the driver, the page tables and other users.
    if (size > memory->first / 10 * 9 / arrays) {
      return std::to_string(arrays) + " arrays of " + format_size(size) + " do not fit in " +
             format_memory(memory->first) + " of free memory";
    }
    return std::nullopt;
  }
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    auto prepared = std::make_unique<MemoryCase>(cell, context);
    TRY(prepared->prepare(context.stream, context.stop_requested));
    return std::unique_ptr<Case>(std::move(prepared));
  }
};

const MemoryBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::memory_benchmark
