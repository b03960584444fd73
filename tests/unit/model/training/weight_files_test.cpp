// Where trained weights and adapters may be written.
#include "model/training/weight_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(CheckOutput, AFolderHoldsEitherAModelOrAnAdapter) {
  const TemporaryFolder base, model, adapter;
  model.write("config.json", "{}");
  adapter.write("adapter_config.json", "{}");
  EXPECT_TRUE(check_output(model.path(), base.path(), false, 1).ok());
  EXPECT_TRUE(check_output(adapter.path(), base.path(), true, 1).ok());
  EXPECT_TRUE(check_output(base.path() / "new", base.path(), true, 1).ok());
  EXPECT_THAT(check_output(model.path(), base.path(), true, 1).error().message,
              HasSubstr("the folder holds a model; choose another for the adapter"));
  EXPECT_THAT(check_output(adapter.path(), base.path(), false, 1).error().message,
              HasSubstr("the folder holds an adapter; choose another for the weights"));
}

TEST(CheckOutput, ADiskWithoutRoomIsFoundBeforeTheTraining) {
  const TemporaryFolder base, output;
  const Status full = check_output(output.path(), base.path(), false, 1.5e19);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(full.error().message, HasSubstr("the disk has room for "));
}

}  // namespace
}  // namespace assay
