#include "results/record/cell.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Cell, FindsItsValues) {
  const Cell cell("memory", {{"op", "triad"}, {"size", "1GiB"}, {"block", "256"}});
  EXPECT_EQ(cell.text("op"), "triad");
  EXPECT_EQ(cell.text("dtype"), "");
  EXPECT_EQ(cell.integer("size"), 1073741824u);
  EXPECT_EQ(cell.integer("block"), 256u);
  EXPECT_EQ(cell.integer("absent"), 0u);
  EXPECT_EQ(cell.id(), "memory op=triad size=1GiB block=256");
}

}  // namespace
}  // namespace assay
