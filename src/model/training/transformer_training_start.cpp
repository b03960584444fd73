// What the training of a transformer does before its first step: memory, operations and weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "compute/device/helpers.h"
#include "core/hash.h"
#include "core/random.h"
#include "model/tensors/weights.h"
#include "model/training/training_attention.h"
#include "model/training/transformer_training.h"
#include "model/training/weight_files.h"

namespace assay {
namespace {

std::string hash_of(const TokenBatches& batches) {
  const auto bytes = [](const std::vector<std::int32_t>& numbers) {
    const std::span<const std::byte> all = std::as_bytes(std::span(numbers));
    return std::string(reinterpret_cast<const char*>(all.data()), all.size());
  };
  return hash_of_parts(
      std::array{bytes(batches.tokens), bytes(batches.targets), bytes(batches.document_starts)});
}

}  // namespace

TransformerTraining::TransformerTraining(Device& device, Stream& stream,
                                         const TransformerSettings& settings)
    : Training(device, stream, settings, settings.plan),
      plan_(settings.plan),
      fuse_gelu_(settings.fuse_gelu),
      folder_(settings.weights),
      parameters_(TransformerParameters::of(plan_.shape, plan_.layout())),
      adapters_(plan_.adapters()),
      activations_(TrainingActivations::of(plan_)) {}

Result<std::unique_ptr<TransformerTraining>> TransformerTraining::create(
    Device& device, Stream& stream, const TransformerSettings& settings,
    const TokenBatches& batches, const TokenBatches& held_back) {
  TRY(validate(settings.plan.shape));
  TRY(validate_fp8(settings.plan));
  if (settings.plan.lora) {
    TRY(validate(*settings.plan.lora, settings.plan.shape));
    if (settings.plan.parallel.slices_parameters()) {
      return Error{ErrorKind::unsupported,
                   "parallel=fsdp does not shard the frozen weights beside adapters; allowed: ddp, "
                   "zero1"};
    }
  }
  const bool learned = settings.plan.shape.position == PositionKind::learned;
  if (learned && settings.plan.shape.positions < settings.plan.sequence) {
    return Error{ErrorKind::usage,
                 fmt::format("a sequence of {} is longer than the model's {} positions",
                             settings.plan.sequence, settings.plan.shape.positions)};
  }
  if (settings.plan.one_pass && settings.accumulate != 1) {
    return Error{ErrorKind::usage,
                 fmt::format("a plan for steps of one pass does not fit accumulate={}",
                             settings.accumulate)};
  }
  if (learned && settings.plan.documents) {
    return Error{ErrorKind::usage,
                 "learned positions do not begin anew in packed documents; allowed: models with "
                 "rotary positions, or packing=none"};
  }
  for (const TokenBatches* given : {&batches, &held_back}) {
    if (given->batches == 0) continue;
    if (given->document_starts.empty() == settings.plan.documents) {
      return Error{ErrorKind::usage, settings.plan.documents
                                         ? "the batches do not say where documents begin"
                                         : "the batches hold documents, the plan has none"};
    }
    if (given->tokens_per_batch == settings.plan.tokens()) continue;
    return Error{ErrorKind::usage,
                 fmt::format("batches of {} tokens do not fit {} sequences of {}",
                             given->tokens_per_batch, settings.plan.batch, settings.plan.sequence)};
  }
  auto made =
      std::unique_ptr<TransformerTraining>(new TransformerTraining(device, stream, settings));
  TRY(made->allocate_arenas(stream));
  made->data_hash_ = hash_of(batches) + hash_of(held_back);
  made->batches_ = TRY(DeviceBatches::upload(device, stream, batches));
  if (held_back.batches > 0) {
    made->held_back_ = TRY(DeviceBatches::upload(device, stream, held_back));
  }
  TRY(made->load_operations(stream));
  TRY(made->restart(stream));
  return made;
}

Status TransformerTraining::allocate_arenas(Stream& stream) {
  TRY(check_memory(memory_of(plan_),
                   [&](std::uint64_t bytes) { return what_would_fit(plan_, bytes); }));
  TRY(allocate_parameters(stream, frozen() ? adapters_.named() : parameters_.named(),
                          plan_.sections(), TransformerParameters::kept_sections,
                          activations_.before_gradients.value_or(0)));
  if (frozen()) {
    TRY(allocate(frozen_, parameters_.elements * element_));
    TRY(stream.fill(frozen_.data(), 0, frozen_.bytes()));
  }
  TRY(allocate_rows(gathered_lookups(plan_)));
  if (!activations_.before_gradients) TRY(allocate(own_active_, activations_.elements * element_));
  active_ = activations_.before_gradients ? arenas().arena_of_gradients() : own_active_.data();
  TRY(allocate(floats_, activations_.floats * sizeof(float)));
  if (plan_.fp8) {
    TRY(allocate(codes_, activations_.fp8.weight_codes));
    TRY(allocate(scales_, activations_.fp8.scales * fp8_scale_bytes));
  }
  const auto tokens = static_cast<std::uint64_t>(plan_.tokens());
  TRY(allocate(losses_, tokens * sizeof(float)));
  if (plan_.documents) TRY(allocate(document_starts_, tokens * sizeof(std::int32_t)));
  return allocate(scratch_, scratch_bytes(plan_));
}

Status TransformerTraining::load_operations(Stream& stream) {
  const TransformerShape& shape = plan_.shape;
  const DataType type = plan_.type, precision = training_.precision;
  embedding_ = TRY(Embedding::create(device_, type));
  column_sums_ = TRY(ColumnSums::create(device_, type));
  norm_ = shape.norm == NormKind::layer ? TRY(Norm::layer(device_, type))
                                        : TRY(Norm::rms(device_, type, shape.norm_epsilon));
  if (shape.changes_heads()) {
    rotation_ = TRY(HeadRotation::create(device_, stream, type, rotary_frequencies(shape),
                                         plan_.sequence, shape.norm_epsilon));
  }
  activation_functions_ = TRY(Activations::create(device_, type));
  linear_.emplace(plans_, *activation_functions_, precision, fuse_gelu_);
  if (plan_.fp8) fp8_linear_ = TRY(Fp8Linear::create(device_, plans_));
  if (frozen()) low_rank_.emplace(plans_, precision, adapters_.scale);
  attention_ = TRY(open_attention(device_, plans_, plan_, precision));
  cross_entropy_ = TRY(CrossEntropy::create(device_, type));
  return {};
}

bool TransformerTraining::can_fuse_gelu() {
  if (parameters_.gated || plan_.fp8) return false;
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width, f = plan_.shape.hidden;
  return linear_->can_fuse({n, f, c}, plan_.shape.has_all_biases(), {n, c, f});
}

Status TransformerTraining::add_checksum(Stream& stream, Elementwise& elementwise,
                                         std::uint64_t* sum) {
  if (!frozen()) return {};
  const std::uint64_t behind = arenas().sections().back().end * element_ / 4;
  return elementwise.checksum(stream, sum, frozen_.data(), frozen_.bytes(), behind);
}

Status TransformerTraining::write_initial_weights(Stream& stream) {
  if (!frozen()) return write_model(stream);
  if (!has_frozen_) {
    TRY(write_model(stream));
    if (!Fp8Layout::takes_turns(plan_)) TRY(quantize_frozen_weights(stream));
  }
  has_frozen_ = true;
  return write_initial_adapters(stream);
}

Status TransformerTraining::quantize_frozen_weights(Stream& stream) {
  if (!fp8_linear_) return {};
  TRY(stream.fill(scales_.data(), 0, scales_.bytes()));
  for (std::size_t i = 0; i < parameters_.layers.size(); ++i) {
    TRY(quantize_weights(stream, i));
  }
  return {};
}

Status TransformerTraining::write_model(Stream& stream) {
  if (folder_.empty()) return write_random_model(stream);
  std::vector<ParameterArenas::Range> kept;
  if (frozen()) kept.push_back({frozen_.data(), 0, parameters_.elements});
  for (std::size_t i = 0; !frozen() && i < parameters_.sections.size(); ++i) {
    kept.push_back(arenas().kept_of(ParameterPart::weights, i));
  }
  return read_weight_files(device_, stream, plan_.type, kept, plan_.shape, parameters_, folder_);
}

/// A is uniform within 1 / sqrt(inputs), which is PEFT's kaiming_uniform_ with a = sqrt(5); B stays
/// 0, so that the model begins as it is without adapters.
Status TransformerTraining::write_initial_adapters(Stream& stream) {
  std::vector<float> adapters(adapters_.elements, 0);
  for (const LoraLayer& layer : adapters_.layers) {
    for (const LoraGroup* group : {&layer.qkv, &layer.proj, &layer.up, &layer.down}) {
      Random random(training_.seed + group->a.offset);
      const double bound = 1 / std::sqrt(static_cast<double>(group->a.columns));
      const auto first = adapters.begin() + static_cast<std::ptrdiff_t>(group->a.offset);
      std::generate(first, first + group->a.elements(),
                    [&] { return static_cast<float>(bound * (2 * random.uniform() - 1)); });
    }
  }
  return write_weights(stream,
                       arenas().section_in_pass(ParameterPart::weights, all_adapters).address,
                       plan_.type, adapters);
}

/// Weights begin as in GPT-2: normal with deviation 0.02, projections back into the stream divided
/// by sqrt(2 L); norms are 1, biases and the vocabulary's padding 0.
Status TransformerTraining::write_random_model(Stream& stream) {
  constexpr double deviation = 0.02;
  const TransformerShape& shape = plan_.shape;
  const double into_stream = deviation / std::sqrt(2 * static_cast<double>(shape.layers));
  const TransformerParameters& p = parameters_;
  const TransformerParameters alone = TransformerParameters::of(shape);
  InitialWeights initial = TRY(InitialWeights::create(device_, stream, plan_.type, training_.seed));
  TRY(initial.normal(weight(p.embedding), alone.embedding, shape.vocabulary, deviation));
  if (p.positions.elements() > 0) {
    TRY(initial.normal(weight(p.positions), alone.positions, deviation));
  }
  const auto keep = [&](std::size_t section) {
    return frozen() ? Status() : keep_initial(stream, section);
  };
  TRY(keep(embeddings));
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    const LayerParameters &here = p.layers[i], &there = alone.layers[i];
    TRY(initial.ones(weight(here.norm1_weight), there.norm1_weight));
    TRY(initial.normal(weight(here.qkv), there.qkv, deviation));
    if (shape.head_norms) {
      TRY(initial.ones(weight(here.query_norm), there.query_norm));
      TRY(initial.ones(weight(here.key_norm), there.key_norm));
    }
    TRY(initial.normal(weight(here.proj), there.proj, into_stream));
    TRY(initial.ones(weight(here.norm2_weight), there.norm2_weight));
    TRY(initial.normal(weight(here.up), there.up, deviation));
    TRY(initial.normal(weight(here.down), there.down, into_stream));
    if (i + 1 == p.layers.size()) TRY(initial.ones(weight(p.norm_weight), alone.norm_weight));
    TRY(keep(section_of(i)));
  }
  if (!p.tied) {
    TRY(initial.normal(weight(p.head), alone.head, shape.vocabulary, deviation));
    TRY(keep(head_section()));
  }
  return stream.synchronize();
}

// ---- Reading ----

std::uint64_t TransformerTraining::allocated_bytes() const {
  std::uint64_t bytes = Training::allocated_bytes() + attention_->allocated_bytes();
  if (rotation_) bytes += rotation_->allocated_bytes();
  for (const Buffer* buffer : {&frozen_, &own_active_, &floats_, &codes_, &scales_, &losses_,
                               &document_starts_, &scratch_, &batches_.data, &held_back_.data}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

Result<std::vector<float>> TransformerTraining::frozen_weights(Stream& stream) const {
  return read_weights(stream, frozen_.data(), plan_.type, frozen() ? parameters_.elements : 0);
}

Result<std::vector<std::pair<std::string, std::string>>> TransformerTraining::identity(
    Stream& stream) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!frozen()) return all;
  const Buffer sum = TRY(device_.allocate(sizeof(std::uint64_t), MemoryKind::device));
  TRY(stream.fill(sum.data(), 0, sum.bytes()));
  Elementwise elementwise = TRY(Elementwise::create(device_, plan_.type));
  TRY(elementwise.checksum(stream, sum.as<std::uint64_t>(), frozen_.data(), frozen_.bytes(), 0));
  const std::uint64_t base = TRY(read_back<std::uint64_t>(stream, sum.data(), 1)).front();
  all.emplace_back("alpha", fmt::format("{}", plan_.lora->alpha));
  all.emplace_back("base_weights", fmt::format("{:016x}", base));
  return all;
}

std::vector<std::pair<std::string, std::string>> TransformerTraining::notes() const {
  const std::string detail = attention_->detail();
  auto all = Training::notes();
  if (plan_.fp8) {
    const std::string value(name_of(fp8_type(device_.facts(), Fp8Role::value)));
    const std::string gradient(name_of(fp8_type(device_.facts(), Fp8Role::gradient)));
    all.insert(all.begin(),
               {"fp8", fmt::format("tensorwise: blocks' matrices and their inputs {}, gradients "
                                   "{}; in bf16: head, attention, norms, {}weights' gradients",
                                   value, gradient, plan_.lora ? "adapters, " : "")});
  }
  all.insert(all.begin(), {"attention", fmt::format("{}{}{}", name_of(plan_.attention),
                                                    detail.empty() ? "" : " ", detail)});
  return all;
}

AttentionMemory TransformerTraining::attention_memory(const LayerActivations& a) const {
  const bool plain = plan_.attention == AttentionWay::plain;
  return {.probabilities = plain ? active(a.probabilities) : nullptr,
          .log_sum = plain ? nullptr : statistic(a.log_sum),
          .scratch = scratch_.data()};
}

}  // namespace assay
