// SHA-256 over OpenSSL's EVP.
//
// EVP_sha256() looks the algorithm up again at every init, which costs more than
// hashing a small body: it is fetched once, and contexts are reused.
//
// These calls fail only when memory is gone or the library has no SHA-256;
// neither can be recovered from, so they stop the process.

#include "core/api/sha256.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/evp.h>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/text.hpp"
#include "require.hpp"

namespace perdure {

namespace {

const EVP_MD* algorithm() {
  // Never freed: threads may still hash while the process exits.
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  require(fetched != nullptr, "OpenSSL has no SHA-256");
  return fetched;
}

std::optional<std::uint8_t> nibble(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<std::uint8_t>(digit - 'A' + 10);
  return std::nullopt;
}

}  // namespace

struct Sha256::Context {
  Context() : evp(EVP_MD_CTX_new()) {
    require(evp != nullptr, "no memory for a SHA-256");
    start();
  }
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void start() const {
    require(EVP_DigestInit_ex2(evp, algorithm(), nullptr) == 1, "SHA-256 does not start");
  }

  EVP_MD_CTX* evp;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1, "SHA-256 failed");
}

void Sha256::update_sized(std::string_view bytes) {
  update_number(bytes.size());
  update(bytes);
}

void Sha256::update_number(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  update({bytes.data(), bytes.size()});
}

Digest Sha256::finish() {
  Digest digest{};
  require(EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) == 1, "SHA-256 failed");
  context_->start();
  return digest;
}

Digest sha256(std::string_view bytes) {
  thread_local Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string to_hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    hex.push_back(digits[byte >> 4]);
    hex.push_back(digits[byte & 15]);
  }
  return hex;
}

std::optional<Digest> digest_from_hex(std::string_view hex) {
  Digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto high = nibble(hex[2 * i]);
    const auto low = nibble(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>((*high << 4) | *low);
  }
  return digest;
}

}  // namespace perdure
