// The plan of `assay tune command` in YAML: a program and its parameters.
//
//   name: matmul
//   command: [python3, matmul.py, --block, '{block}', --warps, '{warps}']
//   metrics: [{name: time, regex: 'time: (\S+) ms', unit: ms, better: lower}]
//   parameters:
//     block: 16..256*2                  # {block} in the command
//     warps: [4, 1, 2, 8]               # the first value is the default
//     HIP_FORCE_DEV_KERNARG: [unset, 1] # in capitals: an environment variable
//   usual: {block: 64}                  # if the default is not the first value
//   conditions: ["block * warps <= 1024"]
//   budget: {runs: 200, time: 2h}
//   pairs: {least: 10, most: 60}       # of the proof
//   seed: 1
//
// A plan may also have the keys file, variables and timeout of a command in a suite
// (measure/grid/external_command.h).
#pragma once

#include <string>
#include <string_view>

#include "advise/tune/parameter_space.h"
#include "advise/tune/tuning.h"
#include "core/result.h"
#include "measure/grid/external_command.h"

namespace assay {

struct TuningPlan {
  std::string text;  ///< the text of the YAML file
  /// The command, with "{NAME}" for parameters in its arguments, variables and file. Its first
  /// metric is the one to improve.
  ExternalCommand command;
  ParameterSpace space;
  TuningRules rules;
};

/// Parses a plan. Error: usage, "FILE:LINE: what is wrong; what is allowed".
Result<TuningPlan> parse_tuning_plan(std::string_view yaml, const std::string& file);
/// Loads a plan. Error: as read_operand() (core/read_file.h) or parse_tuning_plan().
Result<TuningPlan> load_tuning_plan(const std::string& path);

/// Replaces each "{NAME}" by its value in `settings`, drops arguments that become empty, and adds
/// the settings that are environment variables.
ExternalCommand command_with(const ExternalCommand& command, const Settings& settings);

}  // namespace assay
