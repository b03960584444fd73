// RDMA through a mock libibverbs, which moves bytes within this process and fails on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "abi/mock_verbs/mock_verbs.h"
#include "core/shared_library.h"
#include "ranks/fabric/verbs_transport.h"
#include "ranks/team/thread_team.h"
#include "support/rdma_pair.h"

#ifdef MOCK_VERBS

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A device with host memory, exported as a file that is never read.
class ExportingDevice final : public Device {
 public:
  explicit ExportingDevice(bool exports) : exports_(exports) {}
  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override {
    return no();
  }
  Result<Buffer> allocate(std::size_t, MemoryKind) override { return no(); }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority) override { return no(); }
  Result<std::unique_ptr<Event>> create_event(EventKind) override { return no(); }
  Result<std::unique_ptr<Program>> build(const ProgramSource&) override { return no(); }
  Status enable_peer_access(int) override { return no(); }
  Result<DmaBuf> export_dmabuf(void* address, std::size_t bytes) override {
    if (!exports_) return Device::export_dmabuf(address, bytes);
    return DmaBuf(-1, 64);
  }
  Status make_current() override { return {}; }
  SensorReading sense() const override { return {}; }

 private:
  static Error no() { return {ErrorKind::unsupported, "not here"}; }
  DeviceFacts facts_;
  bool exports_;
};

class VerbsMock : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ASSAY_VERBS_LIBRARY", MOCK_VERBS, 1);
    const auto opened = SharedLibrary::open({"mock", {MOCK_VERBS "/libibverbs.so.1"}, {""}, ""});
    ASSERT_TRUE(opened) << opened.error().message;
    opened->bind(set, {"mock_verbs_set"});
    opened->bind(count, {"mock_verbs_count"});
    auto loaded = verbs::Library::open();
    ASSERT_TRUE(loaded) << loaded.error().message;
    library = *loaded;
  }

  /// Two transports on one port, connected with each other.
  void connect_two(FabricShape shape = {.queues = 1, .send_depth = 16, .receive_depth = 16}) {
    for (int end = 0; end < 2; ++end) {
      std::iota(memory[end].begin(), memory[end].end(), static_cast<char>(100 * end));
      auto made = make({memory[end].data(), memory[end].size(), nullptr}, shape);
      ASSERT_TRUE(made) << made.error().message;
      ends[end] = std::move(*made);
    }
    for (int end = 0; end < 2; ++end) {
      const Status connected = ends[end]->connect(ends[1 - end]->address(), solo_team());
      ASSERT_TRUE(connected) << connected.error().message;
    }
  }
  Result<std::unique_ptr<Transport>> make(const FabricWindow& window, const FabricShape& shape) {
    std::vector<verbs::Port> ports = TRY(library->active_ports());
    ports.resize(1);
    return make_verbs_transport(library, ports, window, shape);
  }
  std::string fact(int end, const std::string& key) {
    for (const auto& [name, value] : ends[end]->facts()) {
      if (name == key) return value;
    }
    return "none";
  }
  std::vector<FabricCompletion> poll(int end) {
    std::array<FabricCompletion, 32> found;
    const auto number = ends[end]->poll(found, std::chrono::milliseconds(0));
    EXPECT_TRUE(number) << number.error().message;
    if (!number) return {};
    return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(*number)};
  }
  /// The path by which memory of `device` is registered as the window.
  Result<std::string> memory_path(Device& device) {
    const auto made = make({memory[0].data(), memory[0].size(), &device}, {});
    if (!made) return made.error();
    for (const auto& [name, value] : (*made)->facts()) {
      if (name == "memory_path") return value;
    }
    return std::string();
  }

  void (*set)(const char*, int) = nullptr;
  int (*count)(const char*) = nullptr;
  std::shared_ptr<const verbs::Library> library;
  std::array<char, 4096> memory[2];
  std::unique_ptr<Transport> ends[2];
};

TEST_F(VerbsMock, WritesReadsAndSendsArrive) {
  connect_two();
  const FabricRequest write{FabricOperation::write, 0, 1000, 10, true, 1};
  const FabricRequest read{FabricOperation::read, 2000, 0, 10, true, 2};
  const FabricRequest send{FabricOperation::send, 20, 0, 10, true, 3};
  ASSERT_TRUE(ends[1]->receive(0, 3000, 10, 77));
  for (const FabricRequest& request : {write, read, send}) {
    ASSERT_TRUE(ends[0]->post(0, {&request, 1}));
  }
  EXPECT_EQ(std::memcmp(&memory[1][1000], &memory[0][0], 10), 0);
  EXPECT_EQ(std::memcmp(&memory[0][2000], &memory[1][0], 10), 0);
  EXPECT_EQ(std::memcmp(&memory[1][3000], &memory[0][20], 10), 0);
  const auto sent = poll(0), received = poll(1);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[2].id, 3u);
  EXPECT_FALSE(sent[2].received);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].id, 77u);
  EXPECT_TRUE(received[0].received);
}

TEST_F(VerbsMock, ASendWaitsForItsReceive) {
  connect_two();
  const FabricRequest send{FabricOperation::send, 0, 0, 4, true, 9};
  ASSERT_TRUE(ends[0]->post(0, {&send, 1}));
  EXPECT_TRUE(poll(0).empty());
  ASSERT_TRUE(ends[1]->receive(0, 500, 4, 1));
  EXPECT_EQ(poll(0).size(), 1u);
  EXPECT_EQ(std::memcmp(&memory[1][500], &memory[0][0], 4), 0);
}

TEST_F(VerbsMock, OnlySignalledRequestsComplete) {
  connect_two();
  std::vector<FabricRequest> batch;
  for (std::uint64_t i = 1; i <= 8; ++i) {
    batch.push_back({FabricOperation::write, 0, 1000, 8, i % 4 == 0, i});
  }
  ASSERT_TRUE(ends[0]->post(0, batch));
  const auto done = poll(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].id, 4u);
  EXPECT_EQ(done[1].id, 8u);
}

TEST_F(VerbsMock, APostThatFailsInTheMiddleSaysWhere) {
  connect_two();
  std::vector<FabricRequest> batch;
  for (std::uint64_t i = 0; i < 5; ++i) {
    batch.push_back({FabricOperation::write, i, 1000 + i, 1, true, i});
  }
  set("fail_request", 3);
  const Status posted = ends[0]->post(0, batch);
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().message,
            "mock0: posting write 3 of 5 on queue 0: Cannot allocate memory (errno 12)");
  EXPECT_EQ(poll(0).size(), 2u);  // the requests before it were sent
}

TEST_F(VerbsMock, ErrorCompletionsSayWhatFailed) {
  connect_two();
  const FabricRequest read{FabricOperation::read, 0, 0, 8, false, 1};
  set("fail_status", 12);
  ASSERT_TRUE(ends[0]->post(0, {&read, 1}));
  std::array<FabricCompletion, 4> found;
  auto polled = ends[0]->poll(found, std::chrono::milliseconds(0));
  ASSERT_FALSE(polled);
  EXPECT_EQ(polled.error().message,
            "mock0: read on queue 0 failed: transport retry counter exceeded (status 12, vendor "
            "code 0x88)");
  const FabricRequest outside{FabricOperation::write, 0, 4090, 8, true, 1};
  ASSERT_TRUE(ends[0]->post(0, {&outside, 1}));
  polled = ends[0]->poll(found, std::chrono::milliseconds(0));
  ASSERT_FALSE(polled);
  EXPECT_THAT(polled.error().message, HasSubstr("write on queue 0 failed: remote access error"));
}

TEST_F(VerbsMock, AnEthernetPortUsesTheAddressThatRoutersPassOn) {
  connect_two();  // the mock refuses any other
  EXPECT_EQ(fact(0, "gid"), "3 RoCE v2");
  EXPECT_EQ(fact(0, "link"), "RoCE MTU 4096");
  EXPECT_EQ(fact(0, "nic"), "mock0");
}

TEST_F(VerbsMock, AnInfiniBandPortUsesItsLid) {
  set("infiniband", 1);
  connect_two();
  EXPECT_EQ(fact(0, "link"), "InfiniBand MTU 4096");
  EXPECT_EQ(fact(0, "gid"), "none");
  set("infiniband", 0);
}

TEST_F(VerbsMock, PortsOfDifferentKindsAreRefused) {
  auto ethernet = make({memory[0].data(), 64, nullptr}, {});
  set("infiniband", 1);
  auto infiniband = make({memory[1].data(), 64, nullptr}, {});
  set("infiniband", 0);
  ASSERT_TRUE(ethernet && infiniband);
  const Status connected = (*ethernet)->connect((*infiniband)->address(), solo_team());
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().message, "mock0 is Ethernet and the peer's port is InfiniBand");
  EXPECT_FALSE((*ethernet)->connect("rubbish", solo_team()));
}

TEST_F(VerbsMock, EverythingIsReleased) {
  const int before = count("objects");
  connect_two();
  EXPECT_GT(count("objects"), before);
  ends[0].reset();
  ends[1].reset();
  EXPECT_EQ(count("objects"), before);
}

TEST_F(VerbsMock, WhatIsNotThereIsOneClearLine) {
  set("port_state", 1);
  EXPECT_EQ(library->active_ports().error().message,
            "no usable RDMA port: mock0 is not active; mock1 is not active");
  set("port_state", 4);
  set("fail_open", 2);
  EXPECT_THAT(library->active_ports().error().message,
              HasSubstr("mock0: opening the device: Permission denied"));
  set("devices", 0);
  EXPECT_EQ(library->active_ports().error().message, "libibverbs found no RDMA device");
  set("devices", 2);
  setenv("ASSAY_VERBS_LIBRARY", "/nowhere/libibverbs.so.1", 1);
  EXPECT_THAT(verbs::Library::open().error().message, HasSubstr("ASSAY_VERBS_LIBRARY is set to"));
}

TEST_F(VerbsMock, HostMemoryThatCannotBeRegistered) {
  set("fail_register", 1);
  const auto made = make({memory[0].data(), 64, nullptr}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "mock0: registering 64 bytes: Cannot allocate memory (errno 12); is `ulimit -l` "
            "unlimited?");
}

TEST_F(VerbsMock, DeviceMemoryGoesByDmabufElseByPeerMemory) {
  ExportingDevice exporting(true), plain(false);
  EXPECT_EQ(*memory_path(exporting), "dmabuf");
  EXPECT_GT(count("dmabuf"), 0);
  EXPECT_EQ(*memory_path(plain), "peer memory (dmabuf: this backend does not export memory)");
  set("fail_register_dmabuf", 1);
  EXPECT_EQ(*memory_path(exporting),
            "peer memory (dmabuf: mock0: registering the dmabuf: Operation not supported (errno "
            "95))");
  set("fail_register", 1);
  const auto neither = memory_path(plain);
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(neither.error().message,
            "mock0: registering 4096 bytes: Cannot allocate memory (errno 12) of GPU memory; peer "
            "memory needs nvidia_peermem or ib_peer_mem; dmabuf: this backend does not export "
            "memory");
}

TEST_F(VerbsMock, OrderIsRelaxedUnlessSomebodyWatchesTheLastByte) {
  const int before = count("relaxed");
  ASSERT_TRUE(make({memory[0].data(), 64, nullptr}, {}));
  EXPECT_EQ(count("relaxed"), before + 1);
  ASSERT_TRUE(make({memory[0].data(), 64, nullptr}, {.in_order = true}));
  EXPECT_EQ(count("relaxed"), before + 1);
}

TEST_F(VerbsMock, SmallMessagesTravelInsideTheRequestWhereTheyMay) {
  const FabricShape shape{.queues = 1, .send_depth = 4, .receive_depth = 4, .inline_bytes = 100};
  const int before = count("inlined");
  connect_two(shape);
  for (const std::uint64_t bytes : {100, 101}) {
    const FabricRequest write{FabricOperation::write, 0, 1000, bytes, true, 1};
    ASSERT_TRUE(ends[0]->post(0, {&write, 1}));
  }
  EXPECT_EQ(count("inlined"), before + 1);
  set("fail_inline", 2);
  connect_two(shape);
  EXPECT_EQ(fact(0, "inline_bytes"), "0");
}

/// A cell of the benchmark for this library.
std::map<std::string, std::string> over_verbs(std::map<std::string, std::string> settings) {
  settings.insert({{"transport", "verbs"}, {"nic", "nearest"}});
  return settings;
}

TEST_F(VerbsMock, TheBenchmarkMovesEveryByte) {
  for (const char* op : {"write", "read", "send"}) {
    for (const auto& [metric, direction] :
         {std::pair{"bandwidth", "one"}, {"bandwidth", "both"}, {"latency", "one"}}) {
      for (const char* size : {"2", "100000"}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", op, metric, direction, size));
        const PairOutcome outcome = run_pair(
            over_verbs({{"op", op}, {"metric", metric}, {"direction", direction}, {"size", size}}),
            2, 1);
        ASSERT_EQ(outcome.error, "");
        EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
        EXPECT_EQ(outcome.notes.at("transport"), "verbs");
      }
    }
  }
  EXPECT_EQ(count("overruns"), 0);
}

TEST_F(VerbsMock, EveryAdapterAtOnce) {
  const PairOutcome outcome = run_pair(over_verbs({{"nic", "every"}, {"qps", "2"}}));
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
  EXPECT_EQ(outcome.notes.at("queues"), "4");
  EXPECT_EQ(outcome.notes.at("from_nic"), "mock0, mock1");
}

TEST_F(VerbsMock, AnAdapterByItsName) {
  for (const char* name : {"mock1", "mock1:1"}) {
    const PairOutcome outcome = run_pair(over_verbs({{"nic", name}}), 2, 1);
    ASSERT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
    EXPECT_EQ(outcome.notes.at("from_nic"), "mock1");
    EXPECT_EQ(outcome.notes.at("to_nic"), "mock1");
  }
  for (const char* name : {"mock2", "mock1:2", "mock"}) {
    EXPECT_THAT(run_pair(over_verbs({{"nic", name}})).error,
                HasSubstr(fmt::format("no active RDMA port here is called {}; there are mock0:1, "
                                      "mock1:1",
                                      name)));
  }
}

TEST_F(VerbsMock, AnAddressByItsIndex) {
  set("gid", 1);  // the mock refuses any other
  const PairOutcome outcome = run_pair(over_verbs({{"gid", "1"}}), 2, 1);
  set("gid", 3);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
  EXPECT_EQ(outcome.notes.at("from_gid"), "1 RoCE v2");
  EXPECT_THAT(run_pair(over_verbs({{"gid", "9"}})).error,
              HasSubstr("mock0 has no GID 9; it has 0 (fe80::1, RoCE v1), 1 (fe80::1, RoCE v2), 2 "
                        "(::ffff:10.0.0.1, RoCE v1), 3 (::ffff:10.0.0.1, RoCE v2)"));
}

TEST_F(VerbsMock, CompletionsAreAskedForAsPerftestDoes) {
  const auto share = [&](std::map<std::string, std::string> settings) {
    const int requests = count("requests"), signalled = count("signalled");
    EXPECT_EQ(run_pair(over_verbs(std::move(settings)), 2, 1).error, "");
    return static_cast<double>(count("signalled") - signalled) / (count("requests") - requests);
  };
  // One of every hundred messages is lost, and the last of each batch, which is short on a busy
  // machine.
  const double of_many = share({{"size", "4096"}, {"depth", "128"}});
  EXPECT_GE(of_many, 0.01);
  EXPECT_LE(of_many, 0.03);
  EXPECT_NEAR(share({{"size", "4096"}, {"depth", "10"}}), 0.1, 0.02);
  EXPECT_NEAR(share({{"size", "16384"}, {"depth", "128"}}), 1, 1e-9);
}

TEST_F(VerbsMock, ACellWhoseMessagesFailIsOneErrorOnBothRanks) {
  set("fail_status", 12);
  const PairOutcome outcome = run_pair(over_verbs({}));
  EXPECT_THAT(outcome.error, HasSubstr("transport retry counter exceeded"));
}

}  // namespace
}  // namespace assay

#else
TEST(VerbsMock, WritesReadsAndSendsArrive) {
  GTEST_SKIP() << "no infiniband/verbs.h (libibverbs-dev) here";
}
#endif
