// conv: two- and three-dimensional convolutions of neural networks, forward and both backward
// passes, with the vendors' libraries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/contest.h"
#include "compute/device/helpers.h"
#include "compute/vendor/blas/matrix_fill.h"
#include "core/units.h"
#include "measure/benchmarks/conv/conv_cell.h"
#include "measure/benchmarks/conv/convolution_verify.h"
#include "measure/grid/benchmark.h"
#include "model/tensors/weights.h"

namespace assay::conv_benchmark {
namespace {

/// The number of multiplications that the reference may take to verify a result; less than a second
/// on any host.
constexpr std::int64_t verified_products = std::int64_t{1} << 27;

/// The number of convolutions in a graph.
constexpr int graph_calls = 20;

using Plans = std::vector<std::unique_ptr<ConvolutionPlan>>;

class ConvCase final : public Case {
 public:
  ConvCase(ConvCell cell, PrepareContext context)
      : cell_(std::move(cell)), device_(context.device), seed_(context.seed) {}

  Status prepare(Stream& stream, const std::function<bool()>& stop_requested) {
    library_ = TRY(open_convolution(device_, cell_.library, cell_.problem));
    TRY(fill(stream));
    Plans plans = TRY(library_->plans(stream, operands(), cell_.search));
    TRY(leave_out_hungry(plans));
    rank_ = 0;
    if (cell_.search == ConvolutionSearch::every) {
      TRY(choose(stream, plans, stop_requested));
    } else if (cell_.search != ConvolutionSearch::first) {
      choice_ = "found by the library";
    }
    plan_ = std::move(plans[rank_]);
    // The workspace of rejected plans is freed, so that memory does not grow during a long sweep.
    workspace_ = Buffer();
    TRY(allocate_workspace(plan_->workspace_bytes()));
    TRY(plan_->prepare(stream, operands()));
    // Libraries load kernels on first use, which must not happen while the device is held.
    TRY(convolve(stream));
    TRY(stream.synchronize());
    if (cell_.graph) graph_ = TRY(graph_of(stream, *plan_));
    return {};
  }

  Work work() const override {
    const double calls = cell_.graph ? graph_calls : 1;
    return {.bytes = calls * cell_.problem.bytes(),
            .flops = calls * cell_.problem.flops(),
            .repetitions = calls,
            .math = cell_.problem.type};
  }
  Quantity quantity() const override { return Quantity::flop_rate; }
  Limit limit() const override { return Limit::compute; }
  bool fits_behind_gate() const override { return !cell_.graph; }
  /// Several launches per sample hide late starts: starting a graph takes about 20 us, which is
  /// much for 20 short convolutions, and on a CPU, threads that slept since the last sample begin
  /// late.
  int launches_per_sample(double seconds) const override {
    constexpr double sample_seconds = 0.02;
    const bool starts_late = cell_.graph || device_.facts().runs_on_host;
    return starts_late ? launches_to_fill(sample_seconds, seconds) : 1;
  }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> notes = {
        {"library", library_->library()},
        {"library_path", library_->path()},
        {"algorithm", plan_->algorithm()},
        {"algorithm_rank", std::to_string(rank_)},
        {"algorithms_measured", std::to_string(measured_)},
        {"choice", choice_},
        {"workspace_bytes", std::to_string(plan_->workspace_bytes())}};
    if (!wrong_.empty())
      notes.emplace_back("wrong_algorithms", fmt::format("{}", fmt::join(wrong_, "; ")));
    return notes;
  }

  Status enqueue(Stream& stream) override {
    return cell_.graph ? stream.launch(*graph_) : convolve(stream);
  }

  Result<Verification> verify(Stream& stream) override {
    return verify(stream, *plan_, [&] { return enqueue(stream); });
  }

 private:
  /// Verifies the result of `queue`, which queues the plan.
  Result<Verification> verify(Stream& stream, const ConvolutionPlan& plan,
                              const std::function<Status()>& queue) const {
    constexpr int poison = 0xFF;  // NaN in all of the types
    const Buffer& result = result_buffer();
    TRY(stream.fill(result.data(), poison, result.bytes()));
    TRY(queue());
    TRY(stream.synchronize());
    const ConvolutionTensors tensors = {TRY(read(stream, x_)), TRY(read(stream, w_)),
                                        TRY(read(stream, y_))};
    return verify_convolution(cell_.problem, tensors, plan.transforms(), verified_products, seed_);
  }

  Status convolve(Stream& stream) { return plan_->enqueue(stream, operands(), workspace_.data()); }
  Result<std::unique_ptr<Graph>> graph_of(Stream& stream, ConvolutionPlan& plan) {
    return captured(stream, [&]() -> Status {
      for (int i = 0; i < graph_calls; ++i) {
        TRY(plan.enqueue(stream, operands(), workspace_.data()));
      }
      return {};
    });
  }

  ConvolutionOperands operands() const { return {x_.data(), w_.data(), y_.data()}; }
  DataType stored() const {
    return cell_.problem.type == DataType::tf32 ? DataType::f32 : cell_.problem.type;
  }
  const Buffer& result_buffer() const {
    switch (cell_.problem.direction) {
      case ConvolutionDirection::data:
        return x_;
      case ConvolutionDirection::weights:
        return w_;
      default:
        return y_;
    }
  }

  /// Fills all tensors with normally distributed numbers; the result is overwritten later.
  Status fill(Stream& stream) {
    const auto program = TRY(device_.build({"matrix", {}}));
    const std::pair<Buffer*, std::int64_t> tensors[] = {{&x_, cell_.problem.x_elements()},
                                                        {&w_, cell_.problem.w_elements()},
                                                        {&y_, cell_.problem.y_elements()}};
    std::uint64_t seed = seed_;
    for (const auto& [buffer, elements] : tensors) {
      *buffer = TRY(device_.allocate(static_cast<std::size_t>(elements) * size_of(stored()),
                                     MemoryKind::device));
      TRY(fill_matrix(stream, device_.facts(), *program, buffer->data(), stored(),
                      {1, elements, elements}, Inputs::normal, seed++));
    }
    return stream.synchronize();
  }

  Result<std::vector<float>> read(Stream& stream, const Buffer& tensor) const {
    return read_weights(stream, tensor.data(), stored(), tensor.bytes() / size_of(stored()));
  }

  /// Removes plans whose workspace would take more than half of the free memory, which other
  /// programs would not give them either. Error: exhausted if none is left.
  Status leave_out_hungry(Plans& plans) const {
    const std::uint64_t most = TRY(device_.memory_free_and_total()).first / 2;
    std::size_t least = SIZE_MAX;
    for (const auto& plan : plans) least = std::min(least, plan->workspace_bytes());
    std::erase_if(plans, [&](const auto& plan) { return plan->workspace_bytes() > most; });
    if (!plans.empty()) return {};
    return Error{ErrorKind::exhausted,
                 fmt::format("the smallest workspace of any algorithm is {}, half of the device's "
                             "free memory is {}",
                             format_memory(least), format_memory(most))};
  }

  Status allocate_workspace(std::size_t bytes) {
    if (bytes > workspace_.bytes()) {
      workspace_ = Buffer();
      workspace_ = TRY(device_.allocate(bytes, MemoryKind::device));
    }
    return {};
  }

  /// Whether the plan's result is right. If it is wrong twice, the algorithm is added to `wrong_`.
  /// Error: verification if it is wrong only the first time, because then the algorithm is not to
  /// blame.
  Result<bool> is_right(Stream& stream, ConvolutionPlan& plan) {
    const auto result = [&] {
      return verify(stream, plan,
                    [&] { return plan.enqueue(stream, operands(), workspace_.data()); });
    };
    const Verification once = TRY(result());
    if (once.passed) return true;
    if (TRY(result()).passed) {
      return Error{ErrorKind::verification, fmt::format("{} was wrong once, and right after it: {}",
                                                        plan.algorithm(), once.detail)};
    }
    wrong_.push_back(fmt::format("{}: {}", plan.algorithm(), once.detail));
    return false;
  }

  /// Selects the fastest correct plan, from the cache or by measuring. If too many plans are wrong,
  /// the last wrong one stays selected, and its verification fails with the details.
  Status choose(Stream& stream, const Plans& plans, const std::function<bool()>& stop_requested) {
    constexpr std::size_t most_wrong = 4;
    if (plans.size() == 1) return {};
    std::vector<std::size_t> left(plans.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    const ChoiceCache cache = ChoiceCache::of_user(device_.facts());
    ChoiceKey key = conv_choice_key(library_->library(), cell_.problem);
    if (cell_.graph) key.problem += " in a graph";  // without a graph the host may be the limit
    if (const auto known = cache.find(device_.facts(), key)) {
      const auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) {
        return plan->algorithm() == *known;
      });
      if (found != plans.end()) {
        rank_ = static_cast<std::size_t>(found - plans.begin());
        choice_ = "measured in an earlier run";
        TRY(allocate_workspace((*found)->workspace_bytes()));
        TRY((*found)->prepare(stream, operands()));
        if (TRY(is_right(stream, **found))) return {};
        std::erase(left, rank_);
      }
    }
    for (const auto& plan : plans) {
      TRY(allocate_workspace(plan->workspace_bytes()));
      TRY(plan->prepare(stream, operands()));
    }
    std::vector<std::unique_ptr<Graph>> graphs(plans.size());  // each is made at its first run
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      contenders.emplace_back([this, &plan = *plans[i], &graph = graphs[i]](Stream& on) -> Status {
        if (!cell_.graph) return plan.enqueue(on, operands(), workspace_.data());
        if (graph == nullptr) {
          TRY(plan.enqueue(on, operands(), workspace_.data()));  // loads what it needs
          TRY(on.synchronize());
          graph = TRY(graph_of(on, plan));
        }
        return on.launch(*graph);
      });
    }
    choice_ = "measured";
    while (!left.empty() && wrong_.size() < most_wrong) {
      std::vector<Contender> now;
      for (const std::size_t i : left) now.push_back(contenders[i]);
      const auto contest = find_fastest(device_, stream, now, {.stop_requested = stop_requested});
      if (!contest.ok()) {
        const bool stopped = contest.error().kind == ErrorKind::interrupted;
        return wrong_.empty() || stopped ? Status(contest.error()) : Status();
      }
      rank_ = left[contest->fastest];
      measured_ = std::max(measured_, contest->tried);
      if (TRY(is_right(stream, *plans[rank_]))) {
        cache.keep(device_.facts(), key, plans[rank_]->algorithm());
        return {};
      }
      std::erase(left, rank_);
    }
    return {};
  }

  ConvCell cell_;
  Device& device_;
  std::uint64_t seed_;
  Buffer x_, w_, y_, workspace_;
  std::unique_ptr<Convolution> library_;  // must outlive the plan
  std::unique_ptr<ConvolutionPlan> plan_;
  std::unique_ptr<Graph> graph_;
  std::size_t rank_ = 0, measured_ = 0;
  std::string choice_ = "the library's first";
  std::vector<std::string> wrong_;  // fast algorithms with wrong results, and what was wrong
};

class ConvBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "conv"; }
  std::string_view summary() const override {
    return "convolutions by the vendor's library, 2-D and 3-D: FLOP/s";
  }
  const std::vector<Axis>& axes() const override { return conv_axes(); }

  std::vector<Cell> expand(const Cell& cell, const Device& device, const Team&) const override {
    return {decide_conv_cell(cell, device.facts())};
  }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    const auto parsed = parse_conv_cell(cell);
    if (!parsed.ok()) return parsed.error().message;
    const bool is_miopens =
        parsed->search != ConvolutionSearch::every && parsed->search != ConvolutionSearch::first;
    if (is_miopens && !device.facts().is_amd()) {
      return fmt::format("find={} is MIOpen's; allowed here: best, first", cell.text("find"));
    }
    if (auto reason = convolution_unsupported(parsed->library, parsed->problem, device.facts())) {
      return reason;
    }
    const auto needed = static_cast<std::uint64_t>(parsed->problem.bytes());
    const std::uint64_t most = device.facts().memory_bytes;
    if (most == 0 || needed <= most) return std::nullopt;
    return fmt::format("needs {}, the device has {}", format_memory(needed), format_memory(most));
  }
  bool depends_on_device() const override { return true; }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    auto prepared = std::make_unique<ConvCase>(TRY(parse_conv_cell(cell)), context);
    TRY(prepared->prepare(context.stream, context.stop_requested));
    return std::unique_ptr<Case>(std::move(prepared));
  }
};

const ConvBenchmark benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::conv_benchmark
