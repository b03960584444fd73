#include "machine/system/kfd.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

TEST(Kfd, ArchitectureFromTheTargetVersion) {
  EXPECT_EQ(arch_of_gfx_target(90402), "gfx942");
  EXPECT_EQ(arch_of_gfx_target(90500), "gfx950");
  EXPECT_EQ(arch_of_gfx_target(90010), "gfx90a");
  EXPECT_EQ(arch_of_gfx_target(110001), "gfx1101");
  EXPECT_EQ(arch_of_gfx_target(0), "");
  EXPECT_EQ(arch_of_gfx_target(-7), "");
}

TEST(Kfd, NodesLinksAndAddresses) {
  const TemporaryFolder folder;
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  folder.write(nodes + "0/properties", "cpu_cores_count 96\nsimd_count 0\n");
  folder.write(nodes + "2/properties",
               "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nnum_xcc 8\n"
               "location_id 50432\ndomain 1\ndrm_render_minor 129\nhive_id 12345678901234567890\n");
  folder.write(nodes + "2/io_links/0/properties", "type 2\nnode_to 0\nweight 20\n");
  folder.write(nodes + "2/io_links/1/properties",
               "type 11\nnode_to 3\nweight 15\nmax_bandwidth 50000\n");
  folder.write(nodes + "10/properties", "");  // a GPU that another container owns
  const KfdTopology topology = read_kfd_topology(FolderMachine(folder.path()));
  const std::vector<KfdNode>& found = topology.nodes;
  EXPECT_EQ(topology.withheld, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, 2);
  EXPECT_EQ(found[0].arch, "gfx942");
  EXPECT_EQ(found[0].pci, "0001:c5:00.0");
  EXPECT_EQ(found[0].compute_units, 304);
  EXPECT_EQ(found[0].dies, 8);
  EXPECT_EQ(found[0].render_minor, 129);
  ASSERT_EQ(found[0].links.size(), 2u);
  EXPECT_EQ(found[0].links[1].type, 11);
  EXPECT_EQ(found[0].links[1].max_bandwidth_mbs, 50000);
}

TEST(Kfd, RubbishIsNoNode) {
  const TemporaryFolder folder;
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  folder.write(nodes + "1/properties",
               std::string("simd_count 99999999999999999999\n\x00\xff", 34));
  folder.write(nodes + "x/properties", "simd_count 8\n");
  EXPECT_TRUE(read_kfd_nodes(FolderMachine(folder.path())).empty());
}

}  // namespace
}  // namespace assay
