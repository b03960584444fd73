// Which thresholds of other programs can never fail. The texts are invented, in the formats of cvs,
// RVS and NHC.
#include "advise/health/limits/gates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/write_file.h"
#include "support/temporary_folder.h"

namespace assay::health {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> gates_of(std::string_view text, const std::string& file) {
  const auto parsed = parse_gates(text, file);
  if (!parsed.ok()) return {parsed.error().message};
  if (!*parsed) return {"no gates"};
  std::vector<std::string> lines;
  for (const Gate& gate : (*parsed)->gates) {
    lines.push_back(fmt::format("{}: {}: {}{}", gate.name, gate.limit, name_of(gate.state),
                                gate.placeholder ? ", placeholder" : ""));
  }
  return lines;
}

TEST(Gates, OfCvs) {
  EXPECT_THAT(gates_of(R"({"_comment": "none", "CONC=4": {
    "rate": {"kind": "min_tok_s", "value": 150}, "rate0": {"kind": "min", "value": 0},
    "ttft": {"kind": "max_ms", "value": 60000}, "slow": {"kind": "max_ms", "value": 1000000},
    "itl": {"kind": "max_ms", "value": 0}, "failed": {"kind": "max", "value": 0},
    "seen": {"kind": "info", "value": 0},
    "near": {"kind": "within", "value": 5, "tolerance_pct": 10},
    "text": {"kind": "within", "value": 5, "tolerance_pct": "5"},
    "far": {"kind": "within", "value": 5, "tolerance_pct": 100}}})",
                       "a_threshold.json"),
              testing::UnorderedElementsAre(
                  "CONC=4: rate: at least 150: gates",
                  "CONC=4: rate0: at least 0: never fails, placeholder",
                  "CONC=4: ttft: at most 60000: gates",
                  "CONC=4: slow: at most 1000000: never fails, placeholder",
                  "CONC=4: itl: at most 0: never passes, placeholder",
                  "CONC=4: failed: at most 0: gates, placeholder", "CONC=4: seen: 0: only recorded",
                  "CONC=4: near: within 10% of 5: gates", "CONC=4: text: within 0% of 5: gates",
                  "CONC=4: far: within 100% of 5: never fails"));
  EXPECT_THAT(gates_of(R"({"a": {"b": 1}})", "a.json"), ElementsAre("no gates"));
}

TEST(Gates, OfRvs) {
  const std::string text =
      "actions:\n- name: fp16\n  module: gst\n  target_stress: 500000\n  tolerance: 0.1\n"
      "- name: fp8\n  module: gst\n  target_stress: 0\n- name: copy\n  module: pebb\n";
  EXPECT_THAT(gates_of(text, "gst.conf"),
              ElementsAre("fp16: target_stress: at least 450000: gates",
                          "fp8: target_stress: at least 0: never fails, placeholder"));
  EXPECT_EQ((*parse_gates(text, "gst.conf"))->without_limit, 1u);
}

TEST(Gates, OfNhc) {
  EXPECT_THAT(gates_of("# comment || check_gpu_bw 1\n * || check_gpu_bw 48 44\n *|| "
                       "check_rccl_allreduce 0 1 16G\n"
                       " * || check_hw_physmem 10MB 20MB 5%\n * || check_hw_physmem 20MB 10MB 5%\n"
                       " * || check_hw_eth eth0\n",
                       "node.conf"),
              ElementsAre("check_gpu_bw 48 44: at least 48: gates",
                          "check_rccl_allreduce 0 1 16G: at least 0: never fails, placeholder",
                          "check_hw_physmem 10MB 20MB 5%: 10MB to 20MB: gates",
                          "check_hw_physmem 20MB 10MB 5%: 20MB to 10MB: never passes",
                          "check_hw_eth eth0: as the check says: gates"));
}

TEST(Gates, AFileWithoutAnyIsRefused) {
  EXPECT_THAT(gates_of("{", "a.json"), ElementsAre("a.json: it is not JSON"));
  const TemporaryFolder folder;
  const std::string file = folder.path() / "other.json";
  ASSERT_TRUE(write_file(file, "{\"a\": 1}").ok());
  EXPECT_THAT(read_gates({file}).error().message, HasSubstr("other.json: no gates; known are"));
  const auto without = read_gates({folder.path()});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().kind, ErrorKind::usage);
  EXPECT_THAT(without.error().message, HasSubstr(folder.path().string() + ": no gates; known are"));
  ASSERT_TRUE(
      write_file(folder.path() / "a.json", R"({"c": {"x": {"kind": "min", "value": 1}}})").ok());
  EXPECT_EQ(read_gates({folder.path()})->size(), 1u) << "a folder may hold other files";
  const auto missing = read_gates({"/nowhere/a.conf"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/a.conf"));
}

}  // namespace
}  // namespace assay::health
