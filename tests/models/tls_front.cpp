// One connection after the other: each is decrypted, and passed on until either side ends.

#include "models/tls_front.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace perdure::models {

template <auto free_it>
struct Freed {
  template <class T>
  void operator()(T* value) const {
    free_it(value);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Stream = std::unique_ptr<SSL, Freed<SSL_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Output = std::unique_ptr<BIO, Freed<BIO_free>>;

namespace {

void must(bool worked, const char* what) {
  if (!worked) throw std::runtime_error(what);
}

Certificate self_signed(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509* const x = certificate.get();
  X509_set_version(x, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), -60);
  X509_gmtime_adj(X509_getm_notAfter(x), 3600);
  X509_set_pubkey(x, key);
  const std::array<unsigned char, 7> name = {'p', 'e', 'r', 'd', 'u', 'r', 'e'};
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, name.data(),
                             static_cast<int>(name.size()), -1, 0);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  const Extension host(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1"));
  must(host != nullptr && X509_add_ext(x, host.get(), -1) == 1, "no name in the certificate");
  must(X509_sign(x, key, EVP_sha256()) != 0, "the certificate cannot be signed");
  return certificate;
}

Context server_context(const std::filesystem::path& path) {
  const Key key(EVP_EC_gen("P-256"));
  must(key != nullptr, "no key");
  const Certificate certificate = self_signed(key.get());
  const Output file(BIO_new_file(path.c_str(), "w"));
  must(file != nullptr && PEM_write_bio_X509(file.get(), certificate.get()) == 1, "not written");
  Context context(SSL_CTX_new(TLS_server_method()));
  must(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1 &&
           SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1,
       "the certificate does not fit");
  return context;
}

sockaddr_in loopback(int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<in_port_t>(port));
  return at;
}

// From the encrypted side to the plain one. False: it has ended.
bool pass_in(SSL* from, int to) {
  std::array<char, 16384> bytes{};
  do {
    const int got = SSL_read(from, bytes.data(), static_cast<int>(bytes.size()));
    if (got <= 0 || send(to, bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) {
      return false;
    }
  } while (SSL_pending(from) > 0);
  return true;
}

bool pass_out(int from, SSL* to) {
  std::array<char, 16384> bytes{};
  const ssize_t got = recv(from, bytes.data(), bytes.size(), 0);
  return got > 0 && SSL_write(to, bytes.data(), static_cast<int>(got)) > 0;
}

void pass_on(SSL* encrypted, int socket, int plain) {
  std::array<pollfd, 2> both = {{{socket, POLLIN, 0}, {plain, POLLIN, 0}}};
  bool goes_on = true;
  while (goes_on && poll(both.data(), both.size(), -1) > 0) {
    if (both[0].revents != 0) goes_on = pass_in(encrypted, plain);
    if (goes_on && both[1].revents != 0) goes_on = pass_out(plain, encrypted);
  }
}

}  // namespace

class TlsFront::Door {
 public:
  Door(int target, const std::filesystem::path& certificate)
      : target_(target), context_(server_context(certificate)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (listener_ < 0 || bind(listener_, address, size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, address, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "the door cannot listen");
    }
    port_ = ntohs(at.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }

  ~Door() {
    shutdown(listener_, SHUT_RDWR);
    {
      const std::lock_guard lock(mutex_);
      if (open_ >= 0) shutdown(open_, SHUT_RDWR);
    }
    thread_.join();
    close(listener_);
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  void serve() {
    // OpenSSL writes to a client that is gone; the signal for that is not for the test to die of.
    sigset_t pipe{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); client >= 0;
         client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) {
      note(client);
      serve_one(client);
      note(-1);
      close(client);
    }
  }

  void serve_one(int client) const {
    const Stream stream(SSL_new(context_.get()));
    SSL_set_fd(stream.get(), client);
    if (SSL_accept(stream.get()) != 1) return;
    const int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in at = loopback(target_);
    if (connect(plain, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) {
      pass_on(stream.get(), client, plain);
    }
    SSL_shutdown(stream.get());
    close(plain);
  }

  void note(int socket) {
    const std::lock_guard lock(mutex_);
    open_ = socket;
  }

  int target_;
  Context context_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  int open_ = -1;
  std::jthread thread_;
};

TlsFront::TlsFront(int port, const std::filesystem::path& certificate)
    : door_(std::make_unique<Door>(port, certificate)) {}

TlsFront::~TlsFront() = default;

int TlsFront::port() const { return door_->port(); }

}  // namespace perdure::models
