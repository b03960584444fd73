// Work of a benchmark that can be repeated from the same state, with a chain of checksums: after
// each operation those of all blocks that it writes, and at the end those of all memory. A block
// counts as written if its bits changed when that was learnt. Pageable memory has only the sums at
// the end, unless the device is the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/health/checksums.h"
#include "advise/health/planted_fault.h"
#include "advise/health/watched_device.h"
#include "compute/autotune/choice_journal.h"
#include "measure/grid/benchmark.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/team.h"

namespace assay::health {

/// The work to prepare, and how to repeat it.
struct WorkDescription {
  std::string name;  ///< "gemm shape=8192 dtype=bf16"
  Cell cell;
  int steps = 1;         ///< enqueues of a repetition
  bool verifies = true;  ///< whether the benchmark's own check is run first
  bool of_team = false;  ///< whether the ranks do it together
};

/// The checksums of a repetition: those of the blocks that each operation wrote, in the order of
/// operations, then those of all blocks at the end.
using Sums = std::vector<std::uint64_t>;

/// A block whose checksum differs.
struct DifferentBlock {
  std::size_t launch = 0;  ///< from 0; launches().size(): no operation shows it, only the end
  std::size_t sum = 0;     ///< its index in Sums
};

class CheckedWork {
 public:
  /// An operation of a repetition: a kernel, a copy, a fill or a library's call.
  struct Launch {
    std::string name;
    std::size_t first = 0, count = 0;  ///< its checksums in Sums
    bool of_library = false;           ///< whether it is, or holds, a library's call
  };

  /// Prepares the cell and one run of it. All ranks of `team` call it together if the work is of
  /// the team; otherwise `team` is only this process. `choices` are taken instead of measuring.
  /// `device`, `team` and `stop_requested` must outlive the result. Error: as Benchmark::prepare()
  /// and the device; verification if the benchmark's own check fails.
  static Result<std::unique_ptr<CheckedWork>> prepare(const WorkDescription& description,
                                                      Device& device, Team& team,
                                                      std::uint64_t seed,
                                                      const std::function<bool()>& stop_requested,
                                                      std::vector<KeptChoice> choices = {});
  ~CheckedWork();
  CheckedWork(const CheckedWork&) = delete;
  CheckedWork& operator=(const CheckedWork&) = delete;

  /// Runs from the kept state, learns which operation writes which blocks, and returns the sums
  /// that repeat() is to give. Runs once if every operation changes a block; otherwise up to 35
  /// times, to find buffers of the kept state that do not matter for the end: emptied before a run,
  /// they show which operation writes them. Error: of the device.
  Result<Sums> learn();
  /// Runs from the kept state. Error: of the device; failed if the operations are not those that
  /// were learnt.
  Result<Sums> repeat();
  struct Look {
    Sums sums;
    std::vector<std::byte> bytes;  ///< of the block, directly after its operation has written it
  };
  /// Does the same as repeat(), and looks at a block.
  Result<Look> repeat_and_look(const DifferentBlock& block);
  /// Returns the bytes of a block as they are now; those of pageable memory as they were at the end
  /// of the last repetition, unless the device is the host.
  Result<std::vector<std::byte>> bytes_of(std::size_t sum);
  /// Returns all memory as it is now, in the order of buffers.
  Result<std::vector<std::byte>> all_bytes();

  /// Returns the blocks that differ: those of the first operation of which one does or, if there is
  /// none, those at the end. Buffers that are left out never differ.
  std::vector<DifferentBlock> differing(const Sums& sums, const Sums& expected) const;
  /// Returns whether an operation writes the memory of a block at the end, given by its index in
  /// Sums.
  bool is_written(std::size_t final_sum) const;
  /// Returns whether nothing after `launch` writes the block of `sum`, so that its bytes stay until
  /// the end.
  bool stays_until_end(const DifferentBlock& block) const;

  /// Leaves out buffers that differ between two repetitions although nothing is wrong: a library's
  /// scratch memory. Returns whether libraries write all of these, and at least half of the written
  /// bytes are still compared; if not, some of them may be left out all the same.
  bool leave_out(const Sums& a, const Sums& b);
  /// Leaves out buffers by their numbers (WatchedBuffer); scratch() returns those of all that are
  /// left out.
  void leave_out(const std::vector<std::size_t>& numbers);
  std::vector<std::size_t> scratch() const;
  std::string left_out_text() const;  ///< for the screen; empty: nothing

  const std::vector<Launch>& launches() const { return launches_; }
  /// Returns how many of Sums are those of operations; the others are those of the end.
  std::size_t checked_sums() const { return written_.size(); }
  WatchedBuffer buffer_of(std::size_t sum) const;
  std::uint64_t offset_of(std::size_t sum) const;  ///< of the block in its buffer
  const std::string& name() const { return description_.name; }
  std::string variant() const;  ///< operations and algorithms, as a hash
  /// Returns what was chosen by measuring, now or, if given to prepare(), before.
  const std::vector<KeptChoice>& choices() const { return choices_; }
  /// Returns a checksum for each launch and one for the end, without the buffers that are left out
  /// and those of the numbers `without`.
  std::vector<std::uint64_t> trail(const Sums& sums,
                                   const std::vector<std::size_t>& without = {}) const;
  /// Returns whether at least half of the written bytes, and any, are still compared if these
  /// buffers are not.
  bool compares_most(const std::vector<std::size_t>& without) const;
  Work work() const;  ///< what a repetition moves and computes
  /// Returns the bytes of which a repetition takes checksums.
  double checked_bytes() const { return checked_bytes_; }
  /// Returns the device memory that the work and the copy of its state take.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  bool calls_library() const { return watch_.called_library(); }
  /// Returns the numbers of the multiprocessors that have computed checksums.
  Result<std::set<unsigned>> multiprocessors() { return checksums_->multiprocessors(*own_stream_); }
  /// Returns the seconds of the work and its checks in the last repetition, without restoring the
  /// state.
  double seconds() const { return seconds_; }

  /// Error: usage, if a repetition has no such operation or buffer as the fault names, or the
  /// operation changes nothing. Valid after learn().
  Status can_plant(const PlantedFault& fault) const;
  /// Plants a fault in every later repetition; nullopt ends that.
  void plant(std::optional<PlantedFault> fault) { fault_ = std::move(fault); }
  std::uint64_t planted() const { return planted_; }  ///< how often words were changed
  /// Calls `observer` after each operation of a repetition, before its checksums; null ends that.
  using LaunchObserver = std::function<Status(Stream& stream, std::size_t launch)>;
  void observe(LaunchObserver observer) { observer_ = std::move(observer); }

 private:
  CheckedWork(const WorkDescription& description, Device& device, Team& team);
  struct Kept {
    WatchedBuffer buffer;
    Buffer state;   ///< of the start, in memory of the same kind
    Buffer shadow;  ///< where the device reads pageable memory; empty otherwise
  };

  static constexpr std::size_t least_block = std::size_t{64} << 10;
  /// Memory that is filled with one value before the work begins.
  struct Fill {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    std::uint8_t value = 0;
  };
  using Fills = std::vector<Fill>;

  Status start(std::uint64_t seed, const std::function<bool()>& stop_requested);
  /// Returns the blocks that hold zeros, as new memory does.
  Result<Fills> untouched_blocks();
  Status empty_results(const Fills& untouched, const Fills& fills, const Sums& ends);
  /// Fills the work's memory, or its kept state.
  Status fill_memory(const Fills& fills, bool kept_state);
  /// Returns whether the work gives these sums at its end if its memory is filled so before.
  Result<bool> gives_with(const Fills& fills, const Sums& ends);
  /// Runs once from the kept state and notes which operation changes which blocks.
  Result<Sums> learn_once();
  /// Empties further buffers from which the work reads nothing. `ends`: the sums at the end.
  /// Returns whether any was found.
  Result<bool> empty_buffers(const Sums& ends);
  Status keep_state();
  Status restore();
  Status lay_out_blocks();
  Status upload_table();
  Status queue_shadows(Stream& stream);
  Status run_steps();
  Status check_launch(Stream& stream, const std::string& name);
  Status apply_fault(Stream& stream, const Launch& launch);
  Result<Sums> end_sums(Stream& stream);
  std::size_t kept_of(std::size_t sum) const;  ///< index into kept_
  bool is_left_out(std::size_t sum) const { return left_out_[kept_of(sum)]; }

  const WorkDescription description_;
  Device& device_;
  Team& team_;
  Watch watch_;
  std::unique_ptr<Device> watched_;
  std::unique_ptr<Communicators> communicators_;
  std::unique_ptr<Stream> stream_, own_stream_;
  std::unique_ptr<Event> idle_;
  std::unique_ptr<Case> case_;
  std::optional<Checksums> checksums_;
  std::vector<Kept> kept_;
  std::vector<ChecksumBlock> ends_;         ///< blocks of all memory
  std::vector<std::size_t> buffer_of_end_;  ///< index into kept_
  std::vector<Launch> launches_;
  std::vector<std::size_t> written_;  ///< for each sum of a launch, its block among ends_
  std::vector<bool> end_written_;     ///< for each of ends_, whether an operation writes it
  std::vector<bool> left_out_;        ///< for each of kept_
  Buffer table_, sums_;
  std::size_t next_ = 0;  ///< launch of the running repetition
  std::optional<DifferentBlock> look_at_;
  std::vector<std::byte> looked_;
  std::string unexpected_;  ///< operation that was not learnt
  std::vector<KeptChoice> choices_;
  double seconds_ = 0, checked_bytes_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::optional<PlantedFault> fault_;
  std::uint64_t planted_ = 0;
  LaunchObserver observer_;
};

}  // namespace assay::health
