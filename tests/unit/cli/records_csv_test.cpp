#include "cli/records_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_record.h"

namespace assay::cli {
namespace {

using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find("\r\n", begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return lines;
}

/// Returns what follows the columns that all tables begin with: those after "status".
std::string after_status(const std::string& line, std::string_view status) {
  const std::size_t at = line.find("," + std::string(status) + ",");
  return at == line.npos ? line : line.substr(at + status.size() + 2);
}

TEST(RecordsCsv, AxesAndMetricsAreColumnsInSiUnits) {
  std::vector<Record> records = {passed_record("1MiB"), passed_record("1GiB", 2e-3)};
  records[1].cell = Cell("copy", {{"size", "1GiB"}, {"path", "a,b"}});
  records[1].metrics = {{.name = "latency", .value = 0.25, .unit = "s"},
                        {.name = "ttft", .value = 9, .unit = "s", .is_void = true}};
  const auto lines = lines_of(records_csv(records));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], StartsWith("run,time,environment,benchmark,device,emulated,status,"));
  EXPECT_EQ(after_status(lines[0], "status"),
            "op,size [bytes],path,samples,bandwidth [bytes/s],low95 bandwidth [bytes/s],high95 "
            "bandwidth [bytes/s],latency [s],low95 latency [s],high95 latency [s]");
  EXPECT_EQ(after_status(lines[1], "passed"),
            "triad,1048576,,30,3000000000000,2970000000000,3030000000000,,,");
  EXPECT_EQ(after_status(lines[2], "passed"),
            ",1073741824,\"a,b\",30,1500000000000,1485000000000,1515000000000,0.25,,");
}

TEST(RecordsCsv, WhatHasNoValueIsEmptyAndFormulasAreText) {
  Record record = passed_record("1MiB");
  record.status = RecordStatus::failed;
  record.value = {};
  record.seconds = {};
  record.cell = Cell("memory", {{"op", "=1+1"}, {"size", "auto"}});
  const auto lines = lines_of(records_csv(std::vector{record}));
  EXPECT_EQ(after_status(lines[0], "status"), "op,size,samples");
  EXPECT_EQ(after_status(lines[1], "failed"), "'=1+1,auto,");
  EXPECT_EQ(lines_of(records_csv({})).size(), 1U);
}

TEST(RecordsCsv, ARowForEachSample) {
  Record record = passed_record("1MiB");
  record.samples->samples = {{0.5, {}, false}, {0.25, {}, true}};
  const auto lines = lines_of(samples_csv(std::vector{record}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(after_status(lines[0], "status"), "op,size [bytes],sample,seconds [s],throttled");
  EXPECT_EQ(after_status(lines[1], "passed"), "triad,1048576,0,0.5,false");
  EXPECT_EQ(after_status(lines[2], "passed"), "triad,1048576,1,0.25,true");
}

}  // namespace
}  // namespace assay::cli
