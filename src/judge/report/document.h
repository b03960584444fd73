// A report as a document: a first screen, then chapters of tables and charts. It is written as HTML
// and Markdown; CSV has only the tables of the chapter "cells". A chart carries its data as a
// table, so chart and table cannot differ.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "judge/compare/verdict.h"
#include "results/record/record.h"

namespace assay::report {

enum class ColumnKind {
  text,
  verdict,   ///< name_of(Verdict)
  number,    ///< in `unit`; shown divided by `factor`, in `shown_unit`
  measured,  ///< in the unit given by the row's field of kind `unit`
  unit,      ///< of the row's `measured` fields; a column of its own only in CSV
  count,
  size,    ///< bytes, shown as 4KiB, 1GiB
  change,  ///< a relative change: 0.018 is shown as +1.80%
  share,   ///< 0.943 is shown as 94.3%
};

struct Column {
  std::string key;    ///< for programs: "median_a"
  std::string title;  ///< for people: "container"
  ColumnKind kind = ColumnKind::text;
  std::string unit = {};  ///< unit of the stored numbers: "bytes/s"
  double factor = 1;
  std::string shown_unit = {};
  bool detail = false;  ///< hidden on screen until the reader ticks "all columns"
};

/// Empty, a number (in the unit that ColumnKind says), or text.
using Field = std::variant<std::monostate, double, std::string>;

struct Table {
  std::string id;  ///< unique in the document, letters, digits and hyphens
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Field>> rows;  ///< each as long as `columns`
  bool raw = false;  ///< a data dump; collapsed in HTML, only counted in Markdown
  /// What all columns share and their titles leave out, in lines: "all cells: memory op=copy".
  std::vector<std::string> shared = {};
};

enum class ChartKind {
  curve,      ///< value over a numeric axis
  bars,       ///< value by category
  ratio,      ///< by cell: time of environment B over time of A, minus 1; with the margin
  latency,    ///< latency over throughput, one point per load
  timeline,   ///< readings over time
  heat,       ///< value by source and destination
  stack,      ///< parts of a whole by cell
  lanes,      ///< what ran when, in lanes, with zoom
  roofline,   ///< rate over intensity, below the roofs of a device
  waterfall,  ///< from one total to another by the changes between them
};
/// Returns "curve", "bars", ...: the names that page/page.js uses.
std::string_view name_of(ChartKind kind);

struct Chart {
  ChartKind kind = ChartKind::curve;
  std::string title;
  std::string summary;  ///< caption: the key numbers in sentences
  /// Further sentences of the caption, each with a space before it: " All with dtype=f64."; may be
  /// empty.
  std::string conditions = {};
  Json settings;  ///< axes, rooflines, marks: see page/lines.js, page/rows.js, page/lanes.js
  Table table;
};

using Block = std::variant<Table, Chart>;

struct Chapter {
  std::string id;
  std::string heading;
  std::string short_heading;  ///< for the navigation: one or two words
  std::vector<std::string> paragraphs = {};
  std::vector<Block> blocks = {};
};

/// The answer to the report's question in one sentence.
struct Answer {
  std::optional<Verdict> verdict = {};  ///< empty: nothing was compared
  std::string lead;                     ///< "Yes: ", "No: "; may be empty
  std::string sentence;
  bool proven = true;  ///< false: `sentence` proves nothing, and the page shows it in grey
};

/// A short card beside the picture.
struct Card {
  std::string heading;
  std::vector<std::string> lines;
  std::string command = {};  ///< the command to try next; may be empty
};

/// The chart of the first screen, and a link to the chapter that has what it leaves out.
struct MainChart {
  Chart chart;
  std::string link_text = {};   ///< "All 40 cells"; empty: no link
  std::string chapter_id = {};  ///< where the link leads
};

/// A verdict that occurs in the report, with its explanation.
struct VerdictExplanation {
  Verdict verdict = Verdict::equal;
  std::string meaning;    ///< a sentence
  std::string next_step;  ///< a sentence
};

struct Document {
  std::string question;                   ///< the title
  std::string purpose;                    ///< purpose of the measurement; empty: not known
  std::vector<Answer> answers;            ///< one for each comparison, or a single one
  std::vector<std::string> environments;  ///< names; columns `environment` of charts refer to them
  std::optional<MainChart> picture;
  std::vector<Card> cards;
  /// The rows that matter most of the table with the answer, for the printed first page.
  std::optional<Table> headline;
  std::vector<std::string> notes;            ///< each kind of problem once
  std::vector<VerdictExplanation> verdicts;  ///< in the order of Verdict
  std::vector<Chapter> chapters;
  std::string made_by;  ///< program, version and time
};

}  // namespace assay::report
