// Tuning of matrix products: what is found is right and not slower than the libraries' own choice,
// and the engine's plans find it again.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "advise/selftest/temporary_folder.h"
#include "advise/tune/gemm/product_tuner.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "core/read_file.h"

namespace assay::selftest::tuning {
namespace {

GemmProblem some_product(const Stage& stage) {
  return stage.large ? make_gemm(1024, 768, 3072, DataType::bf16, DataType::bf16, false, true)
                     : make_gemm(64, 48, 32, DataType::bf16, DataType::bf16, false, true);
}

/// Large and small ones, with epilogues, added to C, with padded rows, in other types.
std::vector<GemmProblem> many_kinds() {
  const auto bf16 = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return make_gemm(m, n, k, DataType::bf16, DataType::bf16, false, true);
  };
  GemmProblem fused = bf16(4096, 3072, 768);
  fused.epilogue = Epilogue::gelu_aux_bias;
  GemmProblem added = make_gemm(768, 768, 8192, DataType::bf16, DataType::bf16, true, false);
  added.beta = 1;
  return {bf16(8192, 8192, 8192),
          bf16(16, 8192, 8192),
          bf16(64, 64, 64),
          fused,
          added,
          make_gemm(512, 512, 64, DataType::f16, DataType::f16, false, true, 96),
          make_gemm(1024, 1024, 1024, DataType::f32, DataType::f32)};
}

Answer tune_product(Stage& stage, const GemmProblem& problem) {
  TuneGemmSettings settings;
  settings.screening_box_seconds = stage.large ? 4 : 2;
  settings.most_solutions = stage.large ? 500 : 20;
  settings.pairs = 4;
  ProductTuner tuner(stage.device, stage.stream, settings);
  const ProductOutcome outcome = TRY(tuner.tune(problem, [](std::string_view) { return false; }));
  if (!outcome.reason.empty() && (stage.large || outcome.wrong > 0 || outcome.failed > 0)) {
    return wrong(describe(problem) + ": " + outcome.reason);
  }
  if (!outcome.reason.empty()) return Error{ErrorKind::unsupported, outcome.reason};
  const std::string found = fmt::format(
      "{}: {} solutions, {} wrong, {} failed, {} untried, {:+.1f}%{}, {:.1f} s", describe(problem),
      outcome.solutions, outcome.wrong, outcome.failed, outcome.untried, (outcome.gain - 1) * 100,
      outcome.proven ? " proven" : "", outcome.spent_seconds);
  TRY(expect(outcome.best_seconds() > 0 && outcome.best_seconds() <= outcome.usual_seconds,
             found + ": the best is slower than the default"));
  TRY(expect(!stage.large || outcome.solutions > 1, found + ": there was nothing to choose from"));
  return found;
}

Answer tune_products(Stage& stage) {
  if (!stage.large) return tune_product(stage, some_product(stage));
  for (const GemmProblem& problem : many_kinds()) TRY(tune_product(stage, problem));
  return passed(fmt::format("{} kinds of products", many_kinds().size()));
}

Answer find_a_choice(Stage& stage) {
  const DeviceFacts& facts = stage.device.facts();
  if (facts.emulated) {
    return Error{ErrorKind::unsupported, "no choices are kept for an emulated device"};
  }
  const TemporaryFolder folder = TRY(TemporaryFolder::create());
  const ChoiceCache choices(folder.path());
  const GemmProblem problem = some_product(stage);
  const auto library = TRY(open_blas(stage.device, "auto", problem));
  const GemmPlans::Options options;
  const auto listed = TRY(library->algorithms(problem, options.workspace_bytes, 32));
  const auto all = TRY(library->all_algorithms(problem, options.workspace_bytes, 4096));
  if (listed.size() < 2) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} has only one algorithm", library->facts().name)};
  }
  // The library's first choices come first; the one behind them, nobody else would take.
  const std::string& chosen = all.at(std::min(listed.size(), all.size() - 1)).name;
  const ChoiceKey key = gemm_choice_key(facts, library->facts(), problem, options.workspace_bytes);
  choices.keep(facts, key, chosen);
  const auto kept = [&] { return read_file(folder.path() / "choices").value_or(""); };
  const std::string before = kept();
  GemmPlans plans(stage.device, stage.stream, options, choices);
  TRY(plans.find(problem));
  // Had it not been found, another would have been measured and kept.
  TRY(expect(choices.find(facts, key) == chosen && kept() == before,
             fmt::format("{} was chosen, and was not found again", chosen)));
  return fmt::format("one of {} algorithms of {}", all.size(), library->facts().name);
}

const AddChecks registered{
    {.name = "tuning-of-products",
     .topic = Topic::libraries,
     .about = "a tuned GEMM is right and not slower than the libraries' own choice",
     .limit_seconds = 180,
     .run = &tune_products},
    {.name = "tuning-is-found",
     .topic = Topic::libraries,
     .about = "the choice of an algorithm is kept and found again",
     .run = &find_a_choice},
};

}  // namespace
}  // namespace assay::selftest::tuning
