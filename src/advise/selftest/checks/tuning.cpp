// Tuning of matrix products: what is found is right and not slower than the libraries' own choice,
// and the engine's plans find it again.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "advise/tune/gemm/product_tuner.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "core/read_file.h"

namespace assay::selftest::tuning {
namespace {

/// A folder that is removed with its owner.
class Folder {
 public:
  static Result<Folder> create() {
    std::error_code problem;
    const std::filesystem::path all = std::filesystem::temp_directory_path(problem);
    std::string path = (all / "assay-selftest-XXXXXX").string();
    if (problem || ::mkdtemp(path.data()) == nullptr) {
      return Error{ErrorKind::unavailable, "no folder for temporary files can be written"};
    }
    return Folder(path);
  }
  Folder(Folder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

GemmProblem some_product(const Stage& stage) {
  return stage.large ? make_gemm(1024, 768, 3072, DataType::bf16, DataType::bf16, false, true)
                     : make_gemm(64, 48, 32, DataType::bf16, DataType::bf16, false, true);
}

Answer tune_a_product(Stage& stage) {
  TuneGemmSettings settings;
  settings.screening_box_seconds = stage.large ? 15 : 2;
  settings.most_solutions = stage.large ? 500 : 20;
  settings.pairs = 4;
  ProductTuner tuner(stage.device, stage.stream, settings);
  const GemmProblem problem = some_product(stage);
  const ProductOutcome outcome = TRY(tuner.tune(problem, [](std::string_view) { return false; }));
  if (!outcome.reason.empty()) return Error{ErrorKind::unsupported, outcome.reason};
  const std::string found = fmt::format(
      "{}: {} solutions, {} wrong, {} failed, {} untried, {:+.1f}%{}, {:.1f} s", describe(problem),
      outcome.solutions, outcome.wrong, outcome.failed, outcome.untried, (outcome.gain - 1) * 100,
      outcome.proven ? " proven" : "", outcome.spent_seconds);
  TRY(expect(outcome.best_seconds() > 0 && outcome.best_seconds() <= outcome.usual_seconds,
             found + ": the best is slower than the usual one"));
  return found;
}

Answer find_a_choice(Stage& stage) {
  const DeviceFacts& facts = stage.device.facts();
  if (facts.emulated) {
    return Error{ErrorKind::unsupported, "no choices are kept for an emulated device"};
  }
  const Folder folder = TRY(Folder::create());
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

const CheckRegistry::Add tuned{
    {.name = "tuning-of-a-product",
     .topic = Topic::libraries,
     .about = "a tuned matrix product is right and not slower than the libraries' own choice",
     .run = &tune_a_product}};
const CheckRegistry::Add found{{.name = "tuning-is-found",
                                .topic = Topic::libraries,
                                .about = "the choice of an algorithm is kept and found again",
                                .run = &find_a_choice}};

}  // namespace
}  // namespace assay::selftest::tuning
