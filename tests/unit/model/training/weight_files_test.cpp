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
  EXPECT_TRUE(check_output(model.path(), base.path(), false).ok());
  EXPECT_TRUE(check_output(adapter.path(), base.path(), true).ok());
  EXPECT_TRUE(check_output(base.path() / "new", base.path(), true).ok());
  EXPECT_THAT(check_output(model.path(), base.path(), true).error().message,
              HasSubstr("the folder holds a model; choose another for the adapter"));
  EXPECT_THAT(check_output(adapter.path(), base.path(), false).error().message,
              HasSubstr("the folder holds an adapter; choose another for the weights"));
}

}  // namespace
}  // namespace assay
