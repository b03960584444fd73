#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "core/json.h"
#include "judge/report/escape.h"
#include "judge/report/report.h"
#include "support/test_record.h"
#include "unit/report_input.h"

namespace assay::report {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// What the page's script reads.
Json data_of(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = html.find(begin) + begin.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

const std::string hostile =
    "</script><script>alert(1)</script>\"'&<b>\xE2\x80\xA8\xE2\x80\xAE\x01\xFF";

TEST(ReportEscape, CleanTextIsValidAndHarmless) {
  EXPECT_EQ(clean_text("a\nb\x1B[31m\x7F"), "a b [31m ");
  EXPECT_EQ(clean_text("\xFF\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(clean_text("\xE2\x80\xAE"
                       "abc"),
            " abc");  // right to left
  EXPECT_EQ(clean_text("\u00B5s \u2192 \U0001F600"), "\u00B5s \u2192 \U0001F600");
  EXPECT_EQ(clean_text("a\xE2\x80\xA8"
                       "b"),
            "a b");                                               // a line separator
  EXPECT_EQ(clean_text("\xE2\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // truncated
}

TEST(ReportEscape, EveryFormatEscapesWhatHarmsIt) {
  EXPECT_EQ(escape_html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escape_markdown("a|b *c* <d> all_reduce"), "a\\|b \\*c\\* \\<d\\> all_reduce");
  EXPECT_EQ(escape_csv("plain"), "plain");
  EXPECT_EQ(escape_csv("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(escape_csv("=cmd()"), "'=cmd()");
  EXPECT_EQ(escape_csv("-1,2"), "\"'-1,2\"");
  EXPECT_EQ(escape_script("\"</script>&\xE2\x80\xA8\xE2\x80\xA9\""),
            "\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\"");
}

TEST(ReportHtml, LoadsNothingFromOutside) {
  const std::string html = to_html(make_document(comparison_input(0.9)));
  const std::string body = html.substr(0, html.find("const vegaParts"));
  EXPECT_FALSE(std::regex_search(body, std::regex("(src|href)=\"[^#]")));
  EXPECT_THAT(html, Not(HasSubstr("sourceMappingURL")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe-eval")));
  EXPECT_THAT(html, HasSubstr("Redistribution and use in source and binary forms"));
  EXPECT_EQ(count_of(html, "<script"), 3U);
  EXPECT_EQ(count_of(html, "</script>"), 3U);
}

TEST(ReportHtml, HostileNamesStayText) {
  ReportInput input = comparison_input(0.9);
  for (Environment& environment : input.environments) environment.results.name += hostile;
  input.environments[0].results.series[0].axes[0].second = hostile;
  input.environments[1].results.series[0].axes[0].second = hostile;
  input.environments[0].results.problems = {hostile};
  input.environments[0].results.faults[hostile] = hostile;
  input.environments[0].results.fingerprints = {{{hostile, hostile}}};
  input.environments[1].results.fingerprints = {{{hostile, "other"}}};
  input.title = hostile;
  input.campaign = hostile;
  input.comparisons = {compare(input.environments[0].results, input.environments[1].results,
                               nullptr, VerdictRule{})};
  const std::string html = to_html(make_document(input));
  EXPECT_EQ(count_of(html, "<script"), 3U);
  EXPECT_EQ(count_of(html, "</script>"), 3U);
  // The page has bold text of its own, but none after an ampersand.
  EXPECT_THAT(html, Not(HasSubstr("&<b>")));
  EXPECT_THAT(html, Not(HasSubstr("&amp;<b>")));
  EXPECT_THAT(html, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_EQ(data_of(html)["environments"].size(), 2U);
  const std::string markdown = to_markdown(make_document(input));
  EXPECT_THAT(markdown, Not(HasSubstr("<script>")));
  EXPECT_THAT(markdown, Not(HasSubstr("\x01")));
}

TEST(ReportHtml, TheDataAreExact) {
  const ReportInput input = comparison_input(0.9);
  const Json data = data_of(to_html(make_document(input)));
  const Json& runs = data["tables"].back();
  EXPECT_EQ(runs["id"], "runs");
  for (const Json& column : runs["columns"]) {
    if (column["key"] != "value") continue;
    ASSERT_EQ(column["values"].size(), 2 * 5 * 12U);
    // Rows are in the order of sizes: the first is 64KiB's first run.
    EXPECT_EQ(column["values"][0].get<double>(), around(100e9, 12)[0]);
    EXPECT_EQ(column["values"][119].get<double>(), around(800e9 * 0.9, 12)[11]);
  }
}

TEST(ReportHtml, TheVerdictComesFirstAndEveryCellHasARow) {
  const std::string slower = to_html(make_document(comparison_input(0.9)));
  EXPECT_THAT(slower, HasSubstr("<span class=\"badge slower\">SLOWER</span> <b>Yes: </b>"));
  EXPECT_THAT(slower, HasSubstr("<li>5 SLOWER of 5 cells</li>"));
  const std::string cells = slower.substr(slower.find("<section id=\"cells\""));
  EXPECT_EQ(count_of(cells, "<tr><td><span class=\"badge slower\">"), 5U);
  EXPECT_THAT(cells, HasSubstr("<span class=\"shared\">all cells: memory op=triad</span>"));
  EXPECT_THAT(cells, HasSubstr(" data-text=\"memory op=triad size=64KiB\">size=64KiB</th>"));
  EXPECT_LT(slower.find("id=\"answer\""), slower.find("id=\"cells\""));
  EXPECT_LT(slower.find("id=\"cells\""), slower.find("id=\"curves\""));
  EXPECT_THAT(slower, ContainsRegex("<data value=\"-0\\.0999999[0-9]*\">-10\\.00%</data>"));
  const std::string equal = to_html(make_document(comparison_input(1.001)));
  EXPECT_THAT(equal, HasSubstr("<b>No: </b>"));
}

TEST(ReportHtml, AnEnvironmentAloneHasResultsAndNoVerdict) {
  ReportInput input;
  input.environments = {curve_environment("host", 1)};
  input.environments[0].results.faults["memory op=triad size=1GiB"] = "above its roofline";
  const std::string html = to_html(make_document(input));
  EXPECT_THAT(html, Not(HasSubstr("class=\"badge")));
  EXPECT_THAT(html, HasSubstr("<li>Cannot be trusted: memory triad 1GiB</li>"));
  EXPECT_THAT(html, HasSubstr("above its roofline"));
  EXPECT_THAT(html, HasSubstr("760.1 GB/s (95% interval")) << "the best that can be trusted";
  EXPECT_THAT(html, HasSubstr("80.0%"));
}

TEST(ReportHtml, NothingAtAllIsStillAPage) {
  ReportInput input;
  input.environments.emplace_back();
  EXPECT_THAT(to_html(make_document(input)), HasSubstr("No result can be trusted"));
  EXPECT_THAT(to_markdown(make_document(input)), HasSubstr("No result can be trusted"));
}

TEST(ReportHtml, ValuesThatAreNoNumbersAreLeftOut) {
  ReportInput input;
  input.environments = {environment_of(
      "a", {series_of("m", {{"n", "1"}}, {std::nan(""), INFINITY}),
            series_of("m", {{"n", "2"}}, {1, 2}), series_of("m", {{"n", "3"}}, {-5, 0})})};
  const Json data = data_of(to_html(make_document(input)));
  EXPECT_TRUE(data["tables"].back()["columns"][6]["values"][0].is_null());
}

TEST(ReportMarkdown, HoldsTheTables) {
  const std::string text = to_markdown(make_document(comparison_input(0.9)));
  EXPECT_THAT(text, StartsWith("# Does container cost anything against host?\n\n**SLOWER** Yes: "
                               "container takes 11% more "));
  EXPECT_THAT(text, HasSubstr("| SLOWER | memory op=triad size=64KiB | bandwidth | -10.00% |"));
  EXPECT_THAT(text, HasSubstr("## How it was measured"));
}

TEST(ReportCsv, IsOneTableOfExactNumbers) {
  const std::string text = to_csv(make_document(comparison_input(0.9)));
  EXPECT_THAT(text, StartsWith("verdict,cell,metric,unit,change,change_low,change_high,median_a,"));
  EXPECT_EQ(count_of(text, "\r\n"), 6U);
  std::vector<double> values = around(100e9, 12);
  std::sort(values.begin(), values.end());
  EXPECT_THAT(text, HasSubstr(fmt::format(",{},", (values[5] + values[6]) / 2)));
}

}  // namespace
}  // namespace assay::report
