// Where the parameters of a transformer lie.
#include "model/transformer/transformer_parameters.h"

#include <gtest/gtest.h>

#include "model/transformer/named_shapes.h"
#include "support/training_example.h"

namespace assay {
namespace {

std::vector<TransformerShape> shapes_of_every_kind() {
  std::vector<TransformerShape> shapes = {small_gpt(), small_gpt()};
  shapes.back().biases = Biases::none;
  for (const bool tied : {true, false}) {
    TransformerShape llama = parse_decoder_shape("2L4H2K16D72C40F101V").value();
    llama.tied = tied;
    shapes.push_back(llama);
    llama.head_norms = true;
    llama.biases = Biases::qkv;
    shapes.push_back(llama);
  }
  return shapes;
}

/// Every tensor lies behind the one before it, none overlap, and what the parts need is what all
/// need.
TEST(TransformerParameters, TensorsLieOneAfterTheOther) {
  for (const TransformerShape& shape : shapes_of_every_kind()) {
    const TransformerParameters layout = TransformerParameters::of(shape);
    std::size_t end = 0;
    double elements = 0;
    for (const NamedTensor& named : layout.named()) {
      EXPECT_GE(named.tensor.offset, end) << named.name;
      EXPECT_EQ(named.tensor.offset % 128, 0u) << named.name;
      end = named.tensor.offset + static_cast<std::size_t>(named.tensor.elements());
      elements += static_cast<double>(named.tensor.elements());
    }
    EXPECT_GE(layout.elements, end);
    const double padding =
        static_cast<double>((shape.padded_vocabulary() - shape.vocabulary) * shape.width) *
        (shape.tied ? 1 : 2);
    EXPECT_EQ(elements - padding, shape.parameters());
  }
}

/// Sections cover the arena, and each can be cut: the embeddings, every block, a head of its own.
TEST(TransformerParameters, SectionsCanBeCut) {
  for (const TransformerShape& shape : shapes_of_every_kind()) {
    const TransformerParameters layout = TransformerParameters::of(shape, {.slices = 3});
    ASSERT_EQ(layout.sections.size(), shape.tied ? 3u : 4u);
    std::size_t end = 0;
    for (const Section& section : layout.sections) {
      EXPECT_EQ(section.begin, end);
      EXPECT_EQ(section.elements() % (3 * 128), 0u);
      end = section.end;
    }
    EXPECT_EQ(end, layout.elements);
    EXPECT_LT(layout.norm_weight.offset, layout.sections[2].end);
    EXPECT_GE(layout.head.offset, shape.tied ? 0 : layout.sections[3].begin);
  }
}

}  // namespace
}  // namespace assay
