#include "machine/system/pip_version.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

constexpr const char* site = "/opt/venv/lib/python3.12/site-packages";

TEST(PipVersion, FromTheMetadataBesideThePackage) {
  const std::vector<std::string> names = {"nvidia",
                                          "nvidia_cublas-13.1.0.3.dist-info",
                                          "nvidia_cuda_nvrtc-13.0.88.dist-info",
                                          "nvidia_nccl_custom-1.0.dist-info",
                                          "nvidia_nccl_cu13-2.28.9.dist-info",
                                          "torchvision-0.26.0.dist-info",
                                          "torch-2.11.0+cu130.dist-info"};
  const auto version = [&](const std::string& inside, const char* role) {
    return pip_version(std::string(site) + "/" + inside, role, names);
  };
  EXPECT_EQ(version("nvidia/nccl/lib/libnccl.so.2", "nccl"), "2.28.9");
  EXPECT_EQ(version("nvidia/cu13/lib/libcublasLt.so.13", "cublaslt"), "13.1.0.3");
  EXPECT_EQ(version("nvidia/cu13/lib/libnvrtc.so.13", "nvrtc"), "13.0.88");
  EXPECT_EQ(version("torch/lib/librccl.so", "rccl"), "2.11.0+cu130");
  EXPECT_EQ(version("nvidia/cu13/lib/libcudart.so.13", "cudart"), "");  // not installed by pip
  EXPECT_EQ(version("nvidia/cu13/lib/libmystery.so", "mystery"), "");
}

TEST(PipVersion, TheOrderOfAFolderDecidesNothing) {
  std::vector<std::string> names = {
      "nvidia_cublas-13.1.0.3.dist-info",      "nvidia_cublas_cu11-11.11.3.6.dist-info",
      "nvidia_cublas_cu12-12.8.4.1.dist-info", "nvidia_cublas_cuda_extension-1.0.dist-info",
      "nvidia_cublas_cu-0.1.dist-info",        "nvidia_nccl_cu12-2.27.3.dist-info",
      "nvidia_nccl_cu13-2.28.9.dist-info",     "nvidia_nvrtc_cu11-1.5.dist-info",
      "nvidia_nvrtc_cu12-1.5.dist-info"};
  for (int turn = 0; turn < 2; ++turn) {
    const auto version = [&](const std::string& inside, const char* role) {
      return pip_version(std::string(site) + "/nvidia/" + inside, role, names);
    };
    EXPECT_EQ(version("cublas/lib/libcublas.so.11", "cublas"), "11.11.3.6");
    EXPECT_EQ(version("cublas/lib/libcublas.so.12", "cublas"), "12.8.4.1");
    EXPECT_EQ(version("cu13/lib/libcublas.so.13", "cublas"), "13.1.0.3");
    EXPECT_EQ(version("nccl/lib/libnccl.so.2", "nccl"), "");  // that of the last installation
    EXPECT_EQ(version("nvrtc/lib/libnvrtc.so", "nvrtc"), "1.5");
    std::ranges::reverse(names);
  }
}

TEST(PipVersion, OtherPlacesHaveNone) {
  EXPECT_EQ(packages_folder("/usr/lib/libnccl.so.2"), "");
  EXPECT_EQ(pip_version("/usr/lib/libnccl.so.2", "nccl", {"nvidia_nccl_cu13-2.dist-info"}), "");
  EXPECT_EQ(packages_folder(std::string(site) + "/torch/lib/libnccl.so"), site);
}

}  // namespace
}  // namespace assay
