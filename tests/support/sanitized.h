// Tells whether this build runs under a sanitizer, where everything takes ten times as long, and
// which.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ASSAY_SANITIZED 1
#endif
#endif
#if !defined(ASSAY_SANITIZED)
#define ASSAY_SANITIZED 0
#endif

#if defined(__SANITIZE_THREAD__)
#define ASSAY_THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ASSAY_THREAD_SANITIZED 1
#endif
#endif
#if !defined(ASSAY_THREAD_SANITIZED)
#define ASSAY_THREAD_SANITIZED 0
#endif

namespace assay {

inline constexpr bool is_sanitized = ASSAY_SANITIZED;
inline constexpr bool is_thread_sanitized = ASSAY_THREAD_SANITIZED;

}  // namespace assay
