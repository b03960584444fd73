#include "model/operations/prompt_attention.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compute/vendor/attention/fused_attention.h"
#include "model/operations/attention.h"
#include "model/operations/prompt_classes.h"

namespace assay {
namespace {

FusedAttentionProblem problem_of(const PromptHeads& heads, std::int64_t length, std::int64_t count,
                                 bool own_lengths = false) {
  return {.precision = heads.type,
          .batch = count,
          .sequence = length,
          .heads = heads.heads,
          .head_width = heads.head_width,
          .same_bits = true,
          .kv_heads = heads.kv_heads,
          .forward_only = true,
          .own_lengths = own_lengths};
}

std::int64_t qkv_width(const PromptHeads& heads) {
  return (heads.heads + 2 * heads.kv_heads) * heads.head_width;
}
std::int64_t y_width(const PromptHeads& heads) {
  return heads.heads * heads.head_width;
}

/// The rows of prompts within all rows.
struct RowAddresses {
  void* y;
  const void* qkv;

  RowAddresses from(std::int64_t row, const PromptHeads& heads) const {
    const auto bytes = [&](std::int64_t width) {
      return static_cast<std::size_t>(row * width) * size_of(heads.type);
    };
    return {static_cast<std::byte*>(y) + bytes(y_width(heads)),
            static_cast<const std::byte*>(qkv) + bytes(qkv_width(heads))};
  }
};

/// Prompts of one length and number at a time: each by a plan of the library for it alone, by the
/// own kernels, or left to the cache.
class PromptsByLength final : public PromptAttention {
 public:
  /// `refusal`: why the library was not taken though asked; empty: it was not.
  PromptsByLength(Device& device, const PromptHeads& heads, PromptWay way,
                  std::unique_ptr<Attention> own, std::string_view refusal)
      : device_(device), heads_(heads), way_(way), own_(std::move(own)), instead_(other(refusal)) {}

  Status begin(Stream&, std::span<const PromptRows> prompts) override {
    prompts_.assign(prompts.begin(), prompts.end());
    for (const PromptRows& rows : prompts_) TRY(open(rows));
    return {};
  }

  Status forward(Stream& stream, void* y, const void* qkv) override {
    for (const PromptRows& rows : prompts_) {
      const RowAddresses at = RowAddresses{y, qkv}.from(rows.begin, heads_);
      FusedAttention* const plan = plans_.at({rows.length, rows.count}).get();
      if (plan != nullptr) {
        TRY(queue_operation(
            stream,
            [&] { return queued_attention(problem_of(heads_, rows.length, rows.count), false); },
            [&] { return plan->forward(stream, at.y, at.qkv, nullptr); }));
      } else if (own_ != nullptr) {
        TRY(own_->forward(stream, at.y, at.qkv, {},
                          {.batch = rows.count,
                           .sequence = rows.length,
                           .heads = heads_.heads,
                           .head_width = heads_.head_width,
                           .kv_heads = heads_.kv_heads}));
      }
    }
    return {};
  }

  bool computes(const PromptRows& prompts) const override {
    return own_ != nullptr || plans_.at({prompts.length, prompts.count}) != nullptr;
  }

  std::string name() const override {
    if (way_ == PromptWay::own) return instead_;
    std::string all;
    for (const std::string& one : names_) all += (all.empty() ? "" : ", ") + one;
    return all;
  }

 private:
  Status open(const PromptRows& rows) {
    const auto [at, is_new] = plans_.try_emplace({rows.length, rows.count});
    if (!is_new) return {};
    if (way_ == PromptWay::own) return {};
    auto plan = open_fused_attention(device_, problem_of(heads_, rows.length, rows.count));
    if (plan.ok()) {
      at->second = std::move(*plan);
      names_.insert("library (" + at->second->library() + ")");
    } else if (way_ == PromptWay::library) {
      plans_.erase(at);
      return plan.error();
    } else {
      names_.insert(other(plan.error().message));
    }
    return {};
  }

  /// The implementation of prompts that the library refuses.
  std::string other(std::string_view refusal) const {
    std::string name = "cache";
    if (own_ != nullptr) {
      const std::string detail = own_->detail();
      name = detail.empty() ? "own" : "own " + detail;
    }
    return refusal.empty() ? name : fmt::format("{} ({})", name, refusal);
  }

  Device& device_;
  const PromptHeads heads_;
  const PromptWay way_;
  std::unique_ptr<Attention> own_;  // null: it cannot
  const std::string instead_;       // the name of the implementation without the library
  /// By length and number; null: the own kernels, or the cache.
  std::map<std::pair<std::int32_t, std::int32_t>, std::unique_ptr<FusedAttention>> plans_;
  std::vector<PromptRows> prompts_;
  std::set<std::string> names_;
};

/// Prompts of any lengths, by plans of the library for classes of them.
class PromptsByClass final : public PromptAttention {
 public:
  PromptsByClass(const PromptHeads& heads, const PromptLimits& limits)
      : heads_(heads), limits_(limits) {}

  Status prepare(Device& device) {
    for (const PromptClass& of : prompt_classes(limits_)) {
      const FusedAttentionProblem problem = problem_of(heads_, of.length, of.count, true);
      plans_[of] = TRY(plans_.empty() ? open_fused_attention(device, problem)
                                      : plans_.begin()->second->open_beside(device, problem));
    }
    places_ = TRY(device.allocate(
        std::max<std::size_t>(1, most_prompt_numbers(limits_)) * sizeof(std::int32_t),
        MemoryKind::device));
    return compute_once(device);
  }

  Status begin(Stream& stream, std::span<const PromptRows> prompts) override {
    calls_ = classify_prompts(prompts, qkv_width(heads_), y_width(heads_), numbers_);
    return copy_numbers(stream);
  }

  Status forward(Stream& stream, void* y, const void* qkv) override {
    const auto* const numbers = places_.as<const std::int32_t>();
    for (const PromptCall& call : calls_) {
      const auto plan = plans_.find(call.of);
      if (plan == plans_.end()) {
        return Error{ErrorKind::failed,
                     "attention of prompts: they are longer than the limits say"};
      }
      const SequencePlaces places = {.lengths = numbers + call.lengths,
                                     .qkv_offsets = numbers + call.qkv_offsets,
                                     .y_offsets = numbers + call.y_offsets};
      TRY(queue_operation(
          stream,
          [&] {
            return queued_attention(problem_of(heads_, call.of.length, call.of.count, true), false);
          },
          [&] { return plan->second->forward_at(stream, y, qkv, places); }));
    }
    return {};
  }

  std::string name() const override {
    return "library (" + plans_.begin()->second->library() + ")";
  }

 private:
  Status copy_numbers(Stream& stream) {
    const std::size_t bytes = numbers_.size() * sizeof(std::int32_t);
    if (bytes > places_.bytes()) {
      return Error{ErrorKind::failed,
                   "attention of prompts: more of them than a pass has room for"};
    }
    return bytes > 0 ? stream.copy(places_.data(), numbers_.data(), bytes) : Status();
  }

  /// So that no prompt waits for the first launch of a plan, in which its kernels are loaded.
  Status compute_once(Device& device) {
    const auto stream = TRY(device.create_stream());
    const auto row = [&](std::int64_t width) {
      return device.allocate(static_cast<std::size_t>(width) * size_of(heads_.type),
                             MemoryKind::device);
    };
    const Buffer qkv = TRY(row(qkv_width(heads_))), y = TRY(row(y_width(heads_)));
    TRY(stream->fill(qkv.data(), 0, qkv.bytes()));
    for (const auto& [of, plan] : plans_) {
      calls_ = {least_call(of, qkv_width(heads_), y_width(heads_), numbers_)};
      TRY(copy_numbers(*stream));
      TRY(stream->synchronize());
      TRY(forward(*stream, y.data(), qkv.data()));
      TRY(stream->synchronize());
    }
    return {};
  }

  const PromptHeads heads_;
  const PromptLimits limits_;
  std::map<PromptClass, std::unique_ptr<FusedAttention>> plans_;
  Buffer places_;                      // what numbers_ holds
  std::vector<std::int32_t> numbers_;  // of the present pass; read until it is there
  std::vector<PromptCall> calls_;
};

Result<std::unique_ptr<PromptAttention>> open_classes(Device& device, const PromptHeads& heads,
                                                      const PromptLimits& limits) {
  if (limits.tokens * qkv_width(heads) > INT32_MAX) {
    return Error{ErrorKind::unsupported,
                 fmt::format("passes of {} tokens are more than offsets of 32 bits can tell",
                             limits.tokens)};
  }
  auto made = std::make_unique<PromptsByClass>(heads, limits);
  TRY(made->prepare(device));
  return std::unique_ptr<PromptAttention>(std::move(made));
}

}  // namespace

bool PromptAttention::computes(const PromptRows&) const {
  return true;
}

std::optional<std::string> library_prompts_unsupported(const DeviceFacts& facts,
                                                       const PromptHeads& heads,
                                                       std::int64_t length, std::int64_t count) {
  return fused_attention_unsupported(problem_of(heads, length, count), facts);
}

Result<std::unique_ptr<PromptAttention>> open_prompt_attention(
    Device& device, const PromptHeads& heads, const PromptAttentionSettings& settings,
    const PromptLimits& limits) {
  const DeviceFacts& facts = device.facts();
  PromptWay way = settings.way;
  if (way == PromptWay::best && !fused_attention_known(facts)) way = PromptWay::own;
  std::string refusal;
  if (way != PromptWay::own && settings.any_lengths) {
    auto classes = open_classes(device, heads, limits);
    if (classes.ok() || way == PromptWay::library) return classes;
    refusal = classes.error().message;
    way = PromptWay::own;
  }
  std::unique_ptr<Attention> own;
  if (!flash_attention_unsupported(facts, heads.type, heads.head_width)) {
    own = TRY(flash_attention(device, heads.type, heads.head_width, {.backward = false}));
  }
  if (own == nullptr && way == PromptWay::own && refusal.empty()) {
    return std::unique_ptr<PromptAttention>();
  }
  return std::unique_ptr<PromptAttention>(
      std::make_unique<PromptsByLength>(device, heads, way, std::move(own), refusal));
}

}  // namespace assay
