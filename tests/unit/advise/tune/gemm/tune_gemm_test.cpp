// What `assay tune gemm` keeps, lists and writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "advise/tune/gemm/gemm_files.h"
#include "advise/tune/gemm/gemm_journal.h"
#include "advise/tune/gemm/product_list.h"
#include "advise/tune/gemm/product_record.h"
#include "advise/tune/gemm/product_tuner.h"
#include "advise/tune/gemm/pytorch.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "core/read_file.h"
#include "measure/suites/cells_of_target.h"
#include "support/temporary_folder.h"
#include "unit/gemm_file_samples.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GemmProblem linear(std::int64_t m, Epilogue epilogue = Epilogue::none) {
  GemmProblem problem = make_gemm(m, 64, 32, DataType::bf16, DataType::bf16, false, true);
  problem.epilogue = epilogue;
  return problem;
}

ProductOutcome outcome_of(const GemmProblem& problem, const std::string& library, bool proven) {
  ProductOutcome outcome;
  outcome.problem = problem_text(problem);
  outcome.usual = {"hipblaslt", "solution=101", 101, "", ""};
  outcome.fastest = {library, "solution=104", 104, "Sol_104", "Kernel_104"};
  outcome.best = proven ? outcome.fastest : outcome.usual;
  outcome.solutions = 840;
  outcome.first_times = {0.7, 1, 1.5};
  outcome.wrong = 1;
  outcome.refused = {
      {{"hipblaslt", "solution=105", 105, "", ""}, "D[0,0] is 2, should be 1", true}};
  outcome.proven = proven;
  outcome.pairs = 12;
  outcome.usual_seconds = 15e-6;
  outcome.fastest_seconds = 10e-6;
  outcome.gain = 1.5;
  outcome.gain_low = 1.4;
  outcome.gain_high = 1.6;
  outcome.floor_seconds = 8e-6;
  outcome.spent_seconds = 3;
  return outcome;
}

Json identity(const std::string& version) {
  return {{"what", "assay tune gemm"}, {"libraries", {{"hipblaslt", version}, {"rocblas", "4"}}}};
}

TEST(GemmJournal, ATunerGoesOnWhereItWas) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "journal.jsonl";
  const ProductOutcome first = outcome_of(linear(8), "rocblas", true);
  ProductOutcome second;
  second.problem = problem_text(linear(16));
  second.reason = "no library has it";
  {
    auto journal = GemmJournal::open(folder.path(), identity("1.0"));
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    EXPECT_TRUE(journal->done().empty());
    ASSERT_TRUE(journal->append(first).ok());
    ASSERT_TRUE(journal->append(second).ok());
    EXPECT_THAT(GemmJournal::open(folder.path(), identity("1.0")).error().message,
                HasSubstr("in use by another assay tune"));
  }
  // A process that is killed while it writes leaves it like this.
  std::ofstream(path, std::ios::app) << R"({"problem": "half a li)";
  {
    auto journal = GemmJournal::open(folder.path(), identity("1.0"));
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    ASSERT_EQ(journal->done().size(), 2u);
    EXPECT_EQ(to_json(journal->done().at(first.problem)), to_json(first));
    EXPECT_EQ(journal->done().at(second.problem).reason, "no library has it");
    ASSERT_TRUE(journal->append(outcome_of(linear(24), "hipblaslt", false)).ok());
  }
  EXPECT_EQ(GemmJournal::read(folder.path()).value().size(), 3u);
  EXPECT_THAT(
      GemmJournal::open(folder.path(), identity("1.1")).error().message,
      AllOf(HasSubstr("libraries.hipblaslt is \"1.0\", here it is \"1.1\""), HasSubstr("--out")));
}

TEST(ProductTuner, ASearchByBruteForceHasNoShortRuns) {
  TuneGemmSettings settings;
  EXPECT_LT(shortest_run_seconds(settings), settings.proof_seconds / 50);
  EXPECT_EQ(race_rules(settings).most_effort,
            static_cast<std::size_t>(settings.proof_seconds / settings.screening_seconds));
  settings.brute_force = true;
  EXPECT_EQ(shortest_run_seconds(settings), settings.proof_seconds);
  EXPECT_EQ(race_rules(settings).most_effort, 1u);
}

TEST(GemmJournal, OtherFilesAreRefused) {
  const TemporaryFolder folder;
  for (const char* text : {"hello\n", "{}\n", "{\"what\": 5}\n", "[]\n"}) {
    const auto path = folder.write("journal.jsonl", text);
    EXPECT_THAT(GemmJournal::open(folder.path(), identity("1")).error().message,
                HasSubstr("no journal"))
        << text;
    EXPECT_EQ(read_file(path), text);  // untouched
  }
  folder.write("journal.jsonl", identity("1").dump() + "\n{\"problem\": \"x\"}\n");
  EXPECT_THAT(GemmJournal::open(folder.path(), identity("1")).error().message,
              HasSubstr("journal.jsonl:2"));
  const auto nowhere = GemmJournal::open(folder.path() / "journal.jsonl" / "x", identity("1"));
  ASSERT_FALSE(nowhere.ok());
  EXPECT_THAT(nowhere.error().message, HasSubstr("cannot create the folder"));
}

TEST(GemmJournal, OutcomesWithAnythingMissingAreRefused) {
  const Json whole = to_json(outcome_of(linear(8), "rocblas", true));
  ASSERT_TRUE(outcome_from_json(whole).ok());
  for (const auto& [name, value] : whole.items()) {
    if (name == "floor_seconds") continue;
    Json damaged = whole;
    damaged.erase(name);
    // Journals that were written before there were first times can be continued.
    EXPECT_EQ(outcome_from_json(damaged).ok(), name == "first_times") << name;
    damaged = whole;
    damaged[name] = Json::array({Json::object()});
    EXPECT_FALSE(outcome_from_json(damaged).ok()) << name;
  }
}

/// Two products in one cell would be compared with each other, and one of them not be stored.
TEST(ProductRecord, ProductsThatDifferInAnythingAreDifferentCells) {
  std::vector<GemmProblem> all(1, make_gemm(64, 32, 16, DataType::f32, DataType::f32, false, true));
  const auto add = [&](const auto& change) {
    all.push_back(all.front());
    change(all.back());
  };
  add([](GemmProblem& p) { p.c = DataType::bf16; });
  add([](GemmProblem& p) { p.compute = DataType::tf32; });
  for (std::int64_t GemmProblem::*member :
       {&GemmProblem::lda, &GemmProblem::ldb, &GemmProblem::ldd, &GemmProblem::stride_a,
        &GemmProblem::stride_b, &GemmProblem::stride_d, &GemmProblem::ld_aux,
        &GemmProblem::alignment}) {
    add([&](GemmProblem& p) { p.*member = 128; });
  }
  for (bool GemmProblem::*member :
       {&GemmProblem::fast_accumulate, &GemmProblem::scales_a, &GemmProblem::scales_b,
        &GemmProblem::scales_d, &GemmProblem::writes_amax_d, &GemmProblem::constant_b}) {
    add([&](GemmProblem& p) { p.*member = true; });
  }
  add([](GemmProblem& p) { p.alpha = 2; });
  add([](GemmProblem& p) { p.beta = 1; });
  add([](GemmProblem& p) { p.bias = DataType::bf16; });
  add([](GemmProblem& p) { p.aux = DataType::bf16; });
  add([](GemmProblem& p) { p.epilogue = Epilogue::bias; });
  add([](GemmProblem& p) { p.multiprocessors = 8; });
  std::set<std::string> cells, problems;
  for (const GemmProblem& problem : all) {
    cells.insert(record_of({{problem, 1}, outcome_of(problem, "rocblas", true)}).cell.id());
    problems.insert(problem_text(problem));
  }
  EXPECT_EQ(problems.size(), all.size());
  EXPECT_EQ(cells.size(), all.size());
  // Where nothing is unusual, it is what people read elsewhere.
  EXPECT_TRUE(cells.contains("tuned_gemm product=" + describe(all.front()))) << *cells.begin();
}

TEST(ProductList, CellsOfTheBenchmarkAreProducts) {
  const auto cells = make_plan("gemm", {{"shape", "8x16x32"},
                                        {"dtype", "bf16"},
                                        {"layout", "any"},
                                        {"algorithm", "default,best"}})
                         .value()
                         .cells;
  const ProductList list = products_of_cells(cells);
  ASSERT_EQ(list.problems.size(), 4u);  // the algorithm is not part of the product
  EXPECT_EQ(list.problems[1].problem,
            make_gemm(8, 16, 32, DataType::bf16, DataType::bf16, false, true));
}

TEST(ProductList, EveryKindOfFileIsKnownByItsContent) {
  const TemporaryFolder folder;
  const auto count = [&](std::string_view text) -> std::pair<std::size_t, std::size_t> {
    const auto list = products_of_file(folder.write("file", std::string(text)));
    EXPECT_TRUE(list.ok()) << list.error().message;
    if (!list.ok()) return {};
    return {list->problems.size(), list->left_out_count};
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(count(gemm_files::untuned), Counts(2, 3));
  EXPECT_EQ(count(gemm_files::results_of_2_9), Counts(7, 0));
  EXPECT_EQ(count(gemm_files::override_ten), Counts(2, 0));
  EXPECT_EQ(count(gemm_files::override_bench), Counts(1, 0));
  EXPECT_EQ(count(gemm_files::override_named), Counts(1, 0));
  EXPECT_EQ(count(gemm_files::hipblaslt_log), Counts(2, 1));
  EXPECT_EQ(count(gemm_files::rocblas_log), Counts(2, 0));
  // Lines that no reader takes are told.
  EXPECT_EQ(count(std::string(gemm_files::override_ten) + "N,N,1,2\n"), Counts(2, 1));
  const auto damaged = products_of_file(
      folder.write("damaged", std::string(gemm_files::results_of_2_9) + "GemmTunableOp_BFlo\n"));
  ASSERT_TRUE(damaged.ok());
  EXPECT_EQ(damaged->problems.size(), 7u);
  ASSERT_EQ(damaged->left_out.size(), 1u);
  EXPECT_THAT(damaged->left_out[0], HasSubstr("not a matrix product"));
  EXPECT_THAT(products_of_file(folder.write("text", "nothing here\n")).error().message,
              HasSubstr("holds no matrix product"));
  EXPECT_FALSE(products_of_file(folder.path() / "absent").ok());
}

TEST(ProductList, ThoseThatTakeTheMostTimeComeFirst) {
  ProductList list;
  list.add(linear(8), 1);
  list.add(linear(1024), 3);
  list.add(linear(64), 1000);
  list.add(linear(8), 5);
  list.leave_out("one");
  for (const DeviceFacts& facts :
       {DeviceFacts{},
        DeviceFacts{
            .backend = "cuda", .name = "NVIDIA H200", .arch = "sm_90", .multiprocessors = 132}}) {
    const ProductList sorted = ordered(list, facts);
    ASSERT_EQ(sorted.problems.size(), 3u);
    EXPECT_EQ(sorted.problems[0].problem.m, 64);
    EXPECT_EQ(sorted.problems[1].problem.m, 1024);
    EXPECT_EQ(sorted.problems[2].count, 6u);
    EXPECT_EQ(sorted.left_out_count, 1u);
    EXPECT_EQ(part_of(sorted.problems, 1, 2).size(), 1u);
    EXPECT_EQ(part_of(sorted.problems, 0, 2)[1].problem.m, 8);
  }
}

const Validators validators_of_2_9 = {{"PT_VERSION", "2.9.1"}, {"HIP_VERSION", "702"}};

TEST(GemmFiles, PyTorchGetsTheProvenAndItsOwnChoiceElsewhere) {
  const GemmProblem gelu = linear(5, Epilogue::gelu_aux), biased = linear(6, Epilogue::bias);
  std::vector<TunedProduct> products = {{{linear(1), 1}, outcome_of(linear(1), "hipblaslt", true)},
                                        {{linear(2), 1}, outcome_of(linear(2), "rocblas", true)},
                                        {{linear(3), 1}, outcome_of(linear(3), "rocblas", false)},
                                        {{gelu, 1}, outcome_of(gelu, "hipblaslt", true)},
                                        {{biased, 1}, outcome_of(biased, "rocblas", true)}};
  ProductOutcome failed;
  failed.reason = "it does not fit";
  products.push_back({{linear(7), 1}, failed});
  const auto made = tunable_results(products, validators_of_2_9).value();
  EXPECT_EQ(text_of(made.file),
            "Validator,PT_VERSION,2.9.1\nValidator,HIP_VERSION,702\n"
            "GemmTunableOp_BFloat16_TN,tn_64_1_32_ld_32_32_64,Gemm_Hipblaslt_104,0.01\n"
            "GemmTunableOp_BFloat16_TN,tn_64_2_32_ld_32_32_64,Gemm_Rocblas_104,0.01\n"
            "GemmTunableOp_BFloat16_TN,tn_64_3_32_ld_32_32_64,Default,0.015\n"
            "GemmAndBiasTunableOp_BFloat16_TN,tn_64_6_32_ld_32_32_64,Default,0.015\n");
  EXPECT_THAT(made.left_out, ElementsAre(HasSubstr("gelu_aux"), HasSubstr("row says Default")));
  const auto older = tunable_results(products, {{"PT_VERSION", "2.5.0"}}).value();
  EXPECT_EQ(older.file.rows[0].solution, "Gemm_Hipblaslt_TN_104");
  EXPECT_EQ(older.file.rows[0].key.parameters, "tn_64_1_32");
  EXPECT_FALSE(tunable_results(products, {}).ok());
  products.push_back(products[0]);  // twice the same key would be read once
  EXPECT_EQ(tunable_results(products, validators_of_2_9)->file.rows.size(), 4u);
}

TEST(GemmFiles, HipBlasLtGetsItsOwnProvenSolutions) {
  const std::vector<TunedProduct> products = {
      {{linear(1), 1}, outcome_of(linear(1), "hipblaslt", true)},
      {{linear(2), 1}, outcome_of(linear(2), "rocblas", true)},
      {{linear(3), 1}, outcome_of(linear(3), "hipblaslt", false)}};
  const auto made = override_file(products, {"dabb6df2b9", "gfx942:x", 304, 512 << 20, {}});
  EXPECT_EQ(made.file.git_version, "dabb6df2b9");
  ASSERT_EQ(made.file.rows.size(), 1u);
  EXPECT_EQ(problem_of(made.file.rows[0].call().value()).value(), linear(1));
  EXPECT_THAT(made.left_out, ElementsAre(HasSubstr("rocblas's")));
}

TEST(PyTorchAnswer, SaysWhatWasTaken) {
  const auto check = parse_pytorch_answer(
      R"({"version": "2.9.1", "hip": "7.2", "validators": [["PT_VERSION", "2.9.1"]],
          "accepted": true, "rows": [
            {"op": "GemmTunableOp_BFloat16_TN", "parameters": "tn_1_1_1", "solution": "Default",
             "reason": ""},
            {"op": "O", "parameters": "P", "solution": "S", "reason": "PyTorch looked for X"}]})");
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_THAT(check->pytorch.validators, ElementsAre(std::pair("PT_VERSION", "2.9.1")));
  EXPECT_TRUE(check->rows.at(0).taken);
  EXPECT_FALSE(check->rows.at(1).taken);
  const auto refused = parse_pytorch_answer(
      R"({"version": "2", "validators": [], "accepted": false,
          "rows": [{"op": "O", "parameters": "P", "solution": "S", "reason": ""}]})");
  EXPECT_FALSE(refused->rows.at(0).taken);  // nothing of a file that was not read
  EXPECT_THAT(parse_pytorch_answer(R"({"problem": "sees no GPU"})").error().message,
              HasSubstr("no GPU"));
  for (const char* damaged : {"", "[]", "{}", R"({"version": "2", "validators": [5], "rows": []})",
                              R"({"version": "2", "validators": [], "rows": [5]})",
                              R"({"version": "2", "validators": [["a"]], "rows": []})"}) {
    const auto answer = parse_pytorch_answer(damaged);
    ASSERT_FALSE(answer.ok()) << damaged;
    EXPECT_EQ(answer.error().kind, ErrorKind::unavailable) << damaged;
  }
}

}  // namespace
}  // namespace assay
