#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/json.h"
#include "core/read_file.h"
#include "e2e/process.h"
#include "results/store/store.h"
#include "support/test_record.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// Eight runs of one cell; the folder's name becomes the environment's.
std::string write_store(const fs::path& folder, double seconds) {
  auto store = Store::open(folder);
  for (int i = 0; i < 8; ++i) {
    Record record = passed_record("1GiB", seconds * (1 + 0.001 * (i % 3)));
    record.run = "20260131T12000" + std::to_string(i) + "Z-0001";
    EXPECT_TRUE(store->append(record).ok());
  }
  return folder.string();
}

TEST(Report, WritesAFileByItsEnding) {
  const TemporaryFolder folder;
  const std::string a = write_store(folder.path() / "host", 1e-3);
  const std::string b = write_store(folder.path() / "vm", 1.1e-3);
  const std::string file = folder.path() / "out.html";
  const Outcome html = assay_run({"report", a, b, "-o", file});
  EXPECT_EQ(html.status, 0) << html.err;
  EXPECT_THAT(html.err, HasSubstr("written"));
  const std::string page = Process::read(file);
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("<h1 id=\"question\">Does vm cost anything against host?</h1>"));
  EXPECT_THAT(page, HasSubstr("vm takes 10% more time than host (95% interval "));
  // No temporary file is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 3);

  const Outcome markdown = assay_run({"report", a});
  EXPECT_EQ(markdown.status, 0);
  EXPECT_THAT(markdown.out, StartsWith("# What does host reach?"));
  const Outcome csv = assay_run({"report", a, b, "--format", "csv", "--title", "T"});
  EXPECT_THAT(csv.out, StartsWith("verdict,cell,"));
}

/// What is drawn beside is in the tables of charts and in no verdict; the figures that come with
/// assay are such results.
TEST(Report, DrawsResultsOfElsewhereBeside) {
  const TemporaryFolder folder;
  const std::string a = write_store(folder.path() / "host", 1e-3);
  const std::string b = write_store(folder.path() / "elsewhere", 3e-3);
  const Outcome page = assay_run({"report", a, "--beside", b});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(page.out, AllOf(HasSubstr("elsewhere"), Not(HasSubstr("slower"))));
  const Outcome known =
      assay_run({"report", a, "--beside", "mi350x-training", "--beside", "silybench-h100"});
  EXPECT_EQ(known.status, 0) << known.err;
  EXPECT_THAT(known.out, AllOf(HasSubstr("silybench-h100, NVIDIA H100 80GB (reported by silybench, "
                                         "2026-09-24)"),
                               HasSubstr("13B"), HasSubstr("qwen3-8b"), Not(HasSubstr("SLOWER"))));
  EXPECT_THAT(known.out, HasSubstr("- **Machine**: scripted device \n"));
  EXPECT_THAT(known.out, HasSubstr("- **What was measured**: 1 cell: memory; 8 runs;"));
  EXPECT_EQ(known.err, "");
  const Outcome unknown = assay_run({"report", a, "--beside", "mi350x-trainin"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"mi350x-training\"?"));
  EXPECT_EQ(assay_run({"report", a, "--beside", "nowhere"}).status, 2);
}

TEST(Report, WithoutArgumentsDescribesTheStoreHere) {
  const Outcome none = assay_run({"report"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err,
            "assay: there is no folder assay-results here, where `assay run` stores its results; "
            "measure something, or name what to report\n");
  Process process(
      {"-c", "\"$0\" run memory op=copy size=1MiB dtype=f32 --device fake && \"$0\" report",
       ASSAY_BINARY},
      {}, "", "/bin/sh");
  const Outcome both = process.wait();
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("`assay report assay-results -o report.html` draws it\n"));
  EXPECT_THAT(both.out, HasSubstr("# What does this machine reach?\n"));
}

TEST(Report, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string a = write_store(folder.path() / "host", 1e-3);
  const Outcome format = assay_run({"report", a, "-o", "x.pdf"});
  EXPECT_EQ(format.status, 2);
  EXPECT_THAT(format.err, HasSubstr("no format \"pdf\"; allowed: html, md, csv"));
  const Outcome missing = assay_run({"report", "nowhere"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere"));
  const Outcome unwritable = assay_run({"report", a, "-o", "/nowhere/x.html"});
  EXPECT_EQ(unwritable.status, 5);
  EXPECT_THAT(unwritable.err, HasSubstr("/nowhere/x.html cannot be written: No such file"));
  const Outcome margin = assay_run({"report", a, a, "--margin", "2"});
  EXPECT_EQ(margin.status, 2);
  EXPECT_THAT(margin.err, HasSubstr("0.1% to 50%"));
}

/// The kinds and titles of the charts that the page's script draws.
std::vector<std::string> charts_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  const auto data = Json::parse(page.substr(from, page.find("</script>", from) - from));
  std::vector<std::string> charts;
  for (const auto& chart : data["charts"]) {
    charts.push_back(chart["kind"].get<std::string>() + " " + chart["title"].get<std::string>());
  }
  return charts;
}

/// Each file of real results has a report, with the charts that people draw from such files by
/// hand.
TEST(Report, DrawsRealResultsOfOtherPrograms) {
  const fs::path data = fs::path(ASSAY_SOURCE_DIR) / "../shared/data";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is not here";
  std::map<std::string, std::vector<std::string>> charts;
  for (const char* kind : {"logs", "vllm"}) {
    for (const auto& entry : fs::directory_iterator(data / kind)) {
      const Outcome outcome = assay_run({"report", entry.path(), "--format", "html"});
      EXPECT_EQ(outcome.status, 0) << entry.path() << outcome.err;
      if (outcome.status == 0) charts[entry.path().filename()] = charts_of(outcome.out);
    }
  }
  using testing::Contains;
  EXPECT_THAT(charts["rccl-tests_mi300x_1node_8gpu_all_reduce.log"],
              Contains(StartsWith("curve collective busbw over size")));
  EXPECT_THAT(charts["ib_write_bw_rocm_d2d_bidir_all_sizes.log"],
              Contains(StartsWith("curve rdma bandwidth over size")));
  EXPECT_THAT(charts["nvbandwidth_v0.4_h100_8gpu_d2d_read_ce_matrix.log"],
              Contains(StartsWith("heat peer bandwidth by link")));
  EXPECT_THAT(charts["babelstream_v3.3_cuda_titanxp.log"],
              Contains(StartsWith("bars memory bandwidth")));
  // Loads of other lengths belong to no common curve, so the second point is a copy.
  const TemporaryFolder loads;
  std::string load =
      read_file((data / "vllm/h200x8_1p3d_conc128_in128_out2048_20250914_020816.json").string())
          .value();
  loads.write("128.json", load);
  const std::string before = "\"max_concurrency\": 128", after = "\"max_concurrency\": 64";
  ASSERT_NE(load.find(before), load.npos);
  loads.write("64.json", load.replace(load.find(before), before.size(), after));
  const Outcome serving = assay_run({"report", loads.path(), "--format", "html"});
  ASSERT_EQ(serving.status, 0) << serving.err;
  EXPECT_THAT(charts_of(serving.out),
              Contains(StartsWith("latency serving: mean TTFT over output throughput")));
}

}  // namespace
}  // namespace assay
