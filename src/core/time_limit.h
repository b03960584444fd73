// A time limit for calls of the system that have none of their own, such as looking up a name.
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

/// What `call` returns; nullopt if that takes longer than `seconds`. Then the call goes on, on a
/// thread of its own, and what it returns is dropped: it must own everything that it uses. Where
/// the system refuses a thread, the call is made without a limit.
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
