#include "judge/campaign/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/command.h"
#include "core/json.h"
#include "judge/campaign/plan_load.h"
#include "judge/campaign/schedule.h"
#include "judge/campaign/unit_launch.h"
#include "measure/suites/cells_of_target.h"
#include "results/import/importer.h"
#include "results/store/campaign_reader.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* head = "name: n\nsuite: launch\n";
constexpr const char* two = "environments:\n  - {name: a, kind: host}\n  - {name: b, kind: host}\n";

std::string plan_problem(const std::string& text) {
  const auto plan = parse_campaign_plan(text, "p.yaml");
  return plan.ok() ? "fine" : plan.error().message;
}

TEST(CampaignPlan, EveryKey) {
  const auto plan = parse_campaign_plan(
      "name: tax\ndescription: what it costs\nseed: 7\nmargin: 1%\npairs: {least: 12, most: 20}\n"
      "control: off\nbudget: 2h\nunit_budget: 30s\ntimeout: 5min\ndevice: cuda:1\ntelemetry: 5\n"
      "suite: memory\naxes: {op: [copy, triad], size: 1MiB}\n" +
          std::string(two),
      "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->seed, 7u);
  EXPECT_DOUBLE_EQ(plan->margin, 0.01);
  EXPECT_EQ(plan->least_pairs, 12u);
  EXPECT_EQ(plan->most_pairs, 20u);
  EXPECT_FALSE(plan->control);
  EXPECT_DOUBLE_EQ(plan->budget_seconds.value(), 7200);
  EXPECT_DOUBLE_EQ(plan->unit_timeout_seconds, 300);
  EXPECT_THAT(plan->measure, ElementsAre("run", "memory", "op=copy,triad", "size=1MiB"));
  EXPECT_EQ(plan->environments.size(), 2u);
}

TEST(CampaignPlan, ItsOwnCellsAreWrittenAsASuites) {
  const std::string cells =
      "name: n\nsubject: The new one\naxes: {size: 4KiB}\ncells:\n"
      "  - {benchmark: memory, axes: {op: [copy, triad], size: 1MiB}}\n"
      "  - {command: [assay, run, launch], name: inner, format: assay}\n";
  const auto plan = parse_campaign_plan(cells + two, "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->cells, 5u);
  ASSERT_TRUE(plan->commands.has_value());
  EXPECT_THAT(plan->measure.at(1), HasSubstr(R"("size":"4KiB")"));
  const auto both = parse_campaign_plan("suite: first\n" + cells.substr(0, cells.find("axes")) +
                                            cells.substr(cells.find("cells")) + two,
                                        "p.yaml");
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(both->cells, 11u);
  EXPECT_THAT(plan_problem("name: n\ncells: 5\n" + std::string(two)),
              HasSubstr("p.yaml:2: \"cells\" must be a list of {benchmark, axes}"));
  EXPECT_THAT(plan_problem("name: n\naxes: {colour: red}\ncells: [{benchmark: launch}]\n" +
                           std::string(two)),
              HasSubstr("has no axis \"colour\""));
  EXPECT_THAT(plan_problem("name: n\ncells: [{command: [a], name: x, format: nothing}]\n" +
                           std::string(two)),
              HasSubstr("nothing"));
}

TEST(CampaignPlan, TheWholeDeviceMayHaveBeenMeasuredBefore) {
  const auto plan =
      parse_campaign_plan(std::string(head) +
                              "environments:\n  - {name: a, kind: partition, cpus: '0'}\n"
                              "  - {name: b, kind: partition, cpus: '0'}\n"
                              "study: {each: [a, b], whole: campaigns/whole/w}\n",
                          "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->study->whole, "");
  EXPECT_EQ(plan->study->whole_before, "campaigns/whole/w");
}

TEST(CampaignPlan, DefaultsAreTheMethods) {
  const auto plan = parse_campaign_plan(std::string(head) + two, "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->margin, 0.02);
  EXPECT_EQ(plan->least_pairs, 10u);
  EXPECT_EQ(plan->most_pairs, 40u);
  EXPECT_TRUE(plan->control);
  EXPECT_GT(plan->unit_timeout_seconds, 300);
}

TEST(CampaignPlan, MistakesNameTheirLine) {
  const std::string plan = std::string(head) + two;
  EXPECT_EQ(plan_problem(plan), "fine");
  EXPECT_THAT(plan_problem("name: n\nsiute: launch\n"),
              HasSubstr("p.yaml:2: unknown key \"siute\" (did you mean \"suite\"?)"));
  EXPECT_EQ(plan_problem("name: n\n" + std::string(two)),
            "p.yaml:1: a plan needs \"suite\", \"suites\", \"cells\" or \"load\"");
  EXPECT_THAT(plan_problem("name: n\nsuite: lunch\n" + std::string(two)),
              HasSubstr("p.yaml:2: no suite or benchmark \"lunch\""));
  EXPECT_THAT(plan_problem(plan + "margin: 0\n"),
              HasSubstr("p.yaml:6: \"margin\" must be a share"));
  EXPECT_THAT(plan_problem(plan + "telemetry: on\n"),
              HasSubstr("p.yaml:6: \"telemetry\": \"on\" is not allowed; allowed: off, or"));
  EXPECT_THAT(plan_problem(plan + "pairs: {least: 20, most: 10}\n"),
              HasSubstr("p.yaml:6: \"most\""));
  EXPECT_THAT(plan_problem(plan + "pairs: 10\n"), HasSubstr("p.yaml:6: \"pairs\" must be a map"));
  EXPECT_THAT(plan_problem(plan + "axes: {op: copy}\n"), HasSubstr("p.yaml:2: "));
  EXPECT_THAT(plan_problem(std::string(head) + "environments: {a: b}\n"),
              HasSubstr("p.yaml:3: \"environments\" must be a list"));
  EXPECT_EQ(
      plan_problem(std::string(head) + "environments: [{name: a, kind: hots}]\n"),
      "p.yaml:3: unknown kind \"hots\" (did you mean \"host\"?); allowed: command, container, "
      "dstack, host, mpi, partition, slurm, ssh");
  EXPECT_EQ(
      plan_problem(std::string(head) + "environments:\n  - {name: a, kind: host, image: x}\n"),
      "p.yaml:4: unknown key \"image\"; allowed: name, kind, cpus, "
      "cpu_quota, memory, variables");
  EXPECT_EQ(plan_problem(std::string(head) + two + "  - {name: a, kind: host}\n"),
            "p.yaml:6: two environments are named a");
  for (const char* name :
       {"a/b", "..", "plan.yaml", "x-control", "x-together", "-x", "dstack-files"}) {
    EXPECT_THAT(
        plan_problem(std::string(head) + "environments: [{name: " + name + ", kind: host}]\n"),
        HasSubstr("p.yaml:3: "))
        << name;
  }
  EXPECT_THAT(
      plan_problem(std::string(head) + "control: off\nenvironments: [{name: a, kind: host}]\n"),
      HasSubstr("p.yaml:4: one environment alone needs control: on"));
}

TEST(CampaignPlan, MistakesInEnvironments) {
  const auto with = [](const std::string& settings) {
    return plan_problem(std::string(head) + "environments:\n  - {name: a, " + settings + "}\n");
  };
  EXPECT_THAT(with("kind: host, cpus: 3-1"), HasSubstr("p.yaml:4: \"3-1\" is not a list of CPUs"));
  EXPECT_THAT(with("kind: host, cpu_quota: lots"), HasSubstr("p.yaml:4: \"lots\" is not a quota"));
  EXPECT_THAT(with("kind: host, memory: 4 gigs"), HasSubstr("p.yaml:4: "));
  EXPECT_EQ(
      with("kind: host, memory: 0"),
      "p.yaml:4: \"memory\" is 0, in which nothing can run; allowed: 1MiB and more, e.g. 8GiB; "
      "leave it out for no limit");
  EXPECT_THAT(with("kind: container, engine: docker, image: x, memory: 8"),
              HasSubstr("\"memory\" is 8,"));
  EXPECT_THAT(with("kind: host, cpu_quota: 0"), HasSubstr("\"0\" is not a quota"));
  EXPECT_THAT(with("kind: host, variables: {'A=B': c}"), HasSubstr("\"A=B\" is not a variable's"));
  EXPECT_THAT(with("kind: host, variables: {'': c}"), HasSubstr("\"\" is not a variable's name"));
  EXPECT_THAT(with("kind: container, engine: dokcer"), HasSubstr("did you mean \"docker\"?"));
  EXPECT_THAT(with("kind: container, engine: docker"), HasSubstr("\"image\" is missing"));
  EXPECT_THAT(with("kind: container, engine: docker, image: x, gpus: some"),
              HasSubstr("\"gpus\" must be"));
  for (const char* gpus : {"','", "'0,'", "'0,,1'", "'1,1'"}) {
    EXPECT_THAT(with(std::string("kind: container, engine: docker, image: x, gpus: ") + gpus),
                HasSubstr("\"gpus\" must be"))
        << gpus;
  }
  EXPECT_THAT(with("kind: ssh"), HasSubstr("\"target\" is missing"));
  EXPECT_THAT(with("kind: ssh, target: h, port: 0"), HasSubstr("\"port\" must be a number from 1"));
  EXPECT_THAT(with("kind: ssh, target: -oProxyCommand=x"), HasSubstr("is not a host"));
  EXPECT_THAT(with("kind: ssh, target: h, inside: {kind: host, cpu_quota: 10%}"),
              HasSubstr("inside ssh assay cannot set CPUs"));
  EXPECT_THAT(with("kind: ssh, target: h, inside: {kind: container, engine: docker, image: i}"),
              HasSubstr("use amd, nvidia or none"));
  EXPECT_THAT(with("kind: command"), HasSubstr("\"prefix\" is missing"));
  EXPECT_THAT(with("kind: partition"), HasSubstr("a partition needs device:"));
  EXPECT_THAT(with("kind: partition, visible: 0, vendor: intel"), HasSubstr("amd or nvidia"));
  EXPECT_THAT(with("kind: mpi, ranks: 0"), HasSubstr("\"ranks\" must be a number from 1"));
  EXPECT_THAT(with("kind: dstack, task: {commands: [x]}"),
              HasSubstr("assay writes \"commands\" of the task itself"));
}

TEST(CampaignPlan, ASuiteFileBesideThePlanBecomesOneLine) {
  const TemporaryFolder folder;
  folder.write("s.yaml",
               "name: s\ndescription: d\ncells:\n"
               "  - {benchmark: memory, axes: {op: [copy, triad], size: 1MiB, dtype: f64}}\n"
               "  - {command: [prog], name: p, timeout: 1000s, metrics: [{name: m, json: /m, unit: "
               "s, better: lower}]}\n");
  const std::string path = folder.write(
      "p.yaml", "name: n\nsuites:\n  - {suite: s.yaml, axes: {op: add}}\n  - {suite: launch}\n" +
                    std::string(two));
  const auto plan = load_campaign_plan(path);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->measure.size(), 2u);
  const auto cells = make_plan(plan->measure[1], {});
  ASSERT_TRUE(cells.ok()) << cells.error().message;
  EXPECT_EQ(cells->cells.size(), plan->cells);
  EXPECT_EQ(cells->commands.size(), 1u);
  EXPECT_EQ(cells->cells.front().text("op"), "add");
  EXPECT_GT(plan->unit_timeout_seconds, 1000);
}

TEST(CampaignPlan, AUnitHasTheBudgetsOfItsSuites) {
  const TemporaryFolder folder;
  folder.write("timed.yaml", "name: s\ndescription: d\nbudget: 7s\ncells: [{benchmark: launch}]\n");
  folder.write("free.yaml", "name: s\ndescription: d\ncells: [{benchmark: launch}]\n");
  const auto budget = [&](const std::string& suites) {
    const auto plan = load_campaign_plan(folder.write("p.yaml", "name: n\n" + suites + two));
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    if (!plan.ok()) return std::string();
    const auto words = unit_arguments(*plan, plan->environments.front(), 0, "");
    const auto option = std::find(words.begin(), words.end(), "--budget");
    return option == words.end() ? "none" : *(option + 1);
  };
  EXPECT_EQ(budget("suite: timed.yaml\n"), "7s");
  EXPECT_EQ(budget("suite: timed.yaml\nunit_budget: 3s\n"), "3s");
  EXPECT_EQ(budget("suite: free.yaml\n"), "none");
  EXPECT_EQ(budget("suites: [{suite: timed.yaml}, {suite: first}]\n"), "17s");
  EXPECT_EQ(budget("suites: [{suite: timed.yaml}, {suite: free.yaml}]\n"), "none");
  EXPECT_EQ(budget("suite: timed.yaml\ncells: [{benchmark: memory}]\n"), "none");
}

TEST(CampaignPlan, ALogOfConvolutionsBesideThePlanIsASuiteFileToo) {
  const TemporaryFolder folder;
  folder.write("convs.txt", "./bin/MIOpenDriver conv -n 2 -c 4 -H 8 -W 8 -k 4 -F 1\n");
  const auto plan =
      load_campaign_plan(folder.write("p.yaml", "name: n\nsuite: convs.txt\n" + std::string(two)));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->measure.size(), 2u);
  const auto cells = make_plan(plan->measure[1], {});  // other machines lack the file
  ASSERT_TRUE(cells.ok()) << cells.error().message;
  EXPECT_EQ(cells->cells.front().benchmark(), "conv");
}

TEST(CampaignPlan, AnUnknownFormatIsToldBeforeAnythingRuns) {
  const TemporaryFolder folder;
  folder.write("s.yaml",
               "name: s\ndescription: d\ncells:\n"
               "  - {command: [prog], name: p, format: no-such-format}\n");
  const std::string path = folder.write("p.yaml", "name: n\nsuite: s.yaml\n" + std::string(two));
  EXPECT_THAT(load_campaign_plan(path).error().message,
              HasSubstr("p.yaml:2: command p: unknown format \"no-such-format\""));
}

/// The blocks between ```yaml and ``` of a document.
std::vector<std::string> yaml_blocks(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```yaml") {
      blocks.emplace_back();
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

TEST(CampaignPlan, TheDocumentedPlansAreValid) {
  if (importers().empty()) GTEST_SKIP() << "this assay has no importers, which the plans name";
  const TemporaryFolder folder;
  std::size_t plans = 0;
  const auto blocks = yaml_blocks(ASSAY_SOURCE_DIR "/docs/campaigns.md");
  for (const std::string& block : blocks) {
    if (block.find("\ncells:") == std::string::npos) continue;
    for (const char* name : {"rccl.yaml", "serving.yaml", "peer.yaml"}) folder.write(name, block);
    const auto suite = make_plan((folder.path() / "rccl.yaml").string(), {});
    EXPECT_TRUE(suite.ok()) << suite.error().message << block;
  }
  for (std::string block : blocks) {
    if (block.find("environments:") == std::string::npos) continue;
    if (block.find("name: ") != 0) block = head + block;
    const auto plan = load_campaign_plan(folder.write("plan.yaml", block));
    EXPECT_TRUE(plan.ok()) << plan.error().message << "\n" << block;
    ++plans;
  }
  EXPECT_GE(plans, 10u);
}

TEST(CampaignPlan, Studies) {
  const std::string parts =
      std::string(head) +
      "environments:\n  - {name: p0, kind: partition, cpus: '0'}\n"
      "  - {name: p1, kind: partition, cpus: '1'}\n  - {name: all, kind: host}\n";
  const auto plan = parse_campaign_plan(parts + "study: {each: [p0, p1], whole: all}\n", "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_FALSE(plan->control);
  const Schedule schedule = schedule_of(*plan);
  ASSERT_EQ(schedule.arms.size(), 4u);
  EXPECT_THAT(schedule.arms[2], ElementsAre(Member{"p0-together", 0}, Member{"p1-together", 1}));
  EXPECT_THAT(schedule.arms[3], ElementsAre(Member{"all", 2}));
  EXPECT_THAT(plan_problem(parts + "study: {each: [p0, px]}\n"),
              HasSubstr("there is no environment px"));
  EXPECT_THAT(plan_problem(parts + "study: {each: [p0, all]}\n"), HasSubstr("all is of kind host"));
  EXPECT_THAT(plan_problem(parts + "study: {each: [p0]}\n"), HasSubstr("at least two partitions"));
  EXPECT_THAT(plan_problem(parts + "study: {each: [p0], together: [p0, p1]}\n"),
              HasSubstr("p1 must also be in \"each\""));
  EXPECT_THAT(plan_problem(parts + "study: {each: [p0, p1], together: [p0, p0]}\n"),
              HasSubstr("p0 is there twice"));
  EXPECT_THAT(plan_problem(parts + "study: {each: [p0, p0, p1], together: [p0, p1]}\n"),
              HasSubstr("p0 is there twice"));
}

TEST(CampaignPlan, WhatDiffersIsNamed) {
  EXPECT_EQ(plan_difference("plan.yaml", "a: 1\nb: 2\n", "a: 1 \r\nb: 2"), "");
  EXPECT_EQ(plan_difference("plan.yaml", "a: 1\nb: 2\n", "a: 1\nb: 3\n"),
            "plan.yaml:2: was \"b: 2\", is \"b: 3\"");
  EXPECT_EQ(plan_difference("plan.yaml", "a: 1\n", "a: 1\nb: 3\n"),
            "plan.yaml:2: was \"\", is \"b: 3\"");
}

TEST(CampaignFolder, ContrastsArePlanned) {
  const TemporaryFolder folder;
  const auto contrasts = [&](const std::string& text) {
    folder.write("plan.yaml", text);
    const auto read = read_contrasts(folder.path());
    return read.ok() ? *read : std::vector<std::pair<std::string, std::string>>();
  };
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(contrasts(std::string(head) + two + "  - {name: c, kind: host}\n"),
              ElementsAre(Pair("a", "b"), Pair("a", "c")));
  EXPECT_THAT(contrasts("environments: [{name: a}]"), ElementsAre(Pair("a", "a-control")));
  EXPECT_THAT(contrasts("study: {each: [p, q]}"),
              ElementsAre(Pair("p", "p-together"), Pair("q", "q-together")));
  EXPECT_TRUE(contrasts("[1, 2]").empty());
}

std::vector<std::string> words_of_load(const CampaignPlan& plan, std::size_t environment,
                                       std::size_t pair) {
  const Suite suite = commands_of_unit(plan, plan.environments[environment], pair);
  return suite.entries.back().command->words;
}

TEST(CampaignPlan, ALoadIsACellWhoseServersDifferBetweenEnvironments) {
  const auto plan = parse_campaign_plan(
      "name: n\nseed: 7\nload: {max-concurrency: [4, 8], requests: 10x, ignore-eos: on,\n"
      "       no-stream: off, header: ['A: 1', 'B: 2']}\nenvironments:\n"
      "  - {name: a, kind: host, url: 'http://h:8200-8207'}\n"
      "  - {name: b, kind: host, variables: {MODEL: m/x, N: '2'}, servers: 8,\n"
      "     spawn: 'vllm serve $MODEL --port {port} -n ${N} $MODE $ ${N'}\n",
      "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->cells, 1u);
  const std::vector<std::string> common = {
      "assay",      "load", "--json",       "--out",    "-",    "--max-concurrency", "4,8",
      "--requests", "10x",  "--ignore-eos", "--header", "A: 1", "--header",          "B: 2",
      "--seed",     "7"};
  std::vector<std::string> expected = common;
  expected.insert(expected.end(), {"--url", "http://h:8200-8207"});
  EXPECT_EQ(words_of_load(*plan, 0, 0), expected);
  expected = common;
  expected.insert(expected.end(),
                  {"--spawn", "vllm serve m/x --port {port} -n 2 $MODE $ ${N", "--servers", "8"});
  EXPECT_EQ(words_of_load(*plan, 1, 0), expected);
  const Suite unit = commands_of_unit(*plan, plan->environments[0], 4);
  EXPECT_THAT(unit.entries[0].command->variables, ElementsAre(testing::Pair("ASSAY_PAIR", "5")));
  // A second unit of the pair meets a prefix cache only in servers that keep running.
  const auto again = [&](std::size_t environment) {
    return commands_of_unit(*plan, plan->environments[environment], 4, true)
        .entries[0]
        .command->variables;
  };
  EXPECT_THAT(again(0),
              ElementsAre(testing::Pair("ASSAY_PAIR", "5"), testing::Pair("ASSAY_PROMPTS", "2")));
  EXPECT_THAT(again(1), ElementsAre(testing::Pair("ASSAY_PAIR", "5")));
  const auto cells = cells_of(unit, {});
  ASSERT_TRUE(cells.ok()) << cells.error().message;
  EXPECT_EQ(cells->front().id(), cells_of(*plan->commands, {})->front().id());
}

TEST(CampaignPlan, VariablesAreExpandedInEveryCommand) {
  const TemporaryFolder folder;
  folder.write(
      "s.yaml",
      "name: s\ndescription: d\ncells:\n  - command: [probe, '--size=$SIZE', $OTHER]\n"
      "    name: probe\n    metrics: [{name: m, regex: '(.*)', unit: s, better: lower}]\n");
  const auto plan = parse_campaign_plan(
      "name: n\nsuite: s.yaml\nenvironments:\n  - {name: a, kind: host, variables: {SIZE: '1'}}\n"
      "  - {name: b, kind: host, variables: {SIZE: '2'}}\n",
      folder.path() / "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(words_of_load(*plan, 0, 0), ElementsAre("probe", "--size=1", "$OTHER"));
  EXPECT_THAT(words_of_load(*plan, 1, 0), ElementsAre("probe", "--size=2", "$OTHER"));
}

TEST(CampaignPlan, MistakesInLoadsNameTheirLine) {
  const auto load_problem = [](const std::string& load, const std::string& a) {
    return plan_problem("name: n\n" + load + "environments:\n  - {name: a, kind: host" + a +
                        "}\n  - {name: b, kind: host, url: h}\n");
  };
  EXPECT_EQ(load_problem("load: {max-concurrency: 4}\n", ", url: h"), "fine");
  EXPECT_THAT(load_problem("load: {max-concurency: 4}\n", ", url: h"),
              HasSubstr("p.yaml:2: unknown key \"max-concurency\""));
  EXPECT_THAT(load_problem("load: {max-concurrency: 4}\n", ""),
              HasSubstr("p.yaml:4: the load needs either \"url\" or \"spawn\""));
  EXPECT_THAT(load_problem("load: {max-concurrency: 4}\n", ", url: h, spawn: s"),
              HasSubstr("p.yaml:4: the load needs either"));
  EXPECT_THAT(load_problem("suite: launch\n", ", url: h"), HasSubstr("unknown key \"url\""));
}

TEST(CampaignPlan, KeysOfALoadAreOptionsOfTheCommand) {
  const cli::Command* load = cli::find_command("load");
  ASSERT_NE(load, nullptr);
  for (const std::string& key : load_keys()) {
    EXPECT_TRUE(std::any_of(load->options.begin(), load->options.end(),
                            [&](const cli::Option& option) { return option.name == "--" + key; }))
        << key;
  }
}

}  // namespace
}  // namespace assay
