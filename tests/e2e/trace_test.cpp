// assay trace record, read, compare, and tune gemm --from a trace, on CPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/json.h"
#include "core/read_file.h"
#include "e2e/served.h"

namespace assay {
namespace {

using testing::HasSubstr;

Outcome assay(const std::vector<std::string>& arguments) {
  Process process(arguments);
  return process.wait();
}

Json json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

TEST(TraceCommand, AProductIsRecordedReadTunedAndCompared) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "gemm.pftrace").string();
  const Json recorded = json_of(
      assay({"trace", "record", "gemm", "shape=96x64x128", "dtype=f32", "layout=TN", "--device",
             "cpu", "--steps", "2", "--telemetry", "off", "--out", file, "--json"}));
  EXPECT_EQ(recorded["steps"], 2);
  EXPECT_GT(recorded["step_seconds_without_recording"].get<double>(), 0);
  const Json read = json_of(assay({"trace", "read", file, "--json", "--tune", file + ".sh"}));
  const Json& device = read["traces"][0]["devices"][0];
  EXPECT_EQ(device["steps"].size(), 2u);
  EXPECT_EQ(device["products"][0]["shape"], "96x64x128");
  EXPECT_EQ(device["products"][0]["layout"], "TN");
  EXPECT_EQ(device["products"][0]["dtype"], "f32");
  EXPECT_THAT(read["traces"][0]["notes"].dump(), HasSubstr("own events"));
  EXPECT_THAT(*read_file(file + ".sh"), HasSubstr("assay tune gemm --from '" + file + "'"));
  const Outcome listed = assay({"tune", "gemm", "--from", file, "--device", "cpu", "--dry-run"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("m=96 n=64 k=128"));
  const Json compared = json_of(assay({"trace", "compare", file, "--with", file, file, "--json"}));
  EXPECT_EQ(compared["ratio"], 1.0);
  EXPECT_EQ(compared["traces_a"], 1);
  EXPECT_EQ(compared["traces_b"], 2) << "--with takes all that follow";
}

TEST(TraceCommand, APageIsWrittenAndNoTraceIsReplaced) {
  const TemporaryFolder folder;
  const std::string a = (folder.path() / "a.json").string(), b = a + ".gz";
  for (const std::string& file : {a, b}) {
    ASSERT_EQ(assay({"trace", "record", "gemm", "shape=16", "dtype=f32", "layout=NN", "--device",
                     "cpu", "--steps", "1", "--telemetry", "off", "--out", file})
                  .status,
              0);
  }
  const auto before = read_file(a);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"trace", "read", "--tune", a, b},
        {"trace", "read", "-o", a, b},
        {"trace", "compare", a, "-o", a, "--with", b}}) {
    const Outcome refused = assay(words);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("it is a trace, which the result would replace"));
    EXPECT_EQ(*read_file(a), *before);
  }
  const std::string page = (folder.path() / "page.html").string();
  EXPECT_EQ(assay({"trace", "read", a, "-o", page, "--step", "1"}).status, 0);
  EXPECT_THAT(*read_file(page), HasSubstr("Where does the time of a.json go?"));
  const Outcome compared = assay({"trace", "compare", a, "--with", b, "-o", page});
  EXPECT_EQ(compared.status, 0);
  EXPECT_THAT(compared.out, ::testing::ContainsRegex("idle +0 +0 +0 +[+]0[.]0%\n"))
      << "the share of A's step";
  EXPECT_THAT(*read_file(page), HasSubstr("What makes a step of a.json.gz take"));
  const Outcome twice = assay({"trace", "read", a, "-o", page, "--tune", page});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("--tune and --output both name " + page));
  const std::string same = (folder.path() / "." / "page.html").string();
  const Outcome other_name = assay({"trace", "read", a, "-o", page, "--tune", same});
  EXPECT_EQ(other_name.status, 2);
  EXPECT_THAT(other_name.err, HasSubstr("--tune and --output both name " + same));
  const Outcome no_page = assay({"trace", "read", a, "--step", "1"});
  EXPECT_EQ(no_page.status, 2);
  EXPECT_THAT(no_page.err, HasSubstr("--step chooses the step that a page shows"));
  EXPECT_THAT(assay({"trace", "read", a, "-o", page, "--step", "2"}).err,
              HasSubstr("there is no step 2; allowed are 1 to 1"));
}

TEST(TraceCommand, ARecordedTrainingStepHasItsParts) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "train.json").string();
  json_of(assay({"trace", "record", "train", "model=1L2H32C", "batch=1", "sequence=16",
                 "attention=plain", "--device", "cpu", "--steps", "1", "--out", file, "--json"}));
  const Json read = json_of(assay({"trace", "read", file, "--json"}));
  const Json& device = read["traces"][0]["devices"][0];
  EXPECT_EQ(device["steps"].size(), 1u);
  EXPECT_EQ(device["same_stream_overlaps"], 0);
  EXPECT_GT(device["products"].size(), 3u);
  EXPECT_THAT(*read_file(file), HasSubstr("\"backward "));
  EXPECT_GT(device["events_from_graphs"].get<int>() + device["kernels"].get<int>(), 3);
}

TEST(TraceCommand, AnAnonymousCopyIsReadAsItsTrace) {
  const TemporaryFolder folder;
  const std::string from =
      folder
          .write("alice.json",
                 R"({"schemaVersion":1,"traceName":"/home/alice/t.json","traceEvents":[)"
                 R"({"ph":"X","cat":"user_annotation","name":"alice's range","pid":9,"tid":9,)"
                 R"("ts":1,"dur":9},{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel",)"
                 R"("pid":9,"tid":9,"ts":2,"dur":1,"args":{"correlation":7,"host":"alice"}},)"
                 R"({"ph":"X","cat":"kernel","name":"add","pid":0,"tid":7,"ts":3.125,"dur":4,)"
                 R"("args":{"correlation":7,"grid":[8,1,1]}}]})")
          .string();
  const std::string to = (folder.path() / "copy.json.gz").string();
  const Outcome copied = assay({"trace", "anonymize", from, "-o", to});
  EXPECT_EQ(copied.status, 0) << copied.err;
  EXPECT_THAT(copied.out, HasSubstr("3 events"));
  EXPECT_THAT(copied.out, HasSubstr("annotation (1)"));
  EXPECT_THAT(copied.out, HasSubstr("host (1), traceName (1)"));
  Json before = json_of(assay({"trace", "read", from, "--json"}));
  Json after = json_of(assay({"trace", "read", to, "--json"}));
  for (Json* json : {&before, &after}) {
    (*json)["traces"][0].erase("file");
    (*json)["ranks"]["ranks"][0].erase("file");
  }
  EXPECT_EQ(before, after);
  const Outcome same = assay({"trace", "anonymize", from, "-o", from});
  EXPECT_EQ(same.status, 2);
  EXPECT_THAT(same.err, HasSubstr("is read and would be replaced"));
  EXPECT_THAT(assay({"trace", "anonymize", from}).err, HasSubstr("-o anonymous.json.gz"));
}

TEST(TraceCommand, RequestsOfALoadAreBesideTheServersSteps) {
  const TemporaryFolder folder;
  std::string server = std::string("'") + ASSAY_BINARY + "'";
  for (const std::string& word : tiny_serve({"--device", "cpu"})) {
    server += " " + (word == "0" ? "{port}" : word);
  }
  const std::string file = (folder.path() / "load.json").string();
  const Outcome loaded =
      assay({"load", "--spawn", server, "--max-concurrency", "2", "--requests", "4", "--input", "8",
             "--output-tokens", "3", "--out", (folder.path() / "store").string(), "--trace", file});
  ASSERT_EQ(loaded.status, 0) << loaded.err;
  EXPECT_THAT(loaded.out + loaded.err, HasSubstr("trace read " + file));
  std::map<std::string, std::size_t> counts;
  const Json trace = Json::parse(*read_file(file), nullptr, false);
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("ph", "") == "X") ++counts[event["name"].get<std::string>()];
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(counts["request " + std::to_string(i) + ": 8 tokens in, 3 out"], 1u) << trace;
  }
  EXPECT_EQ(counts["until the first token"], 4u);
  EXPECT_EQ(counts["token"], 8u);
  EXPECT_GT(counts["step of prompts"], 0u);
  EXPECT_GT(counts["step of tokens"], 0u);
  const Json read = json_of(assay({"trace", "read", file, "--json"}));
  ASSERT_EQ(read["traces"][0]["devices"].size(), 1u);
  EXPECT_GT(read["traces"][0]["devices"][0]["busy_ns"].get<std::int64_t>(), 0);
}

/// The commands of the page's section, one a line.
std::vector<std::string> commands_of(const std::string& page, const std::string& heading) {
  std::istringstream text(page.substr(std::min(page.find("\n## " + heading), page.size())));
  std::vector<std::string> commands;
  std::string line;
  std::getline(text, line);
  std::getline(text, line);  // the heading
  while (std::getline(text, line) && !line.starts_with("## ")) {
    if (line.starts_with("    assay ")) commands.push_back(line.substr(4));
  }
  return commands;
}

/// The commands run as they are written, with a smaller model and fewer runs.
TEST(TraceCommand, TheWorkedExampleOfThePageRuns) {
  const std::vector<std::string> commands =
      commands_of(*read_file(ASSAY_SOURCE_DIR "/docs/trace.md"), "A worked example");
  ASSERT_EQ(commands.size(), 7u);
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "bin");
  std::filesystem::create_symlink(ASSAY_BINARY, folder.path() / "bin/assay");
  const std::vector<std::pair<std::string, std::string>> smaller = {
      {"2L4H2K128C512F500V", "1L2H1K16D32C48F300V"},
      {"batch=4", "batch=1"},
      {"sequence=128", "sequence=16"},
      {"least: 6, most: 30", "least: 6, most: 6"}};
  const auto shrink = [&](std::string text) {
    for (const auto& [large, small] : smaller) {
      for (std::size_t at = 0; (at = text.find(large, at)) != text.npos; at += small.size()) {
        text.replace(at, large.size(), small);
      }
    }
    return text;
  };
  std::string out;
  for (const std::string& command : commands) {
    const Outcome outcome =
        Process({"-c", "cd '" + folder.path().string() + "' && " + shrink(command)},
                {{"PATH", (folder.path() / "bin").string() + ":/usr/local/bin:/usr/bin:/bin"}}, "",
                "/bin/sh")
            .wait();
    // So few runs prove nothing, so either end of the last command is right.
    const bool is_proof = command.find("plan.yaml --out") != command.npos;
    EXPECT_TRUE(outcome.status == 0 || (is_proof && outcome.status == 6))
        << command << "\n"
        << outcome.out << outcome.err;
    out += outcome.out;
    if (command.ends_with("> plan.yaml")) {
      const std::string plan = *read_file(folder.path() / "plan.yaml");
      EXPECT_THAT(plan, HasSubstr("2L4H2K128C512F500V"));
      folder.write("plan.yaml", shrink(plan));
    }
  }
  EXPECT_THAT(out, HasSubstr("kernels of the forward pass ran again in the backward pass"));
  EXPECT_THAT(out, HasSubstr("settings tried in "));
  EXPECT_THAT(out, HasSubstr("recompute="));
}

TEST(TraceCommand, RanksAreSideBySide) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "ranks.json").string();
  json_of(assay({"trace", "record", "collective", "op=all_reduce", "size=64KiB", "dtype=f32",
                 "library=tcp", "--device", "cpu", "--ranks", "2", "--steps", "2", "--telemetry",
                 "off", "--out", file, "--json"}));
  const Json read = json_of(assay({"trace", "read", file, "--json"}));
  const Json& devices = read["traces"][0]["devices"];
  ASSERT_EQ(devices.size(), 2u);
  for (const Json& device : devices) {
    const Json& collective = device["collectives"][0];
    EXPECT_EQ(collective["operation"], "all_reduce");
    EXPECT_EQ(collective["bytes"], 65536);
    EXPECT_EQ(collective["ranks"], 2);
    EXPECT_GT(collective["bus_bandwidth"].get<double>(), 0);
  }
}

TEST(TraceCommand, WhatCannotBeRecordedIsSaid) {
  EXPECT_THAT(assay({"trace", "record", "gemm", "--out", "x.txt"}).err, HasSubstr("FILE.pftrace"));
  EXPECT_THAT(assay({"trace", "compare", "a.json"}).err, HasSubstr("--with"));
  EXPECT_THAT(assay({"trace", "record", "load"}).err, HasSubstr("assay load --url URL --trace"));
}

}  // namespace
}  // namespace assay
