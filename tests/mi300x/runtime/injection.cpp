#include "runtime/injection.h"

#include <sstream>
#include <stdexcept>
#include <vector>

#include "emulator/corruption.h"
#include "runtime/errors.h"

namespace mi300x::runtime {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

}  // namespace

void Injection::read(const std::string& text) {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  failures_.clear();
  hanging_.clear();
  loses_graph_events_ = false;
  launches_.reset();
  mi300x::Corruption::instance().plan({});
  for (const std::string& word : split(text, ',')) {
    const std::vector<std::string> parts = split(word, ':');
    if (parts.size() == 2 && parts[0] == "lost") {
      launches_ = std::stoull(parts[1]);
    } else if (parts.size() == 2 && parts[0] == "hang") {
      hanging_.insert(parts[1]);
    } else if (parts.size() == 3 &&
               mi300x::corruption_kind(parts[0]) != mi300x::CorruptionKind::none) {
      mi300x::Corruption::instance().plan({.kind = mi300x::corruption_kind(parts[0]),
                                           .rate = std::stod(parts[1]),
                                           .seed = std::stoull(parts[2])});
    } else if (word == "no_graph_events") {
      loses_graph_events_ = true;
    } else if (parts.size() == 3 && error_of_name(parts[2])) {
      failures_[parts[0]][std::stoull(parts[1])] = *error_of_name(parts[2]);
    } else {
      throw std::invalid_argument("MI300X_FAULT: cannot read \"" + word + "\"");
    }
  }
}

void Injection::fail_next(const std::string& function, hipError_t error) {
  const std::lock_guard lock(mutex_);
  failures_[function][calls_[function] + 1] = error;
}

hipError_t Injection::called(const std::string& function) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t call = ++calls_[function];
  const auto planned = failures_.find(function);
  if (planned == failures_.end()) return hipSuccess;
  const auto now = planned->second.find(call);
  return now == planned->second.end() ? hipSuccess : now->second;
}

std::map<std::string, std::uint64_t> Injection::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool Injection::hangs(const std::string& kernel) const {
  const std::lock_guard lock(mutex_);
  return hanging_.contains(kernel);
}

bool Injection::loses_graph_events() const {
  const std::lock_guard lock(mutex_);
  return loses_graph_events_;
}

bool Injection::loses(std::uint64_t launch) const {
  const std::lock_guard lock(mutex_);
  return launches_ && launch > *launches_;
}

}  // namespace mi300x::runtime
