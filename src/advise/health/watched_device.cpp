#include "advise/health/watched_device.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "compute/device/queued_operation.h"

namespace assay::health {

std::vector<WatchedBuffer> Watch::buffers() const {
  std::vector<WatchedBuffer> all;
  for (const auto& [address, allocation] : allocations_) all.push_back(allocation.what);
  std::ranges::sort(all, {}, &WatchedBuffer::number);
  return all;
}

void Watch::release(void* watch, void* address, std::size_t) {
  static_cast<Watch*>(watch)->allocations_.erase(address);
}

class WatchedStream final : public Stream {
 public:
  WatchedStream(Watch& watch, std::unique_ptr<Stream> inner)
      : watch_(watch), inner_(std::move(inner)) {}

  Status launch(const Kernel& kernel, const LaunchShape& shape,
                std::span<void* const> arguments) override {
    return kernel_operation(kernel, [&] { return inner_->launch(kernel, shape, arguments); });
  }
  Status launch(const Kernel& kernel, const LaunchShape& shape, const LaunchAttributes& attributes,
                std::span<void* const> arguments) override {
    return kernel_operation(kernel,
                            [&] { return inner_->launch(kernel, shape, attributes, arguments); });
  }
  Status launch_packed(const Kernel& kernel, const LaunchShape& shape,
                       std::span<const std::byte> arguments) override {
    return kernel_operation(kernel,
                            [&] { return inner_->launch_packed(kernel, shape, arguments); });
  }
  Status launch(Graph& graph) override {
    return operation("graph", [&] { return inner_->launch(graph); });
  }
  Status copy(void* destination, const void* source, std::size_t bytes) override {
    return operation("copy", [&] { return inner_->copy(destination, source, bytes); });
  }
  Status copy_from_peer(void* destination, int source_ordinal, const void* source,
                        std::size_t bytes) override {
    return operation("copy from peer", [&] {
      return inner_->copy_from_peer(destination, source_ordinal, source, bytes);
    });
  }
  Status copy_to_peer(int destination_ordinal, void* destination, const void* source,
                      std::size_t bytes) override {
    return operation("copy to peer", [&] {
      return inner_->copy_to_peer(destination_ordinal, destination, source, bytes);
    });
  }
  Status fill(void* destination, std::uint8_t value, std::size_t bytes) override {
    if (watch_.before_fill) watch_.before_fill(destination, value, bytes);
    return operation("fill", [&] { return inner_->fill(destination, value, bytes); });
  }
  Status call(std::function<void()> function) override {
    return operation("host function", [&] { return inner_->call(std::move(function)); });
  }
  Status record(Event& event) override {
    TRY(end_of_library());
    return inner_->record(event);
  }
  Status wait(const Event& event) override {
    TRY(end_of_library());
    return inner_->wait(event);
  }
  Status synchronize() override {
    TRY(end_of_library());
    return inner_->synchronize();
  }
  Status begin_capture() override {
    TRY(end_of_library());
    TRY(inner_->begin_capture());
    watch_.capturing_ = true;
    return {};
  }
  Result<std::unique_ptr<Graph>> end_capture() override {
    of_library_ = watch_.capturing_ = false;
    return inner_->end_capture();
  }
  Result<GraphUpdate> end_capture_into(Graph& graph) override {
    of_library_ = watch_.capturing_ = false;
    return inner_->end_capture_into(graph);
  }
  Status record_each_replay(Event& event) override { return inner_->record_each_replay(event); }
  Status upload(Graph& graph) override { return inner_->upload(graph); }
  /// The library queues its work after this call, and nothing says where it ends.
  void* native_handle() override {
    watch_.called_library_ = true;
    if (depth_ == 0 && !watch_.capturing_ && end_of_library().ok()) of_library_ = true;
    watch_.in_library_ = true;
    return inner_->native_handle();
  }
  /// So that what several kernels or a library compute together is one operation with a name.
  bool is_recorded() const override { return true; }
  Status begin_operation(const QueuedOperation& what) override {
    if (depth_++ > 0) return {};
    TRY(end_of_library());
    name_ = what.name;
    return {};
  }
  Status end_operation() override {
    if (--depth_ > 0) return {};
    return queued(name_);
  }

 private:
  Status queued(const std::string& name) {
    Status seen;
    if (!watch_.capturing_ && watch_.after_operation) seen = watch_.after_operation(*inner_, name);
    watch_.in_library_ = false;
    return seen;
  }
  Status end_of_library() {
    return std::exchange(of_library_, false) ? queued("library") : Status();
  }
  template <typename Queue>
  Status operation(const std::string& name, const Queue& queue) {
    if (depth_ > 0) return queue();
    TRY(end_of_library());
    TRY(queue());
    return queued(name);
  }
  template <typename Queue>
  Status kernel_operation(const Kernel& kernel, const Queue& queue) {
    const auto known = watch_.kernels_.find(&kernel);
    return operation(known == watch_.kernels_.end() ? "kernel" : known->second, queue);
  }

  Watch& watch_;
  const std::unique_ptr<Stream> inner_;
  int depth_ = 0;            // of begin_operation()
  bool of_library_ = false;  // since native_handle()
  std::string name_;
};

class WatchedDevice final : public ForwardingDevice {
 public:
  WatchedDevice(Device& device, Watch& watch)
      : ForwardingDevice(device), watch_(watch), facts_(device.facts()) {
    facts_.uuid = "any of its kind";
  }

  const DeviceFacts& facts() const override { return facts_; }
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    Buffer memory = TRY(inner().allocate(bytes, kind));
    void* const address = memory.data();
    if (address == nullptr) return memory;
    if (kind == MemoryKind::pinned || kind == MemoryKind::pageable) {
      std::memset(address, 0, bytes);
    } else {
      if (!clearing_) clearing_ = TRY(inner().create_stream(StreamPriority::normal));
      TRY(clearing_->fill(address, 0, bytes));
      TRY(clearing_->synchronize());
    }
    watch_.allocations_[address] = {{++watch_.allocated_, address, bytes, kind}, std::move(memory)};
    return Buffer(address, bytes, &watch_, &Watch::release);
  }
  Result<std::string> share(const Buffer& buffer) override {
    const auto own = watch_.allocations_.find(buffer.data());
    return inner().share(own == watch_.allocations_.end() ? buffer : own->second.memory);
  }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority priority) override {
    auto stream = TRY(inner().create_stream(priority));
    return std::unique_ptr<Stream>(std::make_unique<WatchedStream>(watch_, std::move(stream)));
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return named(TRY(inner().build(source)));
  }
  Result<std::unique_ptr<Program>> load(const std::string& name, const std::string& code) override {
    return named(TRY(inner().load(name, code)));
  }
  /// So that communicators say which collectives they queue.
  bool is_recorded() const override { return true; }

 private:
  std::unique_ptr<Program> named(std::unique_ptr<Program> program) {
    return std::make_unique<NamedProgram>(watch_.kernels_, std::move(program));
  }

  Watch& watch_;
  DeviceFacts facts_;
  std::unique_ptr<Stream> clearing_;
};

std::unique_ptr<Device> watched_device(Device& device, Watch& watch) {
  return std::make_unique<WatchedDevice>(device, watch);
}

}  // namespace assay::health
