#include "libraries/hooks.h"

#include <dlfcn.h>
#include <link.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

namespace mi300x {
namespace {

/// The functions of runtime/virtual.h.
struct Hooks {
  int (*enqueue_host)(void* stream, void (*function)(void*), void* data, double seconds) = nullptr;
  void (*check_read)(const void* address, std::size_t bytes) = nullptr;
  void (*check_write)(void* address, std::size_t bytes) = nullptr;
};

template <typename Function>
void bind(Function*& target, void* library, const char* name) {
  target = reinterpret_cast<Function*>(::dlsym(library, name));
}

int bind_from(dl_phdr_info* info, std::size_t, void* context) {
  void* library = ::dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  auto& hooks = *static_cast<Hooks*>(context);
  bind(hooks.enqueue_host, library, "mi300x_enqueue_host");
  bind(hooks.check_read, library, "mi300x_check_read");
  bind(hooks.check_write, library, "mi300x_check_write");
  ::dlclose(library);
  return hooks.enqueue_host != nullptr ? 1 : 0;
}

const Hooks& hooks() {
  static const Hooks found = [] {
    Hooks all;
    ::dl_iterate_phdr(&bind_from, &all);
    return all;
  }();
  return found;
}

/// Keeps work for the lifetime of the process, because a graph may run it at any time.
std::function<void()>& kept(std::function<void()> work) {
  static std::mutex mutex;
  static auto& all = *new std::deque<std::function<void()>>;
  const std::lock_guard lock(mutex);
  return all.emplace_back(std::move(work));
}

void call(void* work) {
  (*static_cast<std::function<void()>*>(work))();
}

}  // namespace

int enqueue(void* stream, std::function<void()> work, double seconds) {
  if (hooks().enqueue_host != nullptr) {
    return hooks().enqueue_host(stream, &call, &kept(std::move(work)), seconds);
  }
  work();
  // Without a model clock, real time passes, long enough to be distinguished from noise.
  std::this_thread::sleep_for(std::chrono::duration<double>(100 * seconds));
  return 0;
}

void check_read(const void* address, std::size_t bytes) {
  if (hooks().check_read != nullptr && bytes > 0) hooks().check_read(address, bytes);
}

void check_write(void* address, std::size_t bytes) {
  if (hooks().check_write != nullptr && bytes > 0) hooks().check_write(address, bytes);
}

}  // namespace mi300x
