// HIP's streams and events.
#include <algorithm>

#include "runtime/handles.h"
#include "runtime/stream.h"

using namespace mi300x::runtime;

namespace {

constexpr int least_priority = 1, greatest_priority = -1;
constexpr unsigned disable_system_fence = 0x20000000;  // newer than Debian's header
constexpr unsigned event_flags = hipEventBlockingSync | hipEventDisableTiming |
                                 hipEventInterprocess | disable_system_fence |
                                 hipEventReleaseToDevice | hipEventReleaseToSystem;

hipError_t make_stream(hipStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~unsigned{hipStreamNonBlocking}) != 0) {
    return hipErrorInvalidValue;
  }
  Runtime& runtime = Runtime::instance();
  const int number = std::clamp(priority, greatest_priority, least_priority);
  runtime.last_priority = number;
  auto made = std::make_shared<ihipStream_t>(runtime.current(), flags, number);
  runtime.current().add(made);
  *stream = Handles<ihipStream_t>::instance().add(std::move(made));
  return hipSuccess;
}

/// Waiting for a captured stream invalidates its capture.
hipError_t not_captured(ihipStream_t& stream) {
  const std::lock_guard lock(capture_mutex());
  if (!stream.capture) return hipSuccess;
  stream.capture->invalid = true;
  return hipErrorStreamCaptureUnsupported;
}

/// The moment an event stands for: null if it was never recorded.
hipError_t moment_of(hipEvent_t handle, std::shared_ptr<Moment>* moment) {
  const auto event = Handles<ihipEvent_t>::instance().find(handle);
  if (!event) return hipErrorInvalidHandle;
  const std::lock_guard lock(capture_mutex());
  if (event->capture) return hipErrorCapturedEvent;
  *moment = event->moment;
  return hipSuccess;
}

}  // namespace

extern "C" {

// ---- Streams ----

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return device_call(__func__, [&] {
    if (least != nullptr) *least = least_priority;
    if (greatest != nullptr) *greatest = greatest_priority;
    return hipSuccess;
  });
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  return device_call(__func__, [&] { return make_stream(stream, hipStreamDefault, 0); });
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return device_call(__func__, [&] { return make_stream(stream, flags, 0); });
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return device_call(__func__, [&] { return make_stream(stream, flags, priority); });
}

hipError_t hipStreamDestroy(hipStream_t handle) {
  return call(__func__, [&] {
    const auto stream = Handles<ihipStream_t>::instance().take(handle);
    if (!stream) return hipErrorInvalidHandle;
    abandon_capture(*stream);
    return hipSuccess;
  });
}

hipError_t hipStreamGetFlags(hipStream_t handle, unsigned* flags) {
  return call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream || flags == nullptr) return hipErrorInvalidHandle;
    *flags = stream->flags;
    return hipSuccess;
  });
}

hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  return call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream || priority == nullptr) return hipErrorInvalidHandle;
    *priority = stream->priority;
    return hipSuccess;
  });
}

hipError_t hipStreamSynchronize(hipStream_t handle) {
  return call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (const hipError_t captured = not_captured(*stream)) return captured;
    join_default(*stream);
    stream->drain();
    return stream->device.failure(true);
  });
}

hipError_t hipStreamQuery(hipStream_t handle) {
  return call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (const hipError_t captured = not_captured(*stream)) return captured;
    if (!stream->idle()) return hipErrorNotReady;
    return stream->device.failure(true);
  });
}

hipError_t hipDeviceSynchronize() {
  return call(__func__, [&] {
    if (const hipError_t forbidden = forbidden_by_capture()) return forbidden;
    if (!Runtime::instance().valid(current_device)) return hipErrorNoDevice;
    Device& device = Runtime::instance().current();
    for (const auto& stream : device.streams()) stream->drain();
    return device.failure(true);
  });
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return device_call(__func__, [&] {
    if (function == nullptr) return hipErrorInvalidValue;
    return submit(stream, [=](double start) {
      function(data);
      return start;
    });
  });
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event_handle, unsigned flags) {
  return device_call(__func__, [&] {
    const auto stream = stream_of(handle);
    const auto event = Handles<ihipEvent_t>::instance().find(event_handle);
    if (!stream || !event) return hipErrorInvalidHandle;
    if (flags != 0) return hipErrorInvalidValue;
    std::shared_ptr<Moment> moment;
    {
      const std::lock_guard lock(capture_mutex());
      if (event->capture) {
        if (stream->capture && stream->capture != event->capture) {
          return hipErrorStreamCaptureMerge;
        }
        stream->capture = event->capture;
        if (!take_in(*event->capture, *stream, *event->recorder)) {
          event->capture->invalid = true;
          return hipErrorIllegalState;
        }
        for (const std::size_t node : event->nodes) {
          const bool known =
              std::find(stream->tail.begin(), stream->tail.end(), node) != stream->tail.end();
          if (!known) stream->tail.push_back(node);
        }
        return hipSuccess;
      }
      if (stream->capture) return hipErrorStreamCaptureIsolation;
      moment = event->moment;
    }
    if (moment) queue_wait(*stream, moment);
    return hipSuccess;
  });
}

// ---- Events ----

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return device_call(__func__, [&] {
    const bool half = (flags & hipEventInterprocess) != 0 && (flags & hipEventDisableTiming) == 0;
    if (event == nullptr || (flags & ~event_flags) != 0 || half) return hipErrorInvalidValue;
    *event = Handles<ihipEvent_t>::instance().add(std::make_shared<ihipEvent_t>(flags));
    return hipSuccess;
  });
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return call(__func__, [&] {
    return Handles<ihipEvent_t>::instance().take(event) ? hipSuccess : hipErrorInvalidHandle;
  });
}

hipError_t hipEventRecord(hipEvent_t event_handle, hipStream_t handle) {
  return device_call(__func__, [&] {
    const auto stream = stream_of(handle);
    const auto event = Handles<ihipEvent_t>::instance().find(event_handle);
    if (!stream || !event) return hipErrorInvalidHandle;
    {
      const std::lock_guard lock(capture_mutex());
      const bool twice =
          event->capture && event->capture == stream->capture && event->recorder != stream.get();
      event->capture = stream->capture;
      event->recorder = stream.get();
      if (event->capture) {
        event->nodes = stream->tail;
        event->capture->invalid = event->capture->invalid || twice;
        return twice ? hipErrorIllegalState : hipSuccess;
      }
    }
    join_default(*stream);
    auto moment = stream->mark();
    const std::lock_guard lock(capture_mutex());
    event->moment = std::move(moment);
    return hipSuccess;
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return call(__func__, [&] {
    std::shared_ptr<Moment> moment;
    if (const hipError_t error = moment_of(event, &moment)) return error;
    if (moment) moment->wait();
    return Runtime::instance().current().failure(true);
  });
}

/// An event that was never recorded counts as done, in HIP as in CUDA.
hipError_t hipEventQuery(hipEvent_t event) {
  return call(__func__, [&] {
    std::shared_ptr<Moment> moment;
    if (const hipError_t error = moment_of(event, &moment)) return error;
    if (moment && !moment->reached()) return hipErrorNotReady;
    return Runtime::instance().current().failure(true);
  });
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  return call(__func__, [&] {
    if (milliseconds == nullptr) return hipErrorInvalidValue;
    std::shared_ptr<Moment> moments[2];
    for (const int i : {0, 1}) {
      const hipEvent_t handle = i == 0 ? start : end;
      if (const hipError_t error = moment_of(handle, &moments[i])) return error;
      const auto event = Handles<ihipEvent_t>::instance().find(handle);
      if (!moments[i] || (event->flags & hipEventDisableTiming) != 0) {
        return hipErrorInvalidHandle;
      }
    }
    if (!moments[0]->reached() || !moments[1]->reached()) return hipErrorNotReady;
    *milliseconds = static_cast<float>(1e3 * (moments[1]->wait() - moments[0]->wait()));
    return hipSuccess;
  });
}

}  // extern "C"
