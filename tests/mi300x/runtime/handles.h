// Objects that a program holds by pointer; a handle is valid only while its object is alive.
#pragma once

#include <map>
#include <memory>
#include <mutex>

namespace mi300x::runtime {

template <typename Object>
class Handles {
 public:
  static Handles& instance() {
    static Handles& all = *new Handles;
    return all;
  }

  Object* add(std::shared_ptr<Object> object) {
    Object* const handle = object.get();
    const std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Returns null if the handle was never made or its object is gone.
  std::shared_ptr<Object> find(Object* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Returns the object and invalidates the handle.
  std::shared_ptr<Object> take(Object* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  int size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(objects_.size());
  }

 private:
  mutable std::mutex mutex_;
  std::map<Object*, std::shared_ptr<Object>> objects_;
};

}  // namespace mi300x::runtime
