// Checks that an import is sound, whatever the text.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "core/json.h"
#include "results/import/importer.h"
#include "results/store/record_json.h"

namespace assay {

/// Checks the properties on which stores and comparisons rely.
inline void expect_sound(const Result<Imported>& result, const std::string& what) {
  if (!result.ok()) {
    EXPECT_EQ(result.error().kind, ErrorKind::usage) << what;
    EXPECT_THAT(result.error().message, testing::HasSubstr("file.txt")) << what;
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << what;
    return;
  }
  ASSERT_FALSE(result->records.empty()) << what;
  for (const Record& record : result->records) {
    const auto again = record_from_json(to_json(record));
    ASSERT_TRUE(again.ok()) << what << ": " << again.error().message;
    EXPECT_EQ(record.status == RecordStatus::passed, record.reason.empty()) << what;
    for (const Metric& metric : record.metrics) ASSERT_TRUE(std::isfinite(metric.value)) << what;
  }
}

}  // namespace assay
