// A record of the flat file holds everything an Entry does, so both ways end in the same values:
// little numbers and texts behind their length. It is what a program without a store would do
// that trusts its file: no hashes are checked.

#include "load.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <ios>
#include <ratio>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "sessions.hpp"

namespace perdure::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void stop(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

std::vector<Entry> read_entries(const std::string& path) {
  auto store = open_or_stop(path, Durability::full);
  auto entries = store->log().read(session_id(0), {});
  if (!entries) stop(entries.error().message);
  return *std::move(entries);
}

Loaded fold(const std::vector<Entry>& entries) {
  Loaded loaded;
  for (const Entry& entry : entries) {
    auto value = parse_json(entry.body.bytes());
    if (!value || entry.condition != Condition::intact) stop("an entry came back damaged");
    auto& channel = loaded.channels[entry.channel];
    if (entry.fold == Fold::replace) channel.clear();
    channel.push_back(*std::move(value));
    loaded.bytes += entry.body.bytes().size();
  }
  loaded.entries = entries.size();
  return loaded;
}

template <class Read>
Loaded timed(Read read) {
  const auto start = SteadyClock::now();
  Loaded loaded = fold(read());
  loaded.took_us = std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
  return loaded;
}

void put_number(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out.append(text);
}

// Walks over the file's bytes; the file was written by this program, a moment ago.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  std::uint64_t number() {
    std::uint64_t number = 0;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::int64_t integer() { return static_cast<std::int64_t>(number()); }
  std::string text() { return std::string(take(number())); }
  std::string_view take(std::size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    if (taken.size() != bytes) stop("the flat file is cut short");
    rest_.remove_prefix(bytes);
    return taken;
  }

 private:
  std::string_view rest_;
};

void put_entry(std::string& out, const Entry& entry) {
  put_number(out, entry.position);
  put_number(out, entry.segment);
  put_text(out, entry.channel);
  put_text(out, entry.kind);
  put_number(out, static_cast<std::uint64_t>(entry.fold));
  put_number(out, static_cast<std::uint64_t>(entry.body.codec()));
  put_text(out, entry.body.bytes());
  out.append(reinterpret_cast<const char*>(entry.hash.data()), entry.hash.size());
  for (const std::int64_t number : {entry.tally.turns, entry.tally.steps, entry.tally.tokens_in,
                                    entry.tally.tokens_out, entry.tally.cost_micros}) {
    put_number(out, static_cast<std::uint64_t>(number));
  }
  put_number(out, static_cast<std::uint64_t>(entry.at.time_since_epoch().count()));
}

Entry take_entry(Reader& reader) {
  Entry entry;
  entry.position = reader.number();
  entry.segment = reader.number();
  entry.channel = reader.text();
  entry.kind = reader.text();
  entry.fold = static_cast<Fold>(reader.number());
  const auto codec = static_cast<Codec>(reader.number());
  entry.body = Body::from_stored(codec, reader.text());
  std::memcpy(entry.hash.data(), reader.take(entry.hash.size()).data(), entry.hash.size());
  entry.tally.turns = reader.integer();
  entry.tally.steps = reader.integer();
  entry.tally.tokens_in = reader.integer();
  entry.tally.tokens_out = reader.integer();
  entry.tally.cost_micros = reader.integer();
  entry.at = Timestamp(Duration(reader.integer()));
  return entry;
}

std::string read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) stop("cannot read " + path);
  std::string bytes(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
  const auto got = ::pread(file, bytes.data(), bytes.size(), 0);
  ::close(file);
  if (got != static_cast<ssize_t>(bytes.size())) stop("cannot read " + path);
  return bytes;
}

}  // namespace

Loaded load_store(const std::string& path) {
  return timed([&] { return read_entries(path); });
}

Loaded load_flat(const std::string& path) {
  return timed([&] {
    const std::string bytes = read_file(path);
    Reader reader(bytes);
    std::vector<Entry> entries;
    while (!reader.at_end()) entries.push_back(take_entry(reader));
    return entries;
  });
}

void write_flat(const std::string& store_path, const std::string& flat_path) {
  std::string out;
  for (const Entry& entry : read_entries(store_path)) put_entry(out, entry);
  std::ofstream file(flat_path, std::ios::binary);
  file.write(out.data(), static_cast<std::streamsize>(out.size()));
  if (!file.flush()) stop("cannot write " + flat_path);
}

}  // namespace perdure::bench
