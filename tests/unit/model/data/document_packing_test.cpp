#include "model/data/document_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "model/data/synthetic_documents.h"

namespace assay {
namespace {

/// Documents of these lengths: the first is 100, 101, ...; the second 200, 201, ...; the first
/// token of each is its prompt.
Documents documents_of(const std::vector<std::size_t>& lengths) {
  Documents documents;
  std::int32_t hundreds = 100;
  for (const std::size_t length : lengths) {
    std::vector<std::int32_t> tokens(length);
    std::iota(tokens.begin(), tokens.end(), hundreds);
    documents.add(std::span(tokens).first(1), false);
    documents.add(std::span(tokens).subspan(1), true);
    documents.end_document();
    hundreds += 100;
  }
  return documents;
}

TEST(DocumentPacking, ARowHoldsWholeDocumentsAndPadding) {
  const PackedDocuments packed = pack_documents(documents_of({2, 3}), 6, Packing::documents, 1);
  EXPECT_EQ(packed.rows.rows, 1);
  EXPECT_EQ(packed.rows.length, 6);
  EXPECT_EQ(packed.rows.tokens, (std::vector<std::int32_t>{200, 201, 202, 100, 101, 0}));
  EXPECT_EQ(packed.rows.targets, (std::vector<std::int32_t>{201, 202, ignored_target, 101,
                                                            ignored_target, ignored_target}));
  EXPECT_EQ(packed.rows.document_starts, (std::vector<std::int32_t>{0, 0, 0, 3, 3, 5}));
  EXPECT_EQ(packed.padding, 1);
  EXPECT_EQ(packed.with_target, 3);
  EXPECT_EQ(packed.cut, 0);
}

TEST(DocumentPacking, WithoutADocumentMaskOnlyPaddingStartsAnew) {
  const PackedDocuments packed = pack_documents(documents_of({2, 3}), 6, Packing::causal, 1);
  EXPECT_EQ(packed.rows.document_starts, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(packed.rows.targets, (std::vector<std::int32_t>{201, 202, ignored_target, 101,
                                                            ignored_target, ignored_target}));
}

TEST(DocumentPacking, WithoutPackingEachRowHasOneDocument) {
  const PackedDocuments packed = pack_documents(documents_of({2, 3}), 4, Packing::none, 1);
  ASSERT_EQ(packed.rows.rows, 2);
  EXPECT_EQ(packed.padding, 3);
  EXPECT_EQ(packed.with_target, 3);
  EXPECT_EQ(std::ranges::count(packed.rows.document_starts, 0), 5);
}

TEST(DocumentPacking, ALongDocumentIsCutAndCounted) {
  const PackedDocuments packed = pack_documents(documents_of({5, 4, 9}), 4, Packing::documents, 1);
  EXPECT_EQ(packed.rows.rows, 3);
  EXPECT_EQ(packed.cut, 2);
  EXPECT_EQ(packed.padding, 0);
  // The last token that is left of a document has no target.
  for (std::size_t row = 0; row < 3; ++row)
    EXPECT_EQ(packed.rows.targets[row * 4 + 3], ignored_target);
  EXPECT_EQ(packed.with_target, 9);
}

TEST(DocumentPacking, EachDocumentGoesWhereItLeavesTheLeastRoom) {
  // In their own order, no two neighbours of these would share a row.
  const std::vector<std::size_t> lengths = {7, 4, 6, 5, 3, 5};
  const PackedDocuments packed = pack_documents(documents_of(lengths), 10, Packing::documents, 1);
  EXPECT_EQ(packed.rows.rows, 3);
  EXPECT_EQ(packed.padding, 0);
}

TEST(DocumentPacking, TheSeedChoosesTheOrderAndNothingIsLost) {
  const Documents documents = documents_of(std::vector<std::size_t>(20, 5));
  const auto tokens_of = [&](std::uint64_t seed) {
    return pack_documents(documents, 10, Packing::documents, seed).rows.tokens;
  };
  EXPECT_EQ(tokens_of(1), tokens_of(1));
  EXPECT_NE(tokens_of(1), tokens_of(2));
  std::vector<std::int32_t> sorted = tokens_of(2);
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, documents.tokens);
}

TEST(DocumentPacking, TheEmptiestRowsAreLeftOut) {
  const Documents documents = documents_of({2, 10, 9});
  const PackedDocuments packed = pack_documents(documents, 10, Packing::documents, 1, 2);
  EXPECT_EQ(packed.rows.rows, 2);
  EXPECT_EQ(packed.padding, 1);
}

TEST(DocumentPacking, AnEmptyDocumentNeedsNoRow) {
  Documents documents = documents_of({3});
  documents.end_document();
  EXPECT_EQ(pack_documents(documents, 4, Packing::none, 1).rows.rows, 1);
  EXPECT_EQ(pack_documents({}, 4, Packing::documents, 1).rows.rows, 0);
}

/// The lengths of all documents that are not padding.
std::vector<double> lengths_in(const PackedRows& rows) {
  std::vector<double> lengths;
  for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
    const auto place = static_cast<std::int32_t>(i % static_cast<std::size_t>(rows.length));
    if (rows.document_starts[i] == place) {
      lengths.push_back(1);
    } else {
      ++lengths.back();
    }
  }
  std::erase(lengths, 1);
  return lengths;
}

TEST(SyntheticDocuments, AreAsLongAsInstructionData) {
  const PackedRows rows = synthetic_documents(512, 64, 8192, 3);
  ASSERT_EQ(rows.rows, 64);
  ASSERT_EQ(rows.tokens.size(), 64u * 8192);
  std::vector<double> lengths = lengths_in(rows);
  const auto count = static_cast<double>(lengths.size());
  EXPECT_NEAR(std::accumulate(lengths.begin(), lengths.end(), 0.0) / count, 195, 10);
  std::ranges::sort(lengths);
  EXPECT_NEAR(lengths[lengths.size() / 2], 163, 10);  // skewed: the median is below the mean
  EXPECT_GT(lengths.back(), 600);
  EXPECT_LT(std::ranges::count(rows.tokens, 0), 64 * 8192 / 100);  // hardly any padding
  for (const std::int32_t token : rows.tokens) ASSERT_TRUE(token >= 0 && token < 512) << token;
}

TEST(SyntheticDocuments, HaveAPromptWithoutTargetsAndAReplyThatFollowsRules) {
  const PackedRows rows = synthetic_documents(64, 8, 1024, 3);
  // A rule's successor is the most frequent one of its token.
  std::vector<std::vector<int>> successors(64, std::vector<int>(64));
  std::int64_t with_target = 0;
  for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
    const auto place = static_cast<std::int32_t>(i % 1024);
    if (rows.document_starts[i] == place) EXPECT_EQ(rows.targets[i], ignored_target);
    if (rows.targets[i] == ignored_target) continue;
    ASSERT_EQ(rows.targets[i], rows.tokens[i + 1]);
    ++successors[static_cast<std::size_t>(rows.tokens[i])]
                [static_cast<std::size_t>(rows.targets[i])];
    ++with_target;
  }
  std::int64_t by_rule = 0;
  for (const std::vector<int>& of_token : successors) by_rule += std::ranges::max(of_token);
  const double share = static_cast<double>(by_rule) / static_cast<double>(with_target);
  EXPECT_NEAR(share, 0.9, 0.05);
  const double replies = static_cast<double>(with_target) / (8 * 1024);
  EXPECT_NEAR(replies, 0.65, 0.05);
}

TEST(SyntheticDocuments, EveryPackingHasAsManyRowsAsAskedFor) {
  for (const Packing packing : {Packing::documents, Packing::causal, Packing::none}) {
    for (const std::int64_t length : {1, 8, 300}) {
      const PackedRows rows = synthetic_documents(50, 7, length, 3, packing);
      EXPECT_EQ(rows.rows, 7);
      EXPECT_EQ(rows.tokens.size(), 7u * static_cast<std::size_t>(length));
      EXPECT_EQ(rows.document_starts.size(), rows.tokens.size());
    }
  }
}

}  // namespace
}  // namespace assay
