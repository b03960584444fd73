// assay doctor as a program; invented machines are given as captures.
#include "advise/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/json.h"
#include "e2e/process.h"
#include "machine/system/capture.h"
#include "machines/machines.h"
#include "support/sanitized.h"

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

/// A file that holds what all checks read on `machine`.
class CaptureFile {
 public:
  explicit CaptureFile(const Machine& machine) {
    const RecordingMachine recording(machine);
    Intent intent;
    intent.multi_node = true;
    diagnose(recording, intent, all_checks());
    written_ = write_capture(recording.capture(false), path()).ok();
  }
  std::string path() const { return folder_.path() / "capture.json"; }
  bool written() const { return written_; }

 private:
  TemporaryFolder folder_;
  bool written_ = false;
};

TEST(Doctor, ExitStatusSaysWhetherAnythingFailed) {
  const CaptureFile bad(mi300x_spx());
  ASSERT_TRUE(bad.written());
  const Outcome failed = assay_run({"doctor", "--from", bad.path()});
  EXPECT_EQ(failed.status, 1) << failed.err;
  EXPECT_THAT(failed.out, HasSubstr("fix:    sudo sysctl kernel.numa_balancing=0\n"));
  EXPECT_THAT(failed.out, EndsWith("failed, 1 unknown\n"));
  const CaptureFile good(mi355x());
  const Outcome passed = assay_run({"doctor", "--from", good.path()});
  EXPECT_EQ(passed.status, 0) << passed.err;
  EXPECT_THAT(passed.out, HasSubstr("8 x AMD Instinct MI355X (SPX/NPS1), ROCm 7.0.2"));
  EXPECT_EQ(assay_run({"doctor", "--from", good.path(), "--multi-node"}).status, 1);  // ACS
  EXPECT_EQ(assay_run({"doctor", "--from", good.path(), "--gpus", "2"}).status, 1);
  EXPECT_EQ(assay_run({"doctor", "--from", good.path(), "--partition", "cpx/nps2"}).status, 1);
}

TEST(Doctor, EveryMachineGivesJson) {
  for (const MemoryMachine& machine : {mi300x_spx(), mi300x_cpx(), mi355x(), vf_in_vm(),
                                       h200_node(), cpu_container(), malformed()}) {
    const CaptureFile capture(machine);
    const Outcome outcome = assay_run({"doctor", "--json", "--from", capture.path()});
    const Json json = Json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.status, json["counts"]["fail"] > 0 ? 1 : 0);
  }
}

TEST(Doctor, DiagnosesThisMachineInTimeAndAgainFromItsCapture) {
  const TemporaryFolder folder;
  const std::string capture = folder.path() / "here.json";
  const Outcome here = assay_run({"doctor", "--capture", capture});
  EXPECT_LE(here.status, 1) << here.err;
  // Processor time, which does not depend on what else runs here.
  double least = here.cpu_seconds;
  for (int i = 0; i < 4; ++i) least = std::min(least, assay_run({"doctor"}).cpu_seconds);
  if (!is_sanitized) EXPECT_LT(least, 0.3);
  EXPECT_THAT(here.err, HasSubstr(capture));
  const Outcome again = assay_run({"doctor", "--from", capture});
  EXPECT_EQ(again.out, here.out);
  EXPECT_EQ(again.status, here.status);
}

TEST(Doctor, FoldersAreMachinesToo) {
  const TemporaryFolder folder;
  folder.write("proc/sys/kernel/numa_balancing", "1\n");
  const Outcome outcome =
      assay_run({"doctor", "--check", "numa-balancing,clock-source", "--from", folder.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("WARN     NUMA balancing\n"));
  EXPECT_THAT(outcome.out, HasSubstr("current_clocksource: does not exist"));
  EXPECT_THAT(outcome.out, EndsWith("0 passed, 1 warning, 0 failed, 1 unknown\n"));
}

TEST(Doctor, WrongUseIsSaid) {
  const Outcome check = assay_run({"doctor", "--check", "acss"});
  EXPECT_EQ(check.status, 2);
  EXPECT_THAT(check.err, HasSubstr("did you mean \"acs\"?"));
  EXPECT_EQ(assay_run({"doctor", "--gpus", "0"}).status, 2);
  EXPECT_EQ(assay_run({"doctor", "--with-serials"}).status, 2);
  EXPECT_EQ(assay_run({"doctor", "--from", "/nowhere"}).status, 2);
}

}  // namespace
}  // namespace assay
