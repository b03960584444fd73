#include "runtime/errors.h"

// One name per number: the first in the header.
#define MI300X_ERRORS(F)                 \
  F(hipSuccess)                          \
  F(hipErrorInvalidValue)                \
  F(hipErrorOutOfMemory)                 \
  F(hipErrorNotInitialized)              \
  F(hipErrorDeinitialized)               \
  F(hipErrorProfilerDisabled)            \
  F(hipErrorProfilerNotInitialized)      \
  F(hipErrorProfilerAlreadyStarted)      \
  F(hipErrorProfilerAlreadyStopped)      \
  F(hipErrorInvalidConfiguration)        \
  F(hipErrorInvalidPitchValue)           \
  F(hipErrorInvalidSymbol)               \
  F(hipErrorInvalidDevicePointer)        \
  F(hipErrorInvalidMemcpyDirection)      \
  F(hipErrorInsufficientDriver)          \
  F(hipErrorMissingConfiguration)        \
  F(hipErrorPriorLaunchFailure)          \
  F(hipErrorInvalidDeviceFunction)       \
  F(hipErrorNoDevice)                    \
  F(hipErrorInvalidDevice)               \
  F(hipErrorInvalidImage)                \
  F(hipErrorInvalidContext)              \
  F(hipErrorContextAlreadyCurrent)       \
  F(hipErrorMapFailed)                   \
  F(hipErrorUnmapFailed)                 \
  F(hipErrorArrayIsMapped)               \
  F(hipErrorAlreadyMapped)               \
  F(hipErrorNoBinaryForGpu)              \
  F(hipErrorAlreadyAcquired)             \
  F(hipErrorNotMapped)                   \
  F(hipErrorNotMappedAsArray)            \
  F(hipErrorNotMappedAsPointer)          \
  F(hipErrorECCNotCorrectable)           \
  F(hipErrorUnsupportedLimit)            \
  F(hipErrorContextAlreadyInUse)         \
  F(hipErrorPeerAccessUnsupported)       \
  F(hipErrorInvalidKernelFile)           \
  F(hipErrorInvalidGraphicsContext)      \
  F(hipErrorInvalidSource)               \
  F(hipErrorFileNotFound)                \
  F(hipErrorSharedObjectSymbolNotFound)  \
  F(hipErrorSharedObjectInitFailed)      \
  F(hipErrorOperatingSystem)             \
  F(hipErrorInvalidHandle)               \
  F(hipErrorIllegalState)                \
  F(hipErrorNotFound)                    \
  F(hipErrorNotReady)                    \
  F(hipErrorIllegalAddress)              \
  F(hipErrorLaunchOutOfResources)        \
  F(hipErrorLaunchTimeOut)               \
  F(hipErrorPeerAccessAlreadyEnabled)    \
  F(hipErrorPeerAccessNotEnabled)        \
  F(hipErrorSetOnActiveProcess)          \
  F(hipErrorContextIsDestroyed)          \
  F(hipErrorAssert)                      \
  F(hipErrorHostMemoryAlreadyRegistered) \
  F(hipErrorHostMemoryNotRegistered)     \
  F(hipErrorLaunchFailure)               \
  F(hipErrorCooperativeLaunchTooLarge)   \
  F(hipErrorNotSupported)                \
  F(hipErrorStreamCaptureUnsupported)    \
  F(hipErrorStreamCaptureInvalidated)    \
  F(hipErrorStreamCaptureMerge)          \
  F(hipErrorStreamCaptureUnmatched)      \
  F(hipErrorStreamCaptureUnjoined)       \
  F(hipErrorStreamCaptureIsolation)      \
  F(hipErrorStreamCaptureImplicit)       \
  F(hipErrorCapturedEvent)               \
  F(hipErrorStreamCaptureWrongThread)    \
  F(hipErrorGraphExecUpdateFailure)      \
  F(hipErrorUnknown)                     \
  F(hipErrorRuntimeMemory)               \
  F(hipErrorRuntimeOther)

namespace mi300x::runtime {

std::optional<hipError_t> error_of_name(std::string_view name) {
#define MI300X_MATCH(error) \
  if (name == #error) return error;
  MI300X_ERRORS(MI300X_MATCH)
#undef MI300X_MATCH
  return std::nullopt;
}

}  // namespace mi300x::runtime

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  switch (error) {
#define MI300X_CASE(error) \
  case error:              \
    return #error;
    MI300X_ERRORS(MI300X_CASE)
#undef MI300X_CASE
    default:
      return "hipErrorUnknown";
  }
}

const char* hipGetErrorString(hipError_t error) {
  return hipGetErrorName(error);
}

}  // extern "C"
