// Writes the report as Markdown and as CSV.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/report/escape.h"
#include "judge/report/number_text.h"
#include "judge/report/report.h"

namespace assay::report {
namespace {

constexpr std::size_t most_markdown_rows = 400;  // more does not fit into a ticket

/// Returns whether readers see the column. Units are hidden, because they stand beside their
/// numbers.
bool is_shown(const Column& column) {
  return column.kind != ColumnKind::unit;
}

std::string markdown_table(const Table& table) {
  std::string head = "|", rule = "|";
  for (const Column& column : table.columns) {
    if (!is_shown(column)) continue;
    head += fmt::format(" {} |", escape_markdown(heading_of(column)));
    rule += is_numeric(column.kind) ? " ---: |" : " --- |";
  }
  std::string text = head + "\n" + rule + "\n";
  const std::size_t shown = std::min(table.rows.size(), most_markdown_rows);
  for (std::size_t r = 0; r < shown; ++r) {
    text += "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!is_shown(table.columns[i])) continue;
      text += fmt::format(" {} |", escape_markdown(text_of(table, table.rows[r], i)));
    }
    text += "\n";
  }
  if (shown < table.rows.size()) {
    text += fmt::format("\nand {}\n", counted(table.rows.size() - shown, "more row"));
  }
  return text;
}

std::string markdown_block(const Block& block) {
  const Chart* chart = std::get_if<Chart>(&block);
  const Table& table = chart != nullptr ? chart->table : std::get<Table>(block);
  std::string text = fmt::format("### {}\n\n", escape_markdown(table.caption));
  if (chart != nullptr) text += escape_markdown(chart->summary + chart->conditions) + "\n\n";
  if (table.raw) {
    return text + fmt::format("{} in the HTML report.\n\n", counted(table.rows.size(), "row"));
  }
  return text + markdown_table(table) + "\n";
}

std::string csv_table(const Table& table) {
  std::string text;
  const char* comma = "";
  for (const Column& column : table.columns) {
    text += comma + escape_csv(column.key);
    comma = ",";
  }
  text += "\r\n";
  for (const auto& row : table.rows) {
    comma = "";
    for (const Field& field : row) {
      // A number is never a formula, whatever sign it begins with.
      const bool number = std::holds_alternative<double>(field);
      text += comma + (number ? exact_text(field) : escape_csv(exact_text(field)));
      comma = ",";
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const Document& document) {
  std::string text = fmt::format("# {}\n\n", escape_markdown(document.question));
  if (!document.purpose.empty()) text += escape_markdown(document.purpose) + "\n\n";
  for (const Answer& answer : document.answers) {
    if (answer.verdict) text += fmt::format("**{}** ", name_of(*answer.verdict));
    text += escape_markdown(answer.lead + answer.sentence) + "\n\n";
  }
  for (const Card& card : document.cards) {
    const std::string lines = fmt::format("{}", fmt::join(card.lines, "; "));
    text += fmt::format("- **{}**: {} {}\n", card.heading, escape_markdown(lines),
                        escape_markdown(card.command));
  }
  text += "\n";
  if (document.picture) text += markdown_block(document.picture->chart);
  for (const VerdictExplanation& explained : document.verdicts) {
    text += fmt::format("- **{}**: {} {}\n", name_of(explained.verdict),
                        escape_markdown(explained.meaning), escape_markdown(explained.next_step));
  }
  if (!document.verdicts.empty()) text += "\n";
  if (!document.notes.empty()) text += "## Notes\n\n";
  for (const std::string& note : document.notes) {
    text += fmt::format("- {}\n", escape_markdown(note));
  }
  if (!document.notes.empty()) text += "\n";
  for (const Chapter& chapter : document.chapters) {
    text += fmt::format("## {}\n\n", escape_markdown(chapter.heading));
    for (const std::string& paragraph : chapter.paragraphs) {
      text += escape_markdown(paragraph) + "\n\n";
    }
    for (const Block& block : chapter.blocks) text += markdown_block(block);
  }
  return text + escape_markdown(document.made_by) + "\n";
}

std::string to_csv(const Document& document) {
  std::string text;
  for (const Chapter& chapter : document.chapters) {
    if (chapter.id != "cells") continue;
    for (const Block& block : chapter.blocks) {
      if (!text.empty()) text += "\r\n";
      if (const auto* table = std::get_if<Table>(&block)) text += csv_table(*table);
    }
  }
  return text;
}

}  // namespace assay::report
