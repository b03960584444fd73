// The real run-time compilers, which work without a GPU: NVRTC in this process, hipRTC in a child.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "compute/backends/cuda/cuda_dialect.h"
#include "compute/backends/cuda/cuda_libraries.h"
#include "compute/backends/hip/hip_libraries.h"
#include "compute/device/kernel_cache.h"
#include "compute/device/kernel_source.h"
#include "compute/device/rtc_compiler.h"
#include "core/embedded.h"
#include "core/hash.h"
#include "model/operations/flash_backward.h"
#include "model/operations/flash_forward.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Every kernel file, as a request to compile it for `arch`.
std::vector<CompileRequest> requests(const std::string& library, const std::string& vendor,
                                     const std::string& arch) {
  std::vector<CompileRequest> all;
  for (const EmbeddedFile& file : all_kernel_files()) {
    if (!file.name.ends_with(".cu")) continue;
    const auto source = complete_source(file.name.substr(0, file.name.size() - 3));
    all.push_back({library,
                   vendor,
                   std::string(file.name),
                   source.value(),
                   {"--gpu-architecture=" + arch, "-std=c++17"},
                   1200});
  }
  return all;
}

struct Compiled {
  std::string code, log;
};

/// What `compile` makes of the request. If ASSAY_CI_CACHE names a folder, results are kept there
/// under all that they depend on, the compiler's own files among it, and are not computed again.
Result<Compiled> compiled(const CompileRequest& request,
                          const std::function<Result<Compiled>()>& compile) {
  const char* folder = std::getenv("ASSAY_CI_CACHE");
  if (folder == nullptr) return compile();
  const std::filesystem::path library = std::filesystem::canonical(request.library);
  std::vector<std::string> parts = {
      request.vendor,
      request.name,
      request.source,
      library,
      std::to_string(std::filesystem::file_size(library)),
      std::to_string(std::filesystem::last_write_time(library).time_since_epoch().count())};
  parts.insert(parts.end(), request.options.begin(), request.options.end());
  const std::string key = hash_of_parts(parts);
  const KernelCache cache(std::filesystem::path(folder) / "rtc");
  if (const auto kept = cache.load(key)) {  // the code's size, a line's end, the code, the log
    const std::size_t end = kept->find('\n'), bytes = std::stoul(kept->substr(0, end));
    return Compiled{kept->substr(end + 1, bytes), kept->substr(end + 1 + bytes)};
  }
  auto result = compile();
  if (result.ok()) {
    cache.store(key, std::to_string(result->code.size()) + "\n" + result->code + result->log);
  }
  return result;
}

/// An ELF file for machine 224 (AMDGPU), or a bundle of such files.
bool is_amd_code(const std::string& code) {
  if (code.starts_with("__CLANG_OFFLOAD_BUNDLE__")) return true;
  return code.starts_with("\177ELF") && code.size() > 20 && code[18] == '\xe0' && code[19] == 0;
}

/// Own attention as it is compiled on a Hopper GPU, whose tiles are larger than the usual ones.
std::vector<CompileRequest> attention_of_hopper(const std::string& library) {
  DeviceFacts facts;
  facts.backend = "cuda";
  facts.arch = "sm_90";
  facts.max_threads_per_block = 1024;
  facts.shared_bytes_per_block = 227 << 10;
  std::vector<ProgramSource> sources;
  for (const std::int64_t width : {64, 128}) {
    for (const OwnForwardGeometry& geometry : OwnForwardGeometry::all_of(facts, width)) {
      sources.push_back(FlashForward::source(DataType::bf16, width, geometry));
      sources.push_back(FlashForward::source(DataType::bf16, width, geometry, true));
    }
    for (const bool groups : {false, true}) {
      sources.push_back(FlashBackward::source(facts, DataType::bf16, width, groups));
      sources.push_back(FlashBackward::source(facts, DataType::bf16, width, groups, true));
    }
  }
  std::vector<CompileRequest> all;
  for (const ProgramSource& source : sources) {
    std::vector<std::string> options = {"--gpu-architecture=sm_90a", "-std=c++17"};
    for (const auto& [name, value] : source.defines) options.push_back("-D" + name + "=" + value);
    all.push_back(
        {library, "cuda", source.name + ".cu", complete_source(source.name).value(), options});
  }
  return all;
}

/// Nor may it let waves wait for Hopper's products elsewhere than the code says, which is right but
/// slow: ptxas then remarks C7509 to C7520.
TEST(Nvrtc, CompilesEveryKernelForHopper) {
  const auto library = SharedLibrary::open(cuda::nvrtc_candidates(13000));
  if (!library) GTEST_SKIP() << library.error().message;
  std::vector<CompileRequest> all = requests(library->path(), "cuda", "sm_90a");
  for (CompileRequest& more : attention_of_hopper(library->path())) all.push_back(std::move(more));
  for (const CompileRequest& request : all) {
    const auto result = compiled(request, [&]() -> Result<Compiled> {
      Compiled made;
      made.code = TRY(rtc_compile(request, &made.log));
      return made;
    });
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->code.substr(0, 4), "\177ELF") << request.name;
    EXPECT_THAT(result->log, Not(HasSubstr("(C75"))) << request.name;
  }
}

/// wgmma exists only in code for sm_90a and nothing else; NVRTC 11.8 knows sm_90 alone.
TEST(Nvrtc, CodeIsForTheDevicesOwnArchitecture) {
  EXPECT_EQ(cuda::architecture_option("sm_80", "13.0"), "--gpu-architecture=sm_80");
  EXPECT_EQ(cuda::architecture_option("sm_90", "11.8"), "--gpu-architecture=sm_90");
  EXPECT_EQ(cuda::architecture_option("sm_90", "12.0"), "--gpu-architecture=sm_90a");
  EXPECT_EQ(cuda::architecture_option("sm_100", "13.0"), "--gpu-architecture=sm_100a");
}

TEST(Nvrtc, ErrorsCarryTheCompilersLog) {
  const auto library = SharedLibrary::open(cuda::nvrtc_candidates(13000));
  if (!library) GTEST_SKIP() << library.error().message;
  const auto code = rtc_compile({library->path(),
                                 "cuda",
                                 "wrong.cu",
                                 "int a;\nnonsense here;\n",
                                 {"--gpu-architecture=sm_90"}});
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("NVRTC could not compile wrong.cu"));
  EXPECT_THAT(code.error().message, HasSubstr("wrong.cu(2): error"));
  const auto arch =
      rtc_compile({library->path(), "cuda", "empty.cu", "", {"--gpu-architecture=sm_1"}});
  ASSERT_FALSE(arch);
  EXPECT_THAT(arch.error().message, HasSubstr("sm_1"));
}

TEST(Nvrtc, TheDriversOwnVersionComesFirst) {
  using testing::ElementsAre;
  EXPECT_THAT(cuda::nvrtc_candidates(12040).names,
              ElementsAre("libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.13"));
  EXPECT_THAT(cuda::nvrtc_candidates(13000).names,
              ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"));
  EXPECT_THAT(cuda::nvrtc_candidates(11040).names,
              ElementsAre("libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"));
  EXPECT_EQ(cuda::nvrtc_candidates(14010).names[0], "libnvrtc.so.14");
}

TEST(Nvrtc, ItsBuiltinsAreLoadedFromItsOwnFolder) {
  const auto library = SharedLibrary::open(cuda::nvrtc_candidates(13000));
  if (!library) GTEST_SKIP() << library.error().message;
  RtcApi api{};
  ASSERT_TRUE(find_rtc_vendor("cuda")->bind(*library, api));
  int major = 0, minor = 0;
  ASSERT_EQ(api.version(&major, &minor), 0);
  cuda::preload_nvrtc_builtins(library->path(), major, minor);
  const std::string folder = std::filesystem::path(library->path()).parent_path();
  const std::string builtins =
      folder + "/libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  if (!std::filesystem::exists(builtins)) GTEST_SKIP() << "no " << builtins;
  EXPECT_NE(::dlopen(builtins.c_str(), RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

class RealHipRtc : public testing::Test {
 protected:
  void SetUp() override {
    const auto runtime = SharedLibrary::open(hip::runtime_candidates());
    if (!runtime) GTEST_SKIP() << runtime.error().message;
    const auto library = hip::open_rtc(*runtime);
    if (!library) GTEST_SKIP() << library.error().message;
    path_ = library->path();
    RtcApi api{};
    ASSERT_TRUE(find_rtc_vendor("hip")->bind(*library, api));
    int minor = 0;
    ASSERT_EQ(api.version(&major_, &minor), 0);
  }

  std::string path_;
  int major_ = 0;
};

/// The architecture as a device reports it, with its features; the plain name is one more way to
/// ask for it, for which one file is enough.
TEST_F(RealHipRtc, CompilesEveryKernelForCdna2) {
  auto all = requests(path_, "hip", "gfx90a:sramecc+:xnack-");
  all.push_back(requests(path_, "hip", "gfx90a").front());
  for (const CompileRequest& request : all) {
    const auto result = compiled(request, [&]() -> Result<Compiled> {
      return Compiled{TRY(compile_in_child(request)), ""};
    });
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(is_amd_code(result->code)) << request.name;
  }
}

/// Debian's ROCm 5 aborts on this architecture; newer releases know it.
TEST_F(RealHipRtc, AnUnknownArchitectureIsOneLineAndNoCrash) {
  for (const CompileRequest& request : requests(path_, "hip", "gfx942")) {
    const auto code = compile_in_child(request);
    if (code.ok()) continue;
    EXPECT_EQ(code.error().kind, ErrorKind::failed);
    EXPECT_THAT(code.error().message, HasSubstr("compiling " + request.name));
    EXPECT_THAT(code.error().message, HasSubstr("gfx942"));
    EXPECT_THAT(code.error().message, Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace assay
