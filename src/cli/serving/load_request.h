// The request that the user made to `assay load`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "core/result.h"
#include "serving/load.h"

namespace assay::cli {

struct LoadRequest {
  std::vector<Url> urls;         ///< the servers; with --spawn, the caller sets them
  bool insecure = false;         ///< TLS certificates are not checked
  LoadSettings settings;         ///< `targets` is set later, from `urls` or the started servers
  PromptSettings asked_prompts;  ///< before adapting them to the servers
  std::vector<LoadPoint> points;
  std::size_t passes = 1;  ///< passes over each point
  std::uint64_t pair = 0;  ///< the pair of the campaign that this load belongs to, from 1; 0: none
  /// The number of this load among the pair's loads on these servers, from 1: each has other
  /// prompts.
  std::uint64_t prompt_set = 1;
  bool simulated = false;  ///< the servers are `assay serve-sim`, whose times come from a model
  /// Names and texts of extra notes for the records.
  std::vector<std::pair<std::string, std::string>> notes;
};

/// The options about what to send where, for help and parser.
std::vector<Option> load_options();

/// A number above 0. Error: usage, naming the option.
Result<double> parse_positive(std::string_view option, const std::string& text);

/// Stores the duration given by `option` in `target`, if the option is given. Error: usage, naming
/// the option.
Status read_seconds(const Arguments& arguments, std::string_view option, double& target);

/// Parses a list such as "4,8,16". Error: usage, naming --max-concurrency.
Result<std::vector<std::size_t>> parse_concurrencies(const std::string& text);

/// Reads the options of load_options(); with --find-rate there are no points. Error: usage, naming
/// the option; also for OPENAI_API_KEY, ASSAY_PAIR and ASSAY_PROMPTS, which it reads, too.
Result<LoadRequest> read_load_request(const Arguments& arguments);

}  // namespace assay::cli
