// A store file with bytes changed anywhere: opening, reading all of it and writing to it
// give answers or errors, and never a crash.
//
// The input is a list of edits to a small real store (tests/upgrade): three bytes of
// offset, one of length, one of value. An input of whole files would spend its time on
// bytes that SQLite's header refuses. A length of 0 cuts the file at the offset.

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"
#include "target.hpp"

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.
using fuzz::Input;

namespace {

const std::string& whole_store() {
  static const std::string bytes = [] {
    std::ifstream file(PERDURE_SMALL_STORE, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

/// In memory where the system has such a place, and gone with the process.
class Folder {
 public:
  Folder() {
    std::error_code missing;
    const bool memory = std::filesystem::is_directory("/dev/shm", missing);
    path_ = std::filesystem::path(memory ? "/dev/shm" : "/tmp") /
            ("perdure-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  /// The only file in it.
  std::string write(const std::string& bytes) const {
    for (const auto& file : std::filesystem::directory_iterator(path_)) {
      std::filesystem::remove(file.path());
    }
    std::string path = (path_ / "store.db").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::filesystem::path path_;
};

std::string edited(Input input) {
  std::string bytes = whole_store();
  while (!input.empty() && !bytes.empty()) {
    const std::size_t offset = input.number(3) % bytes.size();
    const std::size_t length = input.number(1);
    const auto value = static_cast<char>(input.number(1));
    if (length == 0) bytes.resize(offset);
    for (std::size_t i = offset; i < bytes.size() && i < offset + length; ++i) bytes[i] = value;
  }
  return bytes;
}

void read_session(Store& store, const SessionId& id) {
  // A damaged row may say anything of itself; what is asked for stays small.
  (void)store.sessions().read(id);
  for (const Point point : {Point::head(), Point::version(1), Point::position(2)}) {
    (void)store.lookup().line(id, point);
    (void)store.log().read(id, {.as_of = point, .channel = "", .limit = 100});
    (void)store.log().find_value(id, "plan", point);
  }
  const auto entries = store.log().read(id, {.limit = 100});
  if (entries) {
    for (const Entry& entry : *entries) {
      if (const auto ref = entry.body.blob()) (void)store.blobs().get(*ref);
    }
  }
  (void)store.log().checkpoints(id, {});
  (void)store.lookup().find_receipt(id, BatchId::parse("b1").value());
  (void)store.inbox().list(id, 100);
}

void write_session(Store& store, const SessionId& id, const WorkerId& worker) {
  const auto lease = store.ownership().acquire(id, worker);
  const auto row = store.sessions().read(id);
  if (!lease || !row) return;
  Batch batch{.id = BatchId::parse("fuzz").value(), .expected_head = row->head};
  batch.branch_from = Point::version(1);
  batch.entries = {{.channel = "transcript", .kind = "message", .body = Body::from_text("{}")}};
  batch.checkpoint = NewCheckpoint{};
  (void)store.commit(*lease, batch);
}

void use(Store& store) {
  (void)store.sessions().due(10);
  (void)store.sessions().list({.sort = SessionSort::title, .limit = 2});
  (void)store.ledger().list({});
  (void)store.lookup().find_resource("printer");
  const auto worker = WorkerId::parse("fuzz").value();
  (void)store.ownership().enroll({.id = worker, .host = "here", .pid = 1});
  for (const char* name : {"main", "fork", "child", "calls"}) {
    const auto id = SessionId::parse(name).value();
    read_session(store, id);
    write_session(store, id, worker);
  }
  (void)store.sessions().create(
      {.id = SessionId::parse("new").value(),
       .origin = NewSession::Origin{SessionId::parse("main").value(), Point::version(2)}});
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  OpenOptions options;
  options.durability = Durability::process;
  const std::string path = folder.write(edited(Input(data, size)));
  const auto store = open_store("sqlite:" + path, options);
  if (store) use(**store);
  return 0;
}
