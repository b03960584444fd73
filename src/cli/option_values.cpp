#include "cli/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "advise/tune/proof.h"
#include "core/units.h"
#include "statistics/paired.h"

namespace assay::cli {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    if (end == text.size()) return parts;
    at = end + 1;
  }
}

Result<std::int64_t> whole_number(std::string_view option, const std::string& text,
                                  std::uint64_t least, std::uint64_t most) {
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most) {
    return Error{ErrorKind::usage,
                 fmt::format("{} \"{}\" is not allowed; allowed: whole numbers from {} to {}",
                             option, text, least, most)};
  }
  return static_cast<std::int64_t>(*value);
}

Result<std::size_t> proof_pairs(const std::string& text) {
  const auto pairs = parse_integer(text);
  if (!pairs || *pairs < least_units || *pairs > most_proof_pairs || *pairs % 2 != 0) {
    return Error{ErrorKind::usage,
                 fmt::format("--pairs \"{}\" is not allowed; allowed: even numbers from {} to {}, "
                             "since fewer pairs prove nothing",
                             text, least_units, most_proof_pairs)};
  }
  return static_cast<std::size_t>(*pairs);
}

/// Returns the same path for all names of a file. A link at the path itself is kept, because
/// write_file() replaces it and not what it leads to.
static std::filesystem::path written_path(const std::string& path) {
  const std::filesystem::path file(path);
  std::error_code error;
  const auto folder = std::filesystem::weakly_canonical(
      file.has_parent_path() ? file.parent_path() : std::filesystem::path("."), error);
  return error ? file : folder / file.filename();
}

Status check_two_files(std::string_view option, const std::string& path,
                       std::string_view other_option, const std::string& other_path) {
  if (path.empty() || other_path.empty() || written_path(path) != written_path(other_path)) {
    return {};
  }
  return Error{ErrorKind::usage,
               fmt::format("{} and {} both name {}; name two files", option, other_option, path)};
}

Option price_option() {
  return {"--price", "PRICE",
          "also show costs, at a price per GPU and hour: 2.50, or 2.50x8 for a server with 8 GPUs",
          ""};
}

Result<std::optional<Price>> given_price(const Arguments& arguments) {
  if (!arguments.has("--price")) return std::optional<Price>();
  if (arguments.get("--out") == "-") {
    return Error{ErrorKind::usage,
                 "--price and --out - exclude each other: costs are shown, never stored"};
  }
  return std::optional(TRY(parse_price(arguments.get("--price"))));
}

}  // namespace assay::cli
