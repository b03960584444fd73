// Environment variables that change how GPU runtimes, collectives, BLAS or threads behave.
#include <unistd.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "system/fact_source.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 14> prefixes = {
    "HIP_",  "HSA_", "ROCR_", "ROCM_", "AMD_",     "NCCL_",      "RCCL_",
    "CUDA_", "GPU_", "OMP_",  "MKL_",  "ROCBLAS_", "HIPBLASLT_", "ASSAY_"};
constexpr std::array<std::string_view, 2> names = {"LD_PRELOAD", "LD_LIBRARY_PATH"};
constexpr std::array<std::string_view, 5> secret_marks = {"TOKEN", "SECRET", "PASSWORD", "APIKEY",
                                                          "API_KEY"};

bool is_relevant(std::string_view name) {
  for (const std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view whole : names) {
    if (name == whole) return true;
  }
  return false;
}

bool is_secret(std::string_view name) {
  for (const std::string_view mark : secret_marks) {
    if (name.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

Json read_environment(const std::filesystem::path&) {
  std::map<std::string, std::string> found;  // in order, whatever the order of the environment
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (!is_relevant(name)) continue;
    found[std::string(name)] = is_secret(name) ? "(set)" : std::string(text.substr(equals + 1));
  }
  Json json = Json::object();
  for (const auto& [name, value] : found) json[name] = value;
  return json;
}

const FactRegistry::Add registered{{"environment", &read_environment}};

}  // namespace
}  // namespace assay
