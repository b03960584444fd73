// What rank 0 tells the others of a step: the same comes out, and damage is noticed.
#include "serving/engine/step_order.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

StepOrder example() {
  StepOrder order;
  order.kind = StepOrder::Kind::pass;
  order.rows = {{5, 6, 300000}, {0, 1, 2}, {7, 7, 8}, {2}};
  order.pass = {3, 1, 63, {{0, 2, 1}}};
  order.graph = true;
  order.pass.apart = true;
  order.places = {4, 9};
  order.blocks = {1, 0};
  return order;
}

TEST(StepOrder, ComesOutAsItWentIn) {
  const StepOrder order = example();
  const StepOrder same = order_from_text(to_text(order)).value();
  EXPECT_EQ(same.kind, order.kind);
  EXPECT_EQ(same.rows.tokens, order.rows.tokens);
  EXPECT_EQ(same.rows.positions, order.rows.positions);
  EXPECT_EQ(same.rows.sequences, order.rows.sequences);
  EXPECT_EQ(same.rows.results, order.rows.results);
  EXPECT_EQ(same.pass.tokens, 3);
  EXPECT_EQ(same.pass.results, 1);
  EXPECT_EQ(same.pass.longest, 63);
  EXPECT_EQ(same.pass.prompts, order.pass.prompts);
  EXPECT_TRUE(same.graph);
  EXPECT_TRUE(same.pass.apart);
  EXPECT_EQ(same.places, order.places);
  EXPECT_EQ(same.blocks, order.blocks);
  for (const auto kind : {StepOrder::Kind::idle, StepOrder::Kind::end}) {
    StepOrder short_one = order;
    short_one.kind = kind;
    EXPECT_EQ(order_from_text(to_text(short_one)).value().kind, kind);
    EXPECT_LT(to_text(short_one).size(), 16u);
  }
}

TEST(StepOrder, IsNoneWhereAnythingIsMissingOrDoesNotFit) {
  const std::string text = to_text(example());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(order_from_text(text.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(order_from_text(std::string(8, '\x07')).ok());
  StepOrder wrong = example();
  wrong.blocks.pop_back();
  EXPECT_FALSE(order_from_text(to_text(wrong)).ok());
  wrong = example();
  wrong.pass.tokens = 4;
  EXPECT_FALSE(order_from_text(to_text(wrong)).ok());
  wrong = example();
  wrong.pass.results = 4;
  EXPECT_FALSE(order_from_text(to_text(wrong)).ok());
  for (const PromptRows prompts : {PromptRows{-1, 2, 1}, {0, 0, 1}, {0, 2, 0}, {0, 2, 2}}) {
    wrong = example();
    wrong.pass.prompts = {prompts};
    EXPECT_FALSE(order_from_text(to_text(wrong)).ok()) << prompts.begin << " " << prompts.length;
  }
  wrong = example();
  wrong.pass.prompts = {{0, 1, 2}, {1, 1, 1}};
  EXPECT_FALSE(order_from_text(to_text(wrong)).ok());
}

}  // namespace
}  // namespace assay::engine
