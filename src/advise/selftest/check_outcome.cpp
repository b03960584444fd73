#include "advise/selftest/check_outcome.h"

#include <chrono>

#include "compute/device/backend.h"
#include "compute/device/helpers.h"
#include "core/own_binary.h"

namespace assay::selftest {
namespace {

Answer ask(const Check& check, std::string_view device_choice) {
  auto backends = make_backends();
  auto opened = open_device(backends, device_choice);
  if (!opened.ok()) return Error{ErrorKind::unavailable, opened.error().message};
  Device& device = **opened;
  if (check.accelerator && device.facts().is_host_cpu()) {
    return Error{ErrorKind::unsupported, "the check is about GPUs"};
  }
  if (device.siblings() < check.devices) {
    return Error{ErrorKind::unsupported, "the check needs " + std::to_string(check.devices) +
                                             " devices, this machine has " +
                                             std::to_string(device.siblings())};
  }
  const auto stream = TRY(device.create_stream());
  const auto program = own_binary();
  Stage stage = {device, *stream, suits_large_work(device.facts()), program.ok() ? *program : ""};
  return check.run(stage);
}

Outcome outcome_of(const Answer& answer) {
  if (answer.ok()) return Outcome::passed;
  const ErrorKind kind = answer.error().kind;
  const bool cannot = kind == ErrorKind::unsupported || kind == ErrorKind::unavailable;
  return cannot ? Outcome::untested : Outcome::wrong;
}

}  // namespace

CheckOutcome run_check(const Check& check, std::string_view device_choice) {
  const auto begin = std::chrono::steady_clock::now();
  const Answer answer = ask(check, device_choice);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return {std::string(check.name), outcome_of(answer),
          answer.ok() ? *answer : answer.error().message, passed.count()};
}

std::string_view name_of(Topic topic) {
  switch (topic) {
    case Topic::device:
      return "device";
    case Topic::kernels:
      return "kernels";
    case Topic::libraries:
      return "libraries";
    case Topic::communication:
      return "communication";
    case Topic::hardware:
      return "hardware";
  }
  return "";
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::wrong:
      return "wrong";
    case Outcome::crashed:
      return "crashed";
    case Outcome::timed_out:
      return "timed out";
    case Outcome::untested:
      return "untested";
    case Outcome::stopped:
      return "stopped";
  }
  return "";
}

bool is_fault(Outcome outcome) {
  return outcome == Outcome::wrong || outcome == Outcome::crashed || outcome == Outcome::timed_out;
}

}  // namespace assay::selftest
