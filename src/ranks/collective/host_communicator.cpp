#include "ranks/collective/host_communicator.h"

#include "ranks/collective/communicator_checks.h"

namespace assay {

Status HostCommunicator::status() const {
  const MutexLock lock(mutex_);
  return first_;
}

Status HostCommunicator::can_queue() const {
  if (auto why = no_host_functions()) return Error{ErrorKind::unsupported, *std::move(why)};
  return status();
}

template <typename Operation>
Status HostCommunicator::queue(Stream& stream, Operation operation) {
  return stream.call([this, operation = std::move(operation)] {
    if (!status()) return;
    const Status done = operation();
    const MutexLock lock(mutex_);
    first_ = done;
  });
}

Status HostCommunicator::enqueue(const CollectiveCall& call, Stream& stream) {
  TRY(check_supported(*this, call));
  TRY(can_queue());
  return queue(stream, [this, call, &stream] { return run(call, stream); });
}

Status HostCommunicator::enqueue(std::span<const Message> sends, std::span<const Message> receives,
                                 Stream& stream) {
  TRY(can_queue());
  return queue(stream, [this, sends = std::vector<Message>(sends.begin(), sends.end()),
                        receives = std::vector<Message>(receives.begin(), receives.end()),
                        &stream] { return transfer(sends, receives, stream); });
}

}  // namespace assay
