// Real results of real machines in ../shared/data, where they are: every row and every value, found
// once by the importer and once by a plain reading of the raw text.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string data_folder = ASSAY_SOURCE_DIR "/../shared/data/";

std::string contents(const std::string& name) {
  std::ifstream file(data_folder + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Imported read(const std::string& name) {
  auto result = import_file(data_folder + name, "");
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : Imported{};
}

class ImportData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(data_folder)) GTEST_SKIP() << data_folder << " is not there";
  }
};

/// Every line of the raw text that `pattern` matches, as its groups.
std::vector<std::vector<std::string>> rows_of(const std::string& text, const std::string& pattern) {
  std::vector<std::vector<std::string>> rows;
  const std::regex expression(pattern);
  std::istringstream lines(text);
  std::string line;
  for (std::smatch match; std::getline(lines, line);) {
    if (!std::regex_search(line, match, expression)) continue;
    rows.emplace_back(std::next(match.begin()), match.end());
  }
  return rows;
}

/// Texts and how often each comes, like the output of `sort | uniq -c`.
using Bag = std::map<std::string, int>;

struct NcclFile {
  const char* name;
  std::size_t rows;    ///< rows of the table
  std::size_t halves;  ///< complete halves of rows
  const char* last;    ///< cell of the last row's in-place half
  double busbw;        ///< of that half, GB/s
  const char* device;
  const char* tool;
};

class ImportNcclData : public ImportData, public testing::WithParamInterface<NcclFile> {};

TEST_P(ImportNcclData, EveryRowAndValue) {
  const NcclFile& file = GetParam();
  const Imported result = read(file.name);
  EXPECT_EQ(result.format, "nccl-tests");
  ASSERT_EQ(result.records.size(), file.halves);
  const auto rows = rows_of(
      contents(file.name),
      R"(^(?: *\d+:)? +(\d+) +(\d+) +(float) +(sum|none)(?: +-1)? +([\d.]+) +([\d.]+) +([\d.]+) +(0|N/A) +([\d.]+) +([\d.]+) +([\d.]+)(?: +(0|N/A))?\s*$)");
  EXPECT_EQ(rows.size(), file.rows);
  Bag raw, read_back;
  for (const auto& row : rows) {
    ++raw["out " + row[0] + " " + row[4] + " " + row[5] + " " + row[6] + " " + row[7]];
    if (!row[11].empty())
      ++raw["in " + row[0] + " " + row[8] + " " + row[9] + " " + row[10] + " " + row[11]];
  }
  for (const Record& record : result.records) {
    std::string text(record.cell.text("place"));
    text += " " + std::to_string(record.cell.integer("size"));
    for (const char* name : {"time", "algbw", "busbw"}) {
      const Metric& metric = metric_of(record, name);
      text += " " + metric.text;
      const double unit = std::string_view(name) == "time" ? 1e-6 : 1e9;
      EXPECT_DOUBLE_EQ(metric.value, std::stod(metric.text) * unit);
    }
    text += record.metrics.size() > 3 ? " " + metric_of(record, "wrong").text : " N/A";
    ++read_back[text];
    EXPECT_EQ(record.status, RecordStatus::passed);
    EXPECT_EQ(record.device.name, file.device);
    EXPECT_EQ(record.source->tool, file.tool);
  }
  EXPECT_EQ(raw, read_back);
  EXPECT_EQ(result.records.back().cell.id(), file.last);
  EXPECT_EQ(result.records.back().metrics.front().value, file.busbw * 1e9);
}

INSTANTIATE_TEST_SUITE_P(
    Import, ImportNcclData,
    testing::Values(
        NcclFile{"logs/nccl-tests_h100_1node_8gpu_all_reduce_side_work_header.log", 32, 64,
                 "collective op=all_reduce dtype=f32 redop=sum place=in ranks=8 size=16GiB", 479.99,
                 "NVIDIA H100 80GB HBM3", "nccl-tests"},
        NcclFile{"logs/nccl-tests_h200_2node_2gpu_all_gather.log", 24, 48,
                 "collective op=all_gather dtype=f32 redop=none place=in ranks=2 size=8GiB", 33.32,
                 "NVIDIA H200", "nccl-tests"},
        NcclFile{"logs/nccl-tests_old_a100_8gpu_all_reduce_error_column.log", 34, 68,
                 "collective op=all_reduce dtype=f32 redop=sum place=in ranks=8 size=8GiB", 235.03,
                 "A100-SXM4-40GB", "nccl-tests"},
        NcclFile{"logs/rccl-tests_mi250x_4node_all_gather_srun_label_prefix.log", 6, 11,
                 "collective op=all_gather dtype=f32 redop=none place=out ranks=32 size=2MiB", 0.03,
                 "", "rccl-tests"},
        NcclFile{"logs/rccl-tests_mi300x_1node_8gpu_all_reduce.log", 31, 62,
                 "collective op=all_reduce dtype=f32 redop=sum place=in ranks=8 size=8GiB", 315.91,
                 "AMD Instinct MI300X", "rccl-tests"},
        NcclFile{"logs/rccl-tests_mi300x_vf_2node_all_reduce_blank_device_name.log", 5, 10,
                 "collective op=all_reduce dtype=f32 redop=sum place=in ranks=16 size=16GiB",
                 358.24, "", "rccl-tests"},
        NcclFile{"logs/rccl-tests_mi355x_1node_alltoall_inplace_NA.log", 2, 4,
                 "collective op=all_to_all dtype=f32 redop=none place=in ranks=8 size=16GiB",
                 361.20, "AMD Instinct MI355X", "rccl-tests"},
        NcclFile{"logs/rccl-tests_v2.17.9_mi355x_1node_all_reduce_full.log", 29, 58,
                 "collective op=all_reduce dtype=f32 redop=sum place=in ranks=8 size=1GiB", 401.90,
                 "AMD Radeon Graphics", "rccl-tests"}),
    [](const auto& test) { return "File" + std::to_string(test.index); });

struct PerftestFile {
  const char* name;
  double factor;  ///< bytes/s of its unit
  const char* direction;
  std::size_t warnings;
};

class ImportPerftestData : public ImportData, public testing::WithParamInterface<PerftestFile> {};

TEST_P(ImportPerftestData, EveryRowAndValue) {
  const PerftestFile& file = GetParam();
  const Imported result = read(file.name);
  EXPECT_EQ(result.format, "perftest");
  EXPECT_EQ(result.warnings.size(), file.warnings);
  auto rows = rows_of(contents(file.name), R"(^ *(\d+) +(\d+) +([\d.]+) +([\d.]+)\s+([\d.]+)\s*$)");
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());  // both sides print the same rows
  ASSERT_EQ(rows.size(), 23u);
  ASSERT_EQ(result.records.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& record = result.records[i];
    EXPECT_EQ(record.cell.integer("size"), std::stoull(rows[i][0]));
    EXPECT_EQ(record.cell.text("direction"), file.direction);
    EXPECT_EQ(metric_of(record, "peak_bandwidth").text, rows[i][2]);
    EXPECT_EQ(metric_of(record, "bandwidth").text, rows[i][3]);
    EXPECT_DOUBLE_EQ(metric_of(record, "bandwidth").value, std::stod(rows[i][3]) * file.factor);
    EXPECT_DOUBLE_EQ(metric_of(record, "message_rate").value, std::stod(rows[i][4]) * 1e6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Import, ImportPerftestData,
    testing::Values(
        PerftestFile{"logs/ib_write_bw_h200_cuda_dmabuf_all_sizes.log", 1.25e8, "one", 0},
        PerftestFile{"logs/ib_write_bw_loopback_interleaved_server_client.log", 1048576, "one", 1},
        PerftestFile{"logs/ib_write_bw_rocm_d2d_bidir_all_sizes.log", 1.25e8, "both", 0}),
    [](const auto& test) { return "File" + std::to_string(test.index); });

TEST_F(ImportData, PerftestFacts) {
  const Imported result = read("logs/ib_write_bw_h200_cuda_dmabuf_all_sizes.log");
  EXPECT_EQ(result.records[0].device.name, "NVIDIA H200");
  EXPECT_EQ(value_of(result, "rdma op=write direction=one qps=1 size=8MiB", "bandwidth"),
            140.40 * 1.25e8);
  EXPECT_EQ(note_of(result.records[0], "device"), "mlx5_3");
  EXPECT_EQ(note_of(result.records[0], "memory"), "device memory through dmabuf");
}

TEST_F(ImportData, BabelStream) {
  const std::string name = "logs/babelstream_v3.3_cuda_titanxp.log";
  const Imported result = read(name);
  const auto rows = rows_of(contents(name), R"(^(\w+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) *$)");
  ASSERT_EQ(rows.size(), 5u);
  ASSERT_EQ(result.records.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(result.records[i].metrics.at(0).value, std::stod(rows[i][1]) * 1e6);
    EXPECT_EQ(result.records[i].metrics.at(1).text, rows[i][2]);
    EXPECT_EQ(result.records[i].metrics.at(2).text, rows[i][3]);
    EXPECT_EQ(result.records[i].metrics.at(3).text, rows[i][4]);
  }
  EXPECT_EQ(value_of(result, "memory op=triad dtype=f64 size=256MiB", "bandwidth"), 436491.299e6);
  EXPECT_EQ(result.records[0].device.name, "TITAN Xp");
  EXPECT_EQ(result.records[0].source->version, "3.3");
}

TEST_F(ImportData, RocmBandwidthTest) {
  const std::string name = "logs/rocm-bandwidth-test_v2.6.0_unidir_cpu0_gpu4.log";
  const Imported result = read(name);
  const auto rows =
      rows_of(contents(name), R"(^(\d+) ([KM])B +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)\s*$)");
  ASSERT_EQ(rows.size(), 20u);
  ASSERT_EQ(result.records.size(), 20u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& record = result.records[i];
    EXPECT_EQ(record.cell.integer("size"), std::stoull(rows[i][0])
                                               << (rows[i][1] == "K" ? 10 : 20));
    EXPECT_DOUBLE_EQ(metric_of(record, "time").value, std::stod(rows[i][2]) * 1e-6);
    EXPECT_DOUBLE_EQ(metric_of(record, "bandwidth").value, std::stod(rows[i][3]) * 1e9);
    EXPECT_DOUBLE_EQ(metric_of(record, "min_time").value, std::stod(rows[i][4]) * 1e-6);
    EXPECT_DOUBLE_EQ(metric_of(record, "peak_bandwidth").value, std::stod(rows[i][5]) * 1e9);
  }
  EXPECT_EQ(value_of(result, "peer direction=one src=cpu0 dst=gpu4 size=512MiB", "bandwidth"),
            28.675e9);
}

TEST_F(ImportData, Nvbandwidth) {
  const std::string name = "logs/nvbandwidth_v0.4_h100_8gpu_d2d_read_ce_matrix.log";
  const Imported result = read(name);
  ASSERT_EQ(result.records.size(), 57u);
  std::size_t next = 0;
  for (const auto& row : rows_of(contents(name), R"(^(\d)((?: +(?:N/A|\d+\.\d+)){8})\s*$)")) {
    std::istringstream values(row[1]);
    std::string value;
    for (int column = 0; values >> value; ++column) {
      if (value == "N/A") continue;
      const Record& record = result.records.at(next++);
      EXPECT_EQ(record.cell.id(), "peer op=device_to_device_memcpy_read_ce row=" + row[0] +
                                      " column=" + std::to_string(column));
      EXPECT_EQ(record.metrics.at(0).text, value);
      EXPECT_DOUBLE_EQ(record.metrics.at(0).value, std::stod(value) * 1e9);
    }
  }
  EXPECT_EQ(next, 56u);
  EXPECT_EQ(value_of(result, "peer op=device_to_device_memcpy_read_ce scope=sum", "bandwidth"),
            20785.58e9);
  EXPECT_EQ(note_of(result.records[0], "driver"), "570.133.20");
}

TEST_F(ImportData, TransferBench) {
  const std::string name = "logs/transferbench_v1.60_mi300x_8gpu_a2a_64M.log";
  const std::string text = contents(name);
  const Imported result = read(name);
  EXPECT_THAT(result.warnings, IsEmpty());
  std::map<std::string, std::size_t> scopes;
  Bag raw, read_back;
  for (const Record& record : result.records) {
    ++scopes[std::string(record.cell.text("scope"))];
    if (record.cell.text("scope") != "transfer") continue;
    ++read_back[metric_of(record, "bandwidth").text + " " + metric_of(record, "time").text + " " +
                std::string(record.cell.text("src")) + " " + std::string(record.cell.text("dst"))];
    EXPECT_EQ(record.cell.text("size"), "64MiB");
    EXPECT_EQ(record.cell.text("units"), "8");
  }
  for (
      const auto& row : rows_of(
          text,
          R"(Transfer \d+ +\| +([\d.]+ GB/s) \| +([\d.]+ ms) \| +67108864 bytes \| (F\d) -> G\d+:008 -> (F\d))")) {
    ++raw[row[0] + " " + row[1] + " " + row[2] + " " + row[3]];
  }
  EXPECT_EQ(raw.size(), 56u);
  EXPECT_EQ(raw, read_back);
  // 8 rows of 7 pairs, STotal and Actual; 8 columns' totals, their sum and the least Actual.
  EXPECT_EQ(scopes,
            (std::map<std::string, std::size_t>{
                {"transfer", 56}, {"executor", 8}, {"aggregate", 3}, {"average", 1}, {"a2a", 82}}));
  EXPECT_EQ(value_of(result, "peer scope=executor test=1 exe=GPU_05 size=448MiB", "sum_bandwidth"),
            326.659e9);
  EXPECT_EQ(value_of(result, "peer scope=aggregate test=1 size=3584MiB", "overhead"), 0.447e-3);
  EXPECT_EQ(value_of(result, "peer scope=a2a src=gpu6 dst=gpu2 size=64MiB", "bandwidth"), 45.483e9);
  EXPECT_EQ(value_of(result, "peer scope=a2a src=gpu7 dst=actual size=64MiB", "bandwidth"),
            315.664e9);
  EXPECT_EQ(value_of(result, "peer scope=a2a src=all dst=gpu3 size=64MiB", "bandwidth"), 326.901e9);
  EXPECT_EQ(value_of(result, "peer scope=aggregate timing=cpu size=64MiB", "bandwidth"),
            1937.924e9);
}

/// The number that the raw JSON states under that key.
std::string stated(const std::string& text, const std::string& key) {
  const std::string begin = "\"" + key + "\": ";
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t number = at + begin.size();
  return text.substr(number, text.find_first_not_of("0123456789.e+-", number) - number);
}

/// Every statistic of latency, every rate and every count as the file states it.
void expect_stated(const Record& record, const std::string& text) {
  for (const char* statistic : {"mean", "median", "std", "p99"}) {
    for (const char* metric : {"ttft", "tpot", "itl"}) {
      const std::string key = std::string(statistic) + "_" + metric;
      const Metric& found = metric_of(record, key);
      EXPECT_EQ(found.text, stated(text, key + "_ms"));
      EXPECT_DOUBLE_EQ(found.value, std::stod(found.text) * 1e-3);
      EXPECT_EQ(found.unit, "s");
    }
  }
  for (const char* key : {"request_throughput", "output_throughput", "total_token_throughput",
                          "duration", "completed", "total_input_tokens", "total_output_tokens"}) {
    EXPECT_EQ(metric_of(record, key).text, stated(text, key)) << key;
    EXPECT_EQ(metric_of(record, key).value, std::stod(stated(text, key))) << key;
  }
}

TEST_F(ImportData, Vllm16QueriesPerSecondHaveEmptyRepliesAndBothMeans) {
  const std::string name =
      "vllm/h100x8_nvidia-vllm-16.0qps-Llama-3.1-405B-FP8-20241109-150547.json";
  const Imported result = read(name);
  ASSERT_EQ(result.records.size(), 1u);
  const Record& record = record_of(result,
                                   "serving request_rate=16 max_concurrency=none num_prompts=1000 "
                                   "input_about=200 output_about=200");
  expect_stated(record, contents(name));
  EXPECT_EQ(record.time, "2024-11-09T15:05:47");
  EXPECT_EQ(record.status, RecordStatus::passed);
  EXPECT_EQ(metric_of(record, "empty_replies").value, 379);
  EXPECT_EQ(metric_of(record, "failed").value, 0);
  EXPECT_DOUBLE_EQ(metric_of(record, "mean_ttft").value, 1.4863937409630162);
  EXPECT_NEAR(metric_of(record, "mean_ttft_nonempty").value, 2.3935486972029247, 1e-12);
  EXPECT_NEAR(metric_of(record, "longest_stall").value, 0.41065703299955203, 1e-15);
  EXPECT_NEAR(metric_of(record, "median_longest_stall").value, 0.3046859854998729, 1e-15);
  EXPECT_EQ(
      note_of(record, "flag"),
      "379 of 1000 replies are empty and count as successes; mean TTFT 1.486 s as reported, 2.394 "
      "s without them");
  // Mean, standard deviation and 99th percentile of TTFT and ITL agree with the arrays.
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("379 of 1000 replies are empty")));
}

TEST_F(ImportData, VllmFailedIsNoResult) {
  const std::string name =
      "vllm/mi300x8_amd-meta-vllm-no-rpc-1000.0qps-Llama-3.1-405B-FP8-20241116-152727_FAILED.json";
  const Imported result = read(name);
  const Record& record =
      record_of(result, "serving request_rate=1000 max_concurrency=none num_prompts=1000");
  EXPECT_EQ(record.status, RecordStatus::failed);
  EXPECT_EQ(record.reason, "983 of 1000 requests failed; no reply has a token");
  expect_stated(record, contents(name));  // kept as evidence
  EXPECT_EQ(metric_of(record, "completed").value, 17);
  EXPECT_EQ(metric_of(record, "failed").value, 983);
}

TEST_F(ImportData, VllmOf2025WithoutArrays) {
  for (const auto& [name, cell] :
       {std::pair{"vllm/h200x8_1p3d_conc128_in128_out2048_20250914_020816.json",
                  "serving request_rate=inf max_concurrency=128 num_prompts=500 input_about=125 "
                  "output_about=630"},
        {"vllm/h200x8_2p2d_conc32_in2048_out128_20250922_063704.json",
         "serving request_rate=inf max_concurrency=32 num_prompts=500 input_about=2000 "
         "output_about=63"}}) {
    const Imported result = read(name);
    const Record& record = record_of(result, cell);
    expect_stated(record, contents(name));
    EXPECT_EQ(metric_of(record, "failed").value, 0);
    EXPECT_EQ(note_of(record, "endpoint_type"), "openai");
    EXPECT_EQ(record.status, RecordStatus::passed);
    EXPECT_THAT(result.warnings, IsEmpty());
  }
}

TEST_F(ImportData, VllmThroughputAndLatency) {
  const Imported throughput = read("vllm/mi300x8_throughput_req256_in128_out2048.json");
  const std::string cell = "vllm_throughput num_requests=256 tokens=557056";
  EXPECT_EQ(value_of(throughput, cell, "tokens_per_second"), 2450.880808907917);
  EXPECT_EQ(value_of(throughput, cell, "requests_per_second"), 1.1263239011525354);
  EXPECT_EQ(value_of(throughput, cell, "elapsed_time"), 227.28808270697482);
  const Imported latency = read("vllm/h100x8_latency_ip2048_op2048_np64.json");
  EXPECT_EQ(value_of(latency, "vllm_latency", "mean_latency"), 262.6812863750001);
  EXPECT_EQ(value_of(latency, "vllm_latency", "p10_latency"), 262.6729763342006);
  EXPECT_THAT(latency.warnings, IsEmpty());
}

TEST_F(ImportData, EveryFileIsTested) {
  std::size_t files = 0;
  for (const char* sub : {"logs", "vllm"}) {
    for (const auto& entry : std::filesystem::directory_iterator(data_folder + sub)) {
      ++files;
      EXPECT_TRUE(import_file(entry.path().string(), "").ok()) << entry.path();
    }
  }
  EXPECT_EQ(files, 8u + 3 + 4 + 6);
}

}  // namespace
}  // namespace assay
