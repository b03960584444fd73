// Log probabilities of next tokens, computed on the device (kernels/token_logprobs.cu).
#pragma once

#include <cstdint>
#include <span>

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// A row of logits of which they are wanted.
struct LogprobRow {
  std::int32_t row = 0;
  std::int32_t count = 0;  ///< of the likeliest tokens, up to most_logprobs
  /// The row's own penalties: the index of the first of them, and how many follow each other.
  std::int32_t first_penalty = 0, penalties = 0;
};

inline constexpr int most_logprobs = 20;

/// The log probability of a logit l of this row is l - largest - log(sum).
struct RowLogprobs {
  double sum = 0;                      ///< of exp(logit - largest) over the row
  float largest = 0;                   ///< of its logits
  float chosen = 0;                    ///< the logit of the token that was chosen
  std::int32_t tokens[most_logprobs];  ///< the likeliest ones, as many as were wanted
  float logits[most_logprobs];         ///< theirs

  double of(float logit) const;
};

class TokenLogprobs {
 public:
  /// `type`: f32 or bf16, of logits; `most_rows`: of one call.
  static Result<TokenLogprobs> create(Device& device, DataType type, std::int64_t most_rows);

  /// Queues what is read of logits[rows, columns] before penalties change them. `wanted` must stay
  /// as it is until a wait. Error: usage, if there are too many rows or tokens.
  Status find_likeliest(Stream& stream, const void* logits, std::span<const LogprobRow> wanted,
                        std::int64_t vocabulary, std::int64_t columns);
  /// Queues what the tokens next[row] say, for the rows of the call before. `penalties`: the
  /// TokenPenalties in device memory by which logits were changed meanwhile; null if no row has
  /// any.
  Status find_chosen(Stream& stream, const void* next, const void* logits, std::int64_t columns,
                     const void* penalties);
  /// Queues a copy of the results, an element for each row.
  Status copy_to(Stream& stream, std::span<RowLogprobs> found) const;

 private:
  TokenLogprobs(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *likeliest_ = nullptr, *chosen_logits_ = nullptr;
  Buffer wanted_, found_;
  std::int64_t rows_ = 0;  // of the last find_likeliest()
};

}  // namespace assay
