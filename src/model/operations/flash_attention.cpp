// Attention by assay's own kernels (flash_forward.h and flash_backward.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "compute/device/matrix_unit_types.h"
#include "core/shown_text.h"
#include "model/operations/attention.h"
#include "model/operations/flash_backward.h"
#include "model/operations/flash_forward.h"

namespace assay {
namespace {

class OwnAttention final : public Attention {
 public:
  /// `backward`: null, if only forward() is called.
  OwnAttention(FlashForward forward, std::unique_ptr<FlashBackward> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}

  Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                 const AttentionShape& shape) override {
    return forward_.enqueue(stream, y, qkv, memory.log_sum, shape);
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    if (backward_ == nullptr) {
      return Error{ErrorKind::failed, "own attention was made for the forward pass alone"};
    }
    return backward_->enqueue(stream, d_qkv, dy, y, qkv, memory, shape);
  }

  std::string detail() const override {
    std::vector<std::string> passes;
    const auto add = [&](const char* name, const auto& pass) {
      std::string text = pass.describe();
      if (!pass.left_out.empty()) {
        text = fmt::format("{}, left out: {}", text.empty() ? "waves" : text, pass.left_out);
      }
      if (!text.empty()) passes.push_back(fmt::format("{}: {}", name, text));
    };
    add("forward", forward_);
    if (backward_ != nullptr) add("backward", *backward_);
    return passes.empty() ? "" : fmt::format("({})", fmt::join(passes, "; "));
  }

 private:
  FlashForward forward_;
  std::unique_ptr<FlashBackward> backward_;
};

/// What the user wants, for instance because a kernel faults, which ends a CUDA process's work.
Result<FlashKind> kind_of_environment() {
  const char* const text = std::getenv("ASSAY_OWN_ATTENTION");
  if (text == nullptr) return FlashKind::best;
  const std::string_view word = text;
  if (word == "waves") return FlashKind::waves;
  if (word == "groups") return FlashKind::groups;
  return Error{
      ErrorKind::usage,
      fmt::format("ASSAY_OWN_ATTENTION is \"{}\"; allowed: waves, groups, or do not set it "
                  "for the faster of them",
                  shown_line(word, 80))};
}

}  // namespace

std::optional<std::string> flash_attention_unsupported(const DeviceFacts& facts, DataType precision,
                                                       std::int64_t head_width) {
  if (precision != DataType::bf16 && precision != DataType::f16) {
    return fmt::format("computes in bf16 or f16, not in {}", name_of(precision));
  }
  if (head_width != 32 && head_width != 64 && head_width != 128) {
    return fmt::format("computes heads 32, 64 or 128 wide, not {}", head_width);
  }
  if (!has_own_matrix_units(facts)) {
    return fmt::format("is written for sm_80 and newer, gfx90a, gfx94x and gfx95x, not for {}",
                       facts.arch);
  }
  return std::nullopt;
}

Result<std::unique_ptr<Attention>> flash_attention(Device& device, DataType type,
                                                   std::int64_t head_width,
                                                   const FlashAttentionSettings& settings) {
  FlashKind kind = settings.kind;
  if (kind == FlashKind::best) kind = TRY(kind_of_environment());
  FlashForward forward =
      TRY(choose_flash_forward(device, type, head_width, kind, settings.documents));
  std::unique_ptr<FlashBackward> backward;
  if (settings.backward) {
    backward = std::make_unique<FlashBackward>(
        TRY(choose_flash_backward(device, type, head_width, kind, settings.documents)));
  }
  return std::unique_ptr<Attention>(
      std::make_unique<OwnAttention>(std::move(forward), std::move(backward)));
}

}  // namespace assay
