#include "advise/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/json.h"
#include "core/suggest.h"

namespace assay {
namespace {

Json machine_json(const Diagnosis& diagnosis) {
  Json json = {{"gpus", Json::array()}};
  for (const Gpu& gpu : diagnosis.gpus) {
    Json entry = {{"index", gpu.index}, {"name", gpu.name}, {"pci", gpu.pci}};
    if (!gpu.compute_partition.empty()) {
      entry["partition"] = gpu.memory_partition.empty()
                               ? gpu.compute_partition
                               : gpu.compute_partition + "/" + gpu.memory_partition;
    }
    json["gpus"].push_back(std::move(entry));
  }
  if (diagnosis.rocm) json["rocm"] = to_string(*diagnosis.rocm);
  json["container"] = diagnosis.virtualization.container;
  json["hypervisor"] = diagnosis.virtualization.hypervisor;
  return json;
}

Json to_json(const FoldedFinding& folded) {
  const Finding& finding = folded.finding;
  Json json = {{"check", folded.check->id},
               {"title", folded.check->title},
               {"judgement", name_of(finding.judgement)},
               {"subjects", folded.subjects},
               {"found", finding.found},
               {"wanted", finding.wanted},
               {"why", finding.why},
               {"source", finding.source}};
  if (!finding.fix.empty()) json["fix"] = finding.fix;
  return json;
}

/// All fields of a finding except the subject.
auto essence(const Finding& finding) {
  return std::tie(finding.judgement, finding.found, finding.wanted, finding.why, finding.source,
                  finding.fix);
}

/// Whether environment variables are known: a running machine and a capture answer probes, a copied
/// folder does not.
bool variables_known(const Machine& machine) {
  return !machine.ask("uname").is_null() || !machine.variables().empty();
}

}  // namespace

std::vector<FoldedFinding> fold(const Diagnosis& diagnosis) {
  std::vector<FoldedFinding> folded;
  for (const CheckResult& result : diagnosis.results) {
    std::map<decltype(essence(Finding())), std::size_t> places;  // keys refer to `result`
    for (const Finding& finding : result.findings) {
      const auto [place, is_new] = places.emplace(essence(finding), folded.size());
      if (is_new) folded.push_back({result.check, finding, {}});
      if (!finding.subject.empty()) folded[place->second].subjects.push_back(finding.subject);
    }
  }
  return folded;
}

std::ptrdiff_t count(const std::vector<FoldedFinding>& findings, Judgement judgement) {
  return std::count_if(findings.begin(), findings.end(), [&](const FoldedFinding& folded) {
    return folded.finding.judgement == judgement;
  });
}

std::vector<const Check*> all_checks() {
  std::vector<const Check*> checks;
  for (const Check& check : CheckRegistry::entries()) checks.push_back(&check);
  std::sort(checks.begin(), checks.end(), [](const Check* a, const Check* b) {
    return std::tie(a->topic, a->id) < std::tie(b->topic, b->id);
  });
  return checks;
}

Result<std::vector<const Check*>> find_checks(std::span<const std::string> ids) {
  std::vector<const Check*> checks = all_checks();
  if (ids.empty()) return checks;
  std::vector<std::string> known;
  for (const Check* check : checks) known.emplace_back(check->id);
  for (const std::string& id : ids) {
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      return Error{ErrorKind::usage, fmt::format("unknown check \"{}\"{}; there are {}", id,
                                                 did_you_mean(id, known), fmt::join(known, ", "))};
    }
  }
  std::erase_if(checks, [&](const Check* check) {
    return std::find(ids.begin(), ids.end(), check->id) == ids.end();
  });
  return checks;
}

Diagnosis diagnose(const Machine& machine, const Intent& intent,
                   std::span<const Check* const> checks, bool live) {
  Diagnosis diagnosis{
      read_gpus(machine), read_virtualization(machine), read_rocm_version(machine), {}};
  const CheckContext context{
      machine,        diagnosis.gpus,           intent, diagnosis.virtualization,
      diagnosis.rocm, variables_known(machine), live};
  for (const Check* check : checks) {
    diagnosis.results.push_back({check, check->run(context)});
  }
  return diagnosis;
}

Json to_json(const Diagnosis& diagnosis) {
  const std::vector<FoldedFinding> folded = fold(diagnosis);
  Json findings = Json::array(), not_applicable = Json::array();
  for (const FoldedFinding& finding : folded) findings.push_back(to_json(finding));
  for (const CheckResult& result : diagnosis.results) {
    if (result.findings.empty()) not_applicable.push_back(result.check->id);
  }
  return {{"machine", machine_json(diagnosis)},
          {"findings", std::move(findings)},
          {"not_applicable", std::move(not_applicable)},
          {"counts",
           {{"pass", count(folded, Judgement::pass)},
            {"warn", count(folded, Judgement::warn)},
            {"fail", count(folded, Judgement::fail)},
            {"unknown", count(folded, Judgement::unknown)}}}};
}

}  // namespace assay
