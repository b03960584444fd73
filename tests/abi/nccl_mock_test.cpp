// The communicators of NCCL and RCCL, executed on a mock library between threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "collective_contract.h"
#include "host_gpu.h"
#include "libraries/mock_nccl.h"
#include "ranks/collective/nccl_communicator.h"
#include "thread_team.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The mock in the role of one of the two libraries.
struct MockNccl {
  explicit MockNccl(const nccl::Vendor& of)
      : vendor(of),
        is_nccl(vendor.name == "NCCL"),
        variable(is_nccl ? "ASSAY_NCCL_LIBRARY" : "ASSAY_RCCL_LIBRARY"),
        file(std::string(MOCK_NCCL) + (is_nccl ? "/libnccl.so.2" : "/librccl.so.1")) {
    setenv(variable, MOCK_NCCL, 1);
    const auto library = SharedLibrary::open({"mock", {file}, {""}, ""});
    if (!library) {
      ADD_FAILURE() << library.error().message;
      return;
    }
    library->bind(reset, {"mock_nccl_reset"});
    library->bind(set_version, {"mock_nccl_set_version"});
    library->bind(fail_next, {"mock_nccl_fail_next"});
    library->bind(set_async_error, {"mock_nccl_set_async_error"});
    library->bind(live, {"mock_nccl_live"});
    library->bind(calls, {"mock_nccl_calls"});
    library->bind(last_type, {"mock_nccl_last_type"});
    reset();
  }
  ~MockNccl() { unsetenv(variable); }

  using Use = std::function<void(ThreadTeam::End&, Communicator&, Stream&)>;
  void on(int ranks, const std::string& arch, const Use& use) const {
    ThreadTeam team(ranks);
    team.run([&](ThreadTeam::End& end) {
      HostGpu device(std::string(vendor.backend), arch);
      const auto stream = std::move(device.create_stream(StreamPriority::normal)).value();
      const CommunicatorKind kind = communicator_kind(is_nccl ? "nccl" : "rccl");
      EXPECT_GT(kind.score(device, end), 0);
      auto communicator = kind.create(device, end);
      ASSERT_TRUE(communicator) << communicator.error().message;
      use(end, **communicator, *stream);
    });
  }

  const nccl::Vendor& vendor;
  bool is_nccl;
  const char* variable;
  std::string file;
  decltype(&mock_nccl_reset) reset = nullptr;
  decltype(&mock_nccl_set_version) set_version = nullptr;
  decltype(&mock_nccl_fail_next) fail_next = nullptr;
  decltype(&mock_nccl_set_async_error) set_async_error = nullptr;
  decltype(&mock_nccl_live) live = nullptr;
  decltype(&mock_nccl_calls) calls = nullptr;
  decltype(&mock_nccl_last_type) last_type = nullptr;
};

TEST(NcclMock, EveryOperationOnEveryType) {
  const MockNccl mock(nccl::nvidia);
  mock.on(3, "sm_90", [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    EXPECT_EQ(communicator.library(), "NCCL 2.28.9");
    EXPECT_THAT(communicator.path(), HasSubstr("libnccl.so.2"));
    EXPECT_TRUE(communicator.queues_on_stream());
    const auto tally = expect_collectives(communicator, stream, end.rank(), end.size(), {0, 1, 7});
    // FNUZ, which is AMD's: 2 types x 5 reductions x (2 operations + 3 roots) x 3 counts x 2
    EXPECT_EQ(tally.refused, 2 * 5 * 5 * 3 * 2);
    expect_messages(communicator, stream, end.rank(), end.size());
  });
  EXPECT_GT(mock.calls("ncclAlltoAll"), 0);
  EXPECT_GT(mock.calls("ncclGather"), 0);
  EXPECT_GT(mock.calls("ncclScatter"), 0);
  EXPECT_EQ(mock.live(), 0);
}

TEST(NcclMock, BeforeItHadGatherAndScatter) {
  const MockNccl mock(nccl::nvidia);
  mock.set_version(22105);
  mock.on(2, "sm_80", [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    EXPECT_EQ(communicator.library(), "NCCL 2.21.5");
    const auto tally = expect_collectives(communicator, stream, end.rank(), end.size(), {5});
    EXPECT_EQ(tally.refused, 4 * 5 * 4 * 2);  // all fp8, 2 + 2 roots, in place and not
  });
  EXPECT_EQ(mock.calls("ncclGather"), 0);
  EXPECT_EQ(mock.calls("ncclScatter"), 0);
}

TEST(RcclMock, EveryOperationOnEveryTypeOfGfx942) {
  const MockNccl mock(nccl::amd);
  mock.set_version(22707);
  mock.on(2, "gfx942:sramecc+:xnack-",
          [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
            EXPECT_EQ(communicator.library(), "RCCL 2.27.7");
            for (int op = 0; op <= static_cast<int>(CollectiveOperation::send_recv); ++op) {
              for (const DataType type : {DataType::bf16, DataType::e4m3_fnuz}) {
                CollectiveExample example;
                example.call.operation = static_cast<CollectiveOperation>(op);
                example.call.type = type;
                example.call.count = 3;
                example.call.reduction = Reduction::max;  // both encodings order codes alike
                example.rank = end.rank();
                example.ranks = end.size();
                expect_collective(communicator, stream, example);
                const int expected = type == DataType::bf16            ? 9
                                     : reduces(example.call.operation) ? 10
                                                                       : 1;  // arbitrary bytes
                EXPECT_EQ(mock.last_type(), expected) << example.text();
              }
            }
          });
  EXPECT_GT(mock.calls("ncclAllToAll"), 0);
}

TEST(NcclMock, CallsOfAGroupAreQueuedTogether) {
  const MockNccl mock(nccl::nvidia);
  mock.on(2, "sm_90", [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    std::vector<float> one = {1}, two = {2};
    CollectiveCall call;
    call.send = call.receive = one.data();
    call.count = 1;
    ASSERT_TRUE(communicator.begin_group());
    ASSERT_TRUE(communicator.run(call, stream));
    call.send = call.receive = two.data();
    call.operation = CollectiveOperation::all_reduce;
    ASSERT_TRUE(communicator.run(call, stream));
    EXPECT_EQ(one[0], 1) << end.rank();
    ASSERT_TRUE(communicator.end_group());
    EXPECT_EQ(one[0], 2);
    EXPECT_EQ(two[0], 4);
  });
}

TEST(NcclMock, ErrorsSayTheCallAndWhatTheLibrarySays) {
  const MockNccl mock(nccl::nvidia);
  mock.on(1, "sm_90", [&](ThreadTeam::End&, Communicator& communicator, Stream& stream) {
    float x = 1;
    CollectiveCall call;
    call.send = call.receive = &x;
    call.count = 1;
    mock.fail_next("ncclAllReduce", 3);
    const Status status = communicator.run(call, stream);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::failed);
    EXPECT_THAT(
        status.error().message,
        AllOf(HasSubstr("NCCL 2.28.9: ncclAllReduce: mock error (3): the mock's last words"),
              HasSubstr("NCCL_DEBUG=INFO")));
    // A failure within a group ends the group: the next operation is not queued behind it.
    call.operation = CollectiveOperation::send_recv;
    float y = 0;
    call.receive = &y;
    mock.fail_next("ncclRecv", 5);
    EXPECT_THAT(communicator.run(call, stream).error().message, HasSubstr("ncclRecv"));
    ASSERT_TRUE(communicator.begin_group());
    ASSERT_TRUE(communicator.end_group());
    ASSERT_TRUE(communicator.run(call, stream));
    EXPECT_EQ(y, 1);
    mock.set_async_error(6);
    EXPECT_THAT(communicator.run(call, stream).error().message,
                HasSubstr("an earlier operation: mock error (6)"));
    mock.set_async_error(0);
    communicator.abort();
    EXPECT_EQ(mock.live(), 0);
  });
  EXPECT_EQ(mock.calls("ncclCommAbort"), 1);
  EXPECT_EQ(mock.calls("ncclCommDestroy"), 0);
}

/// One rank cannot join; the others stop waiting for it when the team breaks.
TEST(NcclMock, AMissingRankEndsTheWait) {
  const MockNccl mock(nccl::nvidia);
  mock.fail_next("ncclCommInitRank", 2);
  std::atomic<int> own = 0, others = 0;
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    HostGpu device("cuda", "sm_90");
    const auto communicator = nccl::open_communicator(nccl::nvidia, device, end);
    ASSERT_FALSE(communicator);
    const std::string& message = communicator.error().message;
    if (message.find("ncclCommInitRank") != std::string::npos) {
      ++own;
      end.die();
    } else {
      EXPECT_THAT(message, HasSubstr("died"));
      ++others;
    }
  });
  EXPECT_EQ(own, 1);
  EXPECT_EQ(others, 1);
}

TEST(NcclMock, ARankWithoutTheLibraryIsNamedToAll) {
  const MockNccl mock(nccl::nvidia);
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    HostGpu device("cuda", "sm_90");
    if (end.rank() == 0) mock.fail_next("ncclGetUniqueId", 2);
    const auto communicator = nccl::open_communicator(nccl::nvidia, device, end);
    ASSERT_FALSE(communicator);
    EXPECT_THAT(communicator.error().message, HasSubstr("ncclGetUniqueId"));
    if (end.rank() == 1) {
      EXPECT_THAT(communicator.error().message, HasSubstr("rank 0 on test-host: NCCL"));
    }
  });
}

TEST(NcclLibrary, TheRealOneLoads) {
  const auto library = nccl::load(nccl::nvidia);
  if (!library) GTEST_SKIP() << library.error().message;
  EXPECT_THAT(library->name(), testing::MatchesRegex("NCCL 2\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(library->path, HasSubstr("libnccl"));
  EXPECT_EQ(library->functions.all_to_all != nullptr, library->version >= 22800);
}

TEST(NcclSearch, AMissingLibrarySaysWhatToInstall) {
  setenv("ASSAY_NCCL_LIBRARY", "/nonexistent", 1);
  setenv("ASSAY_RCCL_LIBRARY", "/nonexistent", 1);
  for (const nccl::Vendor* vendor : {&nccl::nvidia, &nccl::amd}) {
    const auto library = nccl::load(*vendor);
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().kind, ErrorKind::unavailable);
    EXPECT_THAT(library.error().message,
                HasSubstr(fmt::format("ASSAY_{}_LIBRARY is set", vendor->name)));
  }
  unsetenv("ASSAY_NCCL_LIBRARY");
  unsetenv("ASSAY_RCCL_LIBRARY");
}

}  // namespace
}  // namespace assay
