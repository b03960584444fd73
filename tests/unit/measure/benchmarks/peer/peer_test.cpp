#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "compute/device/peaks.h"
#include "measure/benchmarks/copy/size_curve.h"
#include "measure/benchmarks/peer/core_pair_case.h"
#include "measure/benchmarks/peer/peer_case.h"
#include "measure/benchmarks/peer/peer_routes.h"
#include "measure/sampling/derive_value.h"
#include "measure/suites/cells_of_target.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<int> numbers(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Cell peer_cell(const std::string& pattern, const std::string& from, const std::string& to,
               const std::string& engine = "copy") {
  return Cell("peer", {{"pattern", pattern},
                       {"engine", engine},
                       {"by", "destination"},
                       {"from", from},
                       {"to", to},
                       {"size", "1MiB"}});
}

std::vector<std::string> ends_of(const std::vector<Cell>& cells) {
  std::vector<std::string> ends;
  for (const Cell& cell : cells) {
    ends.push_back(std::string(cell.text("from")) + ">" + std::string(cell.text("to")));
  }
  return ends;
}

TEST(PeerRoutes, EveryPatternHasItsCopies) {
  const auto four = numbers(4);
  EXPECT_THAT(routes_of("pair", 2, 1, four), ElementsAre(Route{2, 1}));
  EXPECT_THAT(routes_of("both", 0, 3, four), ElementsAre(Route{0, 3}, Route{3, 0}));
  EXPECT_THAT(routes_of("one_to_all", 1, 0, four),
              ElementsAre(Route{1, 0}, Route{1, 2}, Route{1, 3}));
  EXPECT_THAT(routes_of("all_to_one", 0, 1, four),
              ElementsAre(Route{0, 1}, Route{2, 1}, Route{3, 1}));
  EXPECT_THAT(routes_of("all_to_all", 0, 0, four), SizeIs(12));
}

TEST(PeerRoutes, AllStandsForEveryPairOnce) {
  const auto three = numbers(3);
  EXPECT_THAT(ends_of(expand_ends(peer_cell("pair", "all", "all"), three)),
              ElementsAre("0>1", "0>2", "1>0", "1>2", "2>0", "2>1"));
  EXPECT_THAT(ends_of(expand_ends(peer_cell("pair", "all", "1"), three)),
              ElementsAre("0>1", "2>1"));
  EXPECT_THAT(ends_of(expand_ends(peer_cell("both", "all", "all"), three)),
              ElementsAre("0>1", "0>2", "1>2"));
  EXPECT_THAT(ends_of(expand_ends(peer_cell("both", "2", "all"), three)),
              ElementsAre("0>2", "1>2"));
}

TEST(PeerRoutes, AnEndThatAPatternDoesNotHaveIsAll) {
  const auto three = numbers(3);
  EXPECT_THAT(ends_of(expand_ends(peer_cell("one_to_all", "all", "2"), three)),
              ElementsAre("0>all", "1>all", "2>all"));
  EXPECT_THAT(ends_of(expand_ends(peer_cell("all_to_one", "0", "2"), three)), ElementsAre("all>2"));
  EXPECT_THAT(ends_of(expand_ends(peer_cell("all_to_all", "1", "2"), three)),
              ElementsAre("all>all"));
}

TEST(PeerRoutes, APairAskedForByNameIsKeptToSayWhyNot) {
  EXPECT_THAT(ends_of(expand_ends(peer_cell("pair", "1", "1"), numbers(3))), ElementsAre("1>1"));
  EXPECT_THAT(ends_of(expand_ends(peer_cell("pair", "9", "1"), numbers(3))), ElementsAre("9>1"));
}

Gpu linked(const std::string& vendor, const std::string& pci,
           const std::vector<std::pair<std::string, int>>& links) {
  Gpu gpu;
  gpu.vendor = vendor;
  gpu.pci = pci;
  for (const auto& [peer, count] : links) {
    for (int i = 0; i < count; ++i) gpu.links.push_back({"link", peer, true, std::nullopt});
  }
  return gpu;
}

TEST(PeerLinks, OverASwitchTheBusiestDeviceSetsTheLimit) {
  std::vector<Gpu> gpus;
  for (const char* pci : {"a", "b", "c"}) gpus.push_back(linked("nvidia", pci, {{"switch", 18}}));
  const auto at_once = [&](const std::vector<PciRoute>& routes) {
    return links_at_once(gpus, routes);
  };
  EXPECT_EQ(at_once({{"a", "b"}}), 1);
  EXPECT_EQ(at_once({{"a", "b"}, {"b", "a"}}), 2);
  EXPECT_EQ(at_once({{"a", "b"}, {"a", "c"}}), 1);
  EXPECT_EQ(at_once({{"a", "c"}, {"b", "c"}}), 1);
  EXPECT_EQ(at_once({{"a", "b"}, {"a", "c"}, {"b", "a"}, {"b", "c"}, {"c", "a"}, {"c", "b"}}), 3);
}

TEST(PeerLinks, OnAMeshEveryPairHasItsOwn) {
  const std::vector<Gpu> gpus = {linked("amd", "a", {{"b", 1}, {"c", 1}}),
                                 linked("amd", "b", {{"a", 1}, {"c", 1}}),
                                 linked("amd", "c", {{"a", 1}, {"b", 1}})};
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"a", "b"}}), 1);
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"a", "b"}, {"a", "c"}}), 2);
}

TEST(PeerLinks, NvlinksWithoutASwitchAreSharedOut) {
  const std::vector<Gpu> gpus = {linked("nvidia", "a", {{"b", 6}, {"c", 6}, {"d", 6}}),
                                 linked("nvidia", "b", {{"a", 6}, {"c", 6}, {"d", 6}})};
  EXPECT_DOUBLE_EQ(links_at_once(gpus, std::vector<PciRoute>{{"a", "b"}}), 1.0 / 3);
}

TEST(PeerLinks, WhatIsNotLinkedHasNoLimit) {
  std::vector<Gpu> gpus = {linked("nvidia", "a", {}), linked("nvidia", "b", {{"switch", 18}})};
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"a", "b"}}), 0) << "PCIe";
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"b", "b"}}), 0) << "slices of one GPU";
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"b", "x"}}), 0) << "not seen";
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"", ""}}), 0);
  gpus = {linked("amd", "a", {{"b", 1}}), linked("amd", "b", {{"a", 1}})};
  gpus[0].links[0].up = false;
  EXPECT_EQ(links_at_once(gpus, std::vector<PciRoute>{{"a", "b"}}), 0) << "down";
}

TEST(PeerLinks, TheRoofIsOneDirectionOfEveryLinkUsed) {
  DeviceFacts facts;
  facts.backend = "cuda";
  facts.name = "NVIDIA H200";
  Summary seconds;
  seconds.median = 1;
  seconds.interval95 = {1, 1};
  const Work work{.bytes = 720e9, .links = 2};
  const Value value = value_of(seconds, work, Quantity::bandwidth, Limit::peer_link, facts);
  ASSERT_TRUE(value.roof);
  EXPECT_DOUBLE_EQ(value.roof->rate, 900e9);
  EXPECT_DOUBLE_EQ(value.share.value(), 0.8);
  EXPECT_EQ(value.roof->source, "datasheet H200 SXM, NVLink 4 x 2");
  facts.name = "NVIDIA H200 NVL";
  EXPECT_FALSE(peak_peer_link_bandwidth(facts));
  facts.name = "AMD Instinct MI300X";
  EXPECT_DOUBLE_EQ(peak_peer_link_bandwidth(facts)->rate, 64e9);
  facts.name = "a card nobody knows";
  EXPECT_FALSE(peak_peer_link_bandwidth(facts));
}

TEST(PeerConcurrency, SideBySideOrOneAfterTheOther) {
  EXPECT_DOUBLE_EQ(concurrency_of({2, 2, 2}, 2), 1);
  // Started together and executed one after the other: (k+1)/2k.
  EXPECT_DOUBLE_EQ(concurrency_of({1, 2, 3}, 3), 2.0 / 3);
  // Each starts when the previous one ends: only the common window shows it.
  EXPECT_DOUBLE_EQ(concurrency_of({1, 1, 1}, 3), 1.0 / 3);
  EXPECT_FALSE(is_serialised(0.97, 7));
  EXPECT_TRUE(is_serialised(4.0 / 7, 7));
  EXPECT_TRUE(is_serialised(0.75, 2));
  EXPECT_FALSE(is_serialised(0.5, 1));
}

TEST(PeerCells, ExpandOnTheDevicesThereAre) {
  const auto device = open_fake_device("devices=3");
  const auto expand = [&](const Cell& cell) { return expand_on({cell}, *device, solo_team()); };
  EXPECT_THAT(expand(peer_cell("pair", "all", "all")), SizeIs(6));
  EXPECT_THAT(expand(peer_cell("all_to_all", "all", "all")), SizeIs(1));
  EXPECT_THAT(expand(peer_cell("pair", "all", "all", "cacheline")), IsEmpty());
}

TEST(PeerCells, WhatCannotBeMeasuredSaysWhy) {
  const auto reason = [](const Cell& cell, const std::string& script) {
    const auto device = open_fake_device(script);
    return find_benchmark("peer")->unsupported(cell, *device).value_or("");
  };
  EXPECT_THAT(reason(peer_cell("pair", "all", "all"), ""), HasSubstr("needs two devices"));
  EXPECT_THAT(reason(peer_cell("pair", "0", "5"), "devices=4"),
              HasSubstr("to=5: there are 4 to choose from, numbered from 0"));
  EXPECT_THAT(reason(peer_cell("pair", "1", "1"), "devices=4"), HasSubstr("the same"));
  EXPECT_THAT(reason(peer_cell("all_to_all", "all", "all"), "devices=4,memory=4194304"),
              HasSubstr("6 buffers of 1MiB do not fit"));
  EXPECT_EQ(reason(peer_cell("pair", "0", "1"), "devices=4,memory=4194304"), "");
}

std::vector<Conclusion> conclusions_of(const std::vector<CellValue>& values) {
  return find_benchmark("peer")->conclusions(values);
}

TEST(PeerConclusions, SaturationLatencyAndOddLinks) {
  std::vector<CellValue> values;
  for (const auto& [size, rate] : std::vector<std::pair<std::string, double>>{
           {"4KiB", 1e9}, {"1MiB", 20e9}, {"64MiB", 48e9}, {"1GiB", 48e9}}) {
    values.push_back({with_value(peer_cell("pair", "0", "1"), "size", size), rate});
  }
  const auto curve = conclusions_of(values);
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_THAT(curve[0].name, HasSubstr("half_plateau_bytes pattern=pair engine=copy"));
  EXPECT_GT(curve[0].value, 1 << 20);
  EXPECT_LT(curve[0].value, 64 << 20);
  EXPECT_THAT(curve[2].name, HasSubstr("small_message_seconds"));
  EXPECT_NEAR(curve[2].value, 4.096e-6, 1e-12);

  values.clear();
  for (const Cell& cell : expand_ends(peer_cell("pair", "all", "all"), numbers(8))) {
    const bool slow = cell.text("from") == "2" && cell.text("to") == "5";
    values.push_back({cell, slow ? 24e9 : 48e9});
  }
  const auto odd = conclusions_of(values);
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].name,
            "odd_link peer pattern=pair engine=copy by=destination size=1MiB from=2 to=5");
  EXPECT_DOUBLE_EQ(odd[0].value, 0.5);
  EXPECT_EQ(odd[0].text,
            "peer pattern=pair engine=copy by=destination size=1MiB: the link from 2 to 5 runs at "
            "50% of the "
            "median of 48.00 GB/s");
}

TEST(PeerCores, OneCoreStandsForEachDomain) {
  const TemporaryFolder folder;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 32; ++cpu) {
    cpus.push_back(cpu);
    const std::string place = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    const int first = cpu / 8 * 8;
    folder.write(place + "/cache/index3/shared_cpu_list",
                 std::to_string(first) + "-" + std::to_string(first + 7) + "\n");
    folder.write(place + "/node" + std::to_string(cpu / 16) + "/cpulist", "");
  }
  const FolderMachine machine(folder.path());
  EXPECT_THAT(representative_cores(machine, cpus), ElementsAre(0, 1, 8, 16, 24));
  EXPECT_THAT(representative_cores(machine, {4, 9, 30}), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace assay
