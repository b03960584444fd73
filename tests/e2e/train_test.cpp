// `assay run train`, as users run it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "core/read_file.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Outcome train(std::vector<std::string> words, Process::Environment variables = {}) {
  words.insert(words.begin(), {"run", "train", "--telemetry", "off", "--json", "--device", "cpu"});
  return assay_run(words, std::move(variables));
}

Json record_of(const Outcome& outcome) {
  const std::vector<Json> records = json_lines(outcome.out);
  EXPECT_EQ(records.size(), 1u) << outcome.err;
  return records.empty() ? Json() : records.front();
}

/// 0 and a failure if there is none.
double metric(const Json& record, std::string_view name) {
  for (const Json& one : record["metrics"]) {
    if (one["name"] == name) return one["value"];
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

// Every run makes a given number of steps, so that its losses are those of any other machine,
// however busy this one is. Before them are 4 steps more.
constexpr std::size_t steps_before = 4;

/// A million parameters on text, in seconds on an idle machine; the loss falls and is in the
/// record.
TEST(Train, LearnsATextFile) {
  const TemporaryFolder folder;
  const std::string text = read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/method.md").value();
  const std::string file = folder.write("text", text);
  const Outcome outcome = train({"data=" + file, "steps=16", "--out", folder.path() / "r"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json record = record_of(outcome);
  ASSERT_EQ(record["status"], "passed") << record["reason"];
  EXPECT_EQ(record["value"]["quantity"], "token_rate");
  EXPECT_GT(std::stod(record["notes"]["parameters"].get<std::string>()), 0.8e6);
  EXPECT_NEAR(metric(record, "first_loss"), std::log(256), 0.2);
  EXPECT_LT(metric(record, "last_loss"), metric(record, "first_loss"));
  EXPECT_EQ(metric(record, "loss_at_step_10"), record["curves"][0]["y"][10].get<double>());
  // Text that it has not seen is nearly as easy for a model that has learnt this little.
  EXPECT_LT(metric(record, "validation_loss"), metric(record, "first_loss"));
  EXPECT_GT(metric(record, "time_forward"), 0);
  const Json& curve = record["curves"][0];
  EXPECT_EQ(curve["name"], "loss");
  EXPECT_EQ(curve["x"].size(), steps_before + 16);
  EXPECT_EQ(curve["y"].size(), steps_before + 16);
  const Outcome report = assay_run({"report", folder.path() / "r", "-o", folder.path() / "r.html"});
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(read_file(folder.path() / "r.html").value(), HasSubstr("train loss over step"));
}

/// Tiny cells, whose steps take milliseconds.
const std::vector<std::string> tiny = {"model=1L2H64C97V", "batch=2", "sequence=16", "steps=26"};
std::vector<std::string> tiny_and(std::vector<std::string> more) {
  more.insert(more.end(), tiny.begin(), tiny.end());
  return more;
}

TEST(Train, EveryWayOfComputingPasses) {
  const std::pair<std::vector<std::string>, std::size_t> runs[] = {
      {{"recompute=gelu", "attention=plain"}, 3},
      {{"recompute=perceptron"}, 3},
      {{"recompute=layer"}, 3},
      {{"graph=off"}, 3},
      {{"states=stochastic", "bias=off"}, 1},  // there are no such states but of bf16
      {{"accumulate=2", "attention=plain"}, 3}};
  for (const auto& [ways, cells] : runs) {
    std::vector<std::string> words = tiny_and({"precision=f32,bf16,f16"});
    words.insert(words.end(), ways.begin(), ways.end());
    const Outcome outcome = train(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<Json> records = json_lines(outcome.out);
    EXPECT_EQ(records.size(), cells);
    for (const Json& record : records) EXPECT_EQ(record["status"], "passed") << record["reason"];
  }
}

/// The losses are those of bf16, and the record has what became of the loss scale.
TEST(Train, F16ScalesItsLoss) {
  const Json record = record_of(train(tiny_and({"precision=f16"})));
  ASSERT_EQ(record["status"], "passed") << record["reason"];
  const Json other = record_of(train(tiny_and({"precision=bf16"})));
  EXPECT_NEAR(metric(record, "last_loss"), metric(other, "last_loss"), 0.02);
  EXPECT_EQ(metric(record, "loss_scale"),
            std::ldexp(65536.0, -int(metric(record, "skipped_updates"))));
  for (const Json& one : other["metrics"]) EXPECT_NE(one["name"], "loss_scale");
}

TEST(Train, GoesOnFromACheckpoint) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "gpt.safetensors";
  const Json first = record_of(train(tiny_and({"save=" + file})));
  ASSERT_EQ(first["status"], "passed") << first["reason"];
  const Json second = record_of(train(tiny_and({"from=" + file})));
  ASSERT_EQ(second["status"], "passed") << second["reason"];
  EXPECT_EQ(second["curves"][0]["x"][0].get<double>(), steps_before + 26);
  EXPECT_LT(metric(second, "first_loss"), metric(first, "first_loss"));
}

/// A perceptron reports samples/s, its operations' times and its loss, and a checkpoint continues.
TEST(Train, APerceptronLearns) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "mlp.safetensors";
  const std::vector<std::string> words = {"model=64-128-64", "batch=32", "steps=60"};
  auto first = words;
  first.push_back("save=" + file);
  const Json record = record_of(train(first));
  ASSERT_EQ(record["status"], "passed") << record["reason"];
  EXPECT_EQ(record["value"]["quantity"], "sample_rate");
  EXPECT_EQ(record["work"]["samples"], 32);
  EXPECT_FALSE(record["work"].contains("tokens"));
  EXPECT_LT(metric(record, "last_loss"), metric(record, "first_loss"));
  EXPECT_GT(metric(record, "time_backward_layer1_weight"), 0);
  EXPECT_GT(metric(record, "start_gate"), 0);
  auto second = words;
  second.push_back("from=" + file);
  const Json resumed = record_of(train(second));
  ASSERT_EQ(resumed["status"], "passed") << resumed["reason"];
  EXPECT_LT(metric(resumed, "first_loss"), metric(record, "first_loss"));
  second.push_back("optimizer=sgd");  // which keeps no moments
  EXPECT_EQ(record_of(train(second))["status"], "passed");
}

/// A budget interrupts steps whose number is fixed; what was learnt until then is kept.
TEST(Train, ABudgetInterruptsSteps) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "gpt.safetensors";
  const Json cut = record_of(train({"model=1L2H64C97V", "batch=2", "sequence=16", "steps=1000000",
                                    "save=" + file, "--budget", "0.5s"}));
  EXPECT_EQ(cut["status"], "interrupted");
  EXPECT_THAT(cut["reason"].get<std::string>(),
              testing::MatchesRegex("stopped after [0-9]+ of 1000000 samples"));
  EXPECT_FALSE(cut.contains("value"));
  const Json on = record_of(train(tiny_and({"from=" + file})));
  EXPECT_EQ(on["curves"][0]["x"][0].get<double>(), steps_before + cut["samples"]["seconds"].size());
}

/// Before the training, of which this test would not see the end.
TEST(Train, AFileThatCannotBeWrittenIsSaidAtTheStart) {
  const TemporaryFolder folder;
  const auto reason = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"model=1L2H64C97V", "batch=2", "sequence=16",
                                      "steps=1000000"};
    words.insert(words.end(), more.begin(), more.end());
    return record_of(train(words))["reason"].get<std::string>();
  };
  const std::string nowhere = folder.path() / "absent" / "x";
  EXPECT_THAT(reason({"save=" + nowhere}),
              testing::HasSubstr("absent/x cannot be written: No such file or directory"));
  const std::string data = folder.write("data", std::string(100'000, 'a'));
  EXPECT_THAT(reason({"data=" + data, "save=" + data}),
              testing::HasSubstr("is read and would be replaced"));
}

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  return text.replace(text.find(part), part.size(), by);
}

/// A weight that is not a number ends the cell, and a damaged checkpoint is refused, by name.
TEST(Train, WhatIsNotANumberIsNamed) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "gpt.safetensors";
  ASSERT_EQ(record_of(train(tiny_and({"save=" + file})))["status"], "passed");
  const std::string whole = read_file(file).value();
  std::string bytes = whole;
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto offsets = Json::parse(bytes.substr(8, header))["weights.layers.0.fc"]["data_offsets"];
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[8 + header + offsets[0].get<std::size_t>()], &nan, sizeof nan);
  const std::string changed = bytes;
  std::string later = whole;
  later[later.find("\"step\":\"") + 8] ^= 1;               // another digit
  bytes.replace(bytes.find("\"crc32\""), 7, "\"other\"");  // as files of earlier versions
  folder.write("nan.safetensors", bytes);
  const Json record =
      record_of(train(tiny_and({"from=" + (folder.path() / "nan.safetensors").string()})));
  EXPECT_EQ(record["status"], "failed");
  EXPECT_FALSE(record.contains("value"));
  EXPECT_THAT(record["reason"].get<std::string>(),
              AllOf(HasSubstr("the loss of step "), HasSubstr("is not finite; the first tensor")));
  const std::pair<std::string, const char*> damaged[] = {
      {bytes.substr(0, bytes.size() - 1), "lies outside of the file"},
      {bytes.substr(0, 100), "more than the file"},
      {changed, "was changed since it was written"},
      {replaced(changed, "assay training", "other training"), "not a training's checkpoint"},
      {later, "was changed since it was written"},
      {"", "shorter than its first number"},
      {std::string(8, '\xFF') + "{}", "more than the file"}};
  for (const auto& [text, message] : damaged) {
    const std::string path = folder.write("damaged", text);
    EXPECT_THAT(record_of(train(tiny_and({"from=" + path})))["reason"].get<std::string>(),
                HasSubstr(message));
  }
  EXPECT_THAT(record_of(train(tiny_and({"from=" + file, "bias=off", "precision=bf16"})))["reason"]
                  .get<std::string>(),
              HasSubstr("is it of another model or precision?"));
}

/// A device that computes wrongly does not pass the gate, and has no rate. In bf16 one wrong byte
/// of each result is enough.
TEST(Train, AWrongDeviceHasNoRate) {
  std::vector<std::string> words = {"run",    "train",    "--telemetry", "off",
                                    "--json", "--device", "fake"};
  for (const std::string& word : tiny_and({"precision=bf16"})) words.push_back(word);
  const Outcome outcome = assay_run(words, {{"ASSAY_FAKE", "corrupt=1"}});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  const Json record = record_of(outcome);
  ASSERT_EQ(record["status"], "failed");
  EXPECT_FALSE(record.contains("value"));
  EXPECT_THAT(record["reason"].get<std::string>(),
              AllOf(HasSubstr("training is wrong on this device: the gradient of "),
                    HasSubstr("from the reference")));
}

/// Nor has a run that learns nothing: every batch is the same, and the rate is too low to matter.
TEST(Train, ALossThatDoesNotFallHasNoRate) {
  const TemporaryFolder folder;
  const std::string same = folder.write("same", std::string(4096, '!'));
  const Json record = record_of(train(tiny_and({"data=" + same, "rate=1e-30"})));
  ASSERT_EQ(record["status"], "failed");
  EXPECT_FALSE(record.contains("value"));
  EXPECT_THAT(record["reason"].get<std::string>(), HasSubstr("the loss does not fall: "));
}

TEST(Train, WhatCannotBeTrainedIsSaidByName) {
  const TemporaryFolder folder;
  const struct {
    std::vector<std::string> words;
    std::string message;
  } cases[] = {
      {{"model=5L"}, "lacks layers (L), heads (H) or width (C)"},
      {{"model=124N"}, "unknown letter N"},
      {{"model=30m"}, "did you mean \"30M\""},
      {{"model=GPT"}, "is not a model"},
      {{"model=MLP"}, "or a perceptron: mlp, or widths such as 784-512-16"},
      {{"model=64-63"}, "has the width \"63\"; allowed: multiples of 8"},
      {{"model=64-64", "sequence=4"}, "is a perceptron and has no such thing"},
      {{"rate=0"}, "is not a learning rate"},
      {tiny_and({"data=" + (folder.path() / "absent").string()}), "absent"},
      {tiny_and({"data=" + folder.write("short", "\x01\x02\x03").string()}),
       "less than a sequence"},
      {tiny_and({"data=" + folder.write("odd", "abc").string(), "tokens=u16"}), "cut off"},
      {tiny_and({"data=" + folder.write("big", std::string(4096, '\xFF')).string(), "tokens=u16"}),
       "not below the model's vocabulary"},
      {tiny_and({"from=" + folder.write("no", "not a checkpoint").string()}), "safetensors"},
      {tiny_and({"attention=own", "precision=f32"}), "bf16 or f16, not in f32"},
      {tiny_and({"states=stochastic", "precision=f16"}),
       "states=stochastic is for precision=bf16, not f16; allowed: master"},
      {tiny_and({"attention=library"}), "no library for attention is known for cpu devices"},
      {{"model=13B", "precision=bf16", "batch=512", "sequence=8192"}, "the device has"},
  };
  for (const auto& one : cases) {
    const Outcome outcome = train(one.words);
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.err + outcome.out, HasSubstr(one.message));
  }
}

/// RMS norms, rotary positions, SwiGLU, shared keys and a head of its own, whose gradients pass the
/// gate before, and whose loss falls.
TEST(Train, ALlamaLearns) {
  const Json record = record_of(train({"model=2L4H2K16D64C64V", "batch=2", "sequence=16",
                                       "steps=20", "rate=3e-3", "recompute=gelu"}));
  EXPECT_EQ(record["status"], "passed") << record.dump();
  const double first = metric(record, "first_loss"), last = metric(record, "last_loss");
  EXPECT_LT(last, first);
}

TEST(Train, ADryRunSaysWhatMemoryIsNeeded) {
  const Outcome outcome = assay_run({"run", "train", "model=7B", "--dry-run", "--device", "cpu"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("model=7B batch=8 sequence=64"), HasSubstr("needs "),
                                 HasSubstr("optimizer "), HasSubstr("the largest batch for ")));
}

const std::vector<std::string> tiny_model = {"model=2L2H64C64V", "batch=2", "sequence=16"};

std::vector<std::string> joined(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Two ranks learn what one learns from the batches of both, however they share the work.
TEST(Train, RanksTrainOneModel) {
  const Json alone = record_of(train(joined(tiny_model, {"steps=6", "accumulate=2"})));
  for (const char* parallel : {"ddp", "zero1", "fsdp"}) {
    const Outcome outcome =
        train(joined(tiny_model, {"steps=6", "--ranks", "2", std::string("parallel=") + parallel}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json record = record_of(outcome);
    EXPECT_EQ(record["status"], "passed");
    EXPECT_EQ(record["ranks"].size(), 2u);
    EXPECT_EQ(record["work"]["tokens"], 2 * 2 * 16);
    EXPECT_NEAR(metric(record, "first_loss"), metric(alone, "first_loss"), 1e-5) << parallel;
  }
  const Outcome refused = train(joined(tiny_model, {"--ranks", "2", "ranks=3"}));
  EXPECT_THAT(refused.out + refused.err, HasSubstr("ranks=3 of a team of 2"));
}

/// Each learns what one alone does, and they count together. A checkpoint would be of all of them.
TEST(Train, RanksTrainAloneAtTheSameTime) {
  const std::vector<std::string> twice =
      joined(tiny_model, {"steps=6", "--ranks", "2", "parallel=none"});
  const Json alone = record_of(train(joined(tiny_model, {"steps=6"})));
  const Outcome outcome = train(twice);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json record = record_of(outcome);
  EXPECT_EQ(record["status"], "passed");
  EXPECT_EQ(record["ranks"].size(), 2u);
  EXPECT_EQ(record["work"]["tokens"], 2 * 2 * 16);
  EXPECT_EQ(record["axes"]["library"], "none");
  EXPECT_FALSE(record["notes"].contains("exchange"));
  EXPECT_EQ(metric(record, "first_loss"), metric(alone, "first_loss"));
  // One of three takes no part.
  const Json of_three =
      record_of(train(joined(tiny_model, {"steps=6", "--ranks", "3", "ranks=2", "parallel=none"})));
  EXPECT_EQ(of_three["status"], "passed");
  EXPECT_EQ(of_three["work"]["tokens"], 2 * 2 * 16);
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "one.safetensors").string();
  ASSERT_EQ(record_of(train(joined(tiny_model, {"steps=6", "save=" + file})))["status"], "passed");
  const Json further = record_of(train(joined(twice, {"from=" + file})));
  EXPECT_EQ(further["status"], "passed");
  EXPECT_LT(metric(further, "first_loss"), metric(record, "first_loss"));
  const Outcome refused = train(joined(twice, {"save=one.safetensors"}));
  EXPECT_THAT(refused.out + refused.err, HasSubstr("written by 2 ranks that train alone"));
}

/// Gradients of 13 MB: one bucket or two. What was measured is remembered, and said.
TEST(Train, ABucketIsMeasuredOnce) {
  const TemporaryFolder folder;
  const auto bucket = [&] {
    const std::vector<std::string> words = {
        "model=4L4H256C64V", "batch=1", "sequence=16", "steps=6",
        "--ranks",           "2",       "--out",       folder.path() / "r"};
    const Json record = record_of(train(words, {{"XDG_CACHE_HOME", folder.path().string()}}));
    EXPECT_EQ(record["status"], "passed");
    return record["notes"]["exchange"].get<std::string>();
  };
  const std::string measured = bucket(), remembered = bucket();
  EXPECT_THAT(measured,
              testing::MatchesRegex("tcp (32|8)MiB, measured: tcp 32MiB .+, tcp 8MiB .+"));
  std::string again = measured;
  again.replace(again.find("measured"), 8, "remembered");
  EXPECT_EQ(remembered, again);
}

/// One run trains on 1, 2 and 3 of its ranks, and says how the rates compare. However many ranks
/// cut a batch, they learn the same.
TEST(Train, ADryRunOfScalingShowsEveryNumberOfRanks) {
  const auto cells = [](const char* option, const char* ranks) {
    return json_lines(assay_run({"run", "scaling", option, ranks, "--device", "cpu", "--dry-run",
                                 "--json"})
                          .out)
        .size();
  };
  EXPECT_EQ(cells("--ranks", "1"), 1u);
  EXPECT_EQ(cells("--ranks", "6"), 7u);  // 1, and 2, 4 and 6 both ways
  EXPECT_EQ(cells("--hosts", "localhost:2,elsewhere:2"), 5u);
}

/// A third rank, which takes no part, knows when those that train have failed their verification.
TEST(Train, AnIdleRankKnowsThatTheOthersFailed) {
  const TemporaryFolder folder;
  const Outcome outcome =
      assay_run({"run", "train", "--ranks", "3", "--device", "cpu", "--telemetry", "off", "--json",
                 "--out", folder.path() / "r", "model=1L1H16C32V", "sequence=16", "batch=6",
                 "parallel=ddp,none", "ranks=2", "rate=1", "steps=12"});
  const std::vector<Json> records = json_lines(outcome.out);
  ASSERT_EQ(records.size(), 2u) << outcome.err;
  for (const Json& record : records) {
    EXPECT_EQ(record["status"], "failed");
    EXPECT_THAT(record["reason"].get<std::string>(), HasSubstr("the loss does not fall"));
  }
}

TEST(Train, ScalesOverItsRanks) {
  const TemporaryFolder folder;
  const Outcome outcome = assay_run({"run", "scaling", "--ranks", "3", "--device", "cpu",
                                     "--telemetry", "off", "--json", "--out", folder.path() / "r",
                                     "model=1L1H16C32V", "sequence=16", "batch=6", "steps=7"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::map<std::string, Json> records;
  for (const Json& record : json_lines(outcome.out)) {
    const Json& axes = record["axes"];
    records[axes["ranks"].get<std::string>() + axes["scaling"].get<std::string>()] = record;
  }
  ASSERT_EQ(records.size(), 5u) << outcome.out;  // one rank alone is the same either way
  for (const auto& [name, record] : records) EXPECT_EQ(record["status"], "passed") << name;
  for (const char* name : {"2strong", "3strong"}) {
    EXPECT_NEAR(metric(records[name], "loss_at_step_10"),
                metric(records["1none"], "loss_at_step_10"), 1e-5)
        << name;
    EXPECT_EQ(records[name]["work"]["tokens"], 6 * 16) << name;
  }
  EXPECT_NEAR(metric(records["2strong"], "validation_loss"),
              metric(records["3strong"], "validation_loss"), 1e-4);
  EXPECT_EQ(records["3weak"]["work"]["tokens"], 3 * 6 * 16);
  EXPECT_GT(metric(records["3weak"], "exchange_alone"), 0);
  EXPECT_GT(metric(records["3weak"], "time_without_exchange"), 0);
  EXPECT_GT(metric(records["3weak"], "exchange_bus_bandwidth"), 0);
  // The third rank has no time where it took no part.
  EXPECT_FALSE(records["2weak"]["ranks"][2].contains("seconds"));
  EXPECT_TRUE(records["2weak"]["ranks"][1].contains("seconds"));
  for (const char* way : {"scaling=weak ranks=2", "scaling=strong ranks=3"}) {
    EXPECT_THAT(outcome.err, HasSubstr(way));
  }
  EXPECT_THAT(outcome.err, HasSubstr("a model, not measured"));
  for (const char* factor : {"passes_slowed_by_exchange", "exchange_slowed_by_passes"}) {
    // On a busy machine the operations may end before the passes that they run beside.
    if (records["2weak"]["notes"].contains("simulation")) continue;
    EXPECT_GT(metric(records["2weak"], factor), 0);
  }
  for (const char* ranks : {"2", "4", "8", "64", "1024"}) {
    EXPECT_GT(metric(records["2weak"], fmt::format("simulated_step_time_{}_ranks", ranks)), 0);
  }
}

}  // namespace
}  // namespace assay
