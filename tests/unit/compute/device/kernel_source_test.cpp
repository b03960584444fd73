#include "compute/device/kernel_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

const std::vector<EmbeddedFile> files = {
    {"one.cu", "// first\n#include \"a.h\"\n#include \"b.h\"\nKERNEL(one) {}\n"},
    {"a.h", "#pragma once\n#include \"backends/cpu/other.h\"\nint a;\n"},
    {"b.h", "#pragma once\n#include \"a.h\"\nint b;"}};

TEST(KernelSource, IncludesAreResolvedOnceWithLineNumbersKept) {
  const auto text = complete_source("one", files);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text,
            "#line 1 \"one.cu\"\n// first\n"
            "#line 1 \"a.h\"\n\n#include \"backends/cpu/other.h\"\nint a;\n#line 3 \"one.cu\"\n"
            "#line 1 \"b.h\"\n\n#line 3 \"b.h\"\nint b;\n#line 4 \"one.cu\"\nKERNEL(one) {}\n");
}

TEST(KernelSource, UnknownKernelIsAnError) {
  const auto text = complete_source("two", files);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "no kernel file two.cu is built in");
}

TEST(KernelSource, EveryBuiltInKernelIsComplete) {
  int kernels = 0;
  for (const EmbeddedFile& file : embedded_kernels()) {
    if (!file.name.ends_with(".cu")) continue;
    ++kernels;
    const auto text = complete_source(file.name.substr(0, file.name.size() - 3));
    ASSERT_TRUE(text);
    EXPECT_EQ(text->find("#include \"dialect.h\""), std::string::npos) << file.name;
    EXPECT_NE(text->find("#define KERNEL("), std::string::npos) << file.name;
  }
  EXPECT_GE(kernels, 4);
}

}  // namespace
}  // namespace assay
