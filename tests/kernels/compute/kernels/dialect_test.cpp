// The pieces of the kernel dialect that no kernel of assay shows, in every build.
#include "support/dialect_contract.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

class DialectOfKernels : public KernelTest {
 protected:
  DialectContract dialect() { return {*device_, *stream_}; }
};

TEST_P(DialectOfKernels, CodesAreThoseOfBitOperations) {
  dialect().codes_are_those_of_bit_operations(std::size_t{1} << 20);
}

TEST_P(DialectOfKernels, EveryCodeBecomesItsNumber) {
  dialect().every_code_becomes_its_number();
}

TEST_P(DialectOfKernels, TheComparisonOfTheDeviceItselfFindsNothing) {
  for (const std::uint64_t first : {0x00000000u, 0x33000000u, 0x7F7FFE00u, 0xC77F0000u}) {
    dialect().device_agrees_with_itself(first, 1 << 14);
  }
}

TEST_P(DialectOfKernels, PacksRoundStochasticallyLikeSingleNumbers) {
  dialect().packs_round_stochastically_like_single_numbers();
}

TEST_P(DialectOfKernels, CopiesPassThroughSharedMemory) {
  dialect().copies_pass_through_shared_memory();
}

ASSAY_KERNEL_BUILDS(DialectOfKernels);

}  // namespace
}  // namespace assay
