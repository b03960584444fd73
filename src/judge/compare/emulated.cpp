#include "judge/compare/emulated.h"

#include <fmt/format.h>

namespace assay {

Error mixture(const std::string& emulated, const std::string& real) {
  return {ErrorKind::usage, fmt::format("{} is from a model (an emulated device or a simulated "
                                        "server) and {} is from a real one; "
                                        "they cannot be compared",
                                        emulated, real)};
}

Status refuse_mixture(std::initializer_list<const ResultSet*> sets) {
  const ResultSet* emulated = nullptr;
  const ResultSet* real = nullptr;
  for (const ResultSet* set : sets) {
    for (const Unit& unit : set->units) (unit.emulated ? emulated : real) = set;
  }
  if (emulated == nullptr || real == nullptr) return {};
  if (emulated != real) return mixture(emulated->name, real->name);
  return Error{
      ErrorKind::usage,
      fmt::format(
          "{} mixes results of a model (an emulated device or a simulated server) with real ones; "
          "name one run, STORE:RUN",
          emulated->name)};
}

}  // namespace assay
