// Our prototypes and numbers against miopen.h.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "compute/vendor/convolution/miopen_api.h"

#if __has_include(<miopen/miopen.h>)
#include <miopen/miopen.h>
#include <miopen/miopen_internal.h>
#endif

#ifdef MIOPEN_GUARD_MIOPEN_H_
namespace assay::miopen {
namespace {

#define MATCH(member, symbol, parameters) ASSAY_EXPECT_MATCH(Functions, member, symbol)
#define MATCH_PASS(member, symbol, parameters) ASSAY_EXPECT_MATCH(PassFunctions, member, symbol)
TEST(MiopenHeader, Prototypes){
    ASSAY_MIOPEN_FUNCTIONS(MATCH) ASSAY_MIOPEN_OPTIONAL_FUNCTIONS(MATCH)
        ASSAY_MIOPEN_PASS_FUNCTIONS(MATCH_PASS, Forward)
            ASSAY_MIOPEN_PASS_FUNCTIONS(MATCH_PASS, BackwardData)
                ASSAY_MIOPEN_PASS_FUNCTIONS(MATCH_PASS, BackwardWeights)
                    ASSAY_EXPECT_MATCH(Functions, get_error_string, miopenGetErrorString)}

TEST(MiopenHeader, Numbers) {
  EXPECT_EQ(success, miopenStatusSuccess);
  EXPECT_EQ(alloc_failed, miopenStatusAllocFailed);
  EXPECT_EQ(not_implemented, miopenStatusNotImplemented);
  EXPECT_EQ(unsupported_op, miopenStatusUnsupportedOp);
  EXPECT_EQ(status_name(miopenStatusVersionMismatch), "miopenStatusVersionMismatch");
  EXPECT_EQ(data_type(DataType::f16), miopenHalf);
  EXPECT_EQ(data_type(DataType::f32), miopenFloat);
  EXPECT_EQ(data_type(DataType::bf16), miopenBFloat16);
  EXPECT_EQ(mode_convolution, miopenConvolution);
  EXPECT_EQ(algorithm_fft, miopenConvolutionAlgoFFT);
  EXPECT_EQ(algorithm_winograd, miopenConvolutionAlgoWinograd);
  EXPECT_EQ(algorithm_name(miopenConvolutionFwdAlgoImplicitGEMM), "implicit GEMM");
  EXPECT_EQ(algorithm_name(miopenConvolutionBwdDataAlgoDirect), "direct");
  EXPECT_EQ(algorithm_name(miopenConvolutionBwdWeightsAlgoGEMM), "GEMM");
  EXPECT_EQ(find_normal, miopenConvolutionFindModeNormal);
  EXPECT_EQ(find_fast, miopenConvolutionFindModeFast);
  EXPECT_EQ(find_hybrid, miopenConvolutionFindModeHybrid);
  EXPECT_EQ(find_dynamic_hybrid, miopenConvolutionFindModeDynamicHybrid);
  EXPECT_EQ(direction_forward, miopenProblemDirectionForward);
  EXPECT_EQ(direction_data, miopenProblemDirectionBackward);
  EXPECT_EQ(direction_weights, miopenProblemDirectionBackwardWeights);
  EXPECT_EQ(tensor_x, static_cast<unsigned>(miopenTensorConvolutionX));
  EXPECT_EQ(tensor_w, static_cast<unsigned>(miopenTensorConvolutionW));
  EXPECT_EQ(tensor_y, static_cast<unsigned>(miopenTensorConvolutionY));
  EXPECT_EQ(sizeof(Found), sizeof(miopenConvAlgoPerf_t));
  EXPECT_EQ(offsetof(Found, workspace_bytes), offsetof(miopenConvAlgoPerf_t, memory));
  EXPECT_EQ(sizeof(Immediate), sizeof(miopenConvSolution_t));
  EXPECT_EQ(offsetof(Immediate, id), offsetof(miopenConvSolution_t, solution_id));
  EXPECT_EQ(offsetof(Immediate, algorithm), offsetof(miopenConvSolution_t, algorithm));
  EXPECT_EQ(sizeof(Argument), sizeof(miopenTensorArgument_t));
  EXPECT_EQ(offsetof(Argument, buffer), offsetof(miopenTensorArgument_t, buffer));
}

}  // namespace
}  // namespace assay::miopen
#else
TEST(MiopenHeader, Prototypes) {
  GTEST_SKIP() << "miopen/miopen.h is not installed";
}
#endif
