// Matrices of sources and destinations, as tools print them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct MatrixRow {
  std::string name;                      ///< in lower case, with a number: "gpu0"
  std::string_view arrow;                ///< "->", "<-", "<->" or empty
  std::vector<std::string_view> values;  ///< as written, N/A included
};

/// Returns whether the word is a number or N/A.
bool is_matrix_value(std::string_view word);
/// Returns the names of a header's columns without its first word, which stands in the corner:
/// "GPU 00" becomes "gpu0", "0" stays, "STotal" becomes "stotal".
std::vector<std::string> matrix_header(const std::vector<std::string_view>& words);
/// Splits a row into its name, its arrow if it has one, and its values. Nullopt if the words are
/// not a row: the name must have a number, and one or more numbers or N/A must follow.
std::optional<MatrixRow> matrix_row(const std::vector<std::string_view>& words);

}  // namespace assay
