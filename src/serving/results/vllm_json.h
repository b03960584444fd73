// A result in the JSON format of `vllm bench serve` as of September 2025, for programs that read
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serving/results/serving_result.h"

namespace assay {

/// What the file says about the run besides the measurements.
struct VllmNames {
  std::string date;  ///< "20250914-020903", of the run's end
  std::string endpoint_type = "openai";
  std::optional<std::string> label;
  std::string model_id;
  std::string tokenizer_id;
};

/// One object on one line, its fields as that version orders them with --percentile-metrics
/// ttft,tpot,itl,e2el: rates per second, statistics in milliseconds. With `details`, the logs of
/// the same run, also the arrays of --save-detailed, in seconds and by the index of requests;
/// generated_texts are empty because texts are not kept.
std::string vllm_json(const VllmNames& names, const ServingResult& result,
                      const std::vector<RequestLog>* details = nullptr);

}  // namespace assay
