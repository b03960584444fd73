#include "cli/advise/tune_gemm_view.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "advise/tune/gemm/blas_call.h"
#include "cli/advise/tune_tables.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "measure/sampling/roofline.h"

namespace assay::cli {
namespace {

constexpr std::size_t most_shown = 120;

std::string name_text(const ProductSolution& solution) {
  return fmt::format("{} {}", solution.library, solution.algorithm);
}

/// "840 (3 out, 500 slow)"
std::string solutions_text(const ProductOutcome& outcome) {
  std::string text;
  for (const auto& [count, what] : {std::pair(outcome.wrong + outcome.failed, "out"),
                                    {outcome.slow, "slow"},
                                    {outcome.untried, "untried"}}) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  return text.empty() ? std::to_string(outcome.solutions)
                      : fmt::format("{} ({})", outcome.solutions, text);
}

}  // namespace

std::string product_list_text(std::span<const CountedProblem> products, const DeviceFacts& facts,
                              std::size_t width, const Style& style) {
  std::vector<ListedProblem> listed;
  for (const CountedProblem& product : products) {
    const Work work = {.bytes = product.problem.bytes(),
                       .flops = product.problem.flops(),
                       .math = product.problem.a};
    listed.push_back(
        {describe(product.problem), product.count, floor_seconds(facts, work, Limit::compute)});
  }
  return listed_text("product", listed, width, style);
}

std::string tuned_text(std::span<const TunedProduct> products, std::size_t width,
                       const Style& style) {
  Table table({{"product"},
               {"calls", Column::Align::right},
               {"before", Column::Align::right},
               {"after", Column::Align::right},
               {"gain [95%]", Column::Align::right},
               {"roofline", Column::Align::right},
               {"solutions", Column::Align::right, 2},
               {"best", Column::Align::left, 1}});
  double before = 0, after = 0;
  std::size_t measured = 0, faster = 0, wrong = 0;
  std::string refused;
  for (const TunedProduct& tuned : products) {
    const ProductOutcome& outcome = tuned.outcome;
    const std::string text = describe(tuned.product.problem);
    if (!outcome.reason.empty()) {
      table.add({text, std::to_string(tuned.product.count), "-", "-", "", "", "",
                 shown_line(outcome.reason, 300)});
      continue;
    }
    ++measured;
    const auto count = static_cast<double>(tuned.product.count);
    before += count * outcome.usual_seconds;
    after += count * outcome.best_seconds();
    faster += outcome.proven ? 1 : 0;
    wrong += outcome.wrong;
    for (const RefusedSolution& one : outcome.refused) {
      if (refused.empty() && one.wrong) {
        refused = fmt::format("{}, {}: {}", text, name_text(one.solution),
                              shown_line(one.reason, most_shown));
      }
    }
    std::string best = outcome.proven           ? name_text(outcome.best)
                       : outcome.solutions == 1 ? "the only solution"
                                                : "nothing better";
    if (!outcome.proven && outcome.pairs > 0) best += ", not proven";
    table.add(
        {text, std::to_string(tuned.product.count), format_seconds(outcome.usual_seconds),
         format_seconds(outcome.best_seconds()),
         outcome.pairs == 0 ? "" : gain_text(outcome.gain, outcome.gain_low, outcome.gain_high),
         roofs_text(outcome.floor_seconds, outcome.usual_seconds,
                    outcome.proven ? std::optional(outcome.best_seconds()) : std::nullopt),
         solutions_text(outcome), best});
  }
  std::string text = table.render(width, style);
  if (measured > 0) {
    text += sum_text(faster, measured, "products", before, after);
  }
  if (wrong > 0) {
    text += fmt::format("solutions that computed wrong results and are out: {}, first {}\n", wrong,
                        refused);
  }
  return text;
}

std::string check_text(const PyTorchCheck& check, std::size_t width, const Style& style) {
  std::string text =
      fmt::format("PyTorch {}{}: {}\n", shown_line(check.pytorch.version, 60),
                  check.pytorch.hip.empty()
                      ? ", built for CUDA, whose TunableOp knows no solution but its own choice"
                      : fmt::format(", ROCm {}", shown_line(check.pytorch.hip, 40)),
                  check.accepted ? "took the file" : "did not take the file");
  Table table({{"product"}, {"solution"}, {"taken"}, {"", Column::Align::left, 1}});
  for (const PyTorchRow& row : check.rows) {
    table.add({shown_line(row.key.op + " " + row.key.parameters, 200), shown_line(row.solution, 60),
               row.taken ? "yes" : "no", row.reason});
  }
  if (!table.empty()) text += table.render(width, style);
  return text;
}

Json product_json(const CountedProblem& product) {
  const GemmProblem& p = product.problem;
  return {{"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"batch", p.batch},
          {"layout", layout_of(p)},
          {"a", name_of(p.a)},
          {"b", name_of(p.b)},
          {"d", name_of(p.d)},
          {"epilogue", name_of(p.epilogue)},
          {"calls", product.count}};
}

Json tuned_json(std::span<const TunedProduct> products) {
  Json json = Json::array();
  for (const TunedProduct& tuned : products) {
    Json one = product_json(tuned.product);
    one.update(to_json(tuned.outcome));
    json.push_back(std::move(one));
  }
  return json;
}

Json check_json(const PyTorchCheck& check) {
  Json json = {{"pytorch", check.pytorch.version}, {"accepted", check.accepted}};
  if (!check.pytorch.hip.empty()) json["hip"] = check.pytorch.hip;
  json["rows"] = Json::array();
  for (const PyTorchRow& row : check.rows) {
    Json one = {{"op", row.key.op},
                {"parameters", row.key.parameters},
                {"solution", row.solution},
                {"taken", row.taken}};
    if (!row.taken) one["reason"] = row.reason;
    json["rows"].push_back(std::move(one));
  }
  return json;
}

}  // namespace assay::cli
