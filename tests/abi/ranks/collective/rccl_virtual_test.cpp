// RCCL between two virtual MI300Xs that one process drives: the stand-in library works in the
// virtual runtime's streams, so order and capture are as on the real one.
#include <gtest/gtest.h>

#include "abi/virtual_machine.h"
#include "advise/selftest/contracts/communicator_contract.h"
#include "ranks/team/thread_team.h"
#include "support/holds.h"

#ifdef VIRTUAL_HIP

namespace assay {
namespace {

TEST(RcclVirtual, SeveralCommunicatorsPartsAndGraphs) {
  setenv("ASSAY_RCCL_LIBRARY", MOCK_NCCL, 1);
  {
    const VirtualMachine machine(VIRTUAL_HIP + std::string("6"));
    const auto backend = machine.backend();
    ASSERT_GT(backend->score(), 0);  // loads the driver, before two threads open devices
    ThreadTeam team(2);
    team.run([&](ThreadTeam::End& end) {
      const auto device = backend->open(end.rank());
      ASSERT_TRUE(device) << device.error().message;
      const auto stream = (*device)->create_stream();
      ASSERT_TRUE(stream);
      const CommunicatorKind kind = communicator_kind("rccl").value();
      EXPECT_GT(kind.score(**device, end), 0);
      EXPECT_TRUE(holds(selftest::check_communicators(kind, **device, end, **stream)));
    });
    EXPECT_STREQ(machine.last_fault(), "");
  }
  unsetenv("ASSAY_RCCL_LIBRARY");
}

}  // namespace
}  // namespace assay
#endif
