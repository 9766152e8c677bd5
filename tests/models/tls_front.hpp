// An encrypted door to a server on the loopback, with a certificate that nobody knows.

#pragma once

#include <filesystem>
#include <memory>

namespace perdure::models {

class TlsFront {
 public:
  /// Passes on to `port`. Its certificate, for 127.0.0.1, is written to `certificate`. Throws if it
  /// cannot be set up.
  TlsFront(int port, const std::filesystem::path& certificate);
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  [[nodiscard]] int port() const;

 private:
  class Door;
  std::unique_ptr<Door> door_;
};

}  // namespace perdure::models
