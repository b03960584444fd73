// Attention by the vendor's library.
#include <fmt/format.h>

#include "model/operations/attention.h"

namespace assay {
namespace {

class LibraryAttention final : public Attention {
 public:
  LibraryAttention(const FusedAttentionProblem& problem, std::unique_ptr<FusedAttention> fused)
      : problem_(problem), fused_(std::move(fused)) {}

  Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                 const AttentionShape& shape) override {
    TRY(check(shape));
    return queue_operation(
        stream, [&] { return queued_attention(problem_, false); },
        [&] { return fused_->forward(stream, y, qkv, memory.log_sum); });
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    TRY(check(shape));
    return queue_operation(
        stream, [&] { return queued_attention(problem_, true); },
        [&] { return fused_->backward(stream, d_qkv, dy, y, qkv, memory.log_sum); });
  }

  std::string detail() const override {
    return fmt::format("({}){}", fused_->library(),
                       fused_->deterministic() ? "" : ", not deterministic");
  }
  std::uint64_t allocated_bytes() const override { return fused_->allocated_bytes(); }

 private:
  /// Its plans are of one shape.
  Status check(const AttentionShape& shape) const {
    if (shape.batch == problem_.batch && shape.sequence == problem_.sequence &&
        shape.heads == problem_.heads && shape.head_width == problem_.head_width &&
        shape.heads_of_keys() == problem_.heads_of_keys()) {
      return {};
    }
    return Error{ErrorKind::failed, "attention by a library was made for another shape"};
  }

  FusedAttentionProblem problem_;
  std::unique_ptr<FusedAttention> fused_;
};

}  // namespace

Result<std::unique_ptr<Attention>> library_attention(Device& device,
                                                     const FusedAttentionProblem& problem) {
  auto fused = TRY(open_fused_attention(device, problem));
  return std::unique_ptr<Attention>(std::make_unique<LibraryAttention>(problem, std::move(fused)));
}

}  // namespace assay
