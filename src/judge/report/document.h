// A report as a document: chapters of tables and charts, written as HTML, Markdown and CSV. A chart
// carries its data as a table, so chart and table cannot differ.
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
  unit,      ///< for programs; readers see it beside the number
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
  bool detail = false;  ///< shown on demand if the table would be too wide
};

/// Empty, a number in the column's unit, or text.
using Field = std::variant<std::monostate, double, std::string>;

struct Table {
  std::string id;  ///< unique in the document, letters, digits and hyphens
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Field>> rows;  ///< each as long as `columns`
  bool raw = false;  ///< a data dump; collapsed in HTML, only counted in Markdown
};

enum class ChartKind {
  curve,     ///< value over a numeric axis
  bars,      ///< value by category
  ratio,     ///< B over A by cell, with the margin
  latency,   ///< latency over throughput, one point per load
  timeline,  ///< readings over time
  heat,      ///< value by source and destination
  stack,     ///< parts of a whole by cell
};
/// Returns "curve", "bars", ...: the names that page/page.js uses.
std::string_view name_of(ChartKind kind);

struct Chart {
  ChartKind kind = ChartKind::curve;
  std::string title;
  std::string summary;          ///< the key numbers in words, for readers who cannot see the chart
  std::string conditions = {};  ///< what all its values have in common; may be empty
  Json settings;                ///< axes, rooflines, marks: see page/lines.js and page/rows.js
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
  bool proven = true;  ///< whether the numbers are; otherwise they are shown in grey
};

/// A short card beside the picture.
struct Card {
  std::string heading;
  std::vector<std::string> lines;
  std::string command = {};  ///< the command to try next; may be empty
};

/// A chart of the first screen, and the chapter that has what it leaves out.
struct Picture {
  Chart chart;
  std::string rest = {};     ///< "All 40 cells"; empty: nothing is left out
  std::string chapter = {};  ///< id
};

/// A verdict that occurs in the report, with its explanation.
struct Word {
  Verdict verdict = Verdict::equal;
  std::string meaning;    ///< a sentence
  std::string next_step;  ///< a sentence
};

struct Document {
  std::string question;                   ///< the title
  std::string purpose;                    ///< purpose of the measurement; empty: not known
  std::vector<Answer> answers;            ///< one for each comparison, or a single one
  std::vector<std::string> environments;  ///< names, in the order of their colours
  std::optional<Picture> picture;
  std::vector<Card> cards;
  std::vector<std::string> notes;  ///< each kind of problem once
  std::vector<Word> words;         ///< in the order of Verdict
  std::vector<Chapter> chapters;
  std::string made_by;  ///< program, version and time
};

}  // namespace assay::report
