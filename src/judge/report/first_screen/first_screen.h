// Says what the report's first screen shows: the question, the answer, a picture, cards and notes.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/report/chart_grouping.h"
#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// What a report is about.
enum class ReportKind {
  comparison,  ///< environments compared with each other
  study,       ///< partitions, alone and together
  machine,     ///< one environment
  load,        ///< one environment under load on LLM servers
  training,    ///< one environment that trains models
  scaling,     ///< one environment that trains on one rank and on several
};
ReportKind kind_of(const ReportInput& input);
/// Returns whether environments are compared with each other, not one with itself.
bool compares(const ReportInput& input);

/// Returns the question that the report answers: "Does bubblewrap cost anything here?" A campaign's
/// description that is a question, or the title that the user gave, comes first.
std::string question_of(const ReportInput& input);

/// Returns an answer for each comparison, or a single one. `panels` are those of the first
/// environment if nothing was compared.
std::vector<Answer> answers_of(const ReportInput& input, const std::vector<Panel>& panels);

/// Returns the chart beside the cards: the largest differences, the sums of partitions, the shares
/// of rooflines, latency over load, the scaling of training, or else the first chart of curves.
/// `chapters` are those of the report. Empty if there is nothing to draw.
std::optional<MainChart> picture_of(const ReportInput& input, const std::vector<Panel>& panels,
                                    const std::vector<Chapter>& chapters);

/// Returns the machine, what was measured, how sure the answer is, and the likeliest cause with
/// the command to try next; without a comparison only that command. A last card says how to measure
/// the same again, unless the results are another program's.
std::vector<Card> cards_of(const ReportInput& input, const std::vector<Panel>& panels);

/// Returns the first rows of the table that the answer rests on, without details. `chapters` are
/// those of the report.
std::optional<Table> headline_of(const ReportInput& input, const std::vector<Chapter>& chapters);

/// Returns what to be careful about, each kind of problem once, at most about 20.
std::vector<std::string> notes_of(const ReportInput& input);

/// The best valid mark of a benchmark's metric.
struct KeyFigure {
  const Panel* panel = nullptr;
  const Mark* mark = nullptr;
  /// Share of the roofline; empty without a roofline.
  std::optional<double> share() const;
};
/// Returns one of the first environment for each benchmark and metric, the smallest share of its
/// roofline first, those without a roofline last. They point into `panels`.
std::vector<KeyFigure> key_figures(const std::vector<Panel>& panels);

}  // namespace assay::report
