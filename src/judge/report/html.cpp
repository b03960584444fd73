// The report as one HTML page. The answer, the cards and the tables of cells are markup and need no
// script; page/*.js draws charts and long tables from the data in one JSON element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "core/embedded.h"
#include "core/json.h"
#include "judge/report/cell_names.h"
#include "judge/report/escape.h"
#include "judge/report/number_text.h"
#include "judge/report/report.h"

namespace assay::report {
namespace {

/// The policy forbids the page to fetch anything, whatever the data contain; only its own scripts
/// run.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'";

std::string_view kind_name(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::text:
      return "text";
    case ColumnKind::verdict:
      return "verdict";
    case ColumnKind::number:
      return "number";
    case ColumnKind::measured:
      return "measured";
    case ColumnKind::unit:
      return "unit";
    case ColumnKind::count:
      return "count";
    case ColumnKind::size:
      return "size";
    case ColumnKind::change:
      return "change";
    case ColumnKind::share:
      break;
  }
  return "share";
}

/// Returns null for numbers that JSON lacks, and whole numbers without ".0", because there are
/// many.
Json number_json(double value) {
  if (!std::isfinite(value)) return {};
  constexpr double most = 9007199254740992;  // 2^53, up to which a double holds every integer
  if (std::abs(value) <= most && value == std::trunc(value))
    return static_cast<std::int64_t>(value);
  return value;
}

/// Returns the table by column. Texts repeat, so they are indices into a list of distinct texts.
Json json_of(const Table& table) {
  Json columns = Json::array();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    Json json = {{"key", column.key},   {"title", column.title},   {"kind", kind_name(column.kind)},
                 {"unit", column.unit}, {"factor", column.factor}, {"shown", column.shown_unit}};
    Json values = Json::array(), words = Json::array();
    std::unordered_map<std::string, std::size_t> index;
    for (const auto& row : table.rows) {
      if (const auto* text = std::get_if<std::string>(&row[i])) {
        const auto [at, fresh] = index.try_emplace(*text, words.size());
        if (fresh) words.push_back(clean_text(*text));
        values.push_back(at->second);
      } else {
        const double* number = std::get_if<double>(&row[i]);
        values.push_back(number != nullptr ? number_json(*number) : Json());
      }
    }
    if (!words.empty()) json["words"] = std::move(words);
    json["values"] = std::move(values);
    columns.push_back(std::move(json));
  }
  return {{"id", table.id}, {"caption", table.caption}, {"columns", std::move(columns)}};
}

std::string data_of(const Document& document) {
  Json charts = Json::array(), tables = Json::array();
  const auto add_chart = [&](const Chart& chart) {
    charts.push_back({{"kind", name_of(chart.kind)},
                      {"title", chart.title},
                      {"settings", chart.settings},
                      {"table", json_of(chart.table)}});
  };
  if (document.picture) add_chart(document.picture->chart);
  for (const Chapter& chapter : document.chapters) {
    for (const Block& block : chapter.blocks) {
      if (const auto* chart = std::get_if<Chart>(&block)) {
        add_chart(*chart);
      } else if (std::get<Table>(block).raw) {
        tables.push_back(json_of(std::get<Table>(block)));
      }
    }
  }
  const Json data = {{"environments", document.environments},
                     {"charts", std::move(charts)},
                     {"tables", std::move(tables)}};
  return escape_script(data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string badge(std::string_view verdict) {
  std::string style;
  for (const char c : verdict) style += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return fmt::format("<span class=\"badge {}\">{}</span>", escape_html(style),
                     escape_html(verdict));
}

/// Returns a number's text together with the exact number, which goes into the CSV.
std::string field_html(const Table& table, const std::vector<Field>& row, std::size_t i) {
  const std::string text = text_of(table, row, i);
  if (std::holds_alternative<double>(row[i])) {
    return fmt::format("<data value=\"{}\">{}</data>", escape_html(exact_text(row[i])),
                       escape_html(text));
  }
  if (table.columns[i].kind == ColumnKind::verdict && !text.empty()) return badge(text);
  return escape_html(text);
}

/// Returns the column that identifies a row.
std::size_t row_heading(const Table& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& key = table.columns[i].key;
    if (key == "cell" || key == "fact" || key == "what") return i;
  }
  return 0;
}

std::string button(std::string_view form, const Table& table, std::string_view about) {
  return fmt::format(
      "<button type=\"button\" data-save=\"{0}\" data-of=\"{1}\" aria-label=\"Save {2} as "
      "{3}\">{3}</button>",
      form, escape_html(table.id), escape_html(about),
      form == "csv"   ? "CSV"
      : form == "svg" ? "SVG"
                      : "PNG");
}

/// Returns the class of each column: numbers are aligned right, long texts get room, units are
/// hidden.
std::vector<std::string> column_classes(const Table& table, const std::vector<std::string>& cells) {
  constexpr std::size_t sentence = 48;  // characters
  std::vector<std::string> classes;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnKind kind = table.columns[i].kind;
    const auto is_long = [](const std::string& text) { return text.size() > sentence; };
    const bool wide = !cells.empty() && table.columns[i].key == "cell"
                          ? std::ranges::any_of(cells, is_long)
                          : std::ranges::any_of(table.rows, [&](const auto& row) {
                              const auto* text = std::get_if<std::string>(&row[i]);
                              return text != nullptr && is_long(*text);
                            });
    std::string names = kind == ColumnKind::unit ? "unit"
                        : is_numeric(kind)       ? "number"
                        : wide                   ? "wide"
                                                 : "";
    if (table.columns[i].detail) names += names.empty() ? "detail" : " detail";
    classes.push_back(names.empty() ? "" : fmt::format(" class=\"{}\"", names));
  }
  return classes;
}

/// Returns whether the row's verdict says that its numbers prove nothing.
bool is_unproven(const Table& table, const std::vector<Field>& row) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].kind != ColumnKind::verdict) continue;
    const auto* verdict = std::get_if<std::string>(&row[i]);
    return verdict != nullptr &&
           (*verdict == name_of(Verdict::inconclusive) || *verdict == name_of(Verdict::unstable));
  }
  return false;
}

/// The names of a table's cells without what all of them share. Empty if the table has no cells.
CellNames names_of_cells(const Table& table) {
  const auto column = std::ranges::find(table.columns, "cell", &Column::key);
  if (column == table.columns.end()) return {};
  return cell_names(table.rows, [&](const std::vector<Field>& row) {
    return exact_text(row[static_cast<std::size_t>(column - table.columns.begin())]);
  });
}

/// `cells`: the names to show instead of whole cells, one for each row; empty: whole cells.
std::string rows_html(const Table& table, const std::vector<std::string>& cells = {}) {
  const std::size_t heading = row_heading(table);
  const std::vector<std::string> classes = column_classes(table, cells);
  std::string html = "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    html += fmt::format("<th scope=\"col\" data-key=\"{}\"{}>{}</th>",
                        escape_html(table.columns[i].key), classes[i],
                        escape_html(heading_of(table.columns[i])));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<Field>& row = table.rows[r];
    html += is_unproven(table, row) ? "<tr class=\"unproven\">" : "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!cells.empty() && table.columns[i].key == "cell") {
        // CSV and the search for rows take the whole cell.
        html += fmt::format("<th scope=\"row\"{} data-text=\"{}\">{}</th>", classes[i],
                            escape_html(exact_text(row[i])), escape_html(cells[r]));
        continue;
      }
      html += i == heading ? fmt::format("<th scope=\"row\"{}>", classes[i])
                           : fmt::format("<td{}>", classes[i]);
      html += field_html(table, row, i) + (i == heading ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody>";
}

std::string table_html(const Table& table) {
  const std::string caption = escape_html(table.caption);
  if (table.raw) {
    return fmt::format(
        "<figure class=\"table\" id=\"{0}\"><details data-table=\"{0}\"><summary>{1}: {2}</summary>"
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{1}\"></div></details>"
        "<div class=\"tools\">{3}</div></figure>\n",
        escape_html(table.id), caption, counted(table.rows.size(), "row"),
        button("csv", table, table.caption));
  }
  const CellNames cells = names_of_cells(table);
  std::string shared;
  for (const std::vector<std::string>& lines : {table.shared, cells.heading()}) {
    for (const std::string& line : lines) {
      shared += fmt::format("<span class=\"shared\">{}</span>", escape_html(line));
    }
  }
  const bool details = std::any_of(table.columns.begin(), table.columns.end(),
                                   [](const Column& column) { return column.detail; });
  return fmt::format(
      "<figure class=\"table\" id=\"{0}\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{1}\"><table><caption>{1}{5}</caption>{2}</table></div><div "
      "class=\"tools\">{3}{4}"
      "</div></figure>\n",
      escape_html(table.id), caption, rows_html(table, cells.names),
      button("csv", table, table.caption),
      details ? "<label class=\"details\"><input type=\"checkbox\"> all columns</label>" : "",
      shared);
}

/// `level` is that of the heading; `more` is markup for the end of the caption.
std::string chart_html(const Chart& chart, int level = 3, std::string_view more = "") {
  const std::string id = escape_html(chart.table.id);
  return fmt::format(
      "<figure class=\"chart {1}\" id=\"{0}\" aria-labelledby=\"{0}-title\">"
      "<h{8} id=\"{0}-title\">{2}</h{8}>"
      "<div class=\"plot\" role=\"img\" aria-labelledby=\"{0}-title\" "
      "aria-describedby=\"{0}-text\"></div>"
      "<figcaption id=\"{0}-text\">{3}{9}</figcaption>"
      "<details data-table=\"{0}\"><summary>Data: {4}</summary><div class=\"scroll\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"Data of {2}\"></div></details>"
      "<div class=\"tools\">{5}{6}{7}</div></figure>\n",
      id, name_of(chart.kind), escape_html(chart.title),
      escape_html(chart.summary + chart.conditions), counted(chart.table.rows.size(), "row"),
      button("csv", chart.table, chart.title), button("svg", chart.table, chart.title),
      button("png", chart.table, chart.title), level, more);
}

std::string answer_html(const Answer& answer) {
  return fmt::format("<p class=\"answer\">{}{}<span{}>{}</span></p>\n",
                     answer.verdict ? badge(name_of(*answer.verdict)) + " " : "",
                     answer.lead.empty() ? "" : fmt::format("<b>{}</b>", escape_html(answer.lead)),
                     answer.proven ? "" : " class=\"unproven\"", escape_html(answer.sentence));
}

std::string card_html(const Card& card, std::size_t number) {
  std::string html =
      fmt::format("<div class=\"card card-{}\"><h2>{}</h2><ul>", number, escape_html(card.heading));
  for (const std::string& line : card.lines) html += fmt::format("<li>{}</li>", escape_html(line));
  html += "</ul>";
  if (!card.command.empty()) {
    // Lines break between words, not at their hyphens.
    html += "<code>";
    std::istringstream words(card.command);
    for (std::string word; words >> word;) {
      html += fmt::format("<span>{}</span> ", escape_html(word));
    }
    html += "</code>";
  }
  return html + "</div>\n";
}

/// Everything that a reader sees first; it is printed on one page.
std::string first_screen_html(const Document& document) {
  std::string html = fmt::format(
      "<section id=\"answer\" aria-labelledby=\"question\">\n<p class=\"brand\">assay report</p>\n"
      "<h1 id=\"question\">{}</h1>\n",
      escape_html(document.question));
  if (!document.purpose.empty()) html += fmt::format("<p>{}</p>\n", escape_html(document.purpose));
  for (const Answer& answer : document.answers) html += answer_html(answer);
  // On screen, the picture says it.
  if (document.headline) {
    html += fmt::format("<div class=\"headline\"><table><caption>{}</caption>{}</table></div>\n",
                        escape_html(document.headline->caption), rows_html(*document.headline));
  }
  html += "<div class=\"first\">\n";
  if (document.picture) {
    const MainChart& picture = *document.picture;
    html += chart_html(picture.chart, 2,
                       picture.link_text.empty()
                           ? ""
                           : fmt::format(" <a href=\"#{}\">{}</a>", picture.chapter_id,
                                         escape_html(picture.link_text)));
  }
  for (std::size_t i = 0; i < document.cards.size(); ++i) {
    html += card_html(document.cards[i], i + 1);
  }
  html += fmt::format("</div>\n<p class=\"made\">{}</p>\n", escape_html(document.made_by));
  if (document.notes.empty()) return html + "</section>\n";
  html += fmt::format("<details class=\"notes\"><summary>{}</summary><ul>\n",
                      counted(document.notes.size(), "note"));
  for (const std::string& note : document.notes) {
    html += fmt::format("<li>{}</li>\n", escape_html(note));
  }
  return html + "</ul></details>\n</section>\n";
}

/// Explains the verdicts that occur.
std::string verdicts_html(const std::vector<VerdictExplanation>& verdicts) {
  if (verdicts.empty()) return {};
  std::string html = "<dl class=\"words\">\n";
  for (const VerdictExplanation& explained : verdicts) {
    html += fmt::format("<dt>{}</dt><dd>{} {}</dd>\n", badge(name_of(explained.verdict)),
                        escape_html(explained.meaning), escape_html(explained.next_step));
  }
  return html + "</dl>\n";
}

std::string chapter_html(const Chapter& chapter, const std::vector<VerdictExplanation>& verdicts) {
  std::string html = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n",
      chapter.id, escape_html(chapter.heading));
  for (const std::string& paragraph : chapter.paragraphs) {
    html += fmt::format("<p class=\"lead\">{}</p>\n", escape_html(paragraph));
  }
  if (chapter.id == "cells") html += verdicts_html(verdicts);
  bool in_charts = false;
  for (const Block& block : chapter.blocks) {
    const Chart* chart = std::get_if<Chart>(&block);
    if (in_charts != (chart != nullptr)) {
      html += chart != nullptr ? "<div class=\"charts\">\n" : "</div>\n";
      in_charts = chart != nullptr;
    }
    html += chart != nullptr ? chart_html(*chart) : table_html(std::get<Table>(block));
  }
  return html + (in_charts ? "</div>\n" : "") + "</section>\n";
}

std::string navigation_html(const Document& document) {
  std::string html = "<nav aria-label=\"Chapters\"><ul><li><a href=\"#answer\">Answer</a></li>";
  for (const Chapter& chapter : document.chapters) {
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>", chapter.id,
                        escape_html(chapter.short_heading));
  }
  return html + "</ul><button type=\"button\" id=\"print\">Print everything</button></nav>\n";
}

/// Returns the text of all files whose names end in `ending`, in the order of their names.
std::string text_of_page(std::string_view ending) {
  std::string text;
  for (const EmbeddedFile& file : embedded_page()) {
    if (file.name.ends_with(ending)) text += file.text;
  }
  return text;
}

/// Changes the text so that it cannot end the comment around it.
std::string comment_text(std::string_view text) {
  std::string harmless;
  for (const char c : text) {
    if (c == '/' && harmless.ends_with('*')) harmless += ' ';
    harmless += c;
  }
  return harmless;
}

/// Returns the parts of Vega as CommonJS modules, after their licence notices.
std::string vega_script() {
  std::string notices, parts;
  for (const EmbeddedFile& file : embedded_vega()) {
    const std::size_t name = file.name.find(".min.js");
    if (name == std::string_view::npos) {
      notices += comment_text(file.text);
      continue;
    }
    parts +=
        fmt::format("\"{}\": function (exports, module, require) {{\n", file.name.substr(0, name));
    // The reference to a source map is dropped, because browser tools would try to load it.
    parts += file.text.substr(0, file.text.find("//# sourceMappingURL"));
    parts += "\n},\n";
  }
  return fmt::format(
      "/* The charts are drawn by Vega, with parts of D3 under the ISC licence below.\n\n"
      "{}*/\nconst vegaParts = {{\n{}}};\n",
      notices, parts);
}

}  // namespace

std::string to_html(const Document& document) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} - assay report</title>\n<style>\n",
      policy, escape_html(document.question));
  html += text_of_page(".css") + "</style>\n</head>\n<body>\n";
  html += "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n";
  html += "<main id=\"main\">\n";
  html +=
      "<noscript><p>Charts and the data behind them need JavaScript; the answer, the cards and the "
      "other tables do not.</p></noscript>\n";
  html += first_screen_html(document) + navigation_html(document);
  for (const Chapter& chapter : document.chapters) html += chapter_html(chapter, document.verdicts);
  html += fmt::format("</main>\n<footer><p>{}</p></footer>\n", escape_html(document.made_by));
  html += "<script type=\"application/json\" id=\"data\">" + data_of(document) + "</script>\n";
  html += "<script>\n" + vega_script() + "</script>\n";
  html += "<script>\n" + text_of_page(".js") + "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace assay::report
