// What an emulated device leaves behind is a model's, and never passes for a measurement.
#include "judge/compare/emulated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/judge/campaign_view.h"
#include "cli/judge/compare_view.h"
#include "cli/results_view.h"
#include "core/json.h"
#include "judge/compare/baseline.h"
#include "judge/compare/comparison.h"
#include "judge/compare/fleet.h"
#include "judge/compare/operands.h"
#include "judge/history/history.h"
#include "judge/report/document.h"
#include "judge/report/report.h"
#include "measure/sampling/roofline.h"
#include "results/store/record_json.h"
#include "support/accepted_runs.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const cli::Style no_style(false);

class EmulatedTest : public testing::Test {
 protected:
  static Record emulated(Record record) {
    record.device.emulated = true;
    return record;
  }
  /// A store of runs `from` to `to`.
  std::string store(const std::string& name, bool of_model, int from = 0, int to = 2) {
    auto target = Store::open(folder_.path() / name);
    EXPECT_TRUE(target.ok());
    for (int i = from; i < to; ++i) {
      Record record = sound_record(i, usual(i));
      record.fingerprint = *target->append_fingerprint(fingerprint_of("node", "performance"));
      EXPECT_TRUE(target->append(of_model ? emulated(record) : record).ok());
    }
    return folder_.path() / name;
  }
  TemporaryFolder folder_;
};

TEST_F(EmulatedTest, OnlyRecordsOfAModelSaySo) {
  const Json real = to_json(passed_record()), model = to_json(emulated(passed_record()));
  EXPECT_FALSE(real["device"].contains("emulated"));
  EXPECT_EQ(model["device"]["emulated"], true);
  const auto back = record_from_json(model);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(back->device.emulated);
  EXPECT_FALSE(record_from_json(real)->device.emulated);
  Json wrong = model;
  wrong["device"]["emulated"] = "yes";
  EXPECT_FALSE(record_from_json(wrong).ok());
}

TEST_F(EmulatedTest, TablesShowAModelsValueWithoutIntervalAndShare) {
  const std::vector<Record> records = {emulated(passed_record())};
  const std::string text = cli::results_text(records, 0, no_style);
  EXPECT_THAT(text, AllOf(HasSubstr("model 3000 GB/s"), HasSubstr("nothing was measured"),
                          Not(HasSubstr("[")), Not(HasSubstr("%"))));
  EXPECT_EQ(cli::outcome_text(records[0], no_style), "model 3000 GB/s");
  EXPECT_THAT(cli::device_text(records[0].device), HasSubstr(", emulated"));
  const std::vector<Record> real = {passed_record()};
  EXPECT_THAT(cli::results_text(real, 0, no_style), AllOf(HasSubstr("%"), Not(HasSubstr("model"))));
}

TEST_F(EmulatedTest, MetricsAreMarkedToo) {
  Record record = emulated(passed_record());
  record.value.reset();
  record.metrics = {{"busbw", 1e11, "bytes/s", Better::higher, ""}};
  EXPECT_THAT(cli::results_text(std::vector{record}, 0, no_style), HasSubstr("model 100.0 GB/s"));
}

/// What `assay load` leaves of `assay serve-sim`.
TEST_F(EmulatedTest, ASimulatedServersResultIsAModels) {
  const auto load = [](bool simulated) {
    Record record;
    record.run = "1";
    record.cell = Cell("serving", {{"request_rate", "4"}});
    record.status = RecordStatus::passed;
    record.source = Source{"assay load", "", "", 0};
    record.device.backend = "other";
    record.device.name = "llama-3.3-70b";
    record.device.emulated = simulated;
    record.metrics = {{"mean_ttft", 0.02, "s", Better::lower, ""}};
    return record;
  };
  EXPECT_EQ(cli::device_text(load(true).device), "llama-3.3-70b, simulated");
  EXPECT_THAT(cli::results_text(std::vector{load(true)}, 0, no_style),
              AllOf(HasSubstr("model 20.00 ms"), HasSubstr("a simulated server")));
  const ResultSet model = result_set_of({load(true)}, "model");
  const ResultSet real = result_set_of({load(false)}, "real");
  EXPECT_TRUE(model.emulated());
  EXPECT_FALSE(refuse_mixture({&model, &real}).ok());
  report::ReportInput input;
  input.environments = {{.results = model, .records = {}}};
  const std::string text = report::to_markdown(report::make_document(input));
  EXPECT_THAT(text, AllOf(HasSubstr("\nFrom a model, not measured: "),
                          HasSubstr("**What was computed**"), HasSubstr("nothing was measured")));
}

TEST_F(EmulatedTest, AReportOfAModelSaysNotThatItMeasured) {
  Record record = emulated(passed_record());
  report::ReportInput input;
  const auto heading = [&] {
    input.environments = {{.results = result_set_of({record}, "x"), .records = {}}};
    return report::make_document(input).cards.at(1).heading;
  };
  EXPECT_EQ(heading(), "What was computed");
  record.device.emulated = false;
  EXPECT_EQ(heading(), "What was measured");
}

TEST_F(EmulatedTest, APartitionStudyMarksItsValues) {
  const auto figure = [](double value, bool of_model) {
    return UnitValues{{{"cell", "bandwidth"},
                       {"bandwidth", value, {value, value}, "bytes/s", Better::higher, of_model}}};
  };
  const auto cells = [&](bool of_model) {
    std::map<std::pair<std::string, std::size_t>, UnitValues> values;
    for (std::size_t pair = 0; pair < 3; ++pair) {
      for (const char* name : {"p", "q", "p-together", "q-together", "w"}) {
        values[{name, pair}] = figure(2e9, of_model);
      }
    }
    return conclude_study({{"p", "q"}, {"p", "q"}, "w"}, values);
  };
  const std::string text = cli::study_text(cells(true), 0, no_style);
  EXPECT_THAT(text, AllOf(HasSubstr("p          model 2.000 GB/s  model 2.000 GB/s"),
                          HasSubstr("sum model 4.000 GB/s; whole device model 2.000 GB/s"),
                          HasSubstr("nothing was measured")));
  EXPECT_EQ(to_json(cells(true).at(0))["emulated"], true);
  EXPECT_THAT(cli::study_text(cells(false), 0, no_style), Not(HasSubstr("model")));
  EXPECT_FALSE(to_json(cells(false).at(0)).contains("emulated"));
  const std::vector<Figure> figures = figures_of(emulated(passed_record()));
  EXPECT_TRUE(figures.at(0).emulated) << "what a campaign's units give the study";
}

TEST_F(EmulatedTest, HasNoRoofline) {
  DeviceFacts facts;
  facts.backend = "hip";
  facts.arch = "gfx942";
  facts.name = "AMD Instinct MI300X";
  EXPECT_TRUE(roof_of(facts, Limit::memory, DataType::f32));
  facts.emulated = true;
  EXPECT_FALSE(roof_of(facts, Limit::memory, DataType::f32));
}

TEST_F(EmulatedTest, IsNotComparedWithARealDevice) {
  const std::string model = store("model", true), real = store("real", false);
  for (const auto& [a, b] : {std::pair{model, real}, {real, model}}) {
    const auto operands = load_operands(a, b);
    ASSERT_FALSE(operands.ok());
    EXPECT_EQ(operands.error().kind, ErrorKind::usage);
    EXPECT_THAT(
        operands.error().message,
        AllOf(HasSubstr(model + " is from a model (an emulated device or"), HasSubstr(real)));
  }
  store("real", true, 5, 6);  // one more run, of a model
  const auto mixed = load_operands(real, real);
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.error().message, HasSubstr("with real ones"));
}

TEST_F(EmulatedTest, AVerdictBetweenTwoModelsSaysSo) {
  const auto operands = load_operands(store("a", true), store("b", true));
  ASSERT_TRUE(operands.ok()) << operands.error().message;
  const Comparison comparison = compare(operands->a, operands->b, nullptr, {});
  EXPECT_TRUE(comparison.emulated);
  EXPECT_THAT(cli::sentence(comparison), StartsWith("From a model, not measured: "));
  const auto real = load_operands(store("c", false), store("d", false));
  EXPECT_THAT(cli::sentence(compare(real->a, real->b, nullptr, {})), Not(HasSubstr("model")));
}

TEST_F(EmulatedTest, ABaselineIsOfOneKindAndKeepsIt) {
  const std::string model = store("model", true, 0, 8), real = store("real", false, 10, 18);
  const auto mixed = make_baseline({model, real}, {});
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().kind, ErrorKind::usage);
  const auto baseline = make_baseline({model}, {});
  ASSERT_TRUE(baseline.ok()) << baseline.error().message;
  const auto read = parse_baseline(baseline_text(*baseline), "baseline");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->emulated());
  EXPECT_FALSE(parse_baseline(baseline_text(*make_baseline({real}, {})), "real")->emulated());
}

TEST_F(EmulatedTest, AFleetIsOfOneKind) {
  for (int node = 0; node < 5; ++node) store("rack/node" + std::to_string(node), true);
  const auto models = judge_fleet({folder_.path() / "rack"}, {}, {});
  ASSERT_TRUE(models.ok()) << models.error().message;
  EXPECT_TRUE(models->emulated);
  store("rack/real", false);
  const auto mixed = judge_fleet({folder_.path() / "rack"}, {}, {});
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().kind, ErrorKind::usage);
  EXPECT_THAT(
      mixed.error().message,
      HasSubstr("node0 is from a model (an emulated device or a simulated server) and real is "
                "from a real one"));
}

TEST_F(EmulatedTest, IsAnotherDeviceInAHistory) {
  DeviceFacts facts;
  facts.backend = "hip";
  facts.name = "AMD Instinct MI300X";
  const std::string real = device_of(facts);
  facts.emulated = true;
  EXPECT_NE(device_of(facts), real);
  EXPECT_THAT(device_of(facts), HasSubstr("(emulated)"));
}

}  // namespace
}  // namespace assay
