// The report as one HTML page. The summary and the tables of cells are markup and need no script;
// page/*.js draws charts and long tables from the data in one JSON element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/embedded.h"
#include "core/json.h"
#include "judge/report/escape.h"
#include "judge/report/number_text.h"
#include "judge/report/report.h"

namespace assay::report {
namespace {

/// The page may fetch nothing, whatever the data contain; only scripts inside it run.
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

/// Null for what JSON has no number for; whole numbers without ".0", since there are many.
Json number_json(double value) {
  if (!std::isfinite(value)) return {};
  constexpr double most = 9007199254740992;  // 2^53, up to which doubles hold every integer
  if (std::abs(value) <= most && value == std::trunc(value))
    return static_cast<std::int64_t>(value);
  return value;
}

/// Column by column; texts repeat, so they are indices into a list of the distinct ones.
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
  for (const Chapter& chapter : document.chapters) {
    for (const Block& block : chapter.blocks) {
      if (const auto* chart = std::get_if<Chart>(&block)) {
        charts.push_back({{"kind", name_of(chart->kind)},
                          {"title", chart->title},
                          {"settings", chart->settings},
                          {"table", json_of(chart->table)}});
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

/// A number's text together with the exact number, which goes into the CSV.
std::string field_html(const Table& table, const std::vector<Field>& row, std::size_t i) {
  const std::string text = text_of(table, row, i);
  if (std::holds_alternative<double>(row[i])) {
    return fmt::format("<data value=\"{}\">{}</data>", escape_html(exact_text(row[i])),
                       escape_html(text));
  }
  if (table.columns[i].kind == ColumnKind::verdict) return badge(text);
  return escape_html(text);
}

/// The column that says what a row is about.
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

/// The class of each column: numbers are aligned right, long texts get room, units are hidden.
std::vector<std::string> column_classes(const Table& table) {
  constexpr std::size_t sentence = 48;  // characters
  std::vector<std::string> classes;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnKind kind = table.columns[i].kind;
    const bool wide = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      const auto* text = std::get_if<std::string>(&row[i]);
      return text != nullptr && text->size() > sentence;
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

std::string rows_html(const Table& table) {
  const std::size_t heading = row_heading(table);
  const std::vector<std::string> classes = column_classes(table);
  std::string html = "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    html += fmt::format("<th scope=\"col\" data-key=\"{}\"{}>{}</th>",
                        escape_html(table.columns[i].key), classes[i],
                        escape_html(heading_of(table.columns[i])));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
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
  const bool details = std::any_of(table.columns.begin(), table.columns.end(),
                                   [](const Column& column) { return column.detail; });
  return fmt::format(
      "<figure class=\"table\" id=\"{0}\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{1}\"><table><caption>{1}</caption>{2}</table></div><div class=\"tools\">{3}{4}"
      "</div></figure>\n",
      escape_html(table.id), caption, rows_html(table), button("csv", table, table.caption),
      details ? "<label class=\"details\"><input type=\"checkbox\"> all columns</label>" : "");
}

std::string chart_html(const Chart& chart) {
  const std::string id = escape_html(chart.table.id);
  return fmt::format(
      "<figure class=\"chart {1}\" id=\"{0}\" aria-labelledby=\"{0}-title\">"
      "<h3 id=\"{0}-title\">{2}</h3>"
      "<div class=\"plot\" role=\"img\" aria-labelledby=\"{0}-title\" "
      "aria-describedby=\"{0}-text\"></div>"
      "<figcaption id=\"{0}-text\">{3}</figcaption>"
      "<details data-table=\"{0}\"><summary>Data: {4}</summary><div class=\"scroll\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"Data of {2}\"></div></details>"
      "<div class=\"tools\">{5}{6}{7}</div></figure>\n",
      id, name_of(chart.kind), escape_html(chart.title), escape_html(chart.summary),
      counted(chart.table.rows.size(), "row"), button("csv", chart.table, chart.title),
      button("svg", chart.table, chart.title), button("png", chart.table, chart.title));
}

std::string summary_html(const Document& document) {
  std::string html =
      "<section id=\"summary\" aria-labelledby=\"summary-title\">\n"
      "<h2 id=\"summary-title\">Summary</h2>\n";
  if (!document.purpose.empty()) html += fmt::format("<p>{}</p>\n", escape_html(document.purpose));
  html += "<p class=\"headline\">";
  if (document.verdict) html += badge(name_of(*document.verdict)) + " ";
  html += escape_html(document.headline) + "</p>\n";
  if (!document.reason.empty()) html += fmt::format("<p>{}</p>\n", escape_html(document.reason));
  if (!document.tiles.empty()) html += "<ul class=\"tiles\">";
  for (const Tile& tile : document.tiles) {
    html += fmt::format("<li><strong>{}</strong> {}</li>", escape_html(tile.figure),
                        escape_html(tile.label));
  }
  if (!document.tiles.empty()) html += "</ul>\n";
  if (!document.words.empty()) html += "<dl class=\"words\">\n";
  for (const Word& word : document.words) {
    html += fmt::format("<dt>{}</dt><dd>{} {}</dd>\n", badge(name_of(word.verdict)),
                        escape_html(word.meaning), escape_html(word.next_step));
  }
  if (!document.words.empty()) html += "</dl>\n";
  if (!document.warnings.empty()) html += "<div class=\"warnings\"><h3>Notes</h3><ul>\n";
  for (const std::string& warning : document.warnings) {
    html += fmt::format("<li>{}</li>\n", escape_html(warning));
  }
  if (!document.warnings.empty()) html += "</ul></div>\n";
  return html + "</section>\n";
}

std::string chapter_html(const Chapter& chapter) {
  std::string html = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n",
      chapter.id, escape_html(chapter.heading));
  for (const std::string& paragraph : chapter.paragraphs) {
    html += fmt::format("<p class=\"lead\">{}</p>\n", escape_html(paragraph));
  }
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
  std::string html = "<nav aria-label=\"Chapters\"><ul><li><a href=\"#summary\">Summary</a></li>";
  for (const Chapter& chapter : document.chapters) {
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>", chapter.id,
                        escape_html(chapter.short_heading));
  }
  return html + "</ul></nav>\n";
}

std::string header_html(const Document& document) {
  std::string html = fmt::format("<header><p class=\"brand\">assay report</p>\n<h1>{}</h1>\n",
                                 escape_html(document.title));
  constexpr std::size_t colours = 6;
  const bool letters = document.environments.size() == 2;  // else each table says which one is A
  if (document.environments.size() > 1) {
    html += "<ul class=\"environments\">";
    for (std::size_t i = 0; i < document.environments.size(); ++i) {
      html += fmt::format("<li class=\"e{}\">{}{}</li>", i % colours,
                          letters ? (i == 0 ? "<b>A</b> " : "<b>B</b> ") : "",
                          escape_html(document.environments[i]));
    }
    html += "</ul>\n";
  }
  if (!document.about.empty()) {
    html += fmt::format("<p class=\"about\">{}</p>\n", escape_html(document.about));
  }
  return html + "</header>\n";
}

/// The text of all files whose names end in `ending`, in the order of their names.
std::string text_of_page(std::string_view ending) {
  std::string text;
  for (const EmbeddedFile& file : embedded_page()) {
    if (file.name.ends_with(ending)) text += file.text;
  }
  return text;
}

/// The text changed so that it cannot end the comment around it.
std::string comment_text(std::string_view text) {
  std::string harmless;
  for (const char c : text) {
    if (c == '/' && harmless.ends_with('*')) harmless += ' ';
    harmless += c;
  }
  return harmless;
}

/// The parts of Vega as CommonJS modules, after their licence notices.
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
    // Without the reference to a source map, which browser tools would try to load.
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
      policy, escape_html(document.title));
  html += text_of_page(".css") + "</style>\n</head>\n<body>\n";
  html += "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n";
  html += header_html(document) + navigation_html(document) + "<main id=\"main\">\n";
  html +=
      "<noscript><p>Charts and the data behind them need JavaScript; the summary and the tables "
      "of cells do not.</p></noscript>\n";
  html += summary_html(document);
  for (const Chapter& chapter : document.chapters) html += chapter_html(chapter);
  html += fmt::format("</main>\n<footer><p>{}</p></footer>\n", escape_html(document.made_by));
  html += "<script type=\"application/json\" id=\"data\">" + data_of(document) + "</script>\n";
  html += "<script>\n" + vega_script() + "</script>\n";
  html += "<script>\n" + text_of_page(".js") + "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace assay::report
