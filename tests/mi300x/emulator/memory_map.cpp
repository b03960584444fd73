#include "emulator/memory_map.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "emulator/fault.h"

namespace mi300x {
namespace {

using u64 = std::uint64_t;

constexpr std::size_t freed_remembered = 500;

/// One bit for each byte of memory. Word n holds the bits of the 64 bytes that begin at a multiple
/// of 64, so that a coalesced access uses whole words. Pages are allocated when they are written:
/// 64 GiB that a kernel hardly touches cost nothing.
class Marks {
 public:
  Marks(u64 begin, u64 bytes)
      : first_word_(begin >> 6), words_(((begin + bytes + 63) >> 6) - (begin >> 6)) {
    void* memory = mmap(nullptr, words_ * sizeof(u64), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    word_ = static_cast<std::atomic<u64>*>(memory);
  }
  ~Marks() { munmap(word_, words_ * sizeof(u64)); }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  bool all(u64 address, u64 bytes) const {
    const u64 last = (address + bytes - 1) >> 6;
    u64 at = address >> 6;
    u64 mask = ~u64{0} << (address & 63);
    for (; at != last; ++at, mask = ~u64{0})
      if ((word(at) & mask) != mask) return false;
    mask &= up_to(address + bytes - 1);
    return (word(at) & mask) == mask;
  }
  /// Bits of neighbouring bytes share a word, so the OR must be atomic; most writes find their bits
  /// set.
  void set(u64 address, u64 bytes) {
    const u64 last = (address + bytes - 1) >> 6;
    u64 at = address >> 6;
    u64 mask = ~u64{0} << (address & 63);
    for (; at != last; ++at, mask = ~u64{0}) set_word(at, mask);
    set_word(at, mask & up_to(address + bytes - 1));
  }
  /// Returns the bits of the 64 bytes from `address` on; those beyond the end are 0.
  u64 bits(u64 address) const {
    const unsigned shift = address & 63;
    u64 bits = word(address >> 6) >> shift;
    if (shift && (address >> 6) + 1 < first_word_ + words_)
      bits |= word((address >> 6) + 1) << (64 - shift);
    return bits;
  }
  /// Replaces the bits under `mask` of a word by those of `bits`.
  void assign(u64 at, u64 mask, u64 bits) {
    std::atomic<u64>& place = word_[at - first_word_];
    place.fetch_and(bits | ~mask, std::memory_order_relaxed);
    place.fetch_or(bits & mask, std::memory_order_relaxed);
  }
  u64 first_clear(u64 address, u64 bytes) const {
    for (u64 at = address; at != address + bytes; ++at)
      if (!(word(at >> 6) >> (at & 63) & 1)) return at;
    return address + bytes;
  }
  void drop_pages() { madvise(word_, words_ * sizeof(u64), MADV_DONTNEED); }

 private:
  static u64 up_to(u64 address) { return ~u64{0} >> (63 - (address & 63)); }
  u64 word(u64 at) const { return word_[at - first_word_].load(std::memory_order_relaxed); }
  void set_word(u64 at, u64 mask) {
    std::atomic<u64>& place = word_[at - first_word_];
    if ((place.load(std::memory_order_relaxed) & mask) != mask)
      place.fetch_or(mask, std::memory_order_relaxed);
  }

  u64 first_word_, words_;
  std::atomic<u64>* word_;
};

}  // namespace

struct MemoryMap::Allocation {
  u64 begin = 0, end = 0;
  int device = 0;
  std::string what;
  std::unique_ptr<Marks> marks;  ///< null: all of it counts as written

  bool holds(u64 address, u64 bytes) const {
    return address >= begin && address < end && bytes <= end - address;
  }
  std::string name() const { return fmt::format("{}-byte {}", end - begin, what); }
};

struct MemoryMap::Snapshot {
  u64 version = 0;
  std::vector<std::shared_ptr<Allocation>> allocations;

  /// Returns the last allocation that begins at or below `address`.
  const Allocation* below(u64 address) const {
    const auto after = std::upper_bound(allocations.begin(), allocations.end(), address,
                                        [](u64 value, const auto& a) { return value < a->begin; });
    return after == allocations.begin() ? nullptr : std::prev(after)->get();
  }
  const Allocation* above(u64 address) const {
    const auto after = std::upper_bound(allocations.begin(), allocations.end(), address,
                                        [](u64 value, const auto& a) { return value < a->begin; });
    return after == allocations.end() ? nullptr : after->get();
  }
};

/// Also holds the few allocations that its thread touched last, which are nearly always the next
/// ones.
struct MemoryMap::View {
  std::shared_ptr<const Snapshot> snapshot;
  u64 version = 0;
  std::array<const Allocation*, 4> recent = {};
  unsigned oldest = 0;
};

MemoryMap::MemoryMap() : newest_(std::make_shared<Snapshot>()) {}

MemoryMap& MemoryMap::instance() {
  static MemoryMap* map = new MemoryMap;  // outlives every thread, also at exit
  return *map;
}

MemoryMap::View& MemoryMap::view() const {
  static thread_local View view;
  if (view.version != version_.load(std::memory_order_acquire)) [[unlikely]] {
    const std::lock_guard lock(mutex_);
    view.snapshot = newest_;
    view.version = view.snapshot->version;
    view.recent = {};
  }
  return view;
}

const MemoryMap::Allocation* MemoryMap::allocation_of(u64 address, std::size_t bytes) const {
  View& view = this->view();
  for (const Allocation* allocation : view.recent)
    if (allocation && allocation->holds(address, bytes)) return allocation;
  const Allocation* allocation = view.snapshot->below(address);
  if (!allocation || !allocation->holds(address, bytes)) return nullptr;
  view.recent[view.oldest++ % view.recent.size()] = allocation;
  return allocation;
}

// ---- Changes ----

void MemoryMap::publish(std::vector<std::shared_ptr<Allocation>> allocations) {
  auto next = std::make_shared<Snapshot>();
  next->version = version_.load(std::memory_order_relaxed) + 1;
  next->allocations = std::move(allocations);
  const u64 version = next->version;
  newest_ = std::move(next);
  version_.store(version, std::memory_order_release);
}

void MemoryMap::add(const void* address, std::size_t bytes, int device, const char* what,
                    bool initialised) {
  if (bytes == 0) throw Fault(FaultKind::illegal_address, fmt::format("a {} of no bytes", what));
  auto added = std::make_shared<Allocation>();
  added->begin = reinterpret_cast<u64>(address);
  added->end = added->begin + bytes;
  added->device = device;
  added->what = what;
  if (!initialised) added->marks = std::make_unique<Marks>(added->begin, bytes);

  const std::lock_guard lock(mutex_);
  auto allocations = newest_->allocations;
  const auto place = std::upper_bound(allocations.begin(), allocations.end(), added,
                                      [](const auto& a, const auto& b) { return a->end < b->end; });
  const auto overlaps = [&](const Allocation& other) {
    return other.begin < added->end && added->begin < other.end;
  };
  for (const auto& other : {place == allocations.end() ? nullptr : *place,
                            place == allocations.begin() ? nullptr : *std::prev(place)})
    if (other && overlaps(*other))
      throw Fault(FaultKind::illegal_address,
                  fmt::format("the {} at {:#x} overlaps the {} at {:#x}", added->name(),
                              added->begin, other->name(), other->begin));
  allocations.insert(place, std::move(added));
  publish(std::move(allocations));
}

void MemoryMap::remove(const void* address) {
  const u64 begin = reinterpret_cast<u64>(address);
  const std::lock_guard lock(mutex_);
  auto allocations = newest_->allocations;
  const auto found = std::find_if(allocations.begin(), allocations.end(),
                                  [&](const auto& a) { return a->begin == begin; });
  if (found == allocations.end())
    throw Fault(FaultKind::illegal_address, fmt::format("no allocation begins at {:#x}", begin));
  const std::shared_ptr<Allocation> removed = *found;
  freed_.push_front({begin, removed->end - begin, removed->what});
  if (freed_.size() > freed_remembered) freed_.pop_back();
  allocations.erase(found);
  publish(std::move(allocations));
  // A sleeping thread keeps its old snapshot, and with it the marks, so their pages are freed now.
  // A thread that still checks against them finds nothing written, and then looks at the newer
  // snapshot.
  if (removed->marks) removed->marks->drop_pages();
}

// ---- Marks ----

void MemoryMap::mark_written(const void* address, std::size_t bytes) {
  const u64 begin = reinterpret_cast<u64>(address);
  const Allocation* allocation = bytes ? allocation_of(begin, bytes) : nullptr;
  if (allocation && allocation->marks) allocation->marks->set(begin, bytes);
}

void MemoryMap::copy_marks(void* to, const void* from, std::size_t bytes) {
  const u64 target = reinterpret_cast<u64>(to), source = reinterpret_cast<u64>(from);
  const Allocation* into = bytes ? allocation_of(target, bytes) : nullptr;
  if (!into || !into->marks) return;
  const Allocation* out_of = allocation_of(source, bytes);
  if (!out_of || !out_of->marks) return into->marks->set(target, bytes);
  for (u64 at = target; at != target + bytes;) {
    const u64 here = std::min(target + bytes - at, 64 - (at & 63));
    const u64 mask = (~u64{0} >> (64 - here)) << (at & 63);
    into->marks->assign(at >> 6, mask, out_of->marks->bits(source + (at - target)) << (at & 63));
    at += here;
  }
}

bool MemoryMap::find(const void* address, std::size_t bytes, int* device) const {
  const Allocation* allocation = allocation_of(reinterpret_cast<u64>(address), bytes);
  if (allocation && device) *device = allocation->device;
  return allocation != nullptr;
}

// ---- Checks ----

bool MemoryMap::may_read(u64 address, std::size_t bytes) const {
  const Allocation* allocation = allocation_of(address, bytes);
  return allocation && (!allocation->marks || allocation->marks->all(address, bytes));
}

bool MemoryMap::try_write(u64 address, std::size_t bytes) {
  const Allocation* allocation = allocation_of(address, bytes);
  if (!allocation) return false;
  if (allocation->marks) allocation->marks->set(address, bytes);
  return true;
}

// ---- Messages ----

void MemoryMap::refuse_read(u64 address, std::size_t bytes) const {
  const Allocation* allocation = allocation_of(address, bytes);
  if (!allocation) refuse_place("reads", address, bytes);
  if (may_read(address, bytes)) return;  // a change was in progress
  const u64 first = allocation->marks->first_clear(address, bytes);
  throw Fault(FaultKind::uninitialised,
              fmt::format("reads {} bytes at {:#x}, of which byte {} of a {} was never written",
                          bytes, address, first - allocation->begin, allocation->name()));
}

void MemoryMap::refuse_place(const char* verb, u64 address, std::size_t bytes) const {
  throw Fault(FaultKind::illegal_address,
              fmt::format("{} {} bytes at {:#x}, {}", verb, bytes, address, place(address, bytes)));
}

std::string MemoryMap::place(u64 address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const Allocation *below = newest_->below(address), *above = newest_->above(address);
  if (below && address < below->end)
    return fmt::format("of which the last {} lie past the end of a {}",
                       address + bytes - below->end, below->name());
  for (const Freed& freed : freed_)
    if (address >= freed.begin && address < freed.begin + freed.bytes)
      return fmt::format("byte {} of a {}-byte {} that was freed", address - freed.begin,
                         freed.bytes, freed.what);
  if (!below && !above) return "where nothing is allocated";
  if (!above || (below && address - below->end <= above->begin - address))
    return fmt::format("{} bytes past the end of a {}", address - below->end, below->name());
  return fmt::format("{} bytes before the beginning of a {}", above->begin - address,
                     above->name());
}

}  // namespace mi300x
