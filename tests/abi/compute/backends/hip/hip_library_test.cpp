// The installed HIP runtime, on a machine without an AMD GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compute/backends/driver/driver_backend.h"
#include "compute/backends/hip/hip_dialect.h"
#include "compute/backends/hip/hip_libraries.h"

namespace assay::hip {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(RealHip, WithoutAGpuItIsAbsentForTheRightReason) {
  const auto runtime = SharedLibrary::open(runtime_candidates());
  if (!runtime) GTEST_SKIP() << runtime.error().message;
  if (::access("/dev/kfd", F_OK) == 0) GTEST_SKIP() << "there is an AMD GPU here";
  driver::DriverBackend backend("hip", "runtime", &HipDialect::load);
  EXPECT_EQ(backend.score(), 0);
  EXPECT_TRUE(backend.devices().empty());
  EXPECT_THAT(backend.absence(), HasSubstr(runtime->path() + " loaded (version "));
  EXPECT_THAT(backend.absence(), HasSubstr("hipError"));
  EXPECT_THAT(backend.absence(), HasSubstr("/dev/kfd is missing"));
  const std::vector<LibraryFact> libraries = backend.libraries();
  ASSERT_EQ(libraries.size(), 1u);
  EXPECT_EQ(libraries[0].path, runtime->path());
  EXPECT_THAT(libraries[0].version, MatchesRegex("[5-9]\\.[0-9]+\\.[0-9]+"));
  const auto device = backend.open(0);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::unavailable);
}

TEST(RealHip, AMissingRuntimeSaysWhereItWasLookedFor) {
  setenv("ASSAY_HIP_LIBRARY", "/nowhere", 1);
  driver::DriverBackend backend("hip", "runtime", &HipDialect::load);
  EXPECT_EQ(backend.score(), 0);
  unsetenv("ASSAY_HIP_LIBRARY");
  EXPECT_THAT(backend.absence(), HasSubstr("HIP runtime not found: tried /nowhere"));
  EXPECT_THAT(backend.absence(), HasSubstr("ASSAY_HIP_LIBRARY is set to /nowhere"));
  ASSERT_EQ(backend.libraries().size(), 1u);
  EXPECT_EQ(backend.libraries()[0].path, "");
  EXPECT_EQ(backend.libraries()[0].problem, backend.absence());
}

TEST(RealHip, ALibraryThatIsNoHipRuntimeIsNamed) {
  setenv("ASSAY_HIP_LIBRARY", "libm.so.6", 1);
  driver::DriverBackend backend("hip", "runtime", &HipDialect::load);
  EXPECT_EQ(backend.score(), 0);
  unsetenv("ASSAY_HIP_LIBRARY");
  EXPECT_THAT(backend.absence(), HasSubstr("has no function hipInit"));
}

}  // namespace
}  // namespace assay::hip
