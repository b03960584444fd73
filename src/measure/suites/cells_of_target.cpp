#include "measure/suites/cells_of_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "core/suggest.h"

namespace assay {
namespace {

/// Removes redundant cells, unless all are redundant.
std::vector<Cell> without_redundant(const std::vector<Cell>& cells) {
  std::vector<Cell> kept;
  for (const Cell& cell : cells) {
    const Benchmark* benchmark = find_benchmark(cell.benchmark());
    if (benchmark == nullptr || !benchmark->redundant(cell)) kept.push_back(cell);
  }
  return kept.empty() ? cells : kept;
}

/// A suggestion for a word by which other tools know a benchmark, or for a mistyped name.
std::string suggestion(std::string_view target, std::span<const std::string> names) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {{"stream", "memory"},
                                                                     {"babelstream", "memory"},
                                                                     {"bandwidth", "memory"},
                                                                     {"allreduce", "collective"},
                                                                     {"all_reduce", "collective"},
                                                                     {"rccl", "collective"},
                                                                     {"nccl", "collective"},
                                                                     {"rccl-tests", "collective"},
                                                                     {"nccl-tests", "collective"},
                                                                     {"p2p", "peer"},
                                                                     {"memcpy", "copy"},
                                                                     {"h2d", "copy"},
                                                                     {"d2h", "copy"},
                                                                     {"matmul", "gemm"},
                                                                     {"linear", "gemm"},
                                                                     {"hipblaslt", "gemm"},
                                                                     {"ib", "rdma"},
                                                                     {"perftest", "rdma"},
                                                                     {"osu", "mpi"},
                                                                     {"ddp", "scaling"},
                                                                     {"tp", "tensor_parallel"},
                                                                     {"llama", "inference"},
                                                                     {"conv2d", "conv"},
                                                                     {"sdpa", "attention"}};
  const auto at = std::ranges::find(known, target, [](const auto& one) { return one.first; });
  return at == std::end(known) ? did_you_mean(target, names)
                               : fmt::format(" (did you mean \"{}\"?)", at->second);
}

/// What each of two cells has and the other has not: "batch=1" and "batch=2".
std::pair<std::string, std::string> differences(const Cell& a, const Cell& b) {
  const auto only_in = [](const Cell& one, const Cell& other) {
    std::vector<std::string> only;
    if (one.benchmark() != other.benchmark()) only.push_back(one.benchmark());
    for (const auto& [axis, value] : one.values()) {
      if (other.text(axis) != value) only.push_back(fmt::format("{}={}", axis, value));
    }
    return fmt::format("{}", fmt::join(only, " "));
  };
  return {only_in(a, b), only_in(b, a)};
}

}  // namespace

bool is_suite_file(std::string_view target) {
  constexpr std::string_view endings[] = {".yaml", ".yml", ".log", ".txt"};
  return target.find('/') != std::string_view::npos ||
         std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return target.ends_with(ending); });
}

Result<Plan> plan_of(const Suite& suite, const std::vector<AxisSetting>& settings) {
  Plan plan{
      suite.name, without_redundant(TRY(cells_of(suite, settings))), suite.budget_seconds, {}};
  for (const SuiteEntry& entry : suite.entries) {
    if (entry.command) plan.commands.push_back(*entry.command);
  }
  return plan;
}

Result<Plan> make_plan(std::string_view target, const std::vector<AxisSetting>& settings) {
  if (target.starts_with('{')) {
    const Suite suite = TRY(parse_suite(target, "suite"));
    return plan_of(suite, settings);
  }
  if (is_suite_file(target)) {
    const Suite suite = TRY(load_suite(std::string(target)));
    return plan_of(suite, settings);
  }
  std::vector<std::string> suite_names, benchmark_names;
  for (const Suite& suite : TRY(built_in_suites())) {
    if (suite.name == target) return plan_of(suite, settings);
    suite_names.push_back(suite.name);
  }
  if (const Benchmark* benchmark = find_benchmark(target)) {
    const std::vector<Cell> cells = TRY(expand_cells(target, benchmark->axes(), settings));
    return Plan{std::string(target), without_redundant(cells), {}, {}};
  }
  for (const Benchmark* benchmark : benchmarks()) benchmark_names.emplace_back(benchmark->name());
  std::vector<std::string> names = suite_names;
  names.insert(names.end(), benchmark_names.begin(), benchmark_names.end());
  return Error{ErrorKind::usage,
               fmt::format("no suite or benchmark \"{}\"{}; suites: {}; benchmarks: {}", target,
                           suggestion(target, names), fmt::join(suite_names, ", "),
                           fmt::join(benchmark_names, ", "))};
}

std::vector<Cell> expand_on(const std::vector<Cell>& cells, const Device& device,
                            const Team& team) {
  std::vector<Cell> expanded;
  std::unordered_set<std::string> seen;
  for (const Cell& cell : cells) {
    const Benchmark* benchmark = find_benchmark(cell.benchmark());
    for (Cell& one :
         benchmark != nullptr ? benchmark->expand(cell, device, team) : std::vector<Cell>{cell}) {
      if (seen.insert(one.id()).second) expanded.push_back(std::move(one));
    }
  }
  return expanded;
}

Status check_written_once(const std::vector<Cell>& cells) {
  namespace fs = std::filesystem;
  std::map<fs::path, const Cell*> writers;
  for (const Cell& cell : cells) {
    const Benchmark* benchmark = find_benchmark(cell.benchmark());
    if (benchmark == nullptr) continue;
    for (const Axis& axis : benchmark->axes()) {
      const std::string value(cell.text(axis.name));
      if (!axis.is_written || value.empty() || std::ranges::count(axis.choices, value) > 0)
        continue;
      std::error_code error;
      if (fs::exists(value, error) && fs::is_other(value, error)) continue;
      const fs::path whole = fs::absolute(value, error);
      fs::path canonical = fs::weakly_canonical(whole, error);
      if (error) canonical = whole.lexically_normal();
      if (!canonical.has_filename()) canonical = canonical.parent_path();  // "tuned/" is "tuned"
      const auto [other, is_new] = writers.emplace(std::move(canonical), &cell);
      if (is_new || other->second == &cell) continue;
      const auto [first, second] = differences(*other->second, cell);
      return Error{ErrorKind::usage,
                   fmt::format("{}={} would be written by the cell with {} and again by that with "
                               "{}; run them one after the other, each with another {}",
                               axis.name, value, first, second, axis.name)};
    }
  }
  return {};
}

}  // namespace assay
