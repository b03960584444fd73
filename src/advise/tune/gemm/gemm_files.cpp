#include "advise/tune/gemm/gemm_files.h"

#include <fmt/format.h>

#include <set>

namespace assay {
namespace {

/// PyTorch's name of a solution for GEMMs of this kind; nullopt if it has none. PyTorch computes
/// GEMMs with a bias or scale factors only with hipBLASLt.
std::optional<std::string> registered_name(const ProductSolution& solution, const BlasCall& call,
                                           TunableDialect dialect) {
  if (!solution.index) return std::nullopt;
  if (solution.library == "hipblaslt") {
    return solution_name(BlasLibrary::hipblaslt, *solution.index, call, dialect);
  }
  const bool plain = call.epilogue == Epilogue::none && call.scale_a == BlasCall::Scale::none;
  if (solution.library == "rocblas" && plain) {
    return solution_name(BlasLibrary::rocblas, *solution.index, call, dialect);
  }
  return std::nullopt;
}

}  // namespace

Result<TunedFile<TunableResults>> tunable_results(std::span<const TunedProduct> products,
                                                  const Validators& validators) {
  std::string version;
  for (const auto& [key, value] : validators) {
    if (key == "PT_VERSION") version = value;
  }
  const TunableDialect dialect = TRY(tunable_dialect(version));
  TunedFile<TunableResults> made;
  made.file.validators = validators;
  std::set<TunableKey> written;  // different GEMMs may have the same key in TunableOp
  for (const TunedProduct& tuned : products) {
    const std::string text = describe(tuned.product.problem);
    if (!tuned.outcome.reason.empty()) continue;
    const BlasCall call = call_of(tuned.product.problem);
    const auto key = key_of(call, dialect);
    if (!key.ok()) {
      made.left_out.push_back(fmt::format("{}: {}", text, key.error().message));
      continue;
    }
    if (!written.insert(*key).second) {
      made.left_out.push_back(fmt::format("{}: PyTorch does not tell it from another", text));
      continue;
    }
    const ProductOutcome& outcome = tuned.outcome;
    std::string solution = "Default";
    double seconds = outcome.usual_seconds;
    if (outcome.proven) {
      const auto name = registered_name(outcome.best, call, dialect);
      if (name) {
        solution = *name;
        seconds = outcome.best_seconds();
      } else {
        made.left_out.push_back(
            fmt::format("{}: PyTorch cannot name {} {}, so its row says Default", text,
                        outcome.best.library, outcome.best.algorithm));
      }
    }
    made.file.rows.push_back({*key, solution, fmt::format("{:.6g}", 1e3 * seconds)});
  }
  return made;
}

TunedFile<OverrideFile> override_file(std::span<const TunedProduct> products,
                                      const OverrideTarget& target) {
  TunedFile<OverrideFile> made;
  made.file.git_version = target.git_version;
  for (const TunedProduct& tuned : products) {
    const ProductOutcome& outcome = tuned.outcome;
    if (!outcome.reason.empty() || !outcome.proven) continue;
    const std::string text = describe(tuned.product.problem);
    if (outcome.best.library != "hipblaslt" || !outcome.best.index) {
      made.left_out.push_back(
          fmt::format("{}: its best solution is {}'s", text, outcome.best.library));
      continue;
    }
    const auto row =
        override_row({call_of(tuned.product.problem), *outcome.best.index, outcome.best.solution,
                      outcome.best.kernel, outcome.best_seconds(), target.rotating_bytes,
                      target.arch, target.multiprocessors},
                     target.format);
    if (row.ok()) {
      made.file.rows.push_back(*row);
    } else {
      made.left_out.push_back(fmt::format("{}: {}", text, row.error().message));
    }
  }
  return made;
}

}  // namespace assay
