#include "model/transformer/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr std::array all_lora_targets = {LoraTarget::q,   LoraTarget::k,    LoraTarget::v,
                                         LoraTarget::o,   LoraTarget::gate, LoraTarget::up,
                                         LoraTarget::down};

std::vector<const LoraGroup*> groups_of(const LoraLayer& layer) {
  return {&layer.qkv, &layer.proj, &layer.up, &layer.down};
}

}  // namespace

std::string_view name_of(LoraTarget target) {
  switch (target) {
    case LoraTarget::q:
      return "q";
    case LoraTarget::k:
      return "k";
    case LoraTarget::v:
      return "v";
    case LoraTarget::o:
      return "o";
    case LoraTarget::gate:
      return "gate";
    case LoraTarget::up:
      return "up";
    case LoraTarget::down:
      return "down";
  }
  return "?";
}

std::string module_of(std::size_t layer, LoraTarget target) {
  const bool attention = target <= LoraTarget::o;
  return fmt::format("model.layers.{}.{}.{}_proj", layer, attention ? "self_attn" : "mlp",
                     name_of(target));
}

Result<std::vector<LoraTarget>> parse_lora_targets(std::string_view text) {
  using enum LoraTarget;
  if (text == "all") return std::vector(all_lora_targets.begin(), all_lora_targets.end());
  if (text == "torchtune") return std::vector{q, v, o, gate, up, down};
  if (text == "trl") return std::vector{q, v};
  std::vector<LoraTarget> targets;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('+', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto* const known = std::ranges::find(all_lora_targets, word,
                                                [](LoraTarget target) { return name_of(target); });
    if (known == all_lora_targets.end() || std::ranges::find(targets, *known) != targets.end()) {
      return Error{ErrorKind::usage,
                   fmt::format("\"{}\" are no matrices for adapters; allowed: torchtune, trl, all, "
                               "or some of q, k, v, o, gate, up, down, each once, such as q+v",
                               text)};
    }
    targets.push_back(*known);
    at = end + 1;
  }
  std::ranges::sort(targets);
  return targets;
}

Status validate(const LoraSettings& settings, const TransformerShape& shape) {
  if (shape.activation != ActivationKind::swiglu || shape.has_all_biases()) {
    return Error{ErrorKind::unsupported,
                 "adapters are written for Llama and Qwen models, whose perceptron has gate, up "
                 "and down"};
  }
  const std::int64_t most = std::min({shape.width, shape.kv_width(), shape.hidden});
  if (settings.rank < 1 || settings.rank > most) {
    return Error{
        ErrorKind::usage,
        fmt::format("rank {} is not for matrices with {} rows or columns; allowed: 1 to {}",
                    settings.rank, most, most)};
  }
  if (!(settings.alpha > 0) || !std::isfinite(settings.alpha)) {
    return Error{ErrorKind::usage,
                 fmt::format("alpha {} scales nothing; allowed: above 0", settings.alpha)};
  }
  if (settings.targets.empty()) {
    return Error{ErrorKind::usage, "adapters need at least one target matrix"};
  }
  return {};
}

LoraParameters LoraParameters::of(const TransformerShape& shape, const LoraSettings& settings,
                                  int slices) {
  TensorPlaces place(static_cast<std::size_t>(slices));
  LoraParameters p;
  p.rank = settings.rank;
  p.scale = settings.scale();
  struct Matrix {
    LoraTarget target;
    std::int64_t outputs;
  };
  const auto group = [&](std::int64_t inputs, const std::vector<Matrix>& matrices) {
    LoraGroup made;
    for (const Matrix& matrix : matrices) {
      if (std::ranges::find(settings.targets, matrix.target) != settings.targets.end()) {
        made.parts.push_back({matrix.target, {}, made.outputs});
      }
      made.outputs += matrix.outputs;
    }
    made.a = place.next(static_cast<std::int64_t>(made.parts.size()) * settings.rank, inputs);
    for (LoraGroup::Part& part : made.parts) {
      const auto matrix = std::ranges::find(matrices, part.target, &Matrix::target);
      part.b = place.next(matrix->outputs, settings.rank);
    }
    return made;
  };
  using enum LoraTarget;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    LoraLayer layer;
    layer.qkv = group(shape.width,
                      {{q, shape.query_width()}, {k, shape.kv_width()}, {v, shape.kv_width()}});
    layer.proj = group(shape.query_width(), {{o, shape.width}});
    layer.up = group(shape.width, {{gate, shape.hidden}, {up, shape.hidden}});
    layer.down = group(shape.hidden, {{down, shape.width}});
    p.layers.push_back(std::move(layer));
  }
  if (const Section section = place.end_section(); section.elements() > 0) {
    p.sections.push_back(section);
  }
  p.elements = place.used();
  return p;
}

std::vector<NamedTensor> LoraParameters::named() const {
  std::vector<NamedTensor> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const LoraGroup* group : groups_of(layers[i])) {
      std::int64_t row = 0;
      const auto add = [&](LoraTarget target, const char* which, const Tensor& tensor) {
        all.push_back({.name = fmt::format("layers.{}.{}.lora_{}", i, name_of(target), which),
                       .tensor = tensor});
      };
      for (const LoraGroup::Part& part : group->parts) {
        add(part.target, "A", group->a.rows_from(row, rank));
        row += rank;
      }
      for (const LoraGroup::Part& part : group->parts) add(part.target, "B", part.b);
    }
  }
  return all;
}

double LoraParameters::parameters() const {
  double all = 0;
  for (const NamedTensor& one : named()) all += static_cast<double>(one.tensor.elements());
  return all;
}

std::int64_t LoraParameters::most_ranks() const {
  std::int64_t most = 0;
  for (const LoraLayer& layer : layers) {
    for (const LoraGroup* group : groups_of(layer)) most = std::max(most, group->ranks());
  }
  return most;
}

}  // namespace assay
