// Seven invented machines judged by limits: each fails the right lines.
#include "advise/health/accept/judge_machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines/machines.h"

namespace assay::health {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

MachineFacts facts_of(const Machine& machine) {
  const auto checks = find_checks({});
  return read_machine_facts(machine, diagnose(machine, {}, *checks));
}

Record record_of(const LimitLine& line, int ordinal, double value) {
  Record record;
  record.run = "run";
  record.cell = line.cell_to_run;
  if (line.benchmark == "peer") {
    record.cell = with_value(with_value(record.cell, "from", "0"), "to", "1");
  }
  record.device.backend = "hip";
  record.device.ordinal = ordinal;
  record.status = RecordStatus::passed;
  const bool latency = line.metric == "latency";
  record.metrics = {{line.metric, value, line.unit, latency ? Better::lower : Better::higher, "",
                     Interval{0.99 * value, 1.01 * value}}};
  return record;
}

/// Records of `gpus` GPUs that are 5% better than each limit.
std::vector<Record> good_records(const Limits& limits, int gpus) {
  std::vector<Record> records;
  for (const LimitLine& line : limits.lines) {
    if (line.cell.empty()) continue;
    const double value = line.value * (line.at_most ? 0.95 : 1.05);
    if (is_for_node(line)) {
      for (int from = 0; from < gpus; ++from) {
        for (int to = 0; to < gpus; ++to) {
          if (from == to) continue;
          records.push_back(record_of(line, 0, value));
          Cell& cell = records.back().cell;
          cell =
              with_value(with_value(cell, "from", std::to_string(from)), "to", std::to_string(to));
        }
      }
      continue;
    }
    const bool once = is_for_ranks(line);
    for (int gpu = 0; gpu < (once ? 1 : gpus); ++gpu) {
      records.push_back(record_of(line, gpu, value));
      if (once) records.back().ranks.resize(2);
    }
  }
  return records;
}

/// "FAIL link-width: 8 lanes, GPU 3 (0000:43:00.0) of 8", of all lines that did not pass.
std::vector<std::string> bad_lines(const Limits& limits, const std::vector<Record>& records,
                                   const MachineFacts& facts) {
  std::vector<std::string> bad;
  for (const JudgedLine& judged : judge_machine(limits, Thoroughness::full, records, facts)) {
    if (judged.verdict == LineVerdict::pass) continue;
    const std::string what = judged.line.has.empty() ? judged.line.what() : judged.line.has.front();
    bad.push_back(fmt::format("{} {}: {}", name_of(judged.verdict), what, judged.found_text()));
  }
  return bad;
}

std::vector<std::string> bad_lines(const std::string& device, const Machine& machine, int gpus) {
  const Limits limits = *limits_of_device(device);
  return bad_lines(limits, good_records(limits, gpus), facts_of(machine));
}

MemoryMachine with_memory(MemoryMachine machine, double bytes) {
  machine.write("proc/meminfo", fmt::format("MemTotal: {:.0f} kB\n", bytes / 1024));
  return machine;
}
constexpr double tib = 1099511627776.0;

TEST(JudgeMachine, Mi300xAsDelivered) {
  EXPECT_THAT(bad_lines("MI300X", with_memory(mi300x_spx(), 1.4 * tib), 8),
              ElementsAre("FAIL memory: 1.40 TiB to 1.44 TiB", "FAIL pci=realloc=off: not set",
                          "FAIL iommu=pt: not set; iommu: translating (DMA-FQ)",
                          "FAIL link-width: 8 lanes, GPU 3 (0000:43:00.0) of 8",
                          "FAIL iommu: translating (DMA-FQ)", "FAIL numa-balancing: 1",
                          "FAIL memlock: 8192 KiB",
                          "FAIL device-permissions: /dev/dri/renderD135: permission denied",
                          "FAIL large-bar: GPU 1 (0000:23:00.0): 256 MiB of 192.0 GiB",
                          "FAIL pcie-link: GPU 3 (0000:43:00.0): 32 GT/s x8 of 32 GT/s x16",
                          "FAIL power-cap: GPU 5 (0000:63:00.0): 650 W of 750 W",
                          "FAIL xcd-clocks: GPU 6 (0000:73:00.0): 8 XCDs at 1.400 GHz to 2.100 GHz",
                          "FAIL gpu-links: GPU 4 (0000:53:00.0): no xGMI link to GPU 7"));
}

TEST(JudgeMachine, Mi300xInPartitions) {
  const auto bad = bad_lines("MI300X", with_memory(mi300x_cpx(), 1.5 * tib), 8);
  EXPECT_THAT(bad, ElementsAre()) << "pci=realloc=off and iommu=pt are set, and the IOMMU is on";
}

TEST(JudgeMachine, ArgumentsThatAreNotSetAreJudgedByTheirEffect) {
  const auto verdicts = [](const MachineFacts& facts) {
    std::vector<std::string> lines;
    for (const JudgedLine& one :
         judge_machine(*limits_of_device("MI300X"), Thoroughness::full,
                       good_records(*limits_of_device("MI300X"), 8), facts)) {
      if (one.line.machine != "kernel-arguments") continue;
      lines.push_back(fmt::format("{} {}", name_of(one.verdict), one.found_text()));
    }
    return lines;
  };
  MachineFacts facts = facts_of(mi300x_cpx());
  facts.command_line = "pci=realloc=off";
  EXPECT_THAT(verdicts(facts), ElementsAre("PASS ", "PASS not set; iommu: pass-through (identity)",
                                           "PASS not set; iommu: pass-through (identity)"));
  facts.findings = facts_of(vf_in_vm()).findings;
  const std::string unknown =
      "UNKNOWN not set; iommu: a virtual machine does not see its host's IOMMU";
  EXPECT_THAT(verdicts(facts), ElementsAre("PASS ", unknown, unknown));
  facts.findings.clear();
  EXPECT_THAT(verdicts(facts), ElementsAre("PASS ", "FAIL not set", "FAIL not set"));
}

TEST(JudgeMachine, Mi355x) {
  EXPECT_THAT(bad_lines("MI355X", with_memory(mi355x(), 2.95 * tib), 8),
              ElementsAre("UNKNOWN memory: 2.95 TiB to 3.04 TiB: the interval contains the limit",
                          "FAIL pci=bfsort: not set", "FAIL modprobe.blacklist=amdgpu: not set"));
}

TEST(JudgeMachine, OneVirtualFunction) {
  const auto bad = bad_lines("MI300X", vf_in_vm(), 1);
  EXPECT_THAT(bad, Contains("FAIL gpus: 1 GPUs"));
  EXPECT_THAT(bad, Contains("UNKNOWN memory: /proc/meminfo cannot be read"));
  EXPECT_THAT(bad, Contains("UNKNOWN link-width: the driver does not show it"));
}

TEST(JudgeMachine, H200Node) {
  EXPECT_THAT(bad_lines("NVIDIA H200", h200_node(), 8),
              ElementsAre("FAIL memlock: 64 KiB", "FAIL shared-memory: 64 MiB",
                          "FAIL gpu-clocks: 8 x NVIDIA H200: now at 1.200 GHz to 1.755 GHz",
                          "FAIL memory-errors: GPU 6 (0000:73:00.0): 1 uncorrectable error",
                          "FAIL throttling: GPU 2 (0000:33:00.0): sw_power_cap,hw_thermal_slowdown",
                          "FAIL gpu-links: GPU 3 (0000:43:00.0): 2 of 18 NVLink links down"));
}

TEST(JudgeMachine, OneGpuHasNoPeers) {
  const Limits limits = *limits_of_device("NVIDIA H200");
  std::vector<Record> records = good_records(limits, 1);
  std::erase_if(records, [](const Record& record) { return !record.ranks.empty(); });
  EXPECT_THAT(bad_lines(limits, records, facts_of(h200_node())), Not(Contains(HasSubstr("peer"))));
}

TEST(JudgeMachine, WhatASingleGpuLeavesOutIsNamed) {
  const std::string head = "{name: a, description: b, source: c, date: 2026-01-01, limits: [";
  const std::string of_ranks =
      "{cell: train model=124M batch=16 sequence=512, metric: token_rate, at_least: 1, unit: "
      "tokens/s}";
  const std::string of_one =
      "{cell: memory op=copy dtype=f64 size=1GiB, metric: bandwidth, at_least: 1, unit: GB/s}";
  MachineFacts facts;
  facts.devices = {{"hip:0", ""}};
  const Limits alone = *parse_limits(head + of_ranks + "]}", "a.yaml");
  EXPECT_TRUE(left_out_lines(alone, Thoroughness::normal, {}, facts).empty()) << "it is judged";
  const auto lines = judge_machine(alone, Thoroughness::normal, {}, facts);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(verdict_of(lines), LineVerdict::unknown) << "nothing was measured";
  EXPECT_THAT(lines.front().found_text(), HasSubstr("; with ranks=1 the line is for one device"));
  const Limits both = *parse_limits(head + of_ranks + ", " + of_one + "]}", "a.yaml");
  EXPECT_EQ(left_out_lines(both, Thoroughness::normal, {}, facts).size(), 1u);
  const std::vector<Record> records = {record_of(both.lines[1], 0, 1e12)};
  EXPECT_EQ(verdict_of(judge_machine(both, Thoroughness::normal, records, facts)),
            LineVerdict::pass);
  facts.devices.emplace("hip:1", "");
  EXPECT_TRUE(left_out_lines(both, Thoroughness::normal, {}, facts).empty());
}

TEST(JudgeMachine, OnlyWhatOneRankCanMeasureIsAdvisedToHaveOne) {
  const auto why = [](const std::string& cell) {
    const auto limits = parse_limits(
        "{name: a, description: b, source: c, date: 2026-01-01, limits: [{cell: " + cell +
            ", at_least: 1}]}",
        "a.yaml");
    return limits.ok() ? why_left_out(limits->lines.at(0)) : limits.error().message;
  };
  const std::string alone = "several devices measure it together, and there is one";
  const std::string advice = alone + "; with ranks=1 the line is for one device";
  const std::string tokens = ", metric: token_rate, unit: tokens/s";
  const std::string bytes = ", metric: bandwidth, unit: GB/s";
  EXPECT_EQ(why("train model=124M batch=16 sequence=512" + tokens), advice);
  EXPECT_EQ(why("finetune model=qwen3-0.6b batch=1 sequence=512" + tokens), advice);
  EXPECT_EQ(why("collective op=all_reduce dtype=f32 size=1GiB" + bytes), alone);
  EXPECT_EQ(why("peer pattern=pair engine=copy from=all to=all size=256MiB" + bytes), alone);
}

TEST(JudgeMachine, ACpuHasNoGpus) {
  const auto bad = bad_lines("NVIDIA H200", cpu_container(), 0);
  EXPECT_THAT(bad, Contains("UNKNOWN gpu-memory: no such GPU was found"));
  EXPECT_THAT(bad, Contains("FAIL clock-source: hpet"));
}

TEST(JudgeMachine, MalformedFilesAreUnknown) {
  const auto bad = bad_lines("MI300X", malformed(), 8);
  EXPECT_THAT(bad,
              Contains("UNKNOWN link-speed: GPU 0 (0000:13:00.0): the driver does not show it"));
}

/// One line of memory bandwidth, at least 1000 GB/s, and its records on two GPUs.
class OneLine : public testing::Test {
 protected:
  OneLine() {
    limits_ = *parse_limits(
        "{name: a, description: b, source: c, date: 2026-01-01, limits: [{cell: memory op=copy "
        "dtype=f64 size=1GiB, metric: bandwidth, at_least: 1000, unit: GB/s}]}",
        "a.yaml");
    records_ = {record_of(limits_.lines[0], 0, 1.1e12), record_of(limits_.lines[0], 1, 1.2e12)};
  }
  std::string judge() const {
    const auto lines = judge_machine(limits_, Thoroughness::normal, records_, {});
    return fmt::format("{}: {}", name_of(lines.front().verdict), lines.front().found_text());
  }
  Limits limits_;
  std::vector<Record> records_;
};

TEST_F(OneLine, TheWorstGpuDecides) {
  EXPECT_EQ(judge(), "PASS: 1.089 TB/s to 1.111 TB/s, hip:0 of 2");
  records_[1] = record_of(limits_.lines[0], 1, 0.9e12);
  EXPECT_EQ(judge(), "FAIL: 891.0 GB/s to 909.0 GB/s, hip:1 of 2");
}

TEST_F(OneLine, AnIntervalThatContainsTheLimitIsUnknown) {
  records_[1] = record_of(limits_.lines[0], 1, 1.006e12);
  EXPECT_EQ(judge(),
            "UNKNOWN: 995.9 GB/s to 1.016 TB/s, hip:1 of 2: the interval contains the limit");
}

TEST_F(OneLine, AMeanCountsWhereTheLineSaysSo) {
  limits_.lines[0].over_mean = true;
  records_[1] = record_of(limits_.lines[0], 1, 0.95e12);
  EXPECT_EQ(judge(), "PASS: 1.015 TB/s to 1.035 TB/s");
}

TEST_F(OneLine, WhatCouldNotBeMeasuredIsUnknown) {
  records_[1].device.emulated = true;
  EXPECT_EQ(judge(),
            "UNKNOWN: hip:1: needs a real device: times of an emulated one come from a model");
  records_[1].status = RecordStatus::unsupported;
  records_[1].reason = "no memory";
  EXPECT_EQ(judge(), "UNKNOWN: hip:1: unsupported: no memory");
  records_[1].cell = Cell("launch", {{"metric", "latency"}});
  EXPECT_EQ(judge(), "UNKNOWN: hip:1: not measured");
}

TEST_F(OneLine, NothingIsMeasuredOnAnEmulatedDevice) {
  MachineFacts facts;
  facts.emulated = true;
  const auto lines = judge_machine(limits_, Thoroughness::normal, {}, facts);
  EXPECT_EQ(lines.front().verdict, LineVerdict::unknown);
  EXPECT_EQ(lines.front().reason,
            "needs a real device: times of an emulated one come from a model");
}

TEST_F(OneLine, ADeviceThatCouldNotBeMeasuredIsUnknown) {
  MachineFacts facts;
  facts.devices = {{"hip:0", ""}, {"hip:1", ""}, {"hip:2", "no such device"}};
  const auto lines = judge_machine(limits_, Thoroughness::normal, records_, facts);
  EXPECT_EQ(lines.front().verdict, LineVerdict::unknown);
  EXPECT_EQ(lines.front().found_text(), "hip:2: no such device");
}

TEST_F(OneLine, AWrongResultFails) {
  records_[1].status = RecordStatus::failed;
  records_[1].reason = "3 elements differ";
  EXPECT_EQ(judge(), "FAIL: hip:1: wrong result: 3 elements differ");
  limits_.lines[0].over_mean = true;
  records_[0].status = RecordStatus::unsupported;
  EXPECT_EQ(judge(), "FAIL: hip:1: wrong result: 3 elements differ") << "of a mean, too";
}

TEST_F(OneLine, ALimitOnTheWrongSideIsUnknown) {
  limits_.lines[0].at_most = true;
  EXPECT_EQ(judge(),
            "UNKNOWN: hip:0: for bandwidth, higher is better: the limit is on the wrong side");
}

TEST(JudgeMachine, ACheckCountsAllItsSubjects) {
  Limits limits;
  limits.lines.emplace_back().check = "memory-errors";
  const Check* const check = find_checks(std::vector<std::string>{"memory-errors"})->front();
  FoldedFinding bad = {check, {}, {"GPU 3"}}, good = {check, {}, {"GPU 0", "GPU 1"}};
  bad.finding.judgement = Judgement::fail;
  good.finding.judgement = Judgement::pass;
  for (const auto& findings : {std::vector{bad, good}, std::vector{good, bad}}) {
    MachineFacts facts;
    facts.findings = findings;
    const JudgedLine judged = judge_machine(limits, Thoroughness::normal, {}, facts).front();
    EXPECT_EQ(judged.verdict, LineVerdict::fail);
    EXPECT_EQ(judged.subject, "GPU 3");
    EXPECT_EQ(judged.subjects, 3u);
  }
}

TEST(JudgeMachine, AFailedCheckOfALineThatIsNotDueFails) {
  Limits limits;
  limits.lines.emplace_back().check = "memory-errors";
  limits.lines.front().thoroughness = Thoroughness::full;
  const Check* const check = find_checks(std::vector<std::string>{"memory-errors"})->front();
  MachineFacts facts;
  facts.findings = {{check, {}, {"GPU 3"}}};
  facts.findings.front().finding.judgement = Judgement::fail;
  EXPECT_EQ(verdict_of(judge_machine(limits, Thoroughness::normal, {}, facts)), LineVerdict::fail);
  EXPECT_EQ(judge_machine(limits, Thoroughness::full, {}, facts).size(), 1u) << "said once";
}

}  // namespace
}  // namespace assay::health
