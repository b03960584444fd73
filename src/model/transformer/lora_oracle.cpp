#include "model/transformer/lora_oracle.h"

#include <utility>

namespace assay {
namespace {

/// One adapted matrix: offsets of its first element and of its adapters.
struct AdaptedMatrix {
  std::size_t weight, a, b;
  std::size_t outputs, inputs, rank;
};

template <typename Body>
void for_each_adapted(const TransformerParameters& layout, const LoraParameters& lora, Body body) {
  for (std::size_t i = 0; i < lora.layers.size(); ++i) {
    const LoraLayer& adapters = lora.layers[i];
    const LayerParameters& layer = layout.layers[i];
    for (const auto& [group, weight] : {std::pair(&adapters.qkv, &layer.qkv),
                                        {&adapters.proj, &layer.proj},
                                        {&adapters.up, &layer.up},
                                        {&adapters.down, &layer.down}}) {
      std::int64_t row = 0;
      for (const LoraGroup::Part& part : group->parts) {
        body(AdaptedMatrix{weight->rows_from(part.first, part.b.rows).offset,
                           group->a.rows_from(row, lora.rank).offset, part.b.offset,
                           static_cast<std::size_t>(part.b.rows),
                           static_cast<std::size_t>(weight->columns),
                           static_cast<std::size_t>(lora.rank)});
        row += lora.rank;
      }
    }
  }
}

}  // namespace

std::vector<double> merged_weights(std::vector<double> weights, const TransformerParameters& layout,
                                   const std::vector<double>& adapters,
                                   const LoraParameters& lora) {
  for_each_adapted(layout, lora, [&](const AdaptedMatrix& m) {
    for (std::size_t o = 0; o < m.outputs; ++o) {
      for (std::size_t r = 0; r < m.rank; ++r) {
        const double b = lora.scale * adapters[m.b + o * m.rank + r];
        for (std::size_t i = 0; i < m.inputs; ++i) {
          weights[m.weight + o * m.inputs + i] += b * adapters[m.a + r * m.inputs + i];
        }
      }
    }
  });
  return weights;
}

std::vector<double> adapter_gradients(const std::vector<double>& gradients,
                                      const TransformerParameters& layout,
                                      const std::vector<double>& adapters,
                                      const LoraParameters& lora) {
  std::vector<double> result(lora.elements, 0);
  for_each_adapted(layout, lora, [&](const AdaptedMatrix& m) {
    for (std::size_t o = 0; o < m.outputs; ++o) {
      const double* const dw = &gradients[m.weight + o * m.inputs];
      for (std::size_t r = 0; r < m.rank; ++r) {
        const std::size_t a = m.a + r * m.inputs, b = m.b + o * m.rank + r;
        for (std::size_t i = 0; i < m.inputs; ++i) {
          result[b] += lora.scale * dw[i] * adapters[a + i];
          result[a + i] += lora.scale * adapters[b] * dw[i];
        }
      }
    }
  });
  return result;
}

}  // namespace assay
