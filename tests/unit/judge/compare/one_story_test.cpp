// Whatever a campaign holds, its headline, rows, counts, report, Markdown and JSON tell one story.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/judge/compare_view.h"
#include "core/json.h"
#include "core/random.h"
#include "judge/compare/comparison_json.h"
#include "judge/report/report.h"
#include "unit/report_input.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A campaign of a random number of cells, pairs, effects and noise, some of it unsound.
struct RandomCampaign {
  Environment a, b, again;

  explicit RandomCampaign(std::uint64_t seed) {
    Random random(seed);
    const auto draw = [&](std::initializer_list<double> values) {
      return values
          .begin()[static_cast<std::size_t>(random.uniform() * static_cast<double>(values.size()))];
    };
    const auto cells = static_cast<std::size_t>(draw({1, 2, 7, 26, 40}));
    const auto pairs = static_cast<std::size_t>(draw({2, 6, 10, 12, 20}));
    const double noise = draw({0.0005, 0.005, 0.03}), effect = draw({0, 0, 0.01, 0.05, 0.2, -0.2});
    const double share = draw({0, 0.1, 0.5, 1}), missing = draw({0, 0, 0.2});
    std::vector<Series> of_a, of_b, of_again;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const double mine = random.uniform() < share ? effect : 0;
      const Axes axes = {{"size", std::to_string(cell)}};
      const auto add = [&](std::vector<Series>& to, double log_ratio) {
        std::vector<double> values;
        for (std::size_t i = 0; i < pairs; ++i) {
          values.push_back(1e9 * std::exp(-log_ratio + noise * random.normal()));
        }
        to.push_back(series_of("memory", axes, values));
      };
      add(of_a, 0);
      add(of_b, mine);
      add(of_again, 0);
    }
    a = environment_of("a", std::move(of_a));
    b = environment_of("b", std::move(of_b));
    again = environment_of("a-control", std::move(of_again));
    for (ResultSet* set : {&a.results, &b.results, &again.results}) {
      for (Series& series : set->series) {
        std::erase_if(series.points, [&](const Point&) { return random.uniform() < missing; });
      }
    }
    a.results.pairs_per_draw = b.results.pairs_per_draw = random.uniform() < 0.3 ? 2 : 1;
  }
};

class OneStory : public testing::TestWithParam<std::uint64_t> {};

TEST_P(OneStory, IsToldEverywhere) {
  const RandomCampaign campaign(GetParam());
  const Comparison comparison =
      compare(campaign.a.results, campaign.b.results, &campaign.again.results, {});
  const Verdict whole = comparison.all.judgement.verdict;
  const std::string word(name_of(whole));

  std::array<std::size_t, verdict_count> counts = {};
  for (const CellComparison& cell : comparison.cells) {
    ++counts[static_cast<std::size_t>(cell.judgement.verdict)];
    // The interval of a row that is called different excludes "no difference".
    if (!is_different(cell.judgement.verdict)) continue;
    EXPECT_TRUE(cell.has_interval());
    EXPECT_TRUE(cell.ratio95.low > 1 || cell.ratio95.high < 1);
  }
  EXPECT_EQ(counts, comparison.all.counts);
  const auto count = [&](Verdict verdict) { return counts[static_cast<std::size_t>(verdict)]; };
  const std::size_t different =
      count(Verdict::slower) + count(Verdict::faster) + count(Verdict::shifted);
  const std::string& reason = comparison.all.judgement.reason;
  switch (whole) {
    case Verdict::equal:
      EXPECT_EQ(count(Verdict::equal), comparison.cells.size());
      break;
    case Verdict::slower:
    case Verdict::faster:
      EXPECT_TRUE(count(whole) > 0 || (different == 0 && comparison.all.mean_verdict == whole));
      EXPECT_EQ(count(whole == Verdict::slower ? Verdict::faster : Verdict::slower), 0u);
      break;
    case Verdict::shifted:
      EXPECT_TRUE(different > 0 || comparison.all.mean_verdict == whole);
      break;
    case Verdict::invalid:
      EXPECT_GT(count(Verdict::invalid), 0u);
      break;
    default:
      EXPECT_EQ(different, 0u) << "no row is called different under " << word;
      EXPECT_FALSE(is_different(comparison.all.mean_verdict.value_or(Verdict::equal)));
  }

  const bool some_differ = different > 0 || comparison.all.mean_verdict == whole;
  switch (cli::exit_status_of(whole)) {
    case 0:
      EXPECT_EQ(count(Verdict::equal), comparison.cells.size());
      break;
    case 1:
      EXPECT_TRUE(some_differ && count(Verdict::invalid) == 0);
      break;
    case 3:
      EXPECT_GT(count(Verdict::invalid), 0u);
      break;
    default:
      EXPECT_EQ(cli::exit_status_of(whole), 6);
      EXPECT_TRUE(different == 0 && count(Verdict::equal) < comparison.cells.size());
  }
  const std::string text = cli::comparison_text(comparison, false, 200, cli::Style(false));
  EXPECT_THAT(text, testing::StartsWith(word + ": "));
  const Json json = to_json(comparison);
  EXPECT_EQ(json["verdict"], word);
  EXPECT_EQ(json["reason"], reason);
  const Document document = make_document(
      {"", "", {campaign.a, campaign.b}, {comparison}, Json(), "2026-01-31T12:00:00Z"});
  const Answer& answer = document.answers.at(0);
  EXPECT_EQ(answer.verdict, whole);
  // The answer says yes or no as the verdict does, and its number is that of the mean, or of a
  // cell.
  const bool yes = answer.lead.starts_with("Yes"), no = answer.lead.starts_with("No");
  switch (whole) {
    case Verdict::slower:
      EXPECT_EQ(answer.lead, "Yes: ");
      EXPECT_THAT(answer.sentence, HasSubstr(" more time than a (95% interval"));
      break;
    case Verdict::faster:
      EXPECT_EQ(answer.lead, "No, it is faster: ");
      EXPECT_THAT(answer.sentence, HasSubstr(" less time than a (95% interval"));
      break;
    case Verdict::shifted:
      EXPECT_TRUE(yes || no);
      break;
    case Verdict::equal:
      EXPECT_EQ(answer.lead, "No: ");
      EXPECT_THAT(answer.sentence, HasSubstr(reason));
      break;
    case Verdict::invalid:
      EXPECT_EQ(answer.lead, "No answer: ");
      EXPECT_EQ(answer.sentence, reason + ".");
      break;
    default:
      EXPECT_EQ(answer.lead, "Not proven either way: ");
      EXPECT_FALSE(answer.proven && comparison.all.ratio95) << "unproven numbers are grey";
  }
  if (is_different(whole) && comparison.cells.size() > 1) {
    EXPECT_THAT(answer.sentence, HasSubstr(reason));
  }
  const std::string markdown = to_markdown(document), html = to_html(document);
  EXPECT_THAT(markdown, HasSubstr(word));
  EXPECT_THAT(html, HasSubstr(word));
  for (std::size_t i = 0; i < verdict_count; ++i) {
    const std::string name(name_of(static_cast<Verdict>(i)));
    EXPECT_EQ(json["counts"][name], counts[i]);
    if (counts[i] == 0) continue;
    EXPECT_THAT(text, HasSubstr(fmt::format(" {} {}", counts[i], name)));
    EXPECT_THAT(document.cards.at(2).lines.at(0), HasSubstr(fmt::format("{} {}", counts[i], name)));
  }
  if (different > 0) {
    for (const std::string* page : {&text, &markdown, &html}) {
      EXPECT_THAT(*page, Not(HasSubstr("none proven different")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RandomCampaigns, OneStory, testing::Range<std::uint64_t>(1, 121));

}  // namespace
}  // namespace assay::report
