// A time limit for system calls that have none of their own, such as resolving a name.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace assay {

/// Returns the result of `call`; nullopt if that takes longer than `seconds`. In that case the call
/// continues on a separate thread and its result is dropped, so it must own everything that it
/// uses. If the system refuses a thread, the call is made without a limit.
template <class T>
std::optional<T> within(double seconds, std::function<T()> call) {
  auto task = std::make_shared<std::packaged_task<T()>>(std::move(call));
  std::future<T> result = task->get_future();
  try {
    std::thread([task] { (*task)(); }).detach();
  } catch (const std::system_error&) {
    (*task)();
  }
  const std::chrono::duration<double> limit(seconds);
  if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace assay
