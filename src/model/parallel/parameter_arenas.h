// The parameters of a model in training, their gradients and what the optimizer keeps of them:
// where they lie on a device. A rank that trains alone has all of them whole. Where several ranks
// train together, each may keep only its slice of every section: the slice that it updates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/operations/weight_update.h"
#include "model/tensors/parameter_plan.h"
#include "model/tensors/tensor_layout.h"

namespace assay {

enum class ParameterPart { weights, gradients, master, first, second };

class ParameterArenas {
 public:
  /// Consecutive elements of the model's layout.
  struct Range {
    void* address = nullptr;
    std::size_t first = 0, elements = 0;
  };

  ParameterArenas() = default;
  /// Allocates all and sets it to 0. `sections`: cut for plan.parallel.ranks. With sliced
  /// parameters the first `kept` sections have memory of their own for a whole pass; the others
  /// take turns in two places. `before_gradients`: elements of the parameters' type in one arena
  /// with the gradients, before them; only where parameters are not sliced. Error: of allocating.
  static Result<ParameterArenas> allocate(Device& device, Stream& stream, const ParameterPlan& plan,
                                          std::vector<Section> sections, std::size_t kept, int rank,
                                          std::size_t before_gradients = 0);

  /// Where a pass reads a tensor's weights and writes its gradients.
  void* weight(const Tensor& tensor) const { return in_pass(weights_, tensor); }
  void* gradient(const Tensor& tensor) const { return in_pass(gradients_, tensor); }
  /// Where a pass reads a section's weights and writes its gradients.
  Range section_in_pass(ParameterPart part, std::size_t section) const;
  /// What this rank keeps of a section, all of it or a slice. With a sliced optimizer it keeps
  /// weights and gradients whole, and only its slice of them is up to date after an update. Null if
  /// the plan has no such part.
  Range kept_of(ParameterPart part, std::size_t section) const;
  /// What this rank updates: pieces whose parts lie together.
  std::vector<UpdatePiece> pieces() const;
  /// How many elements of the sections before this one it updates; all, if there are no more.
  std::size_t updated_before(std::size_t section) const;
  /// The place in which section `section` takes its turn: 0 or 1; empty: it has memory of its own.
  std::optional<std::size_t> turn(std::size_t section) const;

  const std::vector<Section>& sections() const { return sections_; }
  std::size_t elements() const { return sections_.empty() ? 0 : sections_.back().end; }
  DataType type_of(ParameterPart part) const;
  /// The start of the arena that ends with the gradients.
  void* arena_of_gradients() const { return gradients_.arena.data(); }
  std::uint64_t bytes() const;

 private:
  /// Weights or gradients.
  struct Parameters {
    std::size_t before = 0;       // elements of the arena before the sections
    Buffer arena;                 // all sections, or this rank's slices of them
    Buffer kept;                  // with sliced parameters only: the first sections, whole
    std::array<Buffer, 2> turns;  // likewise the others, two at a time
  };

  static Status allocate(Device& device, Buffer& buffer, std::uint64_t bytes);
  Status allocate(Device& device, Parameters& parameters);
  std::array<const Buffer*, 11> buffers() const;
  void* in_pass(const Parameters& parameters, const Tensor& tensor) const;
  std::byte* start_in_pass(const Parameters& parameters, std::size_t section) const;
  std::size_t section_of(std::size_t offset) const;
  Section own_slice(std::size_t section) const;
  std::size_t slices() const { return static_cast<std::size_t>(plan_.parallel.ranks); }
  /// The first section of a part; null if the plan has no such part.
  std::byte* start_of(ParameterPart part) const;

  ParameterPlan plan_;
  std::vector<Section> sections_;
  std::size_t kept_ = 0;
  std::size_t rank_ = 0;
  std::size_t element_ = 0;  // bytes of a weight
  Parameters weights_, gradients_;
  Buffer master_, first_, second_;
};

}  // namespace assay
