// How a diagnosis looks, how findings fold, versions, and the way through a capture.
#include "cli/advise/doctor_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/version.h"
#include "core/json.h"
#include "machine/system/capture.h"
#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using cli::Style;
using cli::subjects_text;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view any_line = "\n";

Diagnosis diagnosis_of(const Machine& machine, std::vector<std::string> ids = {}) {
  return diagnose(machine, {}, *find_checks(ids));
}

TEST(DoctorView, SubjectsAreFolded) {
  EXPECT_EQ(subjects_text({}), "");
  EXPECT_EQ(subjects_text({"GPU 3 (0000:43:00.0)"}), "GPU 3 (0000:43:00.0)");
  EXPECT_EQ(subjects_text({"GPU 0 (a)", "GPU 1 (b)", "GPU 2 (c)", "GPU 5 (d)"}), "GPU 0-2, 5");
  EXPECT_EQ(subjects_text({"/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129"}),
            "/dev/kfd, /dev/dri/renderD128-129");
  EXPECT_EQ(subjects_text({"a.x", "b.x", "c.x", "d.x", "e.x", "f.x"}),
            "a.x, b.x, c.x, d.x, 2 more");
}

TEST(DoctorView, FailuresInOneLineEach) {
  const auto findings = fold(diagnosis_of(mi300x_spx(), {"numa-balancing", "clock-source", "smt"}));
  EXPECT_EQ(cli::short_text(findings, Judgement::fail, 0, Style(false)),
            "FAIL     NUMA balancing  1\n\n");
}

TEST(DoctorView, FailuresComeFirstAndInFull) {
  const Diagnosis diagnosis = diagnosis_of(
      mi300x_spx(),
      {"numa-balancing", "clock-source", "ecc", "smt", "throttling", "torch-nccl-high-priority"});
  EXPECT_EQ(cli::diagnosis_text(diagnosis, false, 0, Style(false)),
            "8 x AMD Instinct MI300X (SPX/NPS1), ROCm 6.1.2\n"
            "\n"
            "FAIL     NUMA balancing\n"
            "         found:  1\n"
            "         wanted: 0\n"
            "         why:    the kernel unmaps pages to see who uses them and moves them under "
            "running transfers: slower and uneven from run to run (ROCm docs, MI300X system "
            "optimization: Disable NUMA auto-balancing; workload optimization: RCCL)\n"
            "         fix:    sudo sysctl kernel.numa_balancing=0\n"
            "\n"
            "WARN     Simultaneous multithreading\n"
            "         found:  on\n"
            "         wanted: off\n"
            "         why:    two threads of one core share its execution units, which slows "
            "compute-bound host work and makes its times vary (ROCm docs, MI300X system "
            "optimization: System BIOS settings, SMT control)\n"
            "         fix:    SMT Control = Disable in the BIOS; until the next boot: echo off | "
            "sudo tee /sys/devices/system/cpu/smt/control\n"
            "\n"
            "UNKNOWN  Clock throttling  GPU 0-7: gpu_metrics 1.5 has no throttle counters\n"
            "\n"
            "PASS     Clock source  tsc\n"
            "PASS     ECC           GPU 0-7: on\n"
            "\n"
            "1 check does not apply here; --all names them\n"
            "\n"
            "2 passed, 1 warning, 1 failed, 1 unknown\n");
}

TEST(DoctorView, FitsATerminalExceptForCommands) {
  constexpr std::size_t width = 80;
  const std::string text =
      cli::diagnosis_text(diagnosis_of(mi300x_spx()), true, width, Style(false));
  EXPECT_THAT(text, HasSubstr("not applicable here: gpu-max-hw-queues"));
  std::istringstream lines_of_text(text);
  for (std::string line; std::getline(lines_of_text, line);) {
    if (line.find("fix:") == std::string::npos) {
      EXPECT_LE(line.size(), width) << line;
    }
  }
}

TEST(DoctorView, RubbishDoesNotReachTheTerminal) {
  for (const char letter : cli::diagnosis_text(diagnosis_of(malformed()), true, 0, Style(false))) {
    ASSERT_TRUE((letter >= ' ' && letter <= '~') || letter == any_line[0]);
  }
}

TEST(Doctor, JsonHoldsTheSameFindings) {
  const Diagnosis diagnosis = diagnosis_of(mi300x_spx());
  const Json json = to_json(diagnosis);
  EXPECT_EQ(json["findings"].size(), fold(diagnosis).size());
  EXPECT_EQ(json["machine"]["gpus"].size(), 8u);
  EXPECT_EQ(json["machine"]["gpus"][0]["partition"], "SPX/NPS1");
  EXPECT_EQ(json["machine"]["rocm"], "6.1.2");
  EXPECT_EQ(json["not_applicable"], Json({"gpu-max-hw-queues", "torch-nccl-high-priority",
                                          "visible-devices", "named-interfaces"}));
  EXPECT_EQ(json["counts"]["fail"], count(fold(diagnosis), Judgement::fail));
  EXPECT_EQ(json["findings"][0]["check"], "acs");
  EXPECT_TRUE(json["findings"][0].contains("fix"));
}

TEST(Doctor, ACaptureGivesTheSameDiagnosisWithoutSerialNumbers) {
  for (const MemoryMachine& machine : {mi300x_spx(), mi300x_cpx(), mi355x(), vf_in_vm(),
                                       h200_node(), cpu_container(), malformed()}) {
    const RecordingMachine recording(machine);
    std::vector<std::string> expected = lines(recording);
    const std::string text = recording.capture(false).dump();
    const auto captured = machine_from_capture(Json::parse(text));
    ASSERT_TRUE(captured.ok()) << captured.error().message;
    std::vector<std::string> found = lines(**captured);
    for (std::vector<std::string>* all : {&expected, &found}) {
      // What these two hold is not recorded where it is no text, so it cannot be quoted.
      std::erase_if(*all, [](const std::string& line) {
        return line.find("/proc/cmdline: not text") != std::string::npos ||
               line.find("/proc/self/mounts: not text") != std::string::npos;
      });
    }
    EXPECT_EQ(found, expected);
    EXPECT_THAT(text, Not(HasSubstr("abcdef00")));
    EXPECT_THAT(text, Not(HasSubstr("69231800")));
  }
}

TEST(Doctor, AnEmptyCaptureGivesReasonsOnly) {
  const auto captured = machine_from_capture(Json{{"format", "assay-capture"}, {"version", 1}});
  ASSERT_TRUE(captured.ok());
  for (const FoldedFinding& folded : fold(diagnosis_of(**captured))) {
    EXPECT_EQ(folded.finding.judgement, Judgement::unknown) << folded.check->id;
    EXPECT_NE(folded.finding.found, "") << folded.check->id;
  }
}

TEST(DoctorVersion, FirstNumbersCount) {
  EXPECT_EQ(parse_version("6.2.4-120"), (Version{6, 2, 4}));
  EXPECT_EQ(parse_version("rocm-7.0"), (Version{7, 0, 0}));
  EXPECT_EQ(parse_version("5.15.0-126-generic"), (Version{5, 15, 0}));
  EXPECT_EQ(parse_version("10"), (Version{10, 0, 0}));
  EXPECT_EQ(parse_version("none"), std::nullopt);
  EXPECT_EQ(parse_version("99999999999999.1"), (Version{0, 0, 0}));
  EXPECT_LT((Version{6, 1, 9}), (Version{6, 2, 0}));
}

TEST(DoctorVersion, RocmInstalledBesideOthers) {
  MemoryMachine machine;
  EXPECT_EQ(read_rocm_version(machine), std::nullopt);
  machine.write("opt/rocm-6.1.0/.info/version", "6.1.0-1\n");
  machine.write("opt/rocm-6.4.0/.info/version", "6.4.0-1\n");
  EXPECT_EQ(read_rocm_version(machine), (Version{6, 4, 0}));
  machine.write("opt/rocm/.info/version", "6.2.0-1\n");
  EXPECT_EQ(read_rocm_version(machine), (Version{6, 2, 0}));
}

TEST(DoctorAdvice, ListsOfCpus) {
  EXPECT_EQ(count_cpus("0-47,96-143"), 96);
  EXPECT_EQ(count_cpus("3"), 1);
  EXPECT_EQ(count_cpus(""), std::nullopt);
  EXPECT_EQ(count_cpus("7-3"), std::nullopt);
  EXPECT_EQ(count_cpus("a-b"), std::nullopt);
}

}  // namespace
}  // namespace assay
