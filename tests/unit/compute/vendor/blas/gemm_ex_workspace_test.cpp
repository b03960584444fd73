// Which workspace the handle of cuBLAS or rocBLAS has in each call.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compute/vendor/blas/cublas_or_rocblas_gemm_ex.h"
#include "support/test_device.h"

namespace assay {
namespace {

/// A library that notes the workspace of each product. `with_stream`: setting the stream gives it
/// its own again, as in cuBLAS; rocBLAS keeps the one that was set.
class WorkspaceLibrary final : public GemmExBlas {
 public:
  WorkspaceLibrary(Device& device, bool with_stream)
      : GemmExBlas(device), with_stream_(with_stream) {}

  std::vector<const void*> used;  ///< null: its own

 protected:
  int set_stream(void*) override {
    if (with_stream_) workspace_ = nullptr;
    return 0;
  }
  int set_workspace(Workspace workspace) override {
    workspace_ = workspace.data;
    return 0;
  }
  int forget_workspace(void* stream) override {
    return with_stream_ ? set_stream(stream) : set_workspace({});
  }
  int multiply(const GemmExCall&) override {
    used.push_back(workspace_);
    return 0;
  }
  std::string_view status_name(int) const override { return "REFUSED"; }
  ErrorKind kind_of(int) const override { return ErrorKind::failed; }
  std::size_t wanted_workspace() const override { return 256; }

 private:
  const bool with_stream_;
  const void* workspace_ = nullptr;
};

class GemmExWorkspace : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, GemmExWorkspace, testing::Bool());

TEST_P(GemmExWorkspace, IsThatOfTheCallAndNeverOfAnEarlierOne) {
  const auto cpu = open_test_device("cpu");
  WorkspaceLibrary library(*cpu, GetParam());
  int stream = 0, other_stream = 0;
  std::byte first[8], second[8];
  const auto call = [&](int& on, Workspace workspace) {
    const Status ran = library.run(&on, workspace, {});
    EXPECT_TRUE(ran) << ran.error().message;
    return library.used.back();
  };
  EXPECT_EQ(call(stream, {}), nullptr);
  EXPECT_EQ(call(stream, {first, 8}), first);
  EXPECT_EQ(call(stream, {}), nullptr) << "the plan that owned the first one may be gone";
  EXPECT_EQ(call(stream, {first, 8}), first);
  EXPECT_EQ(call(stream, {second, 8}), second);
  EXPECT_EQ(call(other_stream, {second, 8}), second);
  EXPECT_EQ(call(stream, {}), nullptr) << "on another stream too";
}

}  // namespace
}  // namespace assay
