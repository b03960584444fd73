// What the benchmark `train` says of a model whose losses are no numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/json.h"
#include "core/read_file.h"
#include "support/run_cell.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;

class TrainCell : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("cpu");
    ASSERT_NE(device_, nullptr);
    stream_ = std::move(device_->create_stream()).value();
    alone_.emplace(*device_, solo_team());
  }

  /// A tiny model after `steps` steps.
  std::unique_ptr<Case> trained(const char* axis, const std::string& file, int steps) {
    const Benchmark* benchmark = find_benchmark("train");
    const std::vector<AxisSetting> settings = {{"model", "1L2H64C97V"}, {"batch", "2"},
                                               {"sequence", "16"},      {"precision", "f32"},
                                               {"steps", "8"},          {axis, file}};
    const auto cells = expand_cells("train", benchmark->axes(), settings);
    EXPECT_TRUE(cells) << cells.error().message;
    const std::vector<Cell> decided = benchmark->expand(cells->at(0), *device_, solo_team());
    auto made = benchmark->prepare(decided.at(0), {*device_, *stream_, 3, solo_team(), *alone_});
    EXPECT_TRUE(made) << made.error().message;
    for (int i = 0; i < steps; ++i) EXPECT_TRUE((*made)->enqueue(*stream_));
    EXPECT_TRUE(stream_->synchronize());
    return std::move(*made);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::optional<Communicators> alone_;
};

/// Both while samples are taken, so that nobody waits for a run that is lost, and at its end, where
/// steps that were no samples count too.
TEST_F(TrainCell, ALossThatIsNoNumberEndsTheRunAndIsNoResult) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "gpt.safetensors";
  ASSERT_TRUE(trained("save", file, 1)->keep(*stream_));
  std::string bytes = read_file(file).value();
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto offsets = Json::parse(bytes.substr(8, header))["weights.layers.0.fc"]["data_offsets"];
  bytes.replace(bytes.find("\"crc32\""), 7, "\"other\"");  // a file without a checksum
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[8 + header + offsets[0].get<std::size_t>()], &nan, sizeof nan);

  const auto lost = trained("from", folder.write("nan.safetensors", bytes), 3);
  const auto checked = lost->after_sample();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::verification);
  // Two steps before, one to choose how to compute, three here; the first is step 0.
  EXPECT_THAT(checked.error().message, HasSubstr("the loss of step 5 is not finite; the first "
                                                 "tensor that is not: weights of"));
  const auto verification = lost->verify(*stream_);
  ASSERT_TRUE(verification) << verification.error().message;
  EXPECT_FALSE(verification->passed);
  EXPECT_THAT(verification->detail, HasSubstr("the loss of step 2 is not finite; the first "
                                              "tensor that is not: weights of"));
}

}  // namespace
}  // namespace assay
