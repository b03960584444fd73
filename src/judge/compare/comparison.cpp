#include "judge/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "results/record/cell_order.h"
#include "results/store/comparable_metrics.h"
#include "statistics/summary.h"

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

/// Counts the units that are used: of a campaign, only complete units have a pair.
std::size_t units_that_count(const ResultSet& set) {
  return static_cast<std::size_t>(
      std::count_if(set.units.begin(), set.units.end(),
                    [&](const Unit& unit) { return !set.paired || unit.pair.has_value(); }));
}

/// Values that were measured side by side, by pair number.
struct Pairs {
  std::vector<std::size_t> numbers;
  std::vector<double> a, b;
};

/// All but those whose numbers are in `left_out`.
Pairs pairs_of(const ResultSet& set_a, const Series& a, const ResultSet& set_b, const Series& b,
               const std::set<std::size_t>& left_out) {
  std::map<std::size_t, double> by_pair;
  for (const Point& point : a.points) {
    const auto pair = set_a.units[point.unit].pair;
    if (pair && !left_out.contains(*pair)) by_pair[*pair] = point.value;
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

TakenByPair taken_by_pair(const ResultSet& set) {
  TakenByPair taken;
  for (const Unit& unit : set.units) {
    if (unit.pair && unit.taken) taken[*unit.pair] = *unit.taken;
  }
  return taken;
}

/// The pairs that others disturbed; none if the sides are not paired.
DisturbedPairs disturbed_pairs_of(const ResultSet& a, const ResultSet& b) {
  return a.paired && b.paired ? disturbed_pairs(taken_by_pair(a), taken_by_pair(b))
                              : DisturbedPairs();
}

/// Returns the logarithm of each value's time. Error: naming a value that has none.
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

/// Returns the series of B and A over pairs.
Result<PairedSeries> paired_series(const Pairs& pairs, Better better) {
  return PairedSeries{
      pairs.numbers, differences(TRY(log_times(pairs.a, better)), TRY(log_times(pairs.b, better)))};
}

/// Matches the series of both sides and judges all of them together.
class Comparer {
 public:
  Comparer(const ResultSet& a, const ResultSet& b, const ResultSet* control,
           const VerdictRule& rule)
      : a_(a),
        b_(b),
        control_(control),
        rule_(rule),
        paired_(a.paired && b.paired),
        disturbed_(disturbed_pairs_of(a, b)) {
    if (control != nullptr) control_disturbed_ = disturbed_pairs_of(a, *control);
  }

  bool paired() const { return paired_; }
  const DisturbedPairs& disturbed() const { return disturbed_; }

  std::vector<CellComparison> cells(const std::set<SeriesKey>& keys) {
    for (const SeriesKey& key : keys) add(key);
    judge_members();
    return std::move(cells_);
  }

  /// `cells` are those that cells() returned, in any order.
  Summation sum_up(const std::vector<CellComparison>& cells) const {
    Summation all;
    std::vector<CellRuling> rulings;
    std::map<std::string, std::vector<double>> means;  // means of each cell's metrics
    for (const CellComparison& cell : cells) {
      rulings.push_back({cell.judgement, cell.effect.mean});
      ++all.counts[static_cast<std::size_t>(cell.judgement.verdict)];
      if (cell.effect.pairs > 0) means[cell.key.cell].push_back(cell.effect.mean);
    }
    double sum = 0;
    for (const auto& [cell, metrics] : means) sum += mean(metrics);
    if (!means.empty()) all.ratio = std::exp(sum / static_cast<double>(means.size()));
    const JudgedMember* whole = family_.mean ? &*family_.mean : nullptr;
    if (paired_ && family_.members.size() == 1) whole = &family_.members.front();
    if (whole != nullptr && whole->effect.pairs >= least_units) {
      all.ratio = std::exp(whole->effect.mean);
      all.ratio95 = Interval{std::exp(whole->effect.t95.low), std::exp(whole->effect.t95.high)};
      all.mean_verdict = whole->ruling.verdict;
    }
    all.judgement = judge_whole(rulings, family_.mean, rule_);
    return all;
  }

 private:
  using Fault = std::pair<std::string, std::string>;  ///< code and reason

  void add(const SeriesKey& key) {
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
    auto fault = fault_between(key, a, b);
    if (!fault && a != nullptr && b != nullptr) fault = take_part(cell, *a, *b);
    if (fault) cell.judgement = {Verdict::invalid, fault->first, fault->second};
    cell.median_a = median_or_zero(cell.a);
    cell.median_b = median_or_zero(cell.b);
    cells_.push_back(std::move(cell));
  }

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

  /// Adds the cell, the next one in `cells_`, to the family.
  std::optional<Fault> take_part(CellComparison& cell, const Series& a, const Series& b) {
    if (paired_) {
      Pairs pairs = pairs_of(a_, a, b_, b, disturbed_.left_out);
      auto series = paired_series(pairs, cell.better);
      cell.a = std::move(pairs.a);
      cell.b = std::move(pairs.b);
      if (!series.ok()) return Fault{"no_logarithm", series.error().message};
      const std::size_t number =
          cell_numbers_.emplace(cell.key.cell, cell_numbers_.size()).first->second;
      pairs_.push_back({*std::move(series), control_of_cell(cell, a), number});
    } else {
      auto logs_a = log_times(cell.a, cell.better), logs_b = log_times(cell.b, cell.better);
      if (!logs_a.ok() || !logs_b.ok()) {
        const Error& error = logs_a.ok() ? logs_b.error() : logs_a.error();
        return Fault{"no_logarithm", error.message};
      }
      unpaired_.push_back({*std::move(logs_a), *std::move(logs_b)});
    }
    places_.push_back(cells_.size());
    return std::nullopt;
  }

  /// Returns empty if there is no control at all; without pairs if the control lacks this cell.
  std::optional<PairedSeries> control_of_cell(const CellComparison& cell, const Series& a) const {
    if (control_ == nullptr) return std::nullopt;
    const Series* again = control_->find(cell.key);
    if (again == nullptr) return PairedSeries{};
    auto series =
        paired_series(pairs_of(a_, a, *control_, *again, control_disturbed_.left_out), cell.better);
    return series.ok() ? *std::move(series) : PairedSeries{};
  }

  void judge_members() {
    family_ =
        paired_ ? judge_family(pairs_, a_.pairs_per_draw, rule_) : judge_family(unpaired_, rule_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      CellComparison& cell = cells_[places_[i]];
      const JudgedMember& member = family_.members[i];
      cell.effect = member.effect;
      cell.control = member.control;
      cell.control_state = member.control_state;
      cell.test = member.test;
      cell.judgement = member.ruling;
      const double sign = cell.better == Better::higher ? -1 : 1;
      cell.ratio = std::exp(sign * cell.effect.mean);
      const double one = std::exp(sign * cell.effect.t95.low);
      const double other = std::exp(sign * cell.effect.t95.high);
      cell.ratio95 = {std::min(one, other), std::max(one, other)};
    }
  }

  const ResultSet& a_;
  const ResultSet& b_;
  const ResultSet* control_;
  const VerdictRule& rule_;
  bool paired_;
  DisturbedPairs disturbed_, control_disturbed_;  // of A and B, of A and the control
  std::vector<CellComparison> cells_;
  std::map<std::string, std::size_t> cell_numbers_;
  std::vector<PairedMember> pairs_;
  std::vector<UnpairedMember> unpaired_;
  std::vector<std::size_t> places_;  // index in `cells_` of each member of the family
  JudgedFamily family_;
};

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

bool CellComparison::has_interval() const {
  return effect.pairs >= least_units && std::isfinite(ratio95.high) && ratio95.low > 0;
}

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
  comparison.pairs_left_out = comparer.disturbed().left_out.size();
  if (!comparer.disturbed().note.empty()) {
    comparison.problems.push_back(comparer.disturbed().note);
  }
  comparison.cells = comparer.cells(keys);
  std::stable_sort(comparison.cells.begin(), comparison.cells.end(),
                   [](const CellComparison& left, const CellComparison& right) {
                     if (left.benchmark != right.benchmark) return left.benchmark < right.benchmark;
                     return comes_before(left.axes, right.axes);
                   });
  comparison.beside = compare_sides(a, b);
  comparison.all = comparer.sum_up(comparison.cells);
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
