#include "advise/tune/gemm/product_outcome.h"

#include <cmath>

#include "advise/tune/step_members.h"
#include "core/json.h"

namespace assay {
namespace {

Json solution_json(const ProductSolution& solution) {
  Json json = {{"library", solution.library}, {"algorithm", solution.algorithm}};
  if (solution.index) json["index"] = *solution.index;
  if (!solution.solution.empty()) json["solution"] = solution.solution;
  if (!solution.kernel.empty()) json["kernel"] = solution.kernel;
  return json;
}

Error not_one() {
  return {ErrorKind::usage, "it is no outcome of tuning a matrix product"};
}

Result<std::string> text_or_none(const Json& json, const char* name) {
  if (!json.contains(name)) return std::string();
  return text_member(json, name, not_one());
}

Result<std::size_t> count_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned()) return not_one();
  return found->get<std::size_t>();
}

Result<ProductSolution> solution_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object()) return not_one();
  ProductSolution solution;
  solution.library = TRY(text_member(*found, "library", not_one()));
  solution.algorithm = TRY(text_member(*found, "algorithm", not_one()));
  solution.solution = TRY(text_or_none(*found, "solution"));
  solution.kernel = TRY(text_or_none(*found, "kernel"));
  if (const auto index = found->find("index"); index != found->end()) {
    if (!index->is_number_integer()) return not_one();
    solution.index = index->get<std::int64_t>();
  }
  return solution;
}

}  // namespace

Json to_json(const ProductOutcome& outcome) {
  Json json = {{"problem", outcome.problem}, {"spent_seconds", outcome.spent_seconds}};
  if (!outcome.reason.empty()) {
    json["reason"] = outcome.reason;
    return json;
  }
  json["usual"] = solution_json(outcome.usual);
  json["best"] = solution_json(outcome.best);
  json["fastest"] = solution_json(outcome.fastest);
  json["solutions"] = outcome.solutions;
  json["wrong"] = outcome.wrong;
  json["failed"] = outcome.failed;
  json["slow"] = outcome.slow;
  json["untried"] = outcome.untried;
  json["first_times"] = outcome.first_times;
  json["refused"] = Json::array();
  for (const RefusedSolution& refused : outcome.refused) {
    Json one = solution_json(refused.solution);
    one["reason"] = refused.reason;
    one["wrong"] = refused.wrong;
    json["refused"].push_back(std::move(one));
  }
  json["proven"] = outcome.proven;
  json["pairs"] = outcome.pairs;
  json["usual_seconds"] = outcome.usual_seconds;
  json["fastest_seconds"] = outcome.fastest_seconds;
  json["gain"] = {outcome.gain, outcome.gain_low, outcome.gain_high};
  if (outcome.floor_seconds) json["floor_seconds"] = *outcome.floor_seconds;
  return json;
}

Result<ProductOutcome> outcome_from_json(const Json& json) {
  if (!json.is_object()) return not_one();
  ProductOutcome outcome;
  outcome.problem = TRY(text_member(json, "problem", not_one()));
  outcome.reason = TRY(text_or_none(json, "reason"));
  outcome.spent_seconds = TRY(number_member(json, "spent_seconds", not_one()));
  if (!outcome.reason.empty()) return outcome;
  outcome.usual = TRY(solution_at(json, "usual"));
  outcome.best = TRY(solution_at(json, "best"));
  outcome.fastest = TRY(solution_at(json, "fastest"));
  outcome.solutions = TRY(count_at(json, "solutions"));
  outcome.wrong = TRY(count_at(json, "wrong"));
  outcome.failed = TRY(count_at(json, "failed"));
  outcome.slow = TRY(count_at(json, "slow"));
  outcome.untried = TRY(count_at(json, "untried"));
  // missing in older journals
  const Json first_times = json.value("first_times", Json::array());
  if (!first_times.is_array() || first_times.size() > most_first_times) return not_one();
  for (const Json& one : first_times) {
    const double time = one.is_number() ? one.get<double>() : -1;
    if (!(time > 0) || !std::isfinite(time)) return not_one();
    outcome.first_times.push_back(time);
  }
  const auto refused = json.find("refused");
  if (refused == json.end() || !refused->is_array()) return not_one();
  for (const Json& one : *refused) {
    const Json wrapped = {{"one", one}};
    RefusedSolution solution;
    solution.solution = TRY(solution_at(wrapped, "one"));
    solution.reason = TRY(text_member(one, "reason", not_one()));
    solution.wrong = one.value("wrong", Json()) == true;
    outcome.refused.push_back(std::move(solution));
  }
  const auto proven = json.find("proven");
  if (proven == json.end() || !proven->is_boolean()) return not_one();
  outcome.proven = proven->get<bool>();
  outcome.pairs = TRY(count_at(json, "pairs"));
  outcome.usual_seconds = TRY(number_member(json, "usual_seconds", not_one()));
  outcome.fastest_seconds = TRY(number_member(json, "fastest_seconds", not_one()));
  const auto gain = json.find("gain");
  if (gain == json.end() || !gain->is_array() || gain->size() != 3) return not_one();
  double* const places[] = {&outcome.gain, &outcome.gain_low, &outcome.gain_high};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(*gain)[i].is_number()) return not_one();
    *places[i] = (*gain)[i].get<double>();
  }
  if (json.contains("floor_seconds")) {
    outcome.floor_seconds = TRY(number_member(json, "floor_seconds", not_one()));
  }
  return outcome;
}

}  // namespace assay
