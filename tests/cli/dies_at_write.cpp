// Loaded into a program before all else (LD_PRELOAD): ends it with SIGKILL right before its Nth
// write to a file. PERDURE_DIES_AT=N says which; 0 or nothing: never. Pipes and terminals do not count.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

std::atomic<long> left = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// The C library hands the environment to whatever it starts.
__attribute__((constructor)) void begin(int /*count*/, char** /*words*/, char** environment) {
  constexpr std::string_view name = "PERDURE_DIES_AT=";
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable(*environment);
    if (variable.starts_with(name)) left = std::atol(variable.data() + name.size());
  }
}

void count(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (--left == 0) kill(getpid(), SIGKILL);
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  count(file);
  return next(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  count(file);
  return next(file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  count(file);
  return next(file, bytes, size, offset);
}

int ftruncate(int file, off_t size) noexcept {
  static auto* const next = real<int(int, off_t)>("ftruncate");
  count(file);
  return next(file, size);
}

int ftruncate64(int file, off64_t size) noexcept {
  static auto* const next = real<int(int, off64_t)>("ftruncate64");
  count(file);
  return next(file, size);
}

int fdatasync(int file) {
  static auto* const next = real<int(int)>("fdatasync");
  count(file);
  return next(file);
}

int fsync(int file) {
  static auto* const next = real<int(int)>("fsync");
  count(file);
  return next(file);
}

}  // extern "C"
