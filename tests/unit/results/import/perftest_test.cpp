// What tells the rows of perftest's tables and JSON apart.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view perftest_titles =
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";

std::string perftest_json(std::string_view test, std::string_view more = "") {
  return fmt::format(
      "{{\n\"test_info\": {{\n\"test\": \"{}\",\n\"Number_of_qps\": 2\n}},\n\"results\": {{\n"
      "\"MsgSize\": 65536,\n{}\"n_iterations\": 5000,\n\"BW_peak\": 195.20,\n"
      "\"BW_average\": 195.10,\n\"MsgRate\": 0.372124\n}}\n}}\n",
      test, more);
}

TEST(ImportPerftest, TheSidesOfAConnectionAreNotTheirSum) {
  const Imported result =
      imported("                    Send Bidirectional BW Test\n Number of qps   : 1\n" +
               std::string(perftest_titles) +
               " 8388608    1000             386.60             386.50 		     0.005759\n"
               "-----------------\n\n Local results: \n-----------------\n"
               " 8388608    1000             193.25             193.25 		     0.002879\n"
               "-----------------\n\n Remote results: \n-----------------\n"
               " 8388608    1000             193.25             193.25 		     0.002879\n");
  EXPECT_THAT(result.warnings, IsEmpty());
  const std::string cell = "rdma op=send direction=both ";
  ASSERT_THAT(cells_of(result),
              ElementsAre(cell + "qps=1 size=8MiB", cell + "side=local qps=1 size=8MiB",
                          cell + "side=remote qps=1 size=8MiB"));
  EXPECT_EQ(metric_of(result.records[0], "bandwidth").value, 386.5 * 1.25e8);
}

TEST(ImportPerftest, TheSidesAreAlsoReadFromJson) {
  std::string text = perftest_json("Send_Bidirectional_BW_Test");
  text.resize(text.rfind('}'));
  text +=
      ",\"results_local\": {\"MsgSize\": 65536, \"BW_average\": 97.5, \"MsgRate\": 0.186},\n"
      "\"results_remote\": {\"MsgSize\": 65536, \"BW_average\": 97.6, \"MsgRate\": 0.186}}\n";
  const Imported result = imported(text);
  EXPECT_EQ(
      value_of(result, "rdma op=send direction=both side=remote qps=2 size=64KiB", "bandwidth"),
      97.6 * 1.25e8);
  EXPECT_EQ(result.records.size(), 3u);
}

TEST(ImportPerftest, ColumnsAreFoundByTheirTitles) {
  const Imported levels = imported(
      "                    Send BW Test\n Number of qps   : 2\n"
      " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 1024       3           5000           95.20            95.10                  11.609000\n"
      " 1024       5           5000           45.20            45.10                  5.505371\n");
  const std::string three = "rdma op=send direction=one qps=2 sl=3 size=1KiB";
  EXPECT_EQ(value_of(levels, three, "bandwidth"), 95.1 * 1.25e8);
  EXPECT_EQ(value_of(levels, three, "peak_bandwidth"), 95.2 * 1.25e8);
  EXPECT_EQ(value_of(levels, three, "message_rate"), 11.609e6);
  EXPECT_EQ(note_of(levels.records[0], "iterations"), "5000");
  EXPECT_EQ(value_of(levels, "rdma op=send direction=one qps=2 sl=5 size=1KiB", "bandwidth"),
            45.1 * 1.25e8);
  const Imported ports = imported(
      "                    RDMA_Write BW Test\n Number of qps   : 2\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   "
      "BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
      " 65536      20000            95.50            95.25    0.1816    47.5   0.0908   48   "
      "0.0909\n");
  EXPECT_EQ(value_of(ports, "rdma op=write direction=one qps=2 size=64KiB", "bandwidth"),
            95.25 * 1.25e8);
}

TEST(ImportPerftest, JsonNamesTheTestWithUnderscores) {
  for (const auto& [test, axes] :
       {std::pair{"RDMA_Read_BW_Test", "op=read direction=one"},
        {"RDMA_Write_BW_Test", "op=write direction=one"},
        {"RDMA_Write_With_Immediate_BW_Test", "op=write_imm direction=one"},
        {"Send_Bidirectional_BW_Test", "op=send direction=both"},
        {"Atomic_FETCH_AND_ADD_BW_Test", "op=atomic direction=one"},
        {"RDMA_Read BW Test", "op=read direction=one"},
        {"Bounce_BW_Test", "op=unknown direction=one"},
        {"", "op=unknown direction=unknown"}}) {
    EXPECT_THAT(cells_of(imported(perftest_json(test))),
                ElementsAre(fmt::format("rdma {} qps=2 size=64KiB", axes)));
  }
}

TEST(ImportPerftest, JsonWithAServiceLevelWithoutQuotes) {
  EXPECT_THAT(cells_of(imported(perftest_json("Send_BW_Test", "sl: 3,\n"))),
              ElementsAre("rdma op=send direction=one qps=2 sl=3 size=64KiB"));
}

TEST(ImportPerftest, WhatNothingTellsIsUnknown) {
  const Imported result =
      imported(std::string(perftest_titles) + " 65536 5000 97.50 97.25 0.185\n", "table.log");
  EXPECT_THAT(cells_of(result),
              ElementsAre("rdma op=unknown direction=unknown qps=unknown size=64KiB"));
  std::string text = perftest_json("Send_BW_Test");
  text.replace(text.find("0.372124"), 8, "0.000000");
  const auto no_rate = import_text({text, "x.json"}, "");
  ASSERT_FALSE(no_rate.ok());
  EXPECT_THAT(no_rate.error().message, HasSubstr("neither BW_unit nor MsgRate tells the unit"));
}

}  // namespace
}  // namespace assay
