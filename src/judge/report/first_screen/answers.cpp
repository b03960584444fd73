#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/json.h"
#include "core/units.h"
#include "judge/compare/emulated.h"
#include "judge/compare/sentences.h"
#include "judge/report/charts/charts.h"
#include "judge/report/charts/partitions.h"
#include "judge/report/charts/scaling.h"
#include "judge/report/first_screen/first_screen.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

bool is_question(const std::string& text) {
  return text.ends_with('?');
}

/// Returns the models of all cells.
std::set<std::string_view> models_in(const ResultSet& results) {
  std::set<std::string_view> models;
  for (const Series& series : results.series) models.insert(value_of(series.axes, "model"));
  models.erase("");
  return models;
}

/// Returns "Does bubblewrap cost anything here?", or "... against A?" where A is not this machine.
std::string question_of_comparison(const ReportInput& input) {
  std::vector<std::string> others;
  for (const Comparison& comparison : input.comparisons) others.push_back(comparison.name_b);
  const std::string& baseline = input.comparisons.front().name_a;
  constexpr std::size_t most_named = 3;
  const std::string who =
      others.size() <= most_named ? list_of(others) : counted(others.size(), "environment");
  return fmt::format(
      "{} {} cost anything {}?", others.size() == 1 ? "Does" : "Do", who,
      !input.campaign.empty() && baseline == "host" ? "here" : "against " + baseline);
}

/// Returns "812.3 GB/s (95% interval 810.1 to 815.0)"; of 2 to 5 runs it is their range.
std::string with_interval(const Centre& centre, const std::string& unit) {
  std::string text = quantity_text(centre.median, unit);
  if (centre.low == centre.high) return text;
  constexpr std::size_t least_for_interval = 6;
  const bool is_range = centre.runs > 1 && centre.runs < least_for_interval;
  const double factor = display_for(unit, centre.median).factor;
  return text + fmt::format(" ({} {} to {})",
                            is_range ? fmt::format("{} runs:", centre.runs) : "95% interval",
                            format_significant(centre.low / factor),
                            format_significant(centre.high / factor));
}

/// Returns "32 requests in flight".
std::string load_text(const HighestLoad& load) {
  if (load.load == "inf") return "all requests at once";
  return load.load + (load.load_axis.ends_with("rate") ? " requests/s" : " requests in flight");
}

/// Returns the cell's name with only those axes that differ between the comparison's cells.
std::string short_name(const CellComparison& cell, const Comparison& comparison) {
  std::vector<NamedCell> named;
  for (const CellComparison& one : comparison.cells) {
    named.push_back({one.benchmark, one.key.metric, &one.axes});
  }
  return short_names(named)[static_cast<std::size_t>(&cell - comparison.cells.data())];
}

/// Returns how the answer begins if the campaign names its subject: "The container costs nothing:
/// ". `slower` and `faster` count the cells that are proven to differ.
std::string lead_about(const std::string& subject, const Comparison& comparison, std::size_t slower,
                       std::size_t faster) {
  const Verdict verdict = comparison.all.judgement.verdict;
  if (verdict == Verdict::invalid) return "No answer: ";
  if (verdict == Verdict::equal) return subject + " costs nothing: ";
  if (!is_different(verdict)) {
    return fmt::format("{} costs nothing that {} {}s can show: ", subject, comparison.units_a,
                       comparison.paired ? "pair" : "run");
  }
  if (slower == 0) return subject + " saves time: ";
  return subject +
         (faster == 0 ? " costs time: " : " costs time in some cells and saves it in others: ");
}

/// Returns the answer with the number of the geometric mean if that is proven to differ, otherwise
/// of the cell that differs most.
Answer answer_of(const Comparison& comparison, bool own_question, const std::string& subject) {
  const std::string &a = comparison.name_a, &b = comparison.name_b;
  const Summation& all = comparison.all;
  const Verdict verdict = all.judgement.verdict;
  const std::size_t cells = comparison.cells.size();
  const std::string of_mean =
      cells == 1 ? "" : fmt::format(" of the geometric mean over {} cells", cells);
  Answer answer{.verdict = verdict, .lead = "", .sentence = all.judgement.reason};
  const auto lead = [&](std::string_view text) {
    if (own_question) answer.lead = text;
  };
  const auto whole = [&] { return effect_sentence(*all.ratio, *all.ratio95, a, b, of_mean); };
  std::size_t slower = 0, faster = 0;
  if (is_different(verdict)) {
    const CellComparison* largest = nullptr;
    for (const CellComparison& cell : comparison.cells) {
      if (!is_different(cell.judgement.verdict)) continue;
      ++(cell.effect.mean > 0 ? slower : faster);
      const bool larger =
          largest == nullptr || std::abs(cell.effect.mean) > std::abs(largest->effect.mean);
      if (larger) largest = &cell;
    }
    const bool mean_differs = is_different(all.mean_verdict.value_or(Verdict::inconclusive));
    // Cells that differ the other way than their mean need a name.
    const bool of_all = mean_differs && all.ratio95 && (*all.ratio > 1 ? faster == 0 : slower == 0);
    const bool costs = of_all ? *all.ratio > 1 : slower > 0;
    lead(costs ? (faster > 0 ? "Yes and no: " : "Yes: ") : "No, it is faster: ");
    if (of_all) {
      answer.sentence = whole();
    } else if (largest != nullptr) {
      const PairedEffect& effect = largest->effect;
      answer.sentence =
          fmt::format("in {}, {}", short_name(*largest, comparison),
                      effect_sentence(std::exp(effect.mean),
                                      {std::exp(effect.t95.low), std::exp(effect.t95.high)}, a, b));
    }
    if (cells > 1) answer.sentence += "; " + all.judgement.reason;
    if (verdict == Verdict::shifted && faster * slower == 0) {
      answer.sentence += "; whether by more than the margin is not proven";
    }
  } else if (verdict == Verdict::equal) {
    lead("No: ");
    if (all.ratio95) answer.sentence = whole() + "; " + all.judgement.reason;
  } else if (verdict == Verdict::invalid) {
    lead("No answer: ");
  } else {
    answer.lead = "Not proven either way: ";
    if (all.ratio95) {
      answer.sentence = whole();
      answer.proven = false;
    } else if (const std::string bound = bound_sentence(comparison, a, b); !bound.empty()) {
      answer.sentence = bound.substr(0, bound.size() - 1);
    }
  }
  answer.sentence += ".";
  if (!subject.empty()) answer.lead = lead_about(subject, comparison, slower, faster);
  if (comparison.emulated) answer.lead = std::string(of_a_model) + answer.lead;
  return answer;
}

/// Returns the best and the worst of one environment's figures.
std::string answer_about_machine(const std::vector<Panel>& panels) {
  const std::vector<KeyFigure> figures = key_figures(panels);
  if (figures.empty()) return "No result can be trusted.";
  const KeyFigure& first = figures.front();
  std::vector<NamedCell> named;
  for (const KeyFigure& figure : figures) {
    named.push_back({figure.panel->benchmark, figure.panel->metric, &figure.mark->axes});
  }
  const std::string name = short_names(named).front();
  const std::string value = with_interval(first.mark->centre, first.panel->unit);
  const auto roofed = static_cast<std::size_t>(
      std::ranges::count_if(figures, [](const KeyFigure& figure) { return bool(figure.share()); }));
  if (roofed == 0) return fmt::format("{} reaches {}.", name, value);
  if (roofed == 1) {
    return fmt::format("{} reaches {}, {:.1f}% of its roofline.", name, value,
                       100 * *first.share());
  }
  return fmt::format("{:.0f}% to {:.0f}% of the roofline; {} is furthest below it: {}.",
                     100 * *first.share(), 100 * *figures[roofed - 1].share(), name, value);
}

std::string answer_about_load(const Environment& environment) {
  const auto best = highest_load(environment);
  if (!best) return "No load can be trusted.";
  std::string text = fmt::format("At most {}, with {}", with_interval(best->throughput, best->unit),
                                 load_text(*best));
  if (best->latency) {
    text += fmt::format(", at a {} of {}", metric_words(best->latency_metric),
                        with_interval(*best->latency, best->latency_unit));
  }
  return text + ".";
}

std::string answer_about_training(const std::vector<Panel>& panels) {
  const Mark *slowest = nullptr, *fastest = nullptr;
  const Panel* rate = nullptr;
  for (const Panel& panel : panels) {
    if (panel.better != Better::higher) continue;
    if (rate == nullptr) rate = &panel;
    if (panel.metric != rate->metric) continue;
    for (const Mark& mark : panel.marks) {
      if (!mark.fault.empty() || mark.environment > 0) continue;
      if (slowest == nullptr || mark.centre.median < slowest->centre.median) slowest = &mark;
      if (fastest == nullptr || mark.centre.median > fastest->centre.median) fastest = &mark;
    }
  }
  if (fastest == nullptr) return "No training can be trusted.";
  const auto speed = [&](const Mark& mark) {
    const std::string share =
        mark.roof && mark.roof->rate > 0
            ? fmt::format(", {:.1f}% of the roofline", 100 * mark.centre.median / mark.roof->rate)
            : "";
    return fmt::format("at {}{}", with_interval(mark.centre, rate->unit), share);
  };
  if (slowest == fastest) return fmt::format("It trains {}.", speed(*fastest));
  return fmt::format("{} trains {}; {} {}.", fastest->label, speed(*fastest), slowest->label,
                     speed(*slowest));
}

}  // namespace

bool compares(const ReportInput& input) {
  return !input.comparisons.empty() && !input.repeated;
}

ReportKind kind_of(const ReportInput& input) {
  if (input.study.is_array() && !input.study.empty()) return ReportKind::study;
  if (compares(input)) return ReportKind::comparison;
  const ResultSet& results = input.environments.front().results;
  const bool one_benchmark =
      !results.series.empty() && std::ranges::all_of(results.series, [&](const Series& series) {
        return series.benchmark == results.series.front().benchmark;
      });
  if (!one_benchmark) return ReportKind::machine;
  if (highest_load(input.environments.front())) return ReportKind::load;
  if (results.series.front().benchmark != "train") return ReportKind::machine;
  return scaling_answer(input.environments.front()).empty() ? ReportKind::training
                                                            : ReportKind::scaling;
}

std::string question_of(const ReportInput& input) {
  if (!input.title.empty()) return input.title;
  if (is_question(input.description)) return input.description;
  const ResultSet& first = input.environments.front().results;
  const std::set<std::string_view> models = models_in(first);
  switch (kind_of(input)) {
    case ReportKind::comparison:
      return question_of_comparison(input);
    case ReportKind::study:
      return "What do the partitions cost each other?";
    case ReportKind::load:
      return fmt::format("How much load does {} carry?",
                         first.units.empty() ? "the server" : first.units.front().device);
    case ReportKind::training:
      return models.size() == 1 ? fmt::format("How fast does {} train?", *models.begin())
                                : "How fast do these models train?";
    case ReportKind::scaling:
      return "How much of their speed alone do ranks keep together?";
    case ReportKind::machine:
      break;
  }
  const bool foreign = first.fingerprints.empty();
  return fmt::format("What does {} reach?", foreign ? first.name : "this machine");
}

std::vector<Answer> answers_of(const ReportInput& input, const std::vector<Panel>& panels) {
  const ReportKind kind = kind_of(input);
  if (kind == ReportKind::study) return {{.lead = "", .sentence = study_answer(input)}};
  std::vector<Answer> answers;
  if (kind == ReportKind::comparison) {
    const bool own = input.title.empty() && !is_question(input.description);
    for (const Comparison& comparison : input.comparisons) {
      answers.push_back(answer_of(comparison, own, input.subject));
    }
    return answers;
  }
  const ResultSet& results = input.environments.front().results;
  const Environment& first = input.environments.front();
  return {{.lead = std::string(results.emulated() ? of_a_model : ""),
           .sentence = kind == ReportKind::load       ? answer_about_load(first)
                       : kind == ReportKind::scaling  ? scaling_answer(first)
                       : kind == ReportKind::training ? answer_about_training(panels)
                                                      : answer_about_machine(panels)}};
}

std::optional<double> KeyFigure::share() const {
  if (!mark->roof || !(mark->roof->rate > 0)) return std::nullopt;
  return mark->centre.median / mark->roof->rate;
}

std::vector<KeyFigure> key_figures(const std::vector<Panel>& panels) {
  std::vector<KeyFigure> figures;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const Panel& panel : panels) {
    for (const Mark& mark : panel.marks) {
      if (!mark.fault.empty() || mark.environment > 0) continue;
      const auto [place, fresh] = places.emplace(
          std::pair<std::string_view, std::string_view>(panel.benchmark, panel.metric),
          figures.size());
      if (fresh) {
        figures.push_back({&panel, &mark});
        continue;
      }
      KeyFigure& known = figures[place->second];
      const double value = mark.centre.median, best = known.mark->centre.median;
      if (panel.better == Better::higher ? value > best : value < best) known = {&panel, &mark};
    }
  }
  std::ranges::stable_sort(figures, [](const KeyFigure& a, const KeyFigure& b) {
    return a.share().value_or(INFINITY) < b.share().value_or(INFINITY);
  });
  return figures;
}

}  // namespace assay::report
