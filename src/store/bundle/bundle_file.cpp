// A length that a file claims is believed only as far as there is file: nothing is reserved for
// bytes that are not there.

#include "bundle/bundle_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <initializer_list>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "copy/fact_codec.hpp"
#include "core/api/sha256.hpp"
#include "core/api/text.hpp"
#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/checks.hpp"
#include "rules/followed.hpp"
#include "rules/moves.hpp"
#include "rules/stored_session.hpp"
#include "store/api/bundle.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

namespace bundle {

namespace {

// The line's end shows whether a tool took the file for text.
constexpr std::string_view magic = "perdure bundle\r\n";
constexpr std::uint64_t bundle_format = 1;
constexpr std::uint64_t number_bytes = 8;

std::uint64_t number_from(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

Digest digest_of_opening() {
  Sha256 hash;
  hash.update(magic);
  hash.update_number(bundle_format);
  return hash.finish();
}

Digest digest_after(const Digest& before, std::uint64_t kind, std::string_view payload) {
  Sha256 hash;
  hash.update({reinterpret_cast<const char*>(before.data()), before.size()});
  hash.update_number(kind);
  hash.update_sized(payload);
  return hash.finish();
}

}  // namespace

std::unexpected<Error> damaged_bundle(const std::string& path, std::uint64_t position,
                                      std::string_view what) {
  return fail(
      ErrorCode::corrupted,
      fmt::format("the bundle {} is not what was exported: {} at byte {}. Fetch it again, or "
                  "export it again",
                  path, what, position),
      path);
}

Result<void> RecordWriter::append(std::string_view bytes) {
  bytes_ += bytes.size();
  return file_.append(bytes);
}

Result<void> RecordWriter::begin() {
  digest_ = digest_of_opening();
  if (auto written = append(magic); !written) return written;
  return append(packed({bundle_format}));
}

Result<void> RecordWriter::write(RecordKind kind, std::string_view payload) {
  const auto number = static_cast<std::uint64_t>(kind);
  digest_ = digest_after(digest_, number, payload);
  auto opened = append(packed({number, payload.size()}));
  if (!opened) return opened;
  if (auto written = append(payload); !written) return written;
  return append({reinterpret_cast<const char*>(digest_.data()), digest_.size()});
}

Result<RecordReader> RecordReader::open(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(ErrorCode::not_found, fmt::format("there is no file {}", path), path);
  }
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return fail(ErrorCode::unavailable, fmt::format("cannot read {}", path), path);
  }
  RecordReader reader(path, std::move(file), size);
  if (auto read = reader.read_opening(); !read) return forward(read);
  return reader;
}

Result<void> RecordReader::read_opening() {
  if (size_ < magic.size() + number_bytes) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a bundle", path_), path_);
  }
  auto opening = read(magic.size() + number_bytes);
  if (!opening) return forward(opening);
  if (!opening->starts_with(magic)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a bundle", path_), path_);
  }
  const std::uint64_t format = number_from(std::string_view(*opening).substr(magic.size()));
  if (format != bundle_format) {
    return fail(ErrorCode::unsupported,
                fmt::format("the bundle {} is of format {}, and this program knows {}: upgrade it",
                            path_, format, bundle_format),
                path_);
  }
  digest_ = digest_of_opening();
  return {};
}

Result<std::string> RecordReader::read(std::uint64_t bytes) {
  if (bytes > size_ - position_) return damaged_bundle(path_, size_, "it ends too early");
  std::string read(bytes, '\0');
  file_.read(read.data(), static_cast<std::streamsize>(bytes));
  if (std::cmp_not_equal(file_.gcount(), bytes)) {
    return damaged_bundle(path_, position_, "it cannot be read");
  }
  position_ += bytes;
  return read;
}

Result<std::optional<Record>> RecordReader::next() {
  if (is_ended_) {
    if (position_ == size_) return std::nullopt;
    return damaged_bundle(path_, position_, "there is more than there should be");
  }
  const std::uint64_t begin = position_;
  auto opening = read(2 * number_bytes);
  if (!opening) return forward(opening);
  const std::string_view numbers = *opening;
  const std::uint64_t kind = number_from(numbers.substr(0, number_bytes));
  auto payload = read(number_from(numbers.substr(number_bytes)));
  if (!payload) return forward(payload);
  auto sum = read(digest_.size());
  if (!sum) return forward(sum);
  digest_ = digest_after(digest_, kind, *payload);
  if (*sum != std::string_view(reinterpret_cast<const char*>(digest_.data()), digest_.size())) {
    return damaged_bundle(path_, begin, "a record does not match its sum");
  }
  if (kind < 1 || kind > static_cast<std::uint64_t>(RecordKind::end)) {
    return damaged_bundle(path_, begin, "a record is of no known kind");
  }
  Record record{.kind = static_cast<RecordKind>(kind), .payload = *std::move(payload)};
  is_ended_ = record.kind == RecordKind::end;
  return record;
}

// The rules are those that a store has for what it is handed by a caller.

namespace {

/// With room for all the jumps that fences make from store to store.
constexpr Fence fence_max = Fence{1} << 62U;

Result<void> require(bool holds, std::string_view otherwise) {
  if (holds) return {};
  return fail(ErrorCode::corrupted, std::string(otherwise));
}

Result<void> check_positions(std::initializer_list<Position> positions) {
  return require(std::ranges::max(positions) <= rules::position_max + 1,
                 "a position is beyond all that a session can have");
}

Result<void> check_text(std::string_view text, std::size_t bytes_max) {
  return require(text.size() <= bytes_max && is_utf8(text) && !text.contains('\0'),
                 "a text is too long, or is none");
}

Result<void> check_call(const Call& call) {
  if (auto named = check_name("tool name", call.tool, name_bytes_max); !named) return named;
  auto positions = check_positions({call.position, call.args, call.result.value_or(0)});
  if (!positions) return positions;
  if (auto who = check_text(call.who, text_bytes_max); !who) return who;
  if (auto why = check_text(call.why, text_bytes_max); !why) return why;
  return require(!call.session.empty() && call.fence <= fence_max &&
                     call.provider_id.size() <= text_bytes_max && call.attempts >= 0 &&
                     call.failures >= 0,
                 "a call is such as no store has");
}

class FactCheck {
 public:
  Result<void> operator()(const SessionFact& fact) const {
    if (!fact.row) return {};
    const SessionSummary& row = fact.row->summary;
    NewSession made{.id = row.id};
    made.annotation = {
        .title = row.title, .opening = row.opening, .tags = row.tags, .metadata = row.metadata};
    made.status = row.status;
    made.wait_reason = row.wait_reason;
    made.wake_at = row.wake_at;
    if (auto checked = rules::check(made); !checked) return checked;
    auto positions =
        check_positions({row.head, row.next, row.parent ? row.parent->position : Position{0}});
    if (!positions) return positions;
    return require((!row.parent || !row.parent->session.empty()) && row.attention >= 0 &&
                       fact.row->fence <= fence_max,
                   "a session is such as no store has");
  }
  Result<void> operator()(const SegmentFact& fact) const {
    return check_positions({fact.first, fact.parent_position});
  }
  Result<void> operator()(const PrunedFact& fact) const {
    if (auto positions = check_positions({fact.first, fact.upto}); !positions) return positions;
    constexpr std::int64_t sum_max = 1'000 * tally_max;
    const Tally& tally = fact.tally;
    const bool is_possible = std::ranges::all_of(
        std::initializer_list<std::int64_t>{tally.turns, tally.steps, tally.tokens_in,
                                            tally.tokens_out, tally.cost_micros},
        [](std::int64_t part) { return part <= sum_max && part >= -sum_max; });
    return require(is_possible && fact.first < fact.upto,
                   "what was pruned is such as no store has");
  }
  Result<void> operator()(const Entry& entry) const {
    if (auto channel = check_name("channel", entry.channel, name_bytes_max); !channel) {
      return channel;
    }
    if (auto kind = check_name("kind", entry.kind, name_bytes_max); !kind) return kind;
    return require(entry.position >= 1 && entry.position <= rules::position_max &&
                       entry.body.bytes().size() <= body_bytes_max &&
                       rules::is_possible(entry.tally) &&
                       (entry.condition != Condition::erased || entry.body.bytes().empty()),
                   "an entry is such as no store has");
  }
  Result<void> operator()(const ReceiptFact& fact) const {
    const Receipt& receipt = fact.receipt;
    auto positions = check_positions({receipt.first, receipt.count, receipt.head});
    if (!positions) return positions;
    return require(!receipt.batch.empty(), "a receipt is of no batch");
  }
  Result<void> operator()(const CheckpointFact& fact) const {
    const Checkpoint& checkpoint = fact.checkpoint;
    if (auto position = check_positions({checkpoint.position}); !position) return position;
    if (auto reason = check_text(checkpoint.reason, name_bytes_max); !reason) return reason;
    if (auto label = check_text(checkpoint.label, name_bytes_max); !label) return label;
    const auto json = parse_json(checkpoint.metadata);
    return require(checkpoint.metadata.size() <= metadata_bytes_max && json && json->is_object(),
                   "the metadata of a checkpoint is not a JSON object");
  }
  Result<void> operator()(const CallFact& fact) const { return check_call(fact.call); }
  Result<void> operator()(const MessageFact& fact) const {
    const InboxMessage& message = fact.message;
    if (!fact.consumed) {
      return rules::check(InboxMessage{.session = message.session,
                                       .id = message.id,
                                       .kind = message.kind,
                                       .body = message.body});
    }
    if (auto kind = check_name("kind", message.kind, name_bytes_max); !kind) return kind;
    return require(!message.id.empty() && message.body.bytes().empty(),
                   "a message is such as no store has");
  }
  Result<void> operator()(const ClaimFact& fact) const {
    if (auto checked = check_call(fact.call); !checked) return checked;
    return require(fact.call.key || fact.call.claimed, "a claim is of no key");
  }
  Result<void> operator()(const ResourceFact& fact) const {
    if (auto named = rules::check_resource(fact.name); !named) return named;
    return require(fact.fence <= fence_max, "a fence is beyond all that a store gives");
  }
};

}  // namespace

Result<void> check(const Fact& fact) { return std::visit(FactCheck(), fact); }

// Slices must follow each other without a gap, from the first fact to the last, and a blob must come
// before the facts that name it. So only the names of blobs have to be remembered.

void note(BundleReport& report, const Fact& fact) {
  if (const auto* session = std::get_if<SessionFact>(&fact)) {
    if (session->row) report.sessions.push_back(session->row->summary.id);
  }
  report.entries += std::holds_alternative<Entry>(fact) ? 1 : 0;
  report.commits += std::holds_alternative<ReceiptFact>(fact) ? 1 : 0;
  report.calls += std::holds_alternative<CallFact>(fact) ? 1 : 0;
  report.messages += std::holds_alternative<MessageFact>(fact) ? 1 : 0;
  report.claims += std::holds_alternative<ClaimFact>(fact) ? 1 : 0;
}

std::string totals(const BundleReport& report, std::uint64_t facts) {
  return packed({report.sessions.size(), facts, report.blobs});
}

Result<BundleFacts> BundleFacts::open(const std::string& path, TakeBlob take_blob) {
  auto records = RecordReader::open(path);
  if (!records) return forward(records);
  return BundleFacts(*std::move(records), std::move(take_blob));
}

Result<std::optional<FactSlice>> BundleFacts::next() {
  while (true) {
    auto record = records_.next();
    if (!record) return forward(record);
    if (!*record) return std::nullopt;
    Result<void> done;
    switch ((*record)->kind) {
      case RecordKind::blob:
        done = take_blob((*record)->payload);
        break;
      case RecordKind::end:
        done = finish((*record)->payload);
        break;
      case RecordKind::slice: {
        auto slice = read_slice((*record)->payload);
        if (!slice) return forward(slice);
        return *std::move(slice);
      }
    }
    if (!done) return forward(done);
  }
}

Result<void> BundleFacts::take_blob(const std::string& bytes) {
  blobs_.emplace(sha256(bytes), bytes.size());
  ++report_.blobs;
  return take_blob_ ? take_blob_(bytes) : Result<void>();
}

Result<FactSlice> BundleFacts::read_slice(const std::string& payload) {
  auto slice = unpack(payload);
  if (!slice) return damaged_bundle(records_.path(), position(), "facts cannot be read");
  if (slice->from != next_ || next_.is_end()) {
    return damaged_bundle(records_.path(), position(), "facts are missing");
  }
  for (const Fact& fact : slice->facts) {
    auto sound = check(fact);
    if (!sound) return damaged_bundle(records_.path(), position(), sound.error().message);
    if (auto named = check_named(fact); !named) return forward(named);
    note(report_, fact);
  }
  facts_ += slice->facts.size();
  next_ = slice->next;
  return *std::move(slice);
}

Result<void> BundleFacts::check_named(const Fact& fact) const {
  const auto ref = rules::blob_of(fact);
  if (!ref || blobs_.contains({ref->digest, ref->size})) return {};
  return damaged_bundle(records_.path(), position(), "a blob is missing");
}

Result<void> BundleFacts::finish(const std::string& payload) {
  if (!next_.is_end() || payload != totals(report_, facts_)) {
    return damaged_bundle(records_.path(), position(), "facts are missing");
  }
  report_.bytes = records_.size();
  report_.digest = records_.digest();
  return {};
}

}  // namespace bundle

Result<BundleReport> check_bundle(const std::string& path, const Progress& progress) {
  auto facts = bundle::BundleFacts::open(path);
  if (!facts) return forward(facts);
  while (true) {
    auto told = rules::goes_on(progress, {.done = facts->position(), .total = facts->size()});
    if (!told) return forward(told);
    if (!*told) {
      BundleReport stopped;
      stopped.is_complete = false;
      return stopped;
    }
    auto slice = facts->next();
    if (!slice) return forward(slice);
    if (!*slice) return facts->report();
  }
}

}  // namespace perdure
