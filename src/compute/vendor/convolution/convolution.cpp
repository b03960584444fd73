#include "compute/vendor/convolution/convolution.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

/// There is one library for each backend, so a choice names at most one.
const ConvolutionProvider* provider_for(std::string_view choice, const DeviceFacts& facts) {
  for (const ConvolutionProvider& provider : ConvolutionRegistry::entries()) {
    if (provider.backend == facts.backend && (choice == "auto" || choice == provider.name)) {
      return &provider;
    }
  }
  return nullptr;
}

}  // namespace

QueuedOperation queued_convolution(const ConvolutionProblem& problem) {
  QueuedOperation operation;
  operation.name = "conv " + describe(problem);
  operation.flops = problem.flops();
  operation.bytes = problem.bytes();
  operation.math = problem.type;
  return operation;
}

std::vector<std::string> convolution_names() {
  std::vector<std::string> names;
  for (const ConvolutionProvider& provider : ConvolutionRegistry::entries()) {
    names.emplace_back(provider.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> convolution_unsupported(std::string_view choice,
                                                   const ConvolutionProblem& problem,
                                                   const DeviceFacts& facts) {
  const ConvolutionProvider* provider = provider_for(choice, facts);
  if (provider == nullptr) {
    return fmt::format("no library for convolutions{} works on {} devices",
                       choice == "auto" ? "" : fmt::format(" named {}", choice), facts.backend);
  }
  return provider->unsupported(problem, facts);
}

Result<std::unique_ptr<Convolution>> open_convolution(Device& device, std::string_view choice,
                                                      const ConvolutionProblem& problem) {
  TRY(validate(problem));
  if (auto reason = convolution_unsupported(choice, problem, device.facts())) {
    return Error{ErrorKind::unsupported, std::move(*reason)};
  }
  return provider_for(choice, device.facts())->open(device, problem);
}

}  // namespace assay
