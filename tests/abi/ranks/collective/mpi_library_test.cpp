// The real MPI libraries under their own launchers. Each test starts this program again as two or
// three ranks, which run the tests of MpiRank.
#include "ranks/collective/mpi_library.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "abi/host_gpu.h"
#include "advise/selftest/contracts/collective_examples.h"
#include "advise/selftest/contracts/communicator_contract.h"
#include "core/shared_library.h"
#include "ranks/collective/mpi_communicator.h"
#include "ranks/collective/mpi_world.h"
#include "support/holds.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A team that exchanges files in a folder all ranks see.
class FolderTeam final : public Team {
 public:
  FolderTeam(std::string folder, int rank, int ranks) : folder_(std::move(folder)), rank_(rank) {
    for (int i = 0; i < ranks; ++i) members_.push_back({i, i, "test-host", 1000 + i});
  }
  int rank() const override { return rank_; }
  const std::string& secret() const override { return secret_; }
  const std::vector<TeamMember>& members() const override { return members_; }
  Result<std::vector<std::string>> exchange(std::string_view, std::string mine) override {
    const auto name = [&](int rank) { return fmt::format("{}/{}-{}", folder_, step_, rank); };
    std::ofstream(name(rank_) + ".part") << mine;
    std::filesystem::rename(name(rank_) + ".part", name(rank_));
    std::vector<std::string> all;
    for (int i = 0; i < size(); ++i) {
      while (!std::filesystem::exists(name(i))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      std::ifstream file(name(i));
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    ++step_;
    return all;
  }
  Status check_alive() override { return {}; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  const std::string secret_;
  int rank_, step_ = 0;
  std::vector<TeamMember> members_;
};

constexpr const char* folder_variable = "ASSAY_TEST_MPI_FOLDER";

/// The tests that a rank runs. The test that started it says where its team meets, the launcher
/// which rank it is.
class MpiRank : public testing::Test {
 public:
  void learns_what_rank_0_says();
  void does_every_operation();
  void counts_beyond_int();
  void has_several_communicators();
  void queues_on_streams();
  void errors_are_returned();
  void gpu_memory_only_where_the_library_says_so();
  void other_processes_than_the_teams_are_an_error();
  void refuses_the_library_of_another_launcher();

 protected:
  void SetUp() override {
    const char* folder = std::getenv(folder_variable);
    const bool open_mpi = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
    rank_ = std::atoi(std::getenv(open_mpi ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK"));
    ranks_ = std::atoi(std::getenv(open_mpi ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE"));
    team_ = std::make_unique<FolderTeam>(folder, rank_, ranks_);
    device_ = open_test_device("cpu");
    stream_ = std::move(device_->create_stream()).value();
  }
  void TearDown() override {
    // No rank ends while another would take its end for a failure.
    if (team_) EXPECT_TRUE(team_->exchange("end", ""));
  }

  int rank_ = 0, ranks_ = 1;
  std::unique_ptr<FolderTeam> team_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

void MpiRank::learns_what_rank_0_says() {
  EXPECT_TRUE(started_by_mpi());
  const std::string text = fmt::format("10.0.0.7:{} token", 4000 + rank_);
  EXPECT_EQ(mpi_broadcast(text).value(), "10.0.0.7:4000 token");
  EXPECT_EQ(mpi_broadcast(rank_ == 0 ? "" : "not empty").value(), "");
  EXPECT_THAT(mpi_broadcast(std::string(rank_ == 0 ? 2 << 20 : 0, 'x')).error().message,
              HasSubstr("too many"));
}

void MpiRank::does_every_operation() {
  const CommunicatorKind kind = communicator_kind("mpi").value();
  EXPECT_GT(kind.score(*device_, *team_), communicator_kind("tcp")->score(*device_, *team_));
  auto communicator = std::move(kind.create(*device_, *team_, {})).value();
  const char* expected = std::getenv("ASSAY_TEST_MPI_NAME");
  EXPECT_THAT(communicator->library(), StartsWith(expected));
  EXPECT_THAT(communicator->path(), HasSubstr("libmpi"));
  EXPECT_FALSE(communicator->queues_on_stream());
  // Three ranks on fewer cores are slow, because MPI polls while it waits.
  const std::vector<std::size_t> counts =
      ranks_ == 2 ? std::vector<std::size_t>{0, 1, 7, 3001} : std::vector<std::size_t>{7};
  const auto tally = selftest::check_collectives(*communicator, *stream_, rank_, ranks_, counts);
  ASSERT_TRUE(holds(tally));
  // avg of 8 types, all 5 reductions of the 6 that MPI lacks; 2 operations and reduce's roots.
  EXPECT_EQ(tally->refused, (8 + 6 * 5) * (2 + ranks_) * static_cast<int>(counts.size()) * 2);
  EXPECT_GT(tally->run, 500);
  EXPECT_TRUE(holds(selftest::check_messages(*communicator, *stream_, rank_, ranks_)));
  EXPECT_THAT(communicator->unsupported(CollectiveOperation::reduce, DataType::bf16, Reduction::sum)
                  .value_or(""),
              HasSubstr("no type bf16"));
  // The team's order of ranks may differ from MPI's.
  const std::string folder = team_->folder() + "/reversed";
  std::filesystem::create_directories(folder);
  FolderTeam reversed(folder, ranks_ - 1 - rank_, ranks_);
  const auto other = std::move(kind.create(*device_, reversed, {})).value();
  const auto again = selftest::check_collectives(*other, *stream_, reversed.rank(), ranks_, {7});
  ASSERT_TRUE(holds(again));
  EXPECT_GT(again->run, 100);
}

/// The test pretends that an int holds at most 100: every larger operation is split or described by
/// a derived type.
void MpiRank::counts_beyond_int() {
  auto communicator = std::move(mpi::open_communicator(*device_, *team_, {}, 100)).value();
  EXPECT_TRUE(
      holds(selftest::check_collectives(*communicator, *stream_, rank_, ranks_, {100, 101, 1009})));
  EXPECT_TRUE(holds(selftest::check_messages(*communicator, *stream_, rank_, ranks_)));
}

void MpiRank::has_several_communicators() {
  const CommunicatorKind kind = communicator_kind("mpi").value();
  EXPECT_TRUE(
      holds(selftest::check_communicators(kind, *device_, *team_, *stream_, {false, false})));
  const auto whole = std::move(kind.create(*device_, *team_, {})).value();
  CollectiveCall call;
  const Status queued = whole->enqueue(call, *stream_);
  ASSERT_FALSE(queued);
  EXPECT_EQ(queued.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(queued.error().message, HasSubstr("mpi_use_from_streams()"));
}

void MpiRank::queues_on_streams() {
  mpi_use_from_streams();
  const CommunicatorKind kind = communicator_kind("mpi").value();
  EXPECT_TRUE(holds(selftest::check_communicators(kind, *device_, *team_, *stream_)));
}

void MpiRank::errors_are_returned() {
  auto communicator = std::move(mpi::open_communicator(*device_, *team_, {})).value();
  float x = 1;
  CollectiveCall call;
  call.operation = CollectiveOperation::broadcast;
  call.send = call.receive = &x;
  call.count = 1;
  call.root = ranks_ + 5;
  const Status status = communicator->run(call, *stream_);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("MPI_Bcast: "), HasSubstr("root")));
}

void MpiRank::gpu_memory_only_where_the_library_says_so() {
  HostGpu gpu("hip", "gfx942");
  const auto refused = communicator_kind("mpi")->create(gpu, *team_, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("AMD GPUs"), HasSubstr("rccl")));
}

void MpiRank::other_processes_than_the_teams_are_an_error() {
  // A team with one member more than MPI has processes; that member is invented here.
  class Larger final : public Team {
   public:
    explicit Larger(Team& real) : real_(real), members_(real.members()) {
      members_.push_back({real.size(), 0, "elsewhere", 1});
    }
    int rank() const override { return real_.rank(); }
    const std::string& secret() const override { return real_.secret(); }
    const std::vector<TeamMember>& members() const override { return members_; }
    Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override {
      auto all = TRY(real_.exchange(step, std::move(mine)));
      all.emplace_back("+");
      return all;
    }
    Status check_alive() override { return {}; }

   private:
    Team& real_;
    std::vector<TeamMember> members_;
  } larger(*team_);
  const auto refused = mpi::open_communicator(*device_, larger, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr(fmt::format("MPI has {} processes but the team has {}", ranks_, ranks_ + 1)));
}

void MpiRank::refuses_the_library_of_another_launcher() {
  const auto text = mpi_broadcast("");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(text.error().message, HasSubstr(fmt::format("the launcher started {}", ranks_)));
}

class MpiRankPart final : public MpiRank {
 public:
  explicit MpiRankPart(void (MpiRank::*part)()) : part_(part) {}

 private:
  void TestBody() override { (this->*part_)(); }
  void (MpiRank::*part_)();
};

/// The tests of a rank are registered only in a process that a test has started as a rank.
[[maybe_unused]] const bool registered = [] {
  if (std::getenv(folder_variable) == nullptr) return false;
#define PART(name)                                                              \
  testing::RegisterTest("MpiRank", #name, nullptr, nullptr, __FILE__, __LINE__, \
                        []() -> MpiRank* { return new MpiRankPart(&MpiRank::name); });
  PART(learns_what_rank_0_says)
  PART(does_every_operation)
  PART(counts_beyond_int)
  PART(has_several_communicators)
  PART(queues_on_streams)
  PART(errors_are_returned)
  PART(gpu_memory_only_where_the_library_says_so)
  PART(other_processes_than_the_teams_are_an_error)
  PART(refuses_the_library_of_another_launcher)
#undef PART
  return true;
}();

/// Runs `command` and returns what it printed; `status` as of system().
std::string output_of(const std::string& command, int& status) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  status = ::pclose(pipe);
  return text;
}

struct LauncherUnderTest {
  std::string name, command;  ///< of the library; the command that starts ranks
};

class MpiLauncher : public testing::TestWithParam<LauncherUnderTest> {
 protected:
  void SetUp() override {
    const std::string program = GetParam().command.substr(0, GetParam().command.find(' '));
    int status = 0;
    output_of("command -v " + program, status);
    if (status != 0) GTEST_SKIP() << program << " is not installed";
  }

  /// Runs the tests of a rank that match `filter` on `ranks` ranks. A rank that ends without
  /// finalising MPI makes its launcher fail too.
  void run(const std::string& filter, int ranks, const std::string& environment = {}) {
    int status = 0;
    const std::string output = launch(filter, ranks, environment, status);
    EXPECT_EQ(status, 0) << output;
    EXPECT_THAT(output, HasSubstr("[  PASSED  ] 1 test"));
  }

  std::string launch(const std::string& filter, int ranks, const std::string& environment,
                     int& status) {
    const TemporaryFolder folder;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    return output_of(fmt::format("env GTEST_COLOR=no {}='{}' ASSAY_TEST_MPI_NAME='{}' {} "
                                 "timeout 100 {} -n {} '{}' --gtest_filter=MpiRank.{}",
                                 folder_variable, folder.path().string(), GetParam().name,
                                 environment, GetParam().command, ranks, self, filter),
                     status);
  }
};

TEST_P(MpiLauncher, Broadcasts) {
  run("learns_what_rank_0_says", 3);
}
TEST_P(MpiLauncher, DoesEveryOperation) {
  run("does_every_operation", 2);
}
TEST_P(MpiLauncher, DoesEveryOperationOfThree) {
  run("does_every_operation", 3);
}
TEST_P(MpiLauncher, CountsBeyondInt) {
  run("counts_beyond_int", 2);
}
TEST_P(MpiLauncher, SeveralCommunicators) {
  run("has_several_communicators", 3);
}
TEST_P(MpiLauncher, QueuesOnStreams) {
  run("queues_on_streams", 3);
}
TEST_P(MpiLauncher, GpuMemory) {
  run("gpu_memory_only_where_the_library_says_so", 2);
}
TEST_P(MpiLauncher, OtherProcesses) {
  run("other_processes_than_the_teams_are_an_error", 2);
}

/// The ranks end without finalising, as they must after an error, and the launcher notices.
TEST_P(MpiLauncher, ErrorsAreReturned) {
  int status = 0;
  const std::string output = launch("errors_are_returned", 2, "", status);
  EXPECT_THAT(output, HasSubstr("[  PASSED  ] 1 test"));
}

TEST_P(MpiLauncher, TheOtherLibraryIsRefused) {
  const bool open_mpi = GetParam().name == "Open MPI";
  const char* other = open_mpi ? "libmpich.so.12" : "libmpi.so.40";
  if (!SharedLibrary::open({"the other MPI", {other}, {""}, ""})) {
    GTEST_SKIP() << other << " is not installed";
  }
  int status = 0;
  const std::string output = launch("refuses_the_library_of_another_launcher", 2,
                                    fmt::format("ASSAY_MPI_LIBRARY={}", other), status);
  EXPECT_THAT(output, HasSubstr("[  PASSED  ] 1 test"));
}

INSTANTIATE_TEST_SUITE_P(
    Both, MpiLauncher,
    testing::Values(LauncherUnderTest{"Open MPI",
                                      "mpirun.openmpi --allow-run-as-root --oversubscribe"},
                    LauncherUnderTest{"MPICH", "mpiexec.mpich"}),
    [](const auto& info) { return info.param.name == "MPICH" ? "Mpich" : "OpenMpi"; });

TEST(Mpi, WithoutALauncherSaysHowToStart) {
  if (started_by_mpi()) GTEST_SKIP() << "an MPI launcher started this process";
  const auto text = mpi_broadcast("");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(text.error().message, HasSubstr("mpirun"));
  const auto device = open_test_device("cpu");
  EXPECT_EQ(communicator_kind("mpi")->score(*device, solo_team()), 0);
}

TEST(Mpi, AMissingLibrarySaysWhatToInstall) {
  setenv("ASSAY_MPI_LIBRARY", "/nonexistent", 1);
  const auto library = mpi::load(mpi::Launcher::Kind::open_mpi);
  unsetenv("ASSAY_MPI_LIBRARY");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(library.error().message, HasSubstr("ASSAY_MPI_LIBRARY is set"));
}

}  // namespace
}  // namespace assay
