#include "advise/selftest/suspects.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace assay::selftest {
namespace {

constexpr std::array all_suspects = {
    Suspect{"Do aligned 8-byte stores arrive whole on one device?", "whole-words",
            "library=peer cannot be used: its words carry their own arrival flag."},
    Suspect{"Do aligned 8-byte stores of another GPU arrive whole?", "whole-words-between-devices",
            "library=peer between these GPUs gives wrong sums: use library=rccl or nccl."},
    Suspect{"Is what a GPU stores before a fence seen with what it stores behind it?",
            "fences-between-devices", "library=peer cannot be used between these GPUs."},
    Suspect{"Do blocks on all XCDs see each other's stores behind a fence?", "fences atomics",
            "Kernels that add up over blocks are wrong on this GPU: report it."},
    Suspect{"Are several streams captured into one graph, also nested ones?",
            "graph-streams graph-nested-streams",
            "Use graph=off and launch=stream; newer ROCm releases (from 2025-11-28 on) mend it."},
    Suspect{"Does a capture into an existing graph replace it?", "graph-update",
            "Decoders and trainings rebuild graphs, which costs time."},
    Suspect{"Have events in graphs the times of each replay?", "graph-event-times",
            "Costs of operations within a step are unknown; times of whole steps stay right."},
    Suspect{"Is memory shared between processes, also with HSA_ENABLE_IPC_MODE_LEGACY=1?",
            "peer-processes peer-processes-legacy-ipc",
            "Unset HSA_ENABLE_IPC_MODE_LEGACY for ranks that are processes, or use library=rccl."},
    Suspect{"Does the clock of kernels run at the rate that is assumed?", "wall-clock common-clock",
            "Times that kernels measure are wrong by that ratio: report it."},
    Suspect{"Do events resolve short kernels?", "event-resolution",
            "Samples repeat short work until it is long enough; single launches are less precise."},
    Suspect{"Do launches and replays keep their order?", "launch-order programmatic-launches",
            "Report it: nothing that this GPU computes can be trusted."},
    Suspect{"Does the collective library work in graphs, and split?", "collective-one-rank",
            "Use launch=stream."},
    Suspect{"Does the collective library work between two GPUs?",
            "collective-communicators collective-operations",
            "Run `assay doctor`; set NCCL_DEBUG=INFO."},
    Suspect{"Do occupancy and the driver agree?", "occupancy-own-kernels",
            "`assay occupancy` computes wrong figures for this GPU: report it."},
    Suspect{"Is power and temperature readable?", "sensors",
            "Joules per token are missing; `assay doctor` says which permission is."},
};

const CheckOutcome* find(const Report& report, const std::string& name) {
  const auto at = std::ranges::find(report.outcomes, name, &CheckOutcome::check);
  return at == report.outcomes.end() ? nullptr : &*at;
}

SuspectAnswer answer_to(const Suspect& suspect, const Report& report) {
  SuspectAnswer answer = {&suspect, Verdict::yes, ""};
  std::istringstream names{std::string(suspect.checks)};
  for (std::string name; names >> name;) {
    const CheckOutcome* const outcome = find(report, name);
    Verdict verdict = Verdict::open;
    if (outcome != nullptr && outcome->outcome == Outcome::passed) verdict = Verdict::yes;
    if (outcome != nullptr && is_fault(outcome->outcome)) verdict = Verdict::no;
    // A fault weighs more than a question that was not asked, and that more than a yes.
    const bool weighs_more =
        verdict == Verdict::no || (verdict == Verdict::open && answer.verdict == Verdict::yes);
    if (!weighs_more && !answer.because.empty()) continue;
    answer.verdict = verdict;
    answer.because = outcome == nullptr ? name + " was not run" : outcome->detail;
    if (verdict == Verdict::no) break;
  }
  return answer;
}

}  // namespace

std::span<const Suspect> suspects() {
  return all_suspects;
}

std::vector<SuspectAnswer> answers_in(const Report& report) {
  std::vector<SuspectAnswer> answers;
  for (const Suspect& suspect : all_suspects) answers.push_back(answer_to(suspect, report));
  return answers;
}

}  // namespace assay::selftest
