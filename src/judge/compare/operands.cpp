#include "judge/compare/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "judge/campaign/folder.h"
#include "judge/compare/emulated.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// "campaign/env" and "campaign/env/" are the same folder.
fs::path folder_of(const std::string& operand) {
  const fs::path path = fs::path(operand).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Result<Operands> load_operands(const std::string& a, const std::string& b, bool with_records) {
  Operands operands;
  operands.a = TRY(load_result_set(a, with_records ? &operands.records_a : nullptr));
  operands.b = TRY(load_result_set(b, with_records ? &operands.records_b : nullptr));
  const fs::path folder = folder_of(a).parent_path();
  const fs::path again = folder / control_of(folder_of(a).filename().string());
  const bool same_campaign = folder_of(b).parent_path() == folder && is_campaign(folder);
  // Pair numbers of two campaigns are unrelated.
  if (!same_campaign) operands.a.paired = operands.b.paired = false;
  if (same_campaign) operands.terms = TRY(read_terms(folder));
  if (same_campaign && fs::exists(again)) {
    operands.control = TRY(load_result_set(again.string()));
  }
  TRY(refuse_mixture({&operands.a, &operands.b}));
  if (operands.control) TRY(refuse_mixture({&operands.a, &*operands.control}));
  return operands;
}

Result<std::vector<std::pair<std::string, std::string>>> pairs_of_campaign(
    const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [a, b] : TRY(read_contrasts(folder))) {
    pairs.emplace_back((fs::path(folder) / a).string(), (fs::path(folder) / b).string());
  }
  return pairs;
}

}  // namespace assay
