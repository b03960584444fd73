#include "compute/vendor/blas/gemm_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compute/autotune/choose_variant.h"
#include "compute/autotune/contest.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "compute/vendor/blas/matrix_fill.h"

namespace assay {
namespace {

constexpr int most_algorithms = 32, all_algorithms = 4096;
/// "cublaslt 13.1.0"
std::string text_of(const BlasFacts& library) {
  return library.name + " " + library.version;
}

/// Operands for measuring, filled with normal numbers: zeros would draw less power and change the
/// clock.
struct TrialOperands {
  Buffer a, d, bias, aux, factors;
  std::vector<Buffer> b;
  GemmOperands pointers;

  /// Returns the operands with the next matrix B, if there are several.
  GemmOperands next() {
    std::rotate(b.begin(), b.begin() + 1, b.end());
    pointers.b = b.front().data();
    return pointers;
  }

  static Result<TrialOperands> create(Device& device, Stream& stream, const GemmProblem& p) {
    TrialOperands made;
    const auto program = TRY(device.build({"matrix", {}}));
    std::uint64_t seed = 1;
    const auto filled = [&](std::int64_t elements, DataType type) -> Result<Buffer> {
      Buffer buffer = TRY(
          device.allocate(static_cast<std::size_t>(elements) * size_of(type), MemoryKind::device));
      TRY(fill_matrix(stream, device.facts(), *program, buffer.data(), type,
                      {1, elements, elements}, Inputs::normal, seed++));
      return buffer;
    };
    made.a = TRY(filled(p.elements_a(), p.a));
    for (std::size_t i = matrices_to_read(device.facts(), p); i > 0; --i) {
      made.b.push_back(TRY(filled(p.elements_b(), p.b)));
    }
    made.d = TRY(filled(p.elements_d(), p.d));
    if (reads_bias(p.epilogue) || writes_bias(p.epilogue)) {
      made.bias = TRY(filled(p.bias_elements(), p.bias));
    }
    if (reads_aux(p.epilogue) || writes_aux(p.epilogue)) {
      made.aux = TRY(filled(p.m * p.ld_aux, p.aux));
    }
    // Floats; each factor, or those of all rows or columns, is aligned like an operand.
    const std::size_t lines = p.scales_lines ? static_cast<std::size_t>(std::max(p.m, p.n)) : 1;
    const std::size_t apart = (lines + 63) / 64 * 64;
    const std::vector<float> ones(4 * apart, 1.0f);
    made.factors = TRY(device.allocate(ones.size() * sizeof(float), MemoryKind::device));
    TRY(stream.copy(made.factors.data(), ones.data(), made.factors.bytes()));
    TRY(stream.synchronize());
    auto* factors = made.factors.as<float>();
    made.pointers = {made.a.data(),       made.b.front().data(), made.d.data(), made.d.data(),
                     made.bias.data(),    made.aux.data(),       factors,       factors + apart,
                     factors + 2 * apart, factors + 3 * apart};
    return made;
  }
};

/// Makes the library's threads sleep soon between products on a CPU, because kernels then need
/// their cores. A few microseconds of spinning suit all sizes. On two cores, training of 8L8H256C
/// was 1.1 times as fast as with four times that, 1.3 times as fast as without spinning, and 13
/// times as fast as with libgomp's default of milliseconds. libgomp reads the variable when it is
/// loaded, so it must be set before. A user's own setting is respected.
void let_library_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", 0);
}

}  // namespace

GemmPlans::GemmPlans(Device& device, Stream& stream, Options options, ChoiceCache choices)
    : device_(device), stream_(stream), options_(std::move(options)), choices_(std::move(choices)) {
  if (device.facts().is_host_cpu()) let_library_threads_sleep();
}

Result<GemmPlan*> GemmPlans::find(const GemmProblem& problem) {
  const auto known = plans_.find(problem);
  if (known != plans_.end()) return known->second.get();
  if (workspace_.bytes() == 0) {
    workspace_ = TRY(device_.allocate(options_.workspace_bytes, MemoryKind::device));
  }
  auto plan = make_plan(options_.library, problem);
  if (!plan.ok() && options_.own_if_none &&
      (plan.error().kind == ErrorKind::unsupported ||
       plan.error().kind == ErrorKind::unavailable)) {
    auto own = make_plan("own", problem);
    // The error of the own GEMM says less than why no library supports the problem.
    if (own.ok() || own.error().kind != ErrorKind::unsupported) plan = std::move(own);
  }
  return plans_.emplace(problem, TRY(std::move(plan))).first->second.get();
}

Result<std::unique_ptr<GemmPlan>> GemmPlans::make_plan(std::string_view library,
                                                       const GemmProblem& problem) {
  Blas* opened = TRY(library_for(library, problem));
  const GemmAlgorithm algorithm = TRY(choose(*opened, problem));
  return opened->plan(problem, algorithm);
}

bool GemmPlans::supports(const GemmProblem& problem) {
  if (unsupported_.contains(problem)) return false;
  const auto found = find(problem);
  if (found.ok()) return true;
  const ErrorKind kind = found.error().kind;
  if (kind != ErrorKind::unsupported && kind != ErrorKind::unavailable) return true;
  unsupported_.insert(problem);
  return false;
}

bool GemmPlans::library_supports(const GemmProblem& problem) {
  const auto library = library_for(options_.library, problem);
  return library.ok() && (*library)->algorithms(problem, options_.workspace_bytes, 1).ok();
}

Result<bool> GemmPlans::better_fused(const GemmProblem& problem, const Contender& fused,
                                     const Contender& separate) {
  const auto known = better_fused_.find(problem);
  if (known != better_fused_.end()) return known->second;
  bool better = supports(problem);
  if (better && options_.measure && !device_.facts().emulated) {
    const ChoiceKey key = {"epilogue", TRY(library_of(problem)), problem_text(problem)};
    const auto ready = [] { return Status(); };
    better = TRY(choose_variant(device_, stream_, choices_, key,
                                {{"fused", ready, fused}, {"separate", ready, separate}},
                                quick_contest())) == 0;
  }
  better_fused_.emplace(problem, better);
  return better;
}

Result<std::string> GemmPlans::library_of(const GemmProblem& problem) {
  return text_of(TRY(library_for(options_.library, problem))->facts());
}

std::string GemmPlans::libraries() const {
  std::string text;
  for (const auto& [name, library] : libraries_) {
    text += (text.empty() ? "" : ", ") + text_of(library->facts());
  }
  return text;
}

Status GemmPlans::enqueue(Stream& stream, const GemmProblem& problem,
                          const GemmOperands& operands) {
  GemmPlan* plan = TRY(find(problem));
  return plan->enqueue(stream, operands, workspace());
}

Result<Blas*> GemmPlans::library_for(std::string_view choice, const GemmProblem& problem) {
  const DeviceFacts& facts = device_.facts();
  for (const BlasProvider& provider : blas_providers(facts.backend)) {
    if (!provider.allowed_by(choice) || provider.unsupported(problem, facts)) continue;
    const auto opened = libraries_.find(provider.name);
    if (opened != libraries_.end()) return opened->second.get();
    break;
  }
  auto library = TRY(open_blas(device_, choice, problem));
  library->expect_kernels_between();
  // If the library is open already, that one is kept: an earlier choice failed to open, and plans
  // use it.
  const std::string name = library->facts().name;
  return libraries_.try_emplace(name, std::move(library)).first->second.get();
}

Result<GemmAlgorithm> GemmPlans::choose(Blas& library, const GemmProblem& problem) {
  const int wanted = options_.measure ? most_algorithms : 1;
  auto algorithms = TRY(library.algorithms(problem, options_.workspace_bytes, wanted));
  if (algorithms.size() == 1 || device_.facts().emulated) return std::move(algorithms.front());
  const DeviceFacts& facts = device_.facts();
  const ChoiceKey key = gemm_choice_key(facts, library.facts(), problem, options_.workspace_bytes);
  const auto remembered = choices_.find(facts, key);
  const auto is_remembered = [&](const GemmAlgorithm& algorithm) {
    return remembered == algorithm.name;
  };
  const auto listed = std::find_if(algorithms.begin(), algorithms.end(), is_remembered);
  if (listed != algorithms.end()) return *listed;
  if (remembered) {  // perhaps kept by `assay tune gemm`, which tries more algorithms
    const auto all = library.all_algorithms(problem, options_.workspace_bytes, all_algorithms);
    if (all.ok()) {
      const auto found = std::find_if(all->begin(), all->end(), is_remembered);
      if (found != all->end()) return *found;
    }
  }
  const auto fastest = measure(library, problem, algorithms);
  if (!fastest.ok() && fastest.error().kind == ErrorKind::exhausted) {
    choices_.note(facts, key, algorithms.front().name);
    return std::move(algorithms.front());  // there is no memory for trial operands
  }
  const std::size_t chosen = TRY(fastest);
  choices_.keep(facts, key, algorithms[chosen].name);
  return std::move(algorithms[chosen]);
}

/// The limits are tight, because a user waits for the first step, and near equals differ little.
ContestLimits GemmPlans::quick_contest() const {
  return {.most_finalists = 4,
          .final_rounds = 3,
          .final_seconds = 0.01,
          .time_box_seconds = 2,
          .stop_requested = options_.stop_requested};
}

Result<std::size_t> GemmPlans::measure(Blas& library, const GemmProblem& problem,
                                       const std::vector<GemmAlgorithm>& algorithms) {
  TrialOperands operands = TRY(TrialOperands::create(device_, stream_, problem));
  std::vector<std::unique_ptr<GemmPlan>> plans;
  std::vector<Contender> contenders;
  for (const GemmAlgorithm& algorithm : algorithms) {
    auto made = library.plan(problem, algorithm);
    if (!made.ok()) {
      const Error error = made.error();
      contenders.emplace_back([error](Stream&) -> Status { return error; });
      continue;
    }
    plans.push_back(std::move(made).value());
    GemmPlan* plan = plans.back().get();
    TRY(plan->pack(stream_, operands.pointers.b));
    contenders.emplace_back([this, plan, &operands](Stream& stream) {
      return plan->enqueue(stream, operands.next(), workspace());
    });
  }
  return TRY(find_fastest(device_, stream_, contenders, quick_contest())).fastest;
}

}  // namespace assay
