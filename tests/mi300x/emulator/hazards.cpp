#include "emulator/hazards.h"

#include <algorithm>
#include <bit>

#include "emulator/emulator.h"
#include "emulator/fault.h"
#include "emulator/hazard_rules.h"

namespace mi300x {
namespace {

constexpr unsigned most_vector = 63, most_scalar = 15;  ///< where the counters stop counting

std::string register_name(unsigned index) {
  if (index < first_accumulator) return "v" + std::to_string(index);
  if (index < first_scalar) return "a" + std::to_string(index - first_accumulator);
  index -= first_scalar;
  if (index == scalar::vcc || index == scalar::vcc + 1) return "vcc";
  if (index == scalar::exec || index == scalar::exec + 1) return "exec";
  if (index == scalar::m0) return "m0";
  return "s" + std::to_string(index);
}

}  // namespace

bool HazardCheck::local_writes_pending() const {
  if (!default_settings().hazards) return false;
  for (const Queue& queue : queues_) {
    // What of FLAT goes to LDS is counted by lgkmcnt alone, and compilers wait for no more.
    const bool flat = &queue == &queues_[queue::flat];
    const u64 done = flat ? std::max(queue.done, flat_scalar_done_) : queue.done;
    if (queue.last_local_write > done) return true;
  }
  return false;
}

// ---- Operations in flight ----

/// Records the operation that an instruction starts, or what s_waitcnt waits for.
void HazardCheck::count(const Instruction& instruction) {
  if (instruction.hazards.queue & queue::wait) return wait(instruction);
  const u8 kind = instruction.hazards.queue & queue::kind_mask;
  Queue& own = queues_[kind];
  ++own.issued;
  if (kind == queue::vector) own.complete_all_but(most_vector);
  if (kind == queue::local) own.complete_all_but(most_scalar);
  if (instruction.hazards.queue & queue::writes_local) own.last_local_write = own.issued;
  for (unsigned n = 0; n < instruction.target_count; ++n) {
    const Operand& operand = instruction.targets[n];
    if (operand.kind != OperandKind::vector && operand.kind != OperandKind::scalar) continue;
    const unsigned base = operand.kind == OperandKind::scalar ? first_scalar : 0;
    for (unsigned word = 0; word < operand.words; ++word) {
      const unsigned index = base + operand.index + word;
      if (!targets_[index].load) pending_.push_back(u16(index));
      targets_[index] = {own.issued, kind, &instruction};
      pending_marks_ |= register_mark(index);
    }
  }
}

void HazardCheck::wait(const Instruction& instruction) {
  const bool all_vector = instruction.wait_vector == 0, all_scalar = instruction.wait_scalar == 0;
  Queue& flat = queues_[queue::flat];
  // FLAT holds both counters up until each was waited for, in one instruction or in two.
  if (all_vector) flat_vector_done_ = flat.issued;
  if (all_scalar) flat_scalar_done_ = flat.issued;
  flat.done = std::max(flat.done, std::min(flat_vector_done_, flat_scalar_done_));
  if (all_vector || flat_vector_done_ == flat.issued)
    queues_[queue::vector].complete_all_but(instruction.wait_vector);
  if (all_scalar || flat_scalar_done_ == flat.issued)
    queues_[queue::local].complete_all_but(instruction.wait_scalar);
  if (all_scalar) queues_[queue::scalar].complete_all_but(0);
  std::erase_if(pending_, [&](u16 index) {
    if (under_way(targets_[index])) return false;
    targets_[index].load = nullptr;
    return true;
  });
  pending_marks_ = 0;
  for (const u16 index : pending_) pending_marks_ |= register_mark(index);
}

bool HazardCheck::under_way(const Target& target) const {
  return target.number > queues_[target.queue].done;
}

/// A register that something under way will write is neither read nor written before; a load may
/// follow another of its own queue into one register, for they come in order. The data of a store
/// needs no waiting on gfx9: an instruction behind it cannot overtake its reading (but see the
/// rule of wide stores).
void HazardCheck::check_registers(const Instruction& instruction) const {
  if (!default_settings().hazards) return;
  const u8 own_queue = instruction.hazards.queue & queue::kind_mask;
  const bool in_order = own_queue == queue::vector || own_queue == queue::local;
  const auto check = [&](const std::vector<RegisterRange>& ranges, bool written) {
    for (const RegisterRange& range : ranges)
      for (unsigned n = range.first; n < unsigned(range.first) + range.count; ++n) {
        const Target& target = targets_[n];
        if (!target.load || !under_way(target)) continue;
        if (written && in_order && target.queue == own_queue) continue;
        throw Fault(FaultKind::missing_wait, register_name(n) + (written ? " written" : " read") +
                                                 " before the s_waitcnt that covers \"" +
                                                 target.load->text + "\"");
      }
  };
  check(instruction.reads, false);
  check(instruction.writes, true);
}

// ---- Wait states ----

/// Walks back as far as one of `rules` may reach. A rule whose earlier instruction is not found on
/// the way is near no more.
void HazardCheck::check_rules(const Instruction& instruction, u64 rules) {
  if (!default_settings().hazards) return;
  u64 found = 0;
  for (u64 back = 1; back <= std::min<u64>(noted_, ring_.size()); ++back) {
    const Executed& executed = ring_[(noted_ - back) % ring_.size()];
    const u64 given = now_ - executed.end;
    const u64 open = rules & rules_beyond(given);
    if (!open) break;
    for (u64 left = open & executed.first; left; left &= left - 1) {
      const Rule& rule = wait_state_rules()[std::size_t(std::countr_zero(left))];
      const int needed = rule.needed(executed.instruction->hazards.passes);
      if (int(given) >= needed || !meet(rule.meeting, *executed.instruction, instruction)) continue;
      throw Fault(FaultKind::missing_nop, std::string(rule.what) + ": " + std::to_string(needed) +
                                              " wait states needed after \"" +
                                              executed.instruction->text + "\", " +
                                              std::to_string(given) + " given");
    }
    found |= open & executed.first;
  }
  near_ &= found | ~rules;
}

}  // namespace mi300x
