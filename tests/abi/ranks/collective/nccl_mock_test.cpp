// The communicators of NCCL and RCCL, executed on a mock library between threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "abi/host_gpu.h"
#include "advise/selftest/contracts/collective_examples.h"
#include "advise/selftest/contracts/communicator_contract.h"
#include "libraries/mock_nccl.h"
#include "ranks/collective/nccl_communicator.h"
#include "ranks/team/rendezvous.h"
#include "ranks/team/thread_team.h"
#include "support/holds.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The mock in the role of one of the two libraries.
struct MockNccl {
  /// `folder`: of another library than the newest, below the mock's own.
  explicit MockNccl(const nccl::Vendor& of, const std::string& folder = "")
      : vendor(of),
        is_nccl(vendor.name == "NCCL"),
        variable(is_nccl ? "ASSAY_NCCL_LIBRARY" : "ASSAY_RCCL_LIBRARY"),
        file(MOCK_NCCL + folder + (is_nccl ? "/libnccl.so.2" : "/librccl.so.1")) {
    setenv(variable, (MOCK_NCCL + folder).c_str(), 1);
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
    library->bind(registered, {"mock_nccl_registered"});
    library->bind(last_ctas, {"mock_nccl_last_ctas"});
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
      const CommunicatorKind kind = communicator_kind(is_nccl ? "nccl" : "rccl").value();
      EXPECT_GT(kind.score(device, end), 0);
      auto communicator = kind.create(device, end, {});
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
  decltype(&mock_nccl_registered) registered = nullptr;
  decltype(&mock_nccl_last_ctas) last_ctas = nullptr;
  decltype(&mock_nccl_last_type) last_type = nullptr;
};

TEST(NcclMock, EveryOperationOnEveryType) {
  const MockNccl mock(nccl::nvidia);
  mock.on(3, "sm_90", [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    EXPECT_EQ(communicator.library(), "NCCL 2.28.9");
    EXPECT_THAT(communicator.path(), HasSubstr("libnccl.so.2"));
    EXPECT_TRUE(communicator.queues_on_stream());
    const auto tally =
        selftest::check_collectives(communicator, stream, end.rank(), end.size(), {0, 1, 7});
    ASSERT_TRUE(holds(tally));
    // FNUZ, which is AMD's: 2 types x 5 reductions x (2 operations + 3 roots) x 3 counts x 2
    EXPECT_EQ(tally->refused, 2 * 5 * 5 * 3 * 2);
    EXPECT_TRUE(holds(selftest::check_messages(communicator, stream, end.rank(), end.size())));
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
    const auto tally =
        selftest::check_collectives(communicator, stream, end.rank(), end.size(), {5});
    ASSERT_TRUE(holds(tally));
    EXPECT_EQ(tally->refused, 4 * 5 * 4 * 2);  // all fp8, 2 + 2 roots, in place and not
  });
  EXPECT_EQ(mock.calls("ncclGather"), 0);
  EXPECT_EQ(mock.calls("ncclScatter"), 0);
}

TEST(RcclMock, EveryOperationOnEveryTypeOfGfx942) {
  const MockNccl mock(nccl::amd);
  mock.set_version(22803);
  mock.on(2, "gfx942:sramecc+:xnack-",
          [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
            EXPECT_EQ(communicator.library(), "RCCL 2.28.3");
            for (int op = 0; op <= static_cast<int>(CollectiveOperation::send_recv); ++op) {
              for (const DataType type : {DataType::bf16, DataType::e4m3_fnuz}) {
                selftest::CollectiveExample example;
                example.call.operation = static_cast<CollectiveOperation>(op);
                example.call.type = type;
                example.call.count = 3;
                example.call.reduction = Reduction::max;  // both encodings order codes alike
                example.rank = end.rank();
                example.ranks = end.size();
                EXPECT_TRUE(holds(selftest::check_collective(communicator, stream, example)));
                const int expected = type == DataType::bf16            ? 9
                                     : reduces(example.call.operation) ? 10
                                                                       : 1;  // arbitrary bytes
                EXPECT_EQ(mock.last_type(), expected) << example.text();
              }
            }
          });
  EXPECT_GT(mock.calls("ncclAlltoAll"), 0);
  EXPECT_EQ(mock.calls("ncclAllToAll"), 0);  // RCCL 2.28 and later warn at each call
}

TEST(RcclMock, BeforeItHadNcclsNameOfAllToAll) {
  const MockNccl mock(nccl::amd, "/old");
  mock.on(2, "gfx942:sramecc+:xnack-",
          [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
            selftest::CollectiveExample example;
            example.call.operation = CollectiveOperation::all_to_all;
            example.call.type = DataType::f32;
            example.call.count = 3;
            example.rank = end.rank();
            example.ranks = end.size();
            EXPECT_TRUE(holds(selftest::check_collective(communicator, stream, example)));
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
    const auto communicator = nccl::open_communicator(nccl::nvidia, device, end, {});
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
    const auto communicator = nccl::open_communicator(nccl::nvidia, device, end, {});
    ASSERT_FALSE(communicator);
    EXPECT_THAT(communicator.error().message, HasSubstr("ncclGetUniqueId"));
    if (end.rank() == 1) {
      EXPECT_THAT(communicator.error().message, HasSubstr("rank 0 on " + host_name() + ": NCCL"));
    }
  });
}

/// The mock works at once, not in a stream of the host: order and capture are checked where the
/// virtual runtime has streams (rccl_virtual_test.cpp).
void expect_communicators(const MockNccl& mock, int ranks, const std::string& arch) {
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    HostGpu device(std::string(mock.vendor.backend), arch);
    const auto stream = std::move(device.create_stream(StreamPriority::normal)).value();
    const CommunicatorKind kind = communicator_kind(mock.is_nccl ? "nccl" : "rccl").value();
    EXPECT_TRUE(holds(selftest::check_communicators(kind, device, end, *stream, {false, false})));
  });
  EXPECT_EQ(mock.live(), 0);
  EXPECT_EQ(mock.registered(), 0);
}

TEST(NcclMock, SeveralCommunicatorsAndParts) {
  const MockNccl mock(nccl::nvidia);
  expect_communicators(mock, 4, "sm_90");
  EXPECT_GT(mock.calls("ncclCommSplit"), 0);
  EXPECT_EQ(mock.calls("ncclCommRegister"), 4);
  EXPECT_EQ(mock.calls("ncclCommDeregister"), 4);
}

TEST(RcclMock, SeveralCommunicatorsAndParts) {
  const MockNccl mock(nccl::amd);
  expect_communicators(mock, 3, "gfx942");
  EXPECT_GT(mock.calls("ncclCommSplit"), 0);
}

TEST(NcclMock, BoundsOnCtasReachTheLibrary) {
  const MockNccl mock(nccl::nvidia);
  mock.on(1, "sm_90", [&](ThreadTeam::End& end, Communicator& whole, Stream&) {
    EXPECT_EQ(mock.calls("ncclCommInitRankConfig"), 0);  // where nothing is asked for
    HostGpu device("cuda", "sm_90");
    const auto ctas = [&] {
      std::pair<int, int> bounds;
      mock.last_ctas(&bounds.first, &bounds.second);
      return bounds;
    };
    constexpr int open = nccl::Config::undefined;
    ASSERT_TRUE(nccl::open_communicator(nccl::nvidia, device, end, {0, 8}));
    EXPECT_EQ(ctas(), (std::pair{open, 8}));
    ASSERT_TRUE(nccl::open_communicator(nccl::nvidia, device, end, {2, 0}));
    EXPECT_EQ(ctas().first, 2);
    EXPECT_GE(ctas().second, 64);  // no bound, but a number: libraries compare the two
    EXPECT_EQ(mock.calls("ncclCommInitRankConfig"), 2);
    ASSERT_TRUE(whole.split(0, 0, {3, 5}));
    EXPECT_EQ(ctas(), (std::pair{3, 5}));
    ASSERT_TRUE(whole.split(0, 0, {}));
    EXPECT_EQ(ctas(), (std::pair{open, open}));  // not those of the whole
  });
  mock.set_version(21602);
  mock.on(1, "sm_90", [&](ThreadTeam::End&, Communicator& whole, Stream&) {
    const auto split = whole.split(0, 0, {1, 1});
    ASSERT_FALSE(split);
    EXPECT_EQ(split.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(split.error().message,
              "NCCL 2.16.2 has no bounds on CTAs; they were added in 2.17.0");
  });
}

/// Libraries before 2.14 to 2.19 lack functions: they load, and what can be done without is done.
TEST(NcclMock, OldLibrariesSplitWithoutTheirHelp) {
  const MockNccl mock(nccl::nvidia, "/old");
  mock.set_version(21304);
  ThreadTeam team(4);
  team.run([&](ThreadTeam::End& end) {
    HostGpu device("cuda", "sm_80");
    const auto stream = std::move(device.create_stream(StreamPriority::normal)).value();
    const CommunicatorKind kind = communicator_kind("nccl").value();
    EXPECT_TRUE(holds(selftest::check_splits(kind, device, end, *stream)));
    auto whole = kind.create(device, end, {});
    ASSERT_TRUE(whole) << whole.error().message;
    float value = 0;
    const auto registration = (*whole)->register_memory(&value, sizeof(value));
    ASSERT_FALSE(registration);
    EXPECT_EQ(registration.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(registration.error().message,
              "NCCL 2.13.4 does not register memory; NCCL does since 2.19.0");
    const auto bounded = kind.create(device, end, {1, 2});
    ASSERT_FALSE(bounded);
    EXPECT_EQ(bounded.error().kind, ErrorKind::unsupported);
  });
  EXPECT_GT(mock.calls("ncclCommInitRank"), 8);
  EXPECT_EQ(mock.live(), 0);
}

TEST(NcclMock, AnAbortedCommunicatorForgetsItsRegistrations) {
  const MockNccl mock(nccl::nvidia);
  mock.on(1, "sm_90", [&](ThreadTeam::End&, Communicator& whole, Stream&) {
    float value = 0;
    auto registration = whole.register_memory(&value, sizeof(value));
    ASSERT_TRUE(registration);
    EXPECT_EQ(mock.registered(), 1);
    whole.abort();
  });
  EXPECT_EQ(mock.calls("ncclCommDeregister"), 0);
  EXPECT_EQ(mock.registered(), 0);
}

/// Until `condition` holds; false if it does not within ten seconds.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

/// A split that a rank does not join hangs in a thread that outlives the wait for it. The
/// communicator, device and team go; the thread keeps what it uses and ends it when it returns.
TEST(NcclMock, AnAbandonedSplitOutlivesItsCommunicator) {
  const MockNccl mock(nccl::nvidia);
  mock.on(2, "sm_90", [&](ThreadTeam::End& end, Communicator& whole, Stream&) {
    if (end.rank() == 0) {
      EXPECT_THAT(whole.split(0, 0, {}).error().message, HasSubstr(" died"));
      return;
    }
    const auto part = split_team(end, 0, 0);  // as far as a split goes before the library's call
    ASSERT_TRUE(comes_true([&] { return mock.calls("ncclCommSplit") == 1; }));
    end.die();
    // Rank 0's communicator goes now, while its thread is in the call.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(mock.live(), 2);
  });
  // Rank 1 has left: the call returns, and its thread aborts what nobody else holds.
  EXPECT_TRUE(comes_true([&] { return mock.live() == 0; }));
  EXPECT_EQ(mock.calls("ncclCommAbort"), 1);
  EXPECT_EQ(mock.calls("ncclCommDestroy"), 1);
}

/// All ranks come to make a communicator, one too late for the others: what is made then is ended.
TEST(NcclMock, ACommunicatorThatNobodyAwaitsIsEnded) {
  const MockNccl mock(nccl::nvidia);
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    HostGpu device("cuda", "sm_90");
    if (end.rank() == 0) {
      EXPECT_FALSE(nccl::open_communicator(nccl::nvidia, device, end, {}));
      return;
    }
    // Rank 1 joins by the library's own call, after rank 0 has given up.
    const auto introduced = end.exchange("a communicator of NCCL", "+NCCL 2.28.9");
    ASSERT_TRUE(introduced);
    const std::string hex = introduced->front().substr(introduced->front().rfind(' ') + 1);
    nccl::UniqueId id;
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
      id.bytes[i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    }
    ASSERT_TRUE(comes_true([&] { return mock.calls("ncclCommInitRank") == 1; }));
    end.die();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const auto library = nccl::load(nccl::nvidia);
    ASSERT_TRUE(library);
    nccl::Comm comm = nullptr;
    ASSERT_EQ(library->functions.init_rank(&comm, 2, id, 1), 0);
    EXPECT_TRUE(comes_true([&] { return mock.calls("ncclCommAbort") == 1; }));
    library->functions.destroy(comm);
  });
  EXPECT_EQ(mock.live(), 0);
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
