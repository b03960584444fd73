// SOPP: branches, barriers, waits and the end of a program. Instructions that only guide the
// hardware's timing do nothing here; hazards.cpp checks whether the waits suffice.
#include "emulator/lanes.h"
#include "emulator/scalar_operation.h"

namespace mi300x {

namespace {

template <auto condition>
Operation& add_branch(ScalarTable table, std::string_view name) {
  constexpr auto branch = [](Wave& wave, const Instruction& instruction) {
    if (condition(std::as_const(wave))) wave.next = instruction.branch;
  };
  return table.add_special(name, branch, 0, Unit::program);
}

void nothing(Wave&, const Instruction&) {}

void end(Wave& wave, const Instruction&) {
  wave.ended = true;
}
void barrier(Wave& wave, const Instruction&) {
  wave.at_barrier = true;
}
/// A kernel executes a trap when it cannot continue: __builtin_trap, a failed assertion.
void trap(Wave&, const Instruction& instruction) {
  throw Fault(FaultKind::trap, instruction.text + ": the kernel gave up");
}

void add_branches(ScalarTable table) {
  add_branch<[](const Wave&) { return true; }>(table, "s_branch");
  add_branch<[](const Wave& w) { return !w.scc; }>(table, "s_cbranch_scc0").reads_scc = true;
  add_branch<[](const Wave& w) { return w.scc; }>(table, "s_cbranch_scc1").reads_scc = true;
  add_branch<[](const Wave& w) { return w.vcc() == 0; }>(table, "s_cbranch_vccz").reads_vcc = true;
  add_branch<[](const Wave& w) { return w.vcc() != 0; }>(table, "s_cbranch_vccnz").reads_vcc = true;
  add_branch<[](const Wave& w) { return w.exec() == 0; }>(table, "s_cbranch_execz");
  add_branch<[](const Wave& w) { return w.exec() != 0; }>(table, "s_cbranch_execnz");
}

}  // namespace

void add_program_operations(OperationTable& operations) {
  ScalarTable table(operations);
  add_branches(table);
  table.add_special("s_endpgm", end, 0, Unit::program);
  table.add_special("s_barrier", barrier, 0, Unit::program);
  table.add_special("s_trap", trap, 0, Unit::program);
  // s_sendmsg is missing: it notifies the host or the driver, and neither exists here.
  for (const std::string_view name : {"s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_icache_inv"})
    table.add_special(name, nothing, 0, Unit::program);
}

}  // namespace mi300x
