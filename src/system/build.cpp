// Which assay measured.
#include <nlohmann/json.hpp>

#include "core/version.h"
#include "system/fact_source.h"

namespace assay {
namespace {

Json read_build(const std::filesystem::path&) {
  return {{"version", version()},
          {"git", git_hash()},
          {"compiler", compiler()},
          {"build_type", build_type()}};
}

const FactRegistry::Add registered{{"assay", &read_build}};

}  // namespace
}  // namespace assay
