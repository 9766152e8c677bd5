// Poly1305 over OpenSSL's EVP. As in sha256.cpp, these calls fail only when memory is gone or
// the library lacks the algorithm, and there is no way on from either.

#include "perdure/core/poly1305.hpp"

#include <cstddef>
#include <memory>
#include <openssl/evp.h>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "require.hpp"

namespace perdure {
namespace {

EVP_MAC* poly1305_algorithm() {
  // Never freed: threads may still use it while the process exits.
  static EVP_MAC* const fetched = EVP_MAC_fetch(nullptr, "POLY1305", nullptr);
  require(fetched != nullptr, "OpenSSL has no Poly1305");
  return fetched;
}

}  // namespace

Poly1305Tag poly1305(const Digest& key, std::string_view bytes) {
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(
      EVP_MAC_CTX_new(poly1305_algorithm()), &EVP_MAC_CTX_free);
  require(context != nullptr, "no memory for a Poly1305");
  Poly1305Tag tag{};
  std::size_t size = 0;
  const bool done =
      EVP_MAC_init(context.get(), key.data(), key.size(), nullptr) == 1 &&
      EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size()) == 1 &&
      EVP_MAC_final(context.get(), tag.data(), &size, tag.size()) == 1;
  require(done && size == tag.size(), "Poly1305 failed");
  return tag;
}

}  // namespace perdure
