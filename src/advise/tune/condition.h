// A condition on the values of named parameters, as an expression of SQL: "block_m * block_n <=
// 32768 AND dtype <> 'f64'". SQLite evaluates it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay {

/// Only one thread may use it at a time.
class Condition {
 public:
  /// Compiles an expression over parameters with these names. Error: usage, quoting `text` and
  /// SQLite's message.
  static Result<Condition> compile(std::string_view text, const std::vector<std::string>& names);

  /// Returns whether the condition is true for these values, one for each name. Text that is a
  /// number is compared as a number; empty text is NULL, which makes comparisons untrue. Error:
  /// usage if it cannot be evaluated, or not within 100,000 steps.
  Result<bool> holds(const std::vector<std::string_view>& values) const;

  const std::string& text() const { return text_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Error failure() const;

  std::string text_;
  std::unique_ptr<sqlite3, Close> database_;  // empty, in memory
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace assay
