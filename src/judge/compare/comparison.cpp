#include "judge/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/cell_order.h"
#include "measure/store/figures.h"
#include "statistics/multiplicity.h"

namespace assay {
namespace {

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0 : median(std::move(values));
}

std::vector<double> values_of(const Series& series) {
  std::vector<double> values;
  for (const Point& point : series.points) values.push_back(point.value);
  return values;
}

/// Of a campaign only complete units have a pair.
std::size_t units_that_count(const ResultSet& set) {
  return static_cast<std::size_t>(
      std::count_if(set.units.begin(), set.units.end(),
                    [&](const Unit& unit) { return !set.paired || unit.pair.has_value(); }));
}

/// The values that were measured side by side, by pair number.
struct Pairs {
  std::vector<std::size_t> numbers;
  std::vector<double> a, b;
};

Pairs pairs_of(const ResultSet& set_a, const Series& a, const ResultSet& set_b, const Series& b) {
  std::map<std::size_t, double> by_pair;
  for (const Point& point : a.points) {
    if (const auto pair = set_a.units[point.unit].pair) by_pair[*pair] = point.value;
  }
  std::map<std::size_t, std::pair<double, double>> both;
  for (const Point& point : b.points) {
    const auto pair = set_b.units[point.unit].pair;
    if (!pair) continue;
    const auto at = by_pair.find(*pair);
    if (at != by_pair.end()) both[*pair] = {at->second, point.value};
  }
  Pairs pairs;
  for (const auto& [number, values] : both) {
    pairs.numbers.push_back(number);
    pairs.a.push_back(values.first);
    pairs.b.push_back(values.second);
  }
  return pairs;
}

/// The logarithm of each value's time. Error: naming a value that has none.
Result<std::vector<double>> log_times(const std::vector<double>& values, Better better) {
  std::vector<double> logs;
  for (const double value : values) {
    const auto log = log_time(value, better);
    if (!log) {
      return Error{ErrorKind::usage, fmt::format("a value of {} cannot be compared", value)};
    }
    logs.push_back(*log);
  }
  return logs;
}

std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = b[i] - a[i];
  return result;
}

/// Compares one series at a time and keeps each pair's differences for the summary.
class Comparer {
 public:
  Comparer(const ResultSet& a, const ResultSet& b, const ResultSet* control,
           const VerdictRule& rule)
      : a_(a), b_(b), control_(control), rule_(rule), paired_(a.paired && b.paired) {}

  bool paired() const { return paired_; }

  CellComparison cell(const SeriesKey& key) {
    const Series* a = a_.find(key);
    const Series* b = b_.find(key);
    const Series& known = a != nullptr ? *a : *b;
    CellComparison cell;
    cell.key = key;
    cell.benchmark = known.benchmark;
    cell.axes = known.axes;
    cell.unit = known.unit;
    cell.better = known.better;
    cell.roof = known.roof;
    if (a != nullptr) cell.a = values_of(*a);
    if (b != nullptr) cell.b = values_of(*b);
    const auto fault = fault_between(key, a, b);
    if (!fault && a != nullptr && b != nullptr) {
      cell.judgement = measure(cell, *a, *b);
    } else {
      cell.judgement = {Verdict::invalid, fault->first, fault->second};
    }
    cell.median_a = median_or_zero(cell.a);
    cell.median_b = median_or_zero(cell.b);
    return cell;
  }

  /// Each pair's mean log ratio over the cells, for pairs with a value in every judged cell.
  std::vector<double> means_over_cells() const {
    std::vector<double> means;
    for (const auto& [pair, logs] : by_pair_) {
      if (logs.second != judged_) continue;
      means.push_back(logs.first / static_cast<double>(logs.second));
    }
    return means;
  }

 private:
  using Fault = std::pair<std::string, std::string>;  ///< code and reason

  std::optional<Fault> fault_between(const SeriesKey& key, const Series* a, const Series* b) const {
    for (const auto& [set, side] : {std::pair{&a_, "A"}, std::pair{&b_, "B"}}) {
      const auto at = set->faults.find(key.cell);
      if (at != set->faults.end()) {
        return Fault{"unsound_result", fmt::format("{}: {}", side, at->second)};
      }
    }
    if (a == nullptr || b == nullptr) {
      return Fault{"missing", fmt::format("{} has no result for it", a == nullptr ? "A" : "B")};
    }
    if (a->unit != b->unit || a->better != b->better) {
      return Fault{"unequal_units", fmt::format("A is in {}, B in {}", a->unit, b->unit)};
    }
    if (const auto unequal = unequal_work(a->work, b->work)) return Fault{"unequal_work", *unequal};
    return std::nullopt;
  }

  Ruling measure(CellComparison& cell, const Series& a, const Series& b) {
    Pairs pairs;
    if (paired_) {
      pairs = pairs_of(a_, a, b_, b);
      cell.a = pairs.a;
      cell.b = pairs.b;
    }
    const auto logs_a = log_times(cell.a, cell.better), logs_b = log_times(cell.b, cell.better);
    if (!logs_a.ok() || !logs_b.ok()) {
      const Error& error = logs_a.ok() ? logs_b.error() : logs_a.error();
      return {Verdict::invalid, "no_logarithm", error.message};
    }
    if (paired_) {
      const std::vector<double> d = differences(*logs_a, *logs_b);
      cell.effect = paired_effect(d, rule_.log_margin());
      remember(pairs.numbers, d);
      add_control(cell, a);
    } else {
      cell.effect = unpaired_effect(*logs_a, *logs_b);
    }
    const double sign = cell.better == Better::higher ? -1 : 1;
    cell.ratio = std::exp(sign * cell.effect.mean);
    const double one = std::exp(sign * cell.effect.t95.low);
    const double other = std::exp(sign * cell.effect.t95.high);
    cell.ratio95 = {std::min(one, other), std::max(one, other)};
    return judge(cell.effect, paired_, cell.control_state, rule_);
  }

  void add_control(CellComparison& cell, const Series& a) {
    if (control_ == nullptr) return;
    cell.control_state = Control::too_short;
    const Series* again = control_->find(cell.key);
    if (again == nullptr) return;
    const Pairs pairs = pairs_of(a_, a, *control_, *again);
    const auto first = log_times(pairs.a, cell.better), second = log_times(pairs.b, cell.better);
    if (!first.ok() || !second.ok()) return;
    cell.control = paired_effect(differences(*first, *second), rule_.log_margin());
    cell.control_state = judge_control(*cell.control, rule_);
  }

  void remember(const std::vector<std::size_t>& numbers, const std::vector<double>& d) {
    ++judged_;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      auto& [sum, count] = by_pair_[numbers[i]];
      sum += d[i];
      ++count;
    }
  }

  const ResultSet& a_;
  const ResultSet& b_;
  const ResultSet* control_;
  const VerdictRule& rule_;
  bool paired_;
  std::size_t judged_ = 0;
  std::map<std::size_t, std::pair<double, std::size_t>> by_pair_;
};

void correct_for_many(Comparison& comparison) {
  std::vector<double> different, equal;
  std::vector<CellComparison*> judged;
  for (CellComparison& cell : comparison.cells) {
    if (cell.judgement.verdict == Verdict::invalid) continue;
    judged.push_back(&cell);
    different.push_back(cell.effect.p_different);
    equal.push_back(cell.effect.p_equal);
  }
  const auto differs = holm(different, comparison.rule.alpha);
  const auto equals = holm(equal, comparison.rule.alpha);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Verdict verdict = judged[i]->judgement.verdict;
    judged[i]->differs_corrected =
        differs[i] &&
        (verdict == Verdict::slower || verdict == Verdict::faster || verdict == Verdict::shifted);
    judged[i]->equal_corrected = equals[i] && verdict == Verdict::equal;
  }
}

/// The claim "B equals A on every cell" is an intersection-union test: each cell at alpha, no
/// correction. The claim that cells differ needs Holm's correction.
Ruling judge_all(const Comparison& comparison) {
  const auto count = [&](Verdict verdict) {
    return comparison.all.counts[static_cast<std::size_t>(verdict)];
  };
  const std::size_t total = comparison.cells.size();
  if (total == 0) return {Verdict::invalid, "nothing", "neither has a result to compare"};
  if (std::ranges::all_of(comparison.cells, [](const CellComparison& cell) {
        return cell.judgement.code == "missing";
      })) {
    return {Verdict::invalid, "nothing", "the two have no cell in common"};
  }
  if (count(Verdict::invalid) > 0) {
    return {Verdict::invalid, "invalid_cells",
            fmt::format("{} of {} cells cannot be judged", count(Verdict::invalid), total)};
  }
  if (count(Verdict::equal) == total) {
    return {
        Verdict::equal, "every_cell_equal",
        fmt::format("all {} cells are equal within {:.2g}%", total, 100 * comparison.rule.margin)};
  }
  std::size_t slower = 0, faster = 0, beyond_slower = 0, beyond_faster = 0;
  for (const CellComparison& cell : comparison.cells) {
    if (!cell.differs_corrected) continue;
    (cell.effect.mean > 0 ? slower : faster) += 1;
    beyond_slower += cell.judgement.verdict == Verdict::slower ? 1 : 0;
    beyond_faster += cell.judgement.verdict == Verdict::faster ? 1 : 0;
  }
  const std::string text =
      fmt::format("{} of {} cells are slower and {} faster, corrected for {} comparisons", slower,
                  total, faster, total);
  if (beyond_slower > 0 && faster == 0) return {Verdict::slower, "cells_slower", text};
  if (beyond_faster > 0 && slower == 0) return {Verdict::faster, "cells_faster", text};
  if (slower + faster > 0) return {Verdict::shifted, "cells_differ", text};
  if (count(Verdict::unstable) > 0) {
    return {Verdict::unstable, "unstable_cells",
            fmt::format("{} of {} cells have outlying units", count(Verdict::unstable), total)};
  }
  return {Verdict::inconclusive, "cells_open",
          fmt::format("{} of {} cells are equal, none is proven different", count(Verdict::equal),
                      total)};
}

void sum_up(Comparison& comparison, const std::vector<double>& means) {
  double sum = 0;
  std::size_t judged = 0;
  for (const CellComparison& cell : comparison.cells) {
    ++comparison.all.counts[static_cast<std::size_t>(cell.judgement.verdict)];
    if (cell.effect.pairs == 0) continue;
    sum += cell.effect.mean;
    ++judged;
  }
  if (judged > 0) comparison.all.ratio = std::exp(sum / static_cast<double>(judged));
  if (means.size() > 1) {
    const PairedEffect effect = paired_effect(means, comparison.rule.log_margin());
    comparison.all.ratio = std::exp(effect.mean);
    comparison.all.ratio95 = Interval{std::exp(effect.t95.low), std::exp(effect.t95.high)};
  }
  comparison.all.judgement = judge_all(comparison);
}

std::vector<SideComparison> compare_sides(const ResultSet& a, const ResultSet& b) {
  std::vector<SideComparison> all;
  for (const auto& [key, of_a] : a.beside) {
    const auto of_b = b.beside.find(key);
    if (of_b == b.beside.end() || of_b->second.unit != of_a.unit) continue;
    const double first = of_a.values.front();
    bool same = true;
    for (const auto* values : {&of_a.values, &of_b->second.values}) {
      same &= std::all_of(values->begin(), values->end(), [&](double x) { return x == first; });
    }
    all.push_back(
        {key, of_a.unit, median_or_zero(of_a.values), median_or_zero(of_b->second.values), same});
  }
  return all;
}

}  // namespace

Comparison compare(const ResultSet& a, const ResultSet& b, const ResultSet* control,
                   const VerdictRule& rule) {
  Comparison comparison;
  comparison.name_a = a.name;
  comparison.name_b = b.name;
  comparison.rule = rule;
  comparison.emulated = a.emulated() || b.emulated();
  comparison.units_a = units_that_count(a);
  comparison.units_b = units_that_count(b);
  std::set<SeriesKey> keys;
  for (const Series& series : a.series) keys.insert(series.key);
  for (const Series& series : b.series) keys.insert(series.key);
  Comparer comparer(a, b, control, rule);
  comparison.paired = comparer.paired();
  for (const SeriesKey& key : keys) comparison.cells.push_back(comparer.cell(key));
  std::stable_sort(comparison.cells.begin(), comparison.cells.end(),
                   [](const CellComparison& left, const CellComparison& right) {
                     if (left.benchmark != right.benchmark) return left.benchmark < right.benchmark;
                     return comes_before(left.axes, right.axes);
                   });
  comparison.beside = compare_sides(a, b);
  correct_for_many(comparison);
  sum_up(comparison, comparer.means_over_cells());
  if (!a.fingerprints.empty() && !b.fingerprints.empty()) {
    comparison.environment = diff_fingerprints(a.fingerprints.front(), b.fingerprints.front());
  }
  for (const ResultSet* set : {&a, &b}) {
    for (const std::string& problem : set->problems) {
      comparison.problems.push_back(set->name + ": " + problem);
    }
    if (set->fingerprints.size() > 1) {
      comparison.problems.push_back(
          fmt::format("{}: the environment changed while it was measured: {} fingerprints",
                      set->name, set->fingerprints.size()));
    }
  }
  return comparison;
}

}  // namespace assay
