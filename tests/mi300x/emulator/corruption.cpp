#include "emulator/corruption.h"

#include <array>
#include <utility>

namespace mi300x {
namespace {

constexpr std::array<std::string_view, 7> corruption_names = {"none", "vgpr",  "lds",  "hbm",
                                                              "mfma", "store", "stale"};

}  // namespace

CorruptionKind corruption_kind(std::string_view name) {
  for (std::size_t i = 1; i < corruption_names.size(); ++i) {
    if (corruption_names[i] == name) return static_cast<CorruptionKind>(i);
  }
  return CorruptionKind::none;
}

const char* OldMemory::find(u64 address, std::size_t bytes) const {
  for (const Piece& piece : pieces) {
    if (address >= piece.begin && address + bytes <= piece.begin + piece.bytes.size()) {
      return piece.bytes.data() + (address - piece.begin);
    }
  }
  return nullptr;
}

Corruption& Corruption::instance() {
  static Corruption& the_corruption = *new Corruption;
  return the_corruption;
}

void Corruption::plan(CorruptionPlan plan) {
  plan_ = std::move(plan);
  launch_ = count_ = events_ = 0;
  old_ = recent_ = {};
}

void Corruption::begin_launch(OldMemory now) {
  ++launch_;
  if (!keeps_memory()) return;
  old_ = std::move(recent_);
  recent_ = std::move(now);
}

bool Corruption::concerns(const std::string& kernel) const {
  return plan_.kind != CorruptionKind::none &&
         (plan_.spared.empty() || !kernel.starts_with(plan_.spared));
}

bool Corruption::takes(u64 random) {
  constexpr double range = 18446744073709551616.0;  // 2^64
  const u64 event = ++events_;
  const bool hit =
      plan_.nth > 0 ? event == plan_.nth : static_cast<double>(random) < plan_.rate * range;
  if (hit) ++count_;
  return hit;
}

const char* faulty_load(char* address, std::size_t bytes) {
  if (load_fault == LoadFault::stale) {
    const char* const old =
        Corruption::instance().old().find(reinterpret_cast<std::uintptr_t>(address), bytes);
    return old != nullptr ? old : address;
  }
  load_fault = LoadFault::none;
  address[load_fault_random / 8 % bytes] ^= static_cast<char>(1 << load_fault_random % 8);
  return address;
}

}  // namespace mi300x
