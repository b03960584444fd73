// hipRTC: the code is the source behind a mark. Architectures that no GPU has make it misbehave.
#define __HIP_PLATFORM_AMD__
#include <hip/hiprtc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct _hiprtcProgram {
  std::string source, log, code;
};

extern "C" {

hiprtcResult hiprtcVersion(int* major, int* minor) {
  *major = MOCK_HIP_RELEASE;
  *minor = 2;
  return HIPRTC_SUCCESS;
}

const char* hiprtcGetErrorString(hiprtcResult result) {
  return result == HIPRTC_ERROR_COMPILATION ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR";
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name,
                                 int headers, const char** header_texts,
                                 const char** header_names) {
  if (name == nullptr || headers != 0 || header_texts != nullptr || header_names != nullptr) {
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  *program = new _hiprtcProgram{source, "", ""};
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int options, const char** texts) {
  std::string arch;
  const std::string option = "--gpu-architecture=";
  for (int i = 0; i < options; ++i) {
    if (std::strncmp(texts[i], option.c_str(), option.size()) == 0) arch = texts[i] + option.size();
  }
  if (arch == "abort") {
    std::fprintf(stderr, "first words\nunknown architecture, giving up\n");
    std::abort();
  }
  if (arch == "exit") std::_Exit(7);
  if (arch == "hang") ::pause();
  if (arch == "talk") {  // a length no code has, then silence
    const char nonsense[16] = {'\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff'};
    ::send(3, nonsense, sizeof(nonsense), 0);
    ::pause();
  }
  if (arch.empty() || program->source.find("#error") != std::string::npos) {
    program->log = "memory.cu:3: error: as asked";
    return HIPRTC_ERROR_COMPILATION;
  }
  program->code = "MOCK CODE\n" + program->source;
  if (arch == "huge") program->code.resize(200 << 20, 'x');
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* bytes) {
  *bytes = program->log.size() + 1;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* bytes) {
  *bytes = program->code.size();
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code) {
  std::memcpy(code, program->code.data(), program->code.size());
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) {
  delete *program;
  *program = nullptr;
  return HIPRTC_SUCCESS;
}

}  // extern "C"
