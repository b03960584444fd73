#include "advise/tune/gemm/product_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/device/helpers.h"
#include "measure/benchmarks/gemm/gemm_verify.h"

namespace assay {
namespace {

constexpr std::size_t factors_apart = 64;  // floats between scale factors, so that each is aligned
                                           // like an operand
constexpr std::size_t most_sets = 64;      // operands of small GEMMs fit into any cache anyway
constexpr double most_products = 20'000;   // most GEMMs in one run
// Shorter GEMMs are launched as a graph: the host takes about 3 us to queue one, so it would
// otherwise limit the time.
constexpr double short_product = 30e-6;
constexpr std::size_t least_graph_products = 32;

}  // namespace

Result<ProductTrials> ProductTrials::create(Device& device, Stream& stream,
                                            const GemmProblem& problem,
                                            const TuneGemmSettings& settings) {
  GemmCell cell;
  cell.inputs = settings.inputs;
  cell.rotate_bytes =
      std::min<std::uint64_t>(settings.rotate_bytes, most_sets * operand_bytes(problem));
  ProductTrials made(device, stream, problem, settings,
                     TRY(GemmMatrices::create(device, stream, cell, {problem}, settings.seed)));
  const std::vector<float> ones(4 * factors_apart, 1.0f);
  made.factors_ = TRY(device.allocate(ones.size() * sizeof(float), MemoryKind::device));
  TRY(stream.copy(made.factors_.data(), ones.data(), made.factors_.bytes()));
  TRY(stream.synchronize());
  made.start_ = TRY(device.create_event());
  made.stop_ = TRY(device.create_event());
  const std::size_t sets = made.matrices_.sets().size();
  made.graph_products_ = (least_graph_products + sets - 1) / sets * sets;
  return made;
}

void ProductTrials::add(Blas& library, GemmAlgorithm algorithm) {
  Candidate candidate;
  candidate.library = &library;
  candidate.solution = {library.facts().name, algorithm.name, algorithm.index, algorithm.solution,
                        algorithm.kernel};
  candidate.algorithm = std::move(algorithm);
  candidates_.push_back(std::move(candidate));
}

Status ProductTrials::allocate_workspace() {
  std::size_t bytes = 0;
  for (const Candidate& candidate : candidates_) {
    bytes = std::max(bytes, candidate.algorithm.workspace_bytes);
  }
  if (bytes > 0) workspace_ = TRY(device_.allocate(bytes, MemoryKind::device));
  return {};
}

GemmOperands ProductTrials::operands(std::size_t set) const {
  GemmOperands pointers = matrices_.sets()[set].pointers();
  auto* factors = factors_.as<float>();
  pointers.scale_a = factors;
  pointers.scale_b = factors + factors_apart;
  pointers.scale_d = factors + 2 * factors_apart;
  pointers.amax_d = factors + 3 * factors_apart;
  return pointers;
}

Status ProductTrials::device_works() {
  TRY(stream_.record(*start_));
  return stream_.synchronize();
}

Result<ProductTrials::Screened> ProductTrials::screen(std::size_t i) {
  Candidate& candidate = candidates_[i];
  const auto run = [&]() -> Result<double> {
    candidate.plan = TRY(candidate.library->plan(problem_, candidate.algorithm));
    TRY(queue(candidate, 1));
    TRY(stream_.record(*start_));
    TRY(queue(candidate, 1));
    TRY(stream_.record(*stop_));
    TRY(stream_.synchronize());
    return stop_->seconds_since(*start_);
  };
  const auto seconds = run();
  if (!seconds.ok()) {
    TRY(device_works());
    return Screened{std::nullopt, seconds.error().message};
  }
  candidate.usual_seconds = *seconds;
  return Screened{*seconds, {}};
}

Result<ProductTrials::Checked> ProductTrials::check(std::size_t i) {
  Candidate& candidate = candidates_[i];
  // The check uses beta = 0: the output holds NaNs that show unwritten elements, and must not be
  // added to.
  GemmProblem checked = problem_;
  checked.beta = 0;
  const OperandSet& set = matrices_.sets().front();
  std::unique_ptr<GemmPlan> other;
  const auto compute = [&]() -> Status {
    if (problem_.beta != 0) other = TRY(candidate.library->plan(checked, candidate.algorithm));
    GemmPlan& plan = other != nullptr ? *other : *candidate.plan;
    TRY(plan.enqueue(stream_, operands(0), {workspace_.data(), workspace_.bytes()}));
    return stream_.synchronize();
  };
  TRY(matrices_.poison(stream_, checked, set));
  if (const Status computed = compute(); !computed.ok()) {
    TRY(device_works());
    return Checked{Check::failed, computed.error().message};
  }
  const double largest = settings_.inputs == Inputs::integers ? 2
                         : settings_.inputs == Inputs::ones   ? 1
                         : settings_.inputs == Inputs::zeros  ? 0
                         : problem_.a == DataType::i8         ? 127
                                                      : std::numeric_limits<double>::infinity();
  const Verification verification =
      TRY(verify_gemm(stream_, matrices_, checked, set, largest, settings_.seed));
  if (verification.passed) return Checked{};
  return Checked{Check::wrong, verification.detail};
}

Status ProductTrials::capture(Candidate& candidate) {
  candidate.tried_graph = true;
  const std::size_t sets = matrices_.sets().size();
  auto graph = captured(stream_, [&]() -> Status {
    for (std::size_t product = 0; product < graph_products_; ++product) {
      TRY(candidate.plan->enqueue(stream_, operands(product % sets),
                                  {workspace_.data(), workspace_.bytes()}));
    }
    return {};
  });
  // If the library cannot be captured, its GEMMs are queued one by one.
  if (graph.ok()) candidate.graph = std::move(graph).value();
  return device_works();
}

Result<std::size_t> ProductTrials::queue(Candidate& candidate, std::size_t products) {
  if (candidate.graph != nullptr) {
    const std::size_t launches = (products + graph_products_ - 1) / graph_products_;
    for (std::size_t i = 0; i < launches; ++i) TRY(stream_.launch(*candidate.graph));
    return launches * graph_products_;
  }
  for (std::size_t i = 0; i < products; ++i) {
    TRY(candidate.plan->enqueue(stream_, operands(next_), {workspace_.data(), workspace_.bytes()}));
    next_ = (next_ + 1) % matrices_.sets().size();
  }
  return products;
}

Result<std::optional<double>> ProductTrials::time(std::size_t i, double seconds, double settling) {
  Candidate& candidate = candidates_[i];
  const auto run = [&](double length) -> Result<double> {
    const double usual = candidate.usual_seconds;
    const auto count = [&](double span) {
      return static_cast<std::size_t>(
          usual > 0 ? std::clamp(std::ceil(span / usual), 1.0, most_products) : 1);
    };
    if (settling > 0 && usual > 0) TRY(queue(candidate, count(settling)));
    TRY(stream_.record(*start_));
    const std::size_t products = TRY(queue(candidate, count(length)));
    TRY(stream_.record(*stop_));
    TRY(stream_.synchronize());
    candidate.usual_seconds = TRY(stop_->seconds_since(*start_)) / static_cast<double>(products);
    return candidate.usual_seconds;
  };
  if (candidate.usual_seconds < short_product && !candidate.tried_graph &&
      !device_.facts().runs_on_host) {
    TRY(capture(candidate));
  }
  const auto measured = run(seconds);
  if (measured.ok() && *measured > 0) return std::optional(*measured);
  TRY(device_works());
  return std::optional<double>();
}

}  // namespace assay
