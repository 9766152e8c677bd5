// The first thing that is missing is the one that is told.

#include "perdure/core/shared_library.hpp"

#include <dlfcn.h>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure {

SharedLibrary::SharedLibrary(std::string file, std::string package)
    : file_(std::move(file)),
      package_(std::move(package)),
      handle_(::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): it is each thread's own.
    fail_with(why == nullptr ? "the system does not say why" : why);
  }
}

void SharedLibrary::fail_with(const std::string& why) {
  if (failed_) return;
  failed_ = Error{
      ErrorCode::unavailable,
      fmt::format("{} cannot be used: {}; is the package {} installed?", file_, why, package_),
      file_};
}

void* SharedLibrary::address_of(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const address = ::dlsym(handle_, name);
  if (address == nullptr) fail_with(fmt::format("it has no {}, so it is too old", name));
  return address;
}

Result<void> SharedLibrary::check() const {
  if (failed_) return std::unexpected(*failed_);
  return {};
}

}  // namespace perdure
