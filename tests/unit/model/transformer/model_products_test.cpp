#include "model/transformer/model_products.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "compute/vendor/blas/gemm_choice.h"
#include "model/training/training_costs.h"
#include "model/transformer/named_shapes.h"

namespace assay {
namespace {

double flops_of(const std::vector<ModelProduct>& products) {
  double sum = 0;
  for (const ModelProduct& product : products) {
    EXPECT_TRUE(validate(product.problem).ok()) << product.name;
    sum += static_cast<double>(product.count) * product.problem.flops();
  }
  return sum;
}

TEST(ModelProducts, AreAllOfATrainingStepsButAttentions) {
  TransformerPlan plan;
  plan.shape = parse_gpt_shape("124M").value();
  plan.batch = 4;
  plan.sequence = plan.shape.positions = 1024;
  double expected = 0;
  for (const OperationCost& cost : costs_of(plan)) {
    if (cost.name != "attention") expected += cost.flops;
  }
  const auto products = products_of_model("124M", 4096, DataType::bf16).value();
  EXPECT_EQ(products.size(), 15u);
  EXPECT_NEAR(flops_of(products) / expected, 1, 1e-12);
  // Sums cannot tell a product from its transpose.
  const auto find = [&](std::string_view name) {
    return std::find_if(products.begin(), products.end(),
                        [&](const ModelProduct& product) { return product.name == name; })
        ->problem;
  };
  GemmProblem fc = make_gemm(4096, 3072, 768, DataType::bf16, DataType::bf16, false, true);
  fc.epilogue = Epilogue::gelu_aux_bias;
  EXPECT_EQ(find("fc"), fc);
  GemmProblem fc2 = make_gemm(4096, 768, 3072, DataType::bf16, DataType::bf16, false, true);
  fc2.epilogue = Epilogue::bias;
  EXPECT_EQ(find("fc2"), fc2);
  GemmProblem fc2_input = make_gemm(4096, 3072, 768, DataType::bf16, DataType::bf16);
  fc2_input.epilogue = Epilogue::dgelu;
  EXPECT_EQ(find("fc2_input"), fc2_input);
  EXPECT_EQ(find("fc_weight"),
            make_gemm(3072, 768, 4096, DataType::bf16, DataType::bf16, true, false));
  EXPECT_EQ(find("head_weight"),
            make_gemm(50304, 768, 4096, DataType::bf16, DataType::bf16, true, false));
}

/// The last of 4 passes of 3 ranks adds the rows that all ranks looked up: 6 instead of 4 of them.
TEST(TrainingCosts, TheLastPassAddsWhatAllRanksLookedUp) {
  TransformerPlan plan;
  plan.shape = parse_gpt_shape("124M").value();
  plan.batch = 1;
  plan.sequence = plan.shape.positions = 1024;
  const auto lookups = [&](std::int64_t accumulate) {
    const auto costs = costs_of(plan, accumulate);
    return std::ranges::find_if(costs,
                                [](const OperationCost& cost) {
                                  return cost.phase == Phase::backward && cost.name == "embedding";
                                })
        ->bytes;
  };
  const double alone = lookups(4);
  plan.parallel.ranks = 3;
  EXPECT_DOUBLE_EQ(lookups(4), 1.5 * alone);
  EXPECT_DOUBLE_EQ(lookups(1), 3 * alone);
}

TEST(ModelProducts, AreAllOfADecodersPass) {
  const TransformerShape shape = parse_decoder_shape("llama3-70b").value();
  const auto products = products_of_model("llama3-70b", 16, DataType::bf16).value();
  EXPECT_NEAR(flops_of(products) / (2 * shape.products() * 16), 1, 1e-12);
  EXPECT_EQ(products[0].count, 80u);
  EXPECT_EQ(products[2].problem,
            make_gemm(16, 2 * 28672, 8192, DataType::bf16, DataType::bf16, false, true));
}

TEST(ModelProducts, NamesThatAreNoneAreRefused) {
  EXPECT_EQ(products_of_model("2L4H2K64D256C", 1, DataType::bf16).value().size(), 5u);
  EXPECT_EQ(products_of_model("6L6H384C", 1, DataType::bf16).value().size(), 15u);
  EXPECT_THAT(products_of_model("llama9", 1, DataType::bf16).error().message,
              testing::AllOf(testing::HasSubstr("\"llama9\""), testing::HasSubstr("llama3-70b"),
                             testing::HasSubstr("124M")));
  EXPECT_FALSE(products_of_model("124M", 0, DataType::bf16).ok());
}

/// The key of a choice: two problems that differ in anything have different texts.
TEST(ModelProducts, TextsTellProblemsApart) {
  GemmProblem a = make_gemm(8, 8, 8, DataType::bf16, DataType::bf16), b = a;
  EXPECT_EQ(problem_text(a), problem_text(b));
  b.epilogue = Epilogue::gelu_aux;
  EXPECT_NE(problem_text(a), problem_text(b));
  const BlasFacts library = {"hipblaslt", "1.0", "", "abc", 5};
  const auto key = [&](std::size_t workspace) {
    return gemm_choice_key({}, library, a, workspace);
  };
  EXPECT_NE(key(1).problem, key(2).problem);
  EXPECT_EQ(key(1).implementation, "hipblaslt 1.0");
}

}  // namespace
}  // namespace assay
