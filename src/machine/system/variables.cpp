#include "machine/system/variables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace assay {
namespace {

constexpr std::array<std::string_view, 37> prefixes = {
    "HIP_",    "HSA_",    "HSAKMT_",  "ROCR_",   "ROCM_",   "ROCBLAS_",  "HIPBLASLT_", "MIOPEN_",
    "AMD_",    "AMDGPU_", "TENSILE_", "GPU_",    "CUDA_",   "CUBLAS_",   "CUBLASLT_",  "NVIDIA_",
    "NCCL_",   "RCCL_",   "UCX_",     "OMPI_",   "MPICH_",  "FI_",       "IBV_",       "OMP_",
    "GOMP_",   "KMP_",    "MKL_",     "DNNL_",   "ONEDNN_", "OPENBLAS_", "TORCH_",     "PYTORCH_",
    "TRITON_", "VLLM_",   "SGLANG_",  "MALLOC_", "ASSAY_"};
constexpr std::array<std::string_view, 12> whole_names = {"LD_PRELOAD",
                                                          "LD_LIBRARY_PATH",
                                                          "GLIBC_TUNABLES",
                                                          "VIRTUAL_ENV",
                                                          "CONDA_PREFIX",
                                                          "container",
                                                          "KUBERNETES_SERVICE_HOST",
                                                          "APPTAINER_CONTAINER",
                                                          "SINGULARITY_CONTAINER",
                                                          "SLURM_JOB_ID",
                                                          "SLURM_CPU_BIND",
                                                          "WSL_DISTRO_NAME"};
/// Marks match anywhere in a name, words only as whole words: "iommu.passthrough" is not a "PASS".
constexpr std::array<std::string_view, 6> secret_marks = {"TOKEN",  "SECRET", "PASSWORD",
                                                          "PASSWD", "APIKEY", "CREDENTIAL"};
constexpr std::array<std::string_view, 7> secret_words = {"PASS", "PWD",    "PW",    "AUTH",
                                                          "KEY",  "BEARER", "COOKIE"};

/// "scheme://user:password@host" without user and password.
std::string without_credentials(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(text.find_first_of(" /\"'", begin), text.size());
    const std::size_t sign = text.substr(begin, end - begin).rfind('@');
    if (sign != std::string::npos) text.replace(begin, sign, "(set)");
  }
  return text;
}

}  // namespace

bool is_performance_variable(std::string_view name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(whole_names.begin(), whole_names.end(), name) != whole_names.end();
}

bool is_secret_name(std::string_view name) {
  std::string upper;
  std::string word;
  bool secret_word = false;
  const auto end_word = [&] {
    secret_word = secret_word ||
                  std::find(secret_words.begin(), secret_words.end(), word) != secret_words.end();
    word.clear();
  };
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    upper += static_cast<char>(std::toupper(byte));
    if (std::isalnum(byte) != 0) {
      word += upper.back();
    } else {
      end_word();
    }
  }
  end_word();
  return secret_word ||
         std::any_of(secret_marks.begin(), secret_marks.end(),
                     [&](std::string_view mark) { return upper.find(mark) != std::string::npos; });
}

std::string hide_secrets(std::string_view words) {
  std::string kept, word;
  bool quoted = false;
  const auto end_word = [&] {
    if (word.empty()) return;
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && is_secret_name(word.substr(0, equals))) {
      word.replace(equals + 1, std::string::npos, "(set)");
    }
    kept += (kept.empty() ? "" : " ") + without_credentials(word);
    word.clear();
  };
  for (const char letter : words) {
    if (letter == '"') quoted = !quoted;
    if (!quoted && std::isspace(static_cast<unsigned char>(letter)) != 0) {
      end_word();
    } else {
      word += letter;
    }
  }
  end_word();
  return kept;
}

Variables performance_variables() {
  Variables found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (!is_performance_variable(name)) continue;
    found[std::string(name)] =
        is_secret_name(name) ? "(set)" : without_credentials(std::string(text.substr(equals + 1)));
  }
  return found;
}

}  // namespace assay
