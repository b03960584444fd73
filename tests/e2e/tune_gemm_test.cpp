// assay tune gemm on the virtual MI300X, whose hipBLASLt has a fast solution that its heuristic
// does not know, a faster one that computes wrong results, and one that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/read_file.h"
#include "e2e/json_lines.h"
#include "e2e/virtual_mi300x.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// All that compute right in the virtual MI300X's libraries, as PyTorch names them. Small products
/// take the same time with each, so that any of them may be the fastest.
constexpr const char* all_solutions =
    "Gemm_Hipblaslt_101 Gemm_Hipblaslt_102 Gemm_Hipblaslt_104 Gemm_Rocblas_7 Gemm_Rocblas_-12";

class TuneGemm : public OnVirtualMi300x {
 protected:
  static Process::Environment environment(Process::Environment more) {
    more.try_emplace("MI300X_DEVICES", "1");
    more.try_emplace("MI300X_PRODUCT_SECONDS", "5e-3");
    more.try_emplace("PYTHONPATH", ASSAY_SOURCE_DIR "/tests/e2e/stub_torch");
    more.try_emplace("PYTHONDONTWRITEBYTECODE", "1");
    more.try_emplace("STUB_HIP", "6.2");
    return OnVirtualMi300x::environment(std::move(more));
  }
  static std::vector<std::string> words(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"tune", "gemm", "--device", "hip"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome tune(const std::vector<std::string>& more, Process::Environment variables = {}) const {
    return on(words(more), environment(std::move(variables)));
  }
  std::string out(const char* name = "out") const { return folder_.path() / name; }
};

TEST_F(TuneGemm, FindsTheFastestRightSolutionAndWritesItForAll) {
  const Outcome outcome = tune({"shape=24x32x40", "dtype=bf16", "--out", out(), "--check"},
                               {{"STUB_SOLUTIONS", "Gemm_Hipblaslt_104"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("hipblaslt solution=104"),
                                 testing::ContainsRegex("8 \\(2 out, [12] slow\\)"),
                                 HasSubstr("+275.0%"), HasSubstr("1 of 1 products faster"),
                                 HasSubstr("hipblaslt solution=105: D[0,0] is"),
                                 HasSubstr("PyTorch 2.9.1, ROCm 6.2: took the file"),
                                 HasSubstr("Gemm_Hipblaslt_104  yes")));
  EXPECT_THAT(read_file(out() + "/tunableop_results0.csv").value_or(""),
              AllOf(HasSubstr("Validator,HIPBLASLT_VERSION,1203-dabb6df2b9\n"),
                    HasSubstr("\nGemmTunableOp_BFloat16_TN,tn_32_24_40_ld_40_40_32,"
                              "Gemm_Hipblaslt_104,4")));
  EXPECT_THAT(read_file(out() + "/hipblaslt_override.txt").value_or(""),
              AllOf(HasSubstr("Git Version: dabb6df2b9\n"),
                    HasSubstr(",104,Cijk_Alik_Bljk_solution_longer_than_a_short_string_104,"
                              "Cijk_Alik_Bljk_kernel_104,gfx942:sramecc+:xnack-,38\n")));

  // What was tried is drawn, once for each product.
  const std::string records = read_file(out() + "/records.jsonl").value_or("");
  EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 1);
  const Json record = json_lines(records).front();
  EXPECT_EQ(record["benchmark"], "tuned_gemm");
  const Json curve = record["curves"].front();
  EXPECT_EQ(curve["y"].size(), 6u);  // of 8: one is wrong, one fails
  EXPECT_LT(curve["y"].front(), 1);
  const Outcome report = Process({"report", out(), "--output", out("report.html")}).wait();
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(read_file(out("report.html")).value_or(""),
              HasSubstr("time over that of the library's choice"));

  // A PyTorch whose libraries lack the solution reports it.
  const Outcome lacking =
      tune({"shape=24x32x40", "dtype=bf16", "--out", out(), "--check", "--json"});
  EXPECT_EQ(lacking.status, 0) << lacking.err;
  const Json json = json_lines(lacking.out).front();
  EXPECT_EQ(json["check"]["rows"][0]["taken"], false);
  EXPECT_THAT(json["check"]["rows"][0]["reason"].get<std::string>(),
              HasSubstr("Gemm_Hipblaslt_104 is not supported"));
  EXPECT_EQ(json["products"][0]["proven"], true);
  EXPECT_EQ(json["products"][0]["wrong"], 1);
  EXPECT_EQ(json["products"][0]["failed"], 1);
  EXPECT_EQ(read_file(out() + "/records.jsonl"), records);

  // What was written fits, until something differs.
  const std::vector<std::string> read = {"--read", out() + "/tunableop_results0.csv", "--read",
                                         out() + "/hipblaslt_override.txt"};
  const Outcome fits = tune(read);
  EXPECT_EQ(fits.status, 0) << fits.err;
  EXPECT_THAT(fits.out, AllOf(HasSubstr("results0.csv: 1 of 1 rows fit"),
                              HasSubstr("override.txt: 1 of 1 rows fit")));
  std::string changed = *read_file(out() + "/tunableop_results0.csv");
  changed.replace(changed.find("Hipblaslt_104"), 13, "Hipblaslt_999");
  changed.replace(changed.find("1203-"), 4, "1204");
  const auto other = folder_.write("other.csv", changed).string();
  const Outcome unfit = tune({"--read", other});
  EXPECT_EQ(unfit.status, 1) << unfit.err;
  EXPECT_THAT(unfit.out,
              AllOf(HasSubstr("0 of 1 rows fit"),
                    HasSubstr("HIPBLASLT_VERSION is 1204-dabb6df2b9, here it is 1203-dabb6df2b9"),
                    HasSubstr("has no solution 999")));
}

TEST_F(TuneGemm, EveryKindOfProductIsWhatPyTorchLooksFor) {
  const auto untuned =
      folder_.write("tunableop_untuned0.csv",
                    "GemmTunableOp_BFloat16_TN,tn_32_24_40_ld_40_40_32\n"
                    "GemmTunableOp_float_NN,nn_16_24_8_ld_16_8_16\n"
                    "GemmTunableOp_BFloat16_NT,nt_16_24_8_ld_20_24_16\n"
                    "GemmAndBiasTunableOp_Half_TN,tn_32_24_40_ld_40_40_32\n"
                    "GemmStridedBatchedTunableOp_BFloat16_TN,tn_16_8_24_B_3_ld_24_24_16\n"
                    "ScaledGemmTunableOp_Float8_e4m3fnuz_Float8_e4m3fnuz_BFloat16_TN,"
                    "tn_32_16_32_ld_32_32_32_rw_0_bias_None\n"
                    "GemmTunableOp_c10::complex<float>_NN,nn_4_4_4_ld_4_4_4\n");
  const Outcome outcome = tune({"--from", untuned.string(), "--out", out(), "--check", "--json"},
                               {{"STUB_SOLUTIONS", all_solutions}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("left out: " + untuned.string()));
  const Json json = json_lines(outcome.out).front();
  ASSERT_EQ(json["check"]["rows"].size(), 6u) << outcome.err;
  for (const Json& row : json["check"]["rows"]) EXPECT_EQ(row["taken"], true) << row;
}

TEST_F(TuneGemm, GoesOnWhereItWasKilled) {
  const std::vector<std::string> both = {"shape=24x32x40,16", "dtype=bf16", "--out", out()};
  {
    Process killed(words(both), environment({}), "", script);
    for (int i = 0; i < 1200; ++i) {  // until the first product is done
      const std::string journal = read_file(out() + "/journal.jsonl").value_or("");
      if (std::count(journal.begin(), journal.end(), '\n') >= 2) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    killed.signal(SIGKILL);
    EXPECT_EQ(killed.wait().status, 128 + SIGKILL);
  }
  const std::string before = *read_file(out() + "/journal.jsonl");
  const Outcome outcome = tune(both);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 of 2 products faster"));
  const std::string after = *read_file(out() + "/journal.jsonl");
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 3);
  EXPECT_TRUE(after.starts_with(before.substr(0, before.rfind('\n') + 1)));
  const Outcome other = tune({"shape=16", "dtype=bf16", "--out", out(), "--pairs", "6"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("settings.pairs is 12, here it is 6"));
  const Outcome checked = tune({"shape=16", "dtype=bf16", "--out", out(), "--brute-force"});
  EXPECT_EQ(checked.status, 2);
  EXPECT_THAT(checked.err, HasSubstr("settings.brute_force is missing, here it is true"));
}

TEST_F(TuneGemm, AProcessOnEachDeviceAndOneResult) {
  const Outcome outcome = tune({"shape=24x32x40,16,8", "dtype=bf16", "--devices", "all", "--out",
                                out(), "--format", "bench", "--brute-force"},
                               {{"MI300X_DEVICES", "2"}, {"MI300X_MODE", "SPX/NPS1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("3 of 3 products faster"));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("hip:0: [1/2]"), HasSubstr("hip:1: [1/1]")));
  const auto first = read_file(out() + "/tunableop_results0.csv");
  ASSERT_TRUE(first);
  EXPECT_EQ(read_file(out() + "/tunableop_results1.csv"), first);
  // Each record is of the device that measured it.
  std::map<int, int> measured_by;
  for (const Json& record : json_lines(read_file(out() + "/records.jsonl").value_or(""))) {
    ++measured_by[record["device"]["ordinal"].get<int>()];
  }
  EXPECT_THAT(measured_by, testing::ElementsAre(testing::Pair(0, 2), testing::Pair(1, 1)));
  const std::string row = "    T,N,0,1,32,24,40,";
  const std::string overrides = read_file(out() + "/hipblaslt_override.txt").value_or("");
  const std::size_t at = overrides.find(row);
  ASSERT_NE(at, std::string::npos) << overrides;
  const std::string line = overrides.substr(at, overrides.find('\n', at) - at);
  EXPECT_EQ(std::count(line.begin(), line.end(), ','), 36);
}

/// Whoever asks for a part alone gets its files.
TEST_F(TuneGemm, APartIsAWholeTuning) {
  const Outcome outcome =
      tune({"shape=24x32x40,16", "dtype=bf16", "--part", "1/2", "--out", out()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("1 of 1 products faster"), HasSubstr("1 rows for PyTorch in ")));
  EXPECT_TRUE(std::filesystem::exists(out() + "/tunableop_results0.csv"));
  EXPECT_TRUE(std::filesystem::exists(out() + "/hipblaslt_override.txt"));
  // Its devices share that part, not all products.
  const Outcome shared = tune({"shape=24x32x40,16,8", "dtype=bf16", "--part", "0/2", "--devices",
                               "all", "--out", out("shared")},
                              {{"MI300X_DEVICES", "2"}, {"MI300X_MODE", "SPX/NPS1"}});
  EXPECT_EQ(shared.status, 0) << shared.err;
  EXPECT_THAT(shared.out, HasSubstr("2 of 2 products faster"));
  EXPECT_THAT(shared.err, AllOf(HasSubstr("hip:0: [1/1]"), HasSubstr("hip:1: [1/1]")));
}

/// The script that holds assay's files against PyTorch, on the stand-in.
TEST_F(TuneGemm, ExchangesFilesWithPyTorchBothWays) {
  const std::vector<std::string> words = {
      "--", "python3", ASSAY_SOURCE_DIR "/scripts/check_tunableop.py", "--assay", ASSAY_BINARY};
  const auto run = [&](Process::Environment variables) {
    return on(words, environment(std::move(variables)));
  };
  const Outcome agreed = run({{"STUB_SOLUTIONS", all_solutions}});
  EXPECT_EQ(agreed.status, 0) << agreed.out << agreed.err;
  EXPECT_THAT(agreed.out, AllOf(HasSubstr("PyTorch tuned products (7)"),
                                HasSubstr("0 disagreements"), Not(HasSubstr(" NO "))));
  const Outcome none = run({{"STUB_NO_GPU", "1"}});
  EXPECT_EQ(none.status, 2) << none.out << none.err;
}

TEST(TuneGemmWords, MistakesAreNamed) {
  const auto complaint = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"tune", "gemm"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(complaint({"shape=8", "--library", "mkl"}), HasSubstr("allowed: auto"));
  EXPECT_THAT(complaint({"shape=8", "--pairs", "7"}), HasSubstr("even numbers"));
  EXPECT_THAT(complaint({"shape=8", "--format", "json"}), HasSubstr("ten, bench, named"));
  EXPECT_THAT(complaint({"--model", "llama9"}), HasSubstr("llama3-70b"));
  EXPECT_THAT(complaint({"--model", "7B", "--tokens", "0"}), HasSubstr("--tokens"));
  EXPECT_THAT(complaint({"--model", "7B", "--precision", "i8"}), HasSubstr("bf16, f16"));
  EXPECT_THAT(complaint({"--from", "/does/not/exist"}), HasSubstr("/does/not/exist"));
  EXPECT_THAT(complaint({"--suite", "memory"}), HasSubstr("no cell of the benchmark gemm"));
  EXPECT_THAT(complaint({"shape=8", "--part", "3/3"}), HasSubstr("--part"));
  EXPECT_THAT(complaint({"shape=8", "--ranks", "2"}), HasSubstr("--ranks"));
  EXPECT_THAT(complaint({"flavour=8"}), HasSubstr("flavour"));
}

/// assay's own products have one way for these, which is then the best.
TEST(TuneGemmWords, TheOnlySolutionIsAResult) {
  const TemporaryFolder folder;
  const Outcome outcome = assay_run({"tune", "gemm", "shape=64", "dtype=f32", "--device", "cpu",
                                     "--library", "own", "--out", folder.path() / "out"},
                                    {{"XDG_CACHE_HOME", folder.path() / "cache"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("the only solution"), HasSubstr("0 of 1 products")));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/tunableop_results0.csv"));
  // The choice is kept for assay's own models.
  EXPECT_THAT(read_file(folder.path() / "cache/assay/choices").value_or(""), HasSubstr(" tile="));
}

}  // namespace
}  // namespace assay
