// The cells of `rdma`: which pairs of ranks, what contradicts itself, how messages lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "machines/memory_machine.h"
#include "measure/benchmarks/rdma/rdma_settings.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/fabric/nic_choice.h"
#include "support/rdma_pair.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A team by where its ranks are; nobody talks to it.
class PlacedTeam final : public Team {
 public:
  explicit PlacedTeam(const std::vector<std::string>& hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const auto before = std::count(hosts.begin(), hosts.begin() + static_cast<long>(i), hosts[i]);
      members_.push_back({static_cast<int>(i), static_cast<int>(before), hosts[i], 1});
    }
  }
  int rank() const override { return 0; }
  const std::string& secret() const override { return secret_; }
  const std::vector<TeamMember>& members() const override { return members_; }
  Result<std::vector<std::string>> exchange(std::string_view, std::string) override {
    return Error{ErrorKind::failed, "nobody"};
  }
  Status check_alive() override { return {}; }

 private:
  const std::string secret_;
  std::vector<TeamMember> members_;
};

std::vector<std::string> expanded(const std::map<std::string, std::string>& settings,
                                  const std::vector<std::string>& hosts) {
  const auto device = open_test_device("cpu");
  std::vector<std::string> cells;
  for (const Cell& cell :
       find_benchmark("rdma")->expand(rdma_cell(settings), *device, PlacedTeam(hosts))) {
    cells.push_back(cell.id());
  }
  return cells;
}

std::vector<std::string> pairs(const std::string& from, const std::string& to,
                               const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::string& id : expanded({{"from", from}, {"to", to}}, hosts)) {
    names.push_back(id.substr(5, id.find(" op") - 5));
  }
  return names;
}

TEST(RdmaCells, AllMeansEachPairOfTheHostsFirstRanksOnce) {
  const std::vector<std::string> three = {"a", "a", "b", "b", "c"};
  EXPECT_THAT(pairs("all", "all", three), ElementsAre("from=0 to=2", "from=0 to=4", "from=2 to=4"));
  EXPECT_THAT(pairs("all", "2", three), ElementsAre("from=0 to=2", "from=4 to=2"));
  EXPECT_THAT(pairs("3", "1", three), ElementsAre("from=3 to=1"));
  EXPECT_THAT(pairs("all", "all", {"a", "a", "a"}), ElementsAre("from=0 to=1"));
  EXPECT_TRUE(pairs("all", "all", {"a"}).empty());
  EXPECT_TRUE(pairs("0", "9", three).empty());
}

TEST(RdmaCells, AutoBecomesWhatIsUsed) {
  setenv("ASSAY_VERBS_LIBRARY", "/nowhere", 1);
  EXPECT_THAT(expanded({{"transport", "auto"}, {"nic", "nearest"}, {"memory", "auto"}}, {"a", "b"}),
              ElementsAre(HasSubstr("transport=tcp nic=routed gid=auto memory=host")));
  EXPECT_THAT(expanded({{"metric", "latency"}}, {"a", "b"}),
              ElementsAre(HasSubstr("depth=1 batch=1")));
}

TEST(RdmaCells, AnAdapterOrAddressIsNeverReplacedByTcp) {
  setenv("ASSAY_VERBS_LIBRARY", "/nowhere", 1);
  EXPECT_THAT(expanded({{"transport", "auto"}, {"nic", "mlx5_0:2"}}, {"a", "b"}),
              ElementsAre(HasSubstr("transport=verbs nic=mlx5_0:2 gid=auto")));
  EXPECT_THAT(expanded({{"transport", "auto"}, {"nic", "nearest"}, {"gid", "3"}}, {"a", "b"}),
              ElementsAre(HasSubstr("transport=verbs nic=nearest gid=3")));
}

TEST(RdmaCells, AdaptersHaveNamesAndPorts) {
  const auto& axes = find_benchmark("rdma")->axes();
  const auto nic = std::ranges::find(axes, "nic", &Axis::name);
  ASSERT_NE(nic, axes.end());
  for (const char* name : {"nearest", "mlx5_0", "mlx5_0:2", "bnxt_re0", "rocep1s0f0"}) {
    EXPECT_TRUE(expand(*nic, name).ok()) << name;
  }
  for (const char* name : {"", "mlx5_0:", "mlx5_0:x", ":1", "mlx5 0", "../mlx5_0"}) {
    const auto refused = expand(*nic, name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("no adapter's name like mlx5_0"));
  }
}

std::string why_not(const std::map<std::string, std::string>& settings) {
  const auto device = open_test_device("cpu");
  return find_benchmark("rdma")->unsupported(rdma_cell(settings), *device).value_or("");
}

TEST(RdmaCells, ContradictionsAreRefused) {
  setenv("ASSAY_VERBS_LIBRARY", "/nowhere", 1);
  EXPECT_EQ(why_not({}), "");
  EXPECT_EQ(why_not({{"metric", "latency"}, {"direction", "both"}}),
            "a ping-pong goes both ways: use direction=one");
  EXPECT_EQ(why_not({{"metric", "latency"}, {"qps", "4"}}),
            "latency is measured on one queue pair: use qps=1");
  EXPECT_EQ(why_not({{"batch", "32"}}),
            "batch=32 exceeds the outstanding messages allowed by depth=16");
  EXPECT_EQ(why_not({{"memory", "device"}}), "TCP moves host memory only: use memory=host");
  EXPECT_EQ(why_not({{"transport", "verbs"}, {"nic", "nearest"}, {"memory", "device"}}),
            "cpu has no memory of its own: use memory=host");
  EXPECT_EQ(why_not({{"transport", "verbs"}}),
            "nic=routed is for TCP: use nic=nearest, nic=every or an adapter's name");
  EXPECT_EQ(why_not({{"nic", "mlx5_0"}}), "nic=mlx5_0 is for RDMA adapters: use transport=verbs");
  EXPECT_EQ(why_not({{"gid", "3"}}), "gid=3 is for RDMA adapters: use transport=verbs");
  EXPECT_THAT(why_not({{"transport", "verbs"}, {"nic", "nearest"}}),
              HasSubstr("transport=tcp needs none"));
}

TEST(RdmaCells, CompletionsFollowPerftest) {
  const auto every = [](const std::map<std::string, std::string>& settings) {
    return messages_per_completion(*rdma_settings(rdma_cell(settings)));
  };
  EXPECT_EQ(every({{"size", "8192"}, {"depth", "128"}}), 100);
  EXPECT_EQ(every({{"size", "8193"}, {"depth", "128"}}), 1);
  EXPECT_EQ(every({{"size", "2"}, {"depth", "16"}}), 16);
  EXPECT_EQ(every({{"size", "65536"}, {"batch", "4"}}), 4);
}

TEST(RdmaCells, SmallMessagesGoRoundAPageAndLargeOnesStay) {
  const RdmaLayout small(2), large(5000);
  EXPECT_EQ(small.slots, 64u);
  EXPECT_EQ(small.source(0, 65), 64u);
  EXPECT_EQ(small.destination(1, 0), 3 * 4096u);
  EXPECT_EQ(large.slots, 1u);
  EXPECT_EQ(large.source(0, 7), 0u);
  EXPECT_EQ(large.region, 8192u);
  EXPECT_EQ(large.window_bytes(2), 4 * 8192u);
}

TEST(NicChoice, TheNearestOnPcieComesFirst) {
  MemoryMachine machine;
  const auto add = [&](const std::string& name, const std::string& place, const char* node,
                       const char* rate) {
    const std::string pci = place.substr(place.rfind('/') + 1);
    machine.link("sys/class/infiniband/" + name + "/device", "sys/devices/" + place);
    machine.link("sys/bus/pci/devices/" + pci, "sys/devices/" + place);
    machine.write("sys/devices/" + place + "/numa_node", node);
    const std::string port = "sys/class/infiniband/" + name + "/ports/1/";
    machine.write(port + "rate", rate).write(port + "state", "4: ACTIVE");
  };
  add("far", "pci0000:80/0000:80:01.0/0000:81:00.0", "1", "800 Gb/sec");
  add("node", "pci0000:10/0000:10:01.0/0000:11:00.0", "0", "200 Gb/sec");
  add("fast", "pci0000:20/0000:20:01.0/0000:21:00.0", "0", "400 Gb/sec");
  add("near", "pci0000:30/0000:30:01.0/0000:31:00.0/0000:32:00.0", "0", "100 Gb/sec");
  machine.link("sys/bus/pci/devices/0000:33:00.0",
               "sys/devices/pci0000:30/0000:30:01.0/0000:31:00.0/0000:33:00.0");
  machine.write("sys/devices/pci0000:30/0000:30:01.0/0000:31:00.0/0000:33:00.0/numa_node", "0");
  const std::vector<std::pair<std::string, int>> ports = {
      {"far", 1}, {"node", 1}, {"fast", 1}, {"near", 1}};
  const auto names = [&](std::string_view pci) {
    std::vector<std::string> order;
    for (const NicNearness& one : by_nearness(machine, pci, ports)) {
      order.push_back(ports[one.index].first);
    }
    return order;
  };
  EXPECT_THAT(names("0000:33:00.0"), ElementsAre("near", "fast", "node", "far"));
  EXPECT_THAT(names(""), ElementsAre("far", "fast", "node", "near"));
  const auto order = by_nearness(machine, "0000:33:00.0", ports);
  EXPECT_EQ(describe(order[0]), "behind the same PCIe switch");
  EXPECT_EQ(describe(order[1]), "on the same NUMA node");
  EXPECT_EQ(describe(order[3]), "elsewhere in the machine");
}

}  // namespace
}  // namespace assay
