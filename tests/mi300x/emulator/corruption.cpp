#include "emulator/corruption.h"

#include <algorithm>
#include <array>
#include <cstring>
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

void StaleMemory::take(std::vector<Piece> now) {
  std::vector<Piece> held;
  for (const Piece& piece : now) {
    const auto before = std::ranges::find_if(last_, [&](const Piece& last) {
      return last.begin == piece.begin && last.bytes.size() == piece.bytes.size();
    });
    if (before == last_.end()) {
      held.push_back(piece);
      continue;
    }
    held.push_back(std::move(held_[static_cast<std::size_t>(before - last_.begin())]));
    for (std::size_t at = 0; at < piece.bytes.size(); at += line) {
      const std::size_t bytes = std::min(line, piece.bytes.size() - at);
      const char* const then = before->bytes.data() + at;
      if (std::memcmp(then, piece.bytes.data() + at, bytes) == 0) continue;
      std::memcpy(held.back().bytes.data() + at, then, bytes);
    }
  }
  last_ = std::move(now);
  held_ = std::move(held);
}

const char* StaleMemory::find(u64 address, std::size_t bytes) const {
  for (const Piece& piece : held_) {
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
  stale_ = {};
}

void Corruption::begin_launch(std::vector<StaleMemory::Piece> now) {
  ++launch_;
  if (keeps_memory()) stale_.take(std::move(now));
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
  if (load_fault == LoadFault::hbm) {
    load_fault = LoadFault::none;
    address[load_fault_random / 8 % bytes] ^= static_cast<char>(1 << load_fault_random % 8);
    return address;
  }
  const char* const old =
      Corruption::instance().stale().find(reinterpret_cast<std::uintptr_t>(address), bytes);
  if (old == nullptr) return address;
  if (load_fault == LoadFault::stale) return old;
  stale_load_differs = stale_load_differs || std::memcmp(old, address, bytes) != 0;
  return address;
}

}  // namespace mi300x
