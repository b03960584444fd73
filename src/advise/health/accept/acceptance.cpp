#include "advise/health/accept/acceptance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/units.h"
#include "judge/report/escape.h"

namespace assay::health {
namespace {

Json to_json(const JudgedLine& judged) {
  const LimitLine& line = judged.line;
  Json json = {{"line", line.what()}, {"verdict", name_of(judged.verdict)}};
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  add("cell", line.cell);
  add("metric", line.metric);
  add("machine", line.machine);
  add("check", line.check);
  if (!line.has.empty()) json["has"] = line.has;
  if (!line.unit.empty()) {
    json[line.at_most ? "at_most" : "at_least"] = line.value;
    json["unit"] = line.unit;
  }
  if (judged.found) json["found"] = {judged.found->low, judged.found->high};
  add("subject", judged.subject);
  json["subjects"] = judged.subjects;
  add("reason", judged.reason);
  if (line.check.empty()) json["kind"] = name_of(line.kind);
  add("source", line.source);
  add("date", line.date);
  add("n", line.sample);
  add("doubts", line.doubts);
  return json;
}

constexpr std::string_view page_style = R"(@page { size: A4; margin: 10mm }
body { font: 8.5px/1.25 sans-serif; color: #111; max-width: 190mm; margin: 0 auto }
h1 { font-size: 16px; margin: 0 0 2px } h2 { font-size: 10px; margin: 6px 0 1px }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: 0 4px; border-bottom: 1px solid #ccc; vertical-align: top }
th, td:first-child { white-space: nowrap }
.verdict { float: right; font-size: 22px; font-weight: bold; border: 2px solid; padding: 2px 10px }
.pass { color: #14691b } .fail { color: #b00020 } .unknown { color: #7a5200 }
code { font-size: 1em; overflow-wrap: anywhere } p { margin: 1px 0 }
@media screen { body { padding: 8mm 5mm } })";

std::string verdict_html(LineVerdict verdict) {
  const std::string_view word = name_of(verdict);
  const std::string_view kind = verdict == LineVerdict::pass   ? "pass"
                                : verdict == LineVerdict::fail ? "fail"
                                                               : "unknown";
  return fmt::format("<b class=\"{}\">{}</b>", kind, word);
}

/// A row "name: value" of the head; empty values are left out.
std::string fact(std::string_view name, const std::string& value) {
  if (value.empty()) return {};
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, report::escape_html(value));
}

std::string line_row(const JudgedLine& judged) {
  const LimitLine& line = judged.line;
  const std::string source =
      line.check.empty() ? fmt::format("{}, {}", name_of(line.kind), line.date) : line.source;
  return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                     verdict_html(judged.verdict), report::escape_html(line.what()),
                     report::escape_html(line.limit_text()),
                     report::escape_html(judged.found_text()), report::escape_html(source));
}

std::string corruption_row(const CorruptionTest& test) {
  if (test.verdict.empty()) return {};
  const LineVerdict verdict = test.verdict == "SOUND"     ? LineVerdict::pass
                              : test.verdict == "CORRUPT" ? LineVerdict::fail
                                                          : LineVerdict::unknown;
  return fmt::format(
      "<tr><td>{}</td><td>silent data corruption, {}</td><td>SOUND</td><td>{}: {}</td>"
      "<td>assay health sdc</td></tr>\n",
      verdict_html(verdict), format_clock(test.seconds), report::escape_html(test.verdict),
      report::escape_html(test.why));
}

/// The hash of the records, and the command that computes it again from the store.
std::string records_of(const Acceptance& acceptance) {
  if (acceptance.runs.empty()) return "<p>No rate was measured.</p>\n";
  std::string text = fmt::format("<p>Records: SHA-256 <code>{}</code>", acceptance.records_hash);
  if (!acceptance.folder.empty()) {
    text += fmt::format(
        "; the same from the store: <code>grep -F -e {} {}/records.jsonl | sha256sum</code>",
        report::escape_html(fmt::format("{}", fmt::join(acceptance.runs, " -e "))),
        report::escape_html(acceptance.folder));
  }
  return text + "</p>\n";
}

}  // namespace

LineVerdict Acceptance::verdict() const {
  const LineVerdict of_lines = verdict_of(lines);
  if (of_lines == LineVerdict::fail || corruption.verdict == "CORRUPT") return LineVerdict::fail;
  const bool unsure = !corruption.verdict.empty() && corruption.verdict != "SOUND";
  return unsure || interrupted || lines.empty() ? LineVerdict::unknown : of_lines;
}

Json to_json(const Acceptance& acceptance) {
  Json lines = Json::array();
  for (const JudgedLine& line : acceptance.lines) lines.push_back(to_json(line));
  Json json = {{"verdict", name_of(acceptance.verdict())},
               {"begin", acceptance.begin},
               {"seconds", acceptance.seconds},
               {"machine", acceptance.machine},
               {"devices", acceptance.devices},
               {"limits",
                {{"name", acceptance.limits_name},
                 {"description", acceptance.limits_description},
                 {"not_covered", acceptance.not_covered}}},
               {"lines", std::move(lines)},
               {"runs", acceptance.runs},
               {"fingerprint", acceptance.fingerprint},
               {"records_sha256", acceptance.records_hash},
               {"assay", acceptance.version},
               {"command", acceptance.command}};
  if (!acceptance.host.empty()) json["host"] = acceptance.host;
  if (!acceptance.serials.empty()) json["serials"] = acceptance.serials;
  if (!acceptance.folder.empty()) json["folder"] = acceptance.folder;
  if (acceptance.interrupted) json["interrupted"] = true;
  if (!acceptance.corruption.verdict.empty()) {
    json["sdc"] = {{"verdict", acceptance.corruption.verdict},
                   {"why", acceptance.corruption.why},
                   {"seconds", acceptance.corruption.seconds}};
    if (!acceptance.corruption.file.empty()) json["sdc"]["file"] = acceptance.corruption.file;
  }
  return json;
}

std::string certificate(const Acceptance& acceptance) {
  const LineVerdict verdict = acceptance.verdict();
  std::string rows;
  for (const LineVerdict shown : {LineVerdict::fail, LineVerdict::unknown, LineVerdict::pass}) {
    for (const JudgedLine& line : acceptance.lines) {
      if (line.verdict == shown) rows += line_row(line);
    }
  }
  rows += corruption_row(acceptance.corruption);
  std::string doubts;
  std::vector<std::string> told;
  for (const JudgedLine& judged : acceptance.lines) {
    const std::string& doubt = judged.line.doubts;
    if (doubt.empty() || std::find(told.begin(), told.end(), doubt) != told.end()) continue;
    told.push_back(doubt);
    doubts += fmt::format("<p>{}: {}</p>\n", report::escape_html(judged.line.what()),
                          report::escape_html(doubt));
  }
  std::string beside;
  for (const std::string& one : acceptance.not_covered) {
    beside += fmt::format("<p>{}</p>\n", report::escape_html(one));
  }
  const auto chapter = [](std::string_view title, const std::string& text) {
    return text.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", title, text);
  };
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>Acceptance: {verdict}</title>\n<style>{style}</style></head>\n"
      "<body><div class=\"verdict {css}\">{verdict}</div>\n<h1>Acceptance of a machine</h1>\n"
      "<table>\n{facts}</table>\n"
      "<h2>What was tested</h2>\n<table><tr><th></th><th>line</th><th>limit</th><th>found (95% "
      "interval)</th><th>kind and date of the limit</th></tr>\n{rows}</table>\n{beside}{doubts}"
      "<h2>How to repeat it</h2>\n<p><code>{command}</code></p>\n"
      "{records}</body></html>\n",
      fmt::arg("verdict", name_of(verdict)), fmt::arg("style", page_style),
      fmt::arg("css", verdict == LineVerdict::pass   ? "pass"
                      : verdict == LineVerdict::fail ? "fail"
                                                     : "unknown"),
      fmt::arg("facts",
               fact("machine", acceptance.machine) + fact("host", acceptance.host) +
                   fact("serial numbers", fmt::format("{}", fmt::join(acceptance.serials, ", "))) +
                   fact("devices", fmt::format("{}", fmt::join(acceptance.devices, "; "))) +
                   fact("date", fmt::format("{}, {} long", acceptance.begin,
                                            format_clock(acceptance.seconds))) +
                   fact("limits", fmt::format("{}: {}", acceptance.limits_name,
                                              acceptance.limits_description)) +
                   fact("measured by", acceptance.version)),
      fmt::arg("rows", rows),
      fmt::arg("beside", chapter("Not tested, though the source asks for it", beside)),
      fmt::arg("doubts", chapter("Doubts about the limits", doubts)),
      fmt::arg("command", report::escape_html(acceptance.command)),
      fmt::arg("records", records_of(acceptance)));
}

}  // namespace assay::health
