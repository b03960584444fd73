#include "cli/document_view.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

const std::string document =
    "# Import\n\nWhat is **read**? See [method](method.md#rule).\n\n    assay import [FILE](x)\n\n"
    "| `--format` | meaning |\n|---|---|\n| `a|b` | both, see [that](x) |\n| c | one |\n\nEnd\n";

TEST(DocumentView, ATerminalShowsAlignedTablesAndNoTargets) {
  EXPECT_EQ(document_text(document, 60, Style(false)),
            "Import\n\nWhat is read? See method.\n\n    assay import [FILE](x)\n\n"
            "`--format`  meaning\n"
            "`a|b`       both, see that\n"
            "c           one\n"
            "\nEnd\n");
  EXPECT_TRUE(document_text(document, 60, Style(true)).starts_with("\x1b[1mImport\x1b[0m\n"));
}

TEST(DocumentView, WithoutATerminalItStaysMarkdown) {
  EXPECT_EQ(document_text(document, 0, Style(false)), document);
}

}  // namespace
}  // namespace assay::cli
