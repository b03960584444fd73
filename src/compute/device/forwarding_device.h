// A device that passes every call on to another one: the base of devices that change a few calls.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "compute/device/device.h"

namespace assay {

class ForwardingDevice : public Device {
 public:
  /// `inner` must outlive this object.
  explicit ForwardingDevice(Device& inner) : inner_(inner) {}

  const DeviceFacts& facts() const override { return inner_.facts(); }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override {
    return inner_.memory_free_and_total();
  }
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    return inner_.allocate(bytes, kind);
  }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority priority) override {
    return inner_.create_stream(priority);
  }
  Result<std::unique_ptr<Event>> create_event(EventKind kind) override {
    return inner_.create_event(kind);
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return inner_.build(source);
  }
  Result<std::unique_ptr<Program>> load(const std::string& name, const std::string& code) override {
    return inner_.load(name, code);
  }
  Result<TensorMap> tensor_map(const TensorLayout& layout) override {
    return inner_.tensor_map(layout);
  }
  int siblings() const override { return inner_.siblings(); }
  Result<std::unique_ptr<Device>> open_sibling(int ordinal) override {
    return inner_.open_sibling(ordinal);
  }
  Status enable_peer_access(int peer_ordinal) override {
    return inner_.enable_peer_access(peer_ordinal);
  }
  Result<std::string> share(const Buffer& buffer) override { return inner_.share(buffer); }
  Result<Buffer> open_shared(const std::string& text) override { return inner_.open_shared(text); }
  Result<DmaBuf> export_dmabuf(void* address, std::size_t bytes) override {
    return inner_.export_dmabuf(address, bytes);
  }
  Status make_current() override { return inner_.make_current(); }
  std::function<Status()> current_maker() const override { return inner_.current_maker(); }
  SensorReading sense() const override { return inner_.sense(); }
  bool is_recorded() const override { return inner_.is_recorded(); }

 protected:
  Device& inner() { return inner_; }

 private:
  Device& inner_;
};

/// The names of kernels, by the objects that are launched.
using KernelNames = std::map<const Kernel*, std::string>;

/// A program that notes in `names` which kernels are taken from it.
class NamedProgram final : public Program {
 public:
  /// `names` must outlive this object, which removes its entries.
  NamedProgram(KernelNames& names, std::unique_ptr<Program> inner)
      : names_(names), inner_(std::move(inner)) {}
  ~NamedProgram() override {
    for (const Kernel* kernel : taken_) names_.erase(kernel);
  }
  Result<Kernel*> kernel(std::string_view name) override {
    Kernel* const kernel = TRY(inner_->kernel(name));
    names_[kernel] = name;
    taken_.insert(kernel);
    return kernel;
  }

 private:
  KernelNames& names_;
  std::set<const Kernel*> taken_;
  const std::unique_ptr<Program> inner_;
};

}  // namespace assay
