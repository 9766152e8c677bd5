// One of several processes on a store, told what to do line by line:
//
//   crash_closer <store file> <name>
//
//   commit   one turn of a session of its own; says "committed"
//   fill     commits until the WAL was written back at least once; says "committed"
//   close    gives the store up; says "closed"
//
// Says "open" when the store is open. Ends with its input, and then does not close.

#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>

#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& word) { std::cout << word << std::endl; }

class Closer {
 public:
  Closer(const std::string& path, const std::string& name)
      : session_(SessionId::parse(name).value()), store_(open_store(path).value()) {
    const auto worker = WorkerId::parse(name).value();
    if (!store_->ownership().enroll({.id = worker, .host = "here", .pid = ::getpid()})) _exit(3);
    if (!store_->sessions().create({.id = session_})) _exit(3);
    lease_ = store_->ownership().acquire(session_, worker).value();
  }

  void commit(std::size_t bytes) {
    Batch batch;
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = head_;
    batch.entries = {{.channel = "transcript",
                      .kind = "message",
                      .fold = Fold::append,
                      .body = Body::from_text(Json(std::string(bytes, 'x')).text()),
                      .tally = {},
                      .at = {}}};
    const auto receipt = store_->commit(lease_, batch);
    if (!receipt) _exit(4);
    head_ = receipt->head;
  }

  void close() { store_.reset(); }

 private:
  SessionId session_;
  std::unique_ptr<Store> store_;
  Lease lease_;
  Position head_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 3) return 2;
  Closer closer(arguments[1], arguments[2]);
  say("open");
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "commit") closer.commit(100);
    // A checkpoint comes after 500 pages.
    for (int i = 0; line == "fill" && i < 8; ++i) closer.commit(1'000'000);
    if (line == "close") closer.close();
    say(line == "close" ? "closed" : "committed");
  }
  _exit(0);
}
