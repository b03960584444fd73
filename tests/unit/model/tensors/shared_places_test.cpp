// Tensors that share memory unless they are needed at the same moment.
#include "model/tensors/shared_places.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"

namespace assay {
namespace {

TEST(SharedPlaces, TensorsOfDifferentMomentsShareMemory) {
  Tensor a, b, both, none;
  SharedPlaces places;
  places.add(a, 2, 128, 0b01);
  places.add(b, 3, 128, 0b10);
  places.add(both, 1, 100, 0b11);
  places.add(none, 0, 128, 0b11);
  EXPECT_EQ(places.place_all(256), 256u + 4 * 128);
  EXPECT_EQ(b.offset, 256u);
  EXPECT_EQ(a.offset, 256u);
  EXPECT_EQ(both.offset, 256u + 3 * 128);
  EXPECT_EQ(none.elements(), 0);
}

/// A tensor fits between two others that are in its way.
TEST(SharedPlaces, GapsAreUsed) {
  Tensor low, high, between;
  SharedPlaces places;
  places.add(low, 4, 128, 0b001);   // at 0
  places.add(high, 3, 128, 0b011);  // behind it
  places.add(between, 2, 128, 0b010);
  EXPECT_EQ(places.place_all(0), 7u * 128);
  EXPECT_EQ(high.offset, 4u * 128);
  EXPECT_EQ(between.offset, 0u);
}

TEST(SharedPlaces, NothingOverlapsThatIsNeededTogether) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Tensor> tensors(20);
    std::vector<SharedPlaces::Moments> moments;
    SharedPlaces places;
    std::size_t all = 0;
    for (Tensor& tensor : tensors) {
      moments.push_back(1 + static_cast<SharedPlaces::Moments>(random.next() % 63));
      places.add(tensor, 1 + static_cast<std::int64_t>(random.next() % 9), 70, moments.back());
      all += TensorPlaces::aligned_end(0, tensor);
    }
    EXPECT_LE(places.place_all(0), all);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(tensors[i].offset % 128, 0u);
      for (std::size_t k = 0; k < i; ++k) {
        if ((moments[i] & moments[k]) == 0) continue;
        const auto end = [](const Tensor& t) {
          return t.offset + static_cast<std::size_t>(t.elements());
        };
        EXPECT_TRUE(end(tensors[i]) <= tensors[k].offset || end(tensors[k]) <= tensors[i].offset);
      }
    }
  }
}

}  // namespace
}  // namespace assay
