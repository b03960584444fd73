// Attention by assay's own kernels (own_forward.h and own_backward.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compute/device/matrix_types.h"
#include "model/operations/attention.h"
#include "model/operations/own_backward.h"
#include "model/operations/own_forward.h"

namespace assay {
namespace {

class OwnAttention final : public Attention {
 public:
  OwnAttention(OwnForward forward, OwnBackward backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}

  Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                 const AttentionShape& shape) override {
    return forward_.enqueue(stream, y, qkv, memory.log_sum, shape);
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    return backward_.enqueue(stream, d_qkv, dy, y, qkv, memory, shape);
  }

  std::string detail() const override {
    std::vector<std::string> passes;
    for (const auto& [name, text] :
         {std::pair("forward", forward_.describe()), {"backward", backward_.describe()}}) {
      if (!text.empty()) passes.push_back(fmt::format("{}: {}", name, text));
    }
    return passes.empty() ? "" : fmt::format("({})", fmt::join(passes, "; "));
  }

 private:
  OwnForward forward_;
  OwnBackward backward_;
};

}  // namespace

std::optional<std::string> own_attention_unsupported(const DeviceFacts& facts, DataType precision,
                                                     std::int64_t head_width) {
  if (precision != DataType::bf16 && precision != DataType::f16) {
    return fmt::format("computes in bf16 or f16, not in {}", name_of(precision));
  }
  if (head_width != 32 && head_width != 64 && head_width != 128) {
    return fmt::format("computes heads 32, 64 or 128 wide, not {}", head_width);
  }
  if (!has_own_matrix_units(facts)) {
    return fmt::format("is written for sm_80 and newer, gfx90a and gfx94x, not for {}", facts.arch);
  }
  return std::nullopt;
}

Result<std::unique_ptr<Attention>> own_attention(Device& device, DataType type,
                                                 std::int64_t head_width, OwnKind kind) {
  OwnForward forward = TRY(choose_own_forward(device, type, head_width, kind));
  OwnBackward backward = TRY(choose_own_backward(device, type, head_width, kind));
  return std::unique_ptr<Attention>(
      std::make_unique<OwnAttention>(std::move(forward), std::move(backward)));
}

}  // namespace assay
