// The kernel dialect on a real accelerator: its instructions against bit operations, of every f32.
#include "support/dialect_contract.h"
#include "support/test_device.h"

namespace assay {
namespace {

class DialectOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu") GTEST_SKIP() << "no accelerator on this machine";
    stream_ = std::move(device_->create_stream()).value();
  }
  DialectContract dialect() { return {*device_, *stream_}; }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(DialectOnGpu, CodesAreThoseOfBitOperations) {
  dialect().codes_are_those_of_bit_operations(std::size_t{1} << 20);
  dialect().device_agrees_with_itself(0, std::uint64_t{1} << 32);
}

TEST_F(DialectOnGpu, EveryCodeBecomesItsNumber) {
  dialect().every_code_becomes_its_number();
}

TEST_F(DialectOnGpu, PacksRoundStochasticallyLikeSingleNumbers) {
  dialect().packs_round_stochastically_like_single_numbers();
}

TEST_F(DialectOnGpu, CopiesPassThroughSharedMemory) {
  dialect().copies_pass_through_shared_memory();
}

}  // namespace
}  // namespace assay
