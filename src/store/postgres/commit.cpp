// The main path of the store. Everything that can be computed without the server is: hashes of
// bodies, totals, the parts of the seal that do not hold the commit's time, which is the server's.

#include "postgres/commit.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/params.hpp"
#include "postgres/roles.hpp"
#include "postgres/rows.hpp"
#include "postgres/session_row.hpp"
#include "postgres/values.hpp"
#include "rules/chain.hpp"
#include "rules/checks.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {
namespace {

using Number = std::optional<std::int64_t>;
using Text = std::optional<std::string_view>;
using Bytes = std::optional<BytesView>;

// As commit.sql has them.
constexpr std::size_t numbers_each = 8;

/// The entries by columns. What they point to is in the batch, or here.
class EntryColumns {
 public:
  explicit EntryColumns(const Batch& batch) {
    const std::size_t count = batch.entries.size();
    channels_.reserve(count);
    kinds_.reserve(count);
    numbers_.reserve(count * numbers_each);
    hashes_.reserve(count * sizeof(Digest));
    texts_.reserve(count);
    bytes_.reserve(count);
    seals_.reserve(count);
    seal_views_.reserve(count);
    for (const NewEntry& entry : batch.entries) add(entry);
  }

  void add_to(Params& params) const {
    params.add(channels_).add(kinds_).add(numbers_).add(BytesView{hashes_}).add(texts_);
    if (has_bytes_) {
      params.add(bytes_);
    } else {
      params.add_null(Type::bytea_array);
    }
    params.add(std::vector{total_.turns, total_.steps, total_.tokens_in, total_.tokens_out,
                           total_.cost_micros});
  }
  void add_seals_to(Params& params) const { params.add(seal_views_); }
  void add_blobs_to(Params& params) const {
    if (blobs_.empty()) {
      params.add_null(Type::bytea_array).add_null(Type::bigint_array);
      return;
    }
    std::vector<BytesView> digests;
    digests.reserve(blobs_.size());
    for (const Digest& digest : blobs_) digests.push_back(bytes_view(digest));
    params.add(digests).add(blob_sizes_);
  }

 private:
  void add(const NewEntry& entry) {
    const Tally& tally = entry.tally;
    const Digest hash = sha256(entry.body.bytes());
    const BodyColumns columns = columns_of(entry.body);
    channels_.emplace_back(entry.channel);
    kinds_.emplace_back(entry.kind);
    numbers_.insert(
        numbers_.end(),
        {static_cast<std::int64_t>(entry.fold), static_cast<std::int64_t>(entry.body.codec()),
         entry.at ? Number(entry.at->time_since_epoch().count()) : std::nullopt,
         rules::unless_zero(tally.turns), rules::unless_zero(tally.steps),
         rules::unless_zero(tally.tokens_in), rules::unless_zero(tally.tokens_out),
         rules::unless_zero(tally.cost_micros)});
    hashes_.append(bytes_view(hash).bytes);
    texts_.push_back(columns.body);
    bytes_.push_back(columns.bytes);
    has_bytes_ = has_bytes_ || columns.bytes;
    seal_views_.push_back({seals_.emplace_back(rules::seal_of_entry(entry, hash))});
    total_ += tally;
    if (const auto ref = entry.body.blob()) {
      blobs_.push_back(ref->digest);
      blob_sizes_.push_back(sendable(ref->size));
    }
  }

  std::vector<std::string_view> channels_;
  std::vector<std::string_view> kinds_;
  std::vector<Number> numbers_;
  std::string hashes_;
  std::vector<Text> texts_;
  std::vector<Bytes> bytes_;
  bool has_bytes_ = false;
  std::vector<std::string> seals_;
  std::vector<BytesView> seal_views_;
  std::vector<Digest> blobs_;
  std::vector<std::int64_t> blob_sizes_;
  Tally total_;
};

/// Calls by columns: 0 intends, 1 dispatches, 2 settles.
class CallColumns {
 public:
  explicit CallColumns(const Batch& batch) {
    for (const CallChange& change : batch.calls) {
      std::visit([&](const auto& step) { add(step); }, change);
    }
  }

  void add_to(Params& params) const {
    if (ops_.empty()) {
      params.add_null(Type::smallint_array).add_null(Type::bigint_array);
      params.add_null(Type::bigint_array).add_null(Type::text_array).add_null(Type::bytea_array);
      params.add_null(Type::text_array).add_null(Type::bytea_array).add_null(Type::text_array);
      params.add_null(Type::bigint_array).add_null(Type::text_array).add_null(Type::text_array);
      return;
    }
    params.add(ops_).add(calls_).add(others_).add(tools_).add(provider_ids_).add(effects_);
    params.add(keys_).add(states_).add(deadlines_).add(whos_).add(whys_);
  }

 private:
  void add(const Intend& intent) {
    add(0, intent.call, sendable(intent.args));
    tools_.back() = intent.tool;
    provider_ids_.back() = BytesView{intent.provider_id};
    effects_.back() = to_string(intent.effect);
    if (intent.key) keys_.back() = bytes_view(*intent.key);
  }
  void add(const Dispatch& change) {
    add(1, change.call, std::nullopt);
    if (change.deadline) deadlines_.back() = change.deadline->time_since_epoch().count();
  }
  void add(const Settle& change) {
    add(2, change.call, change.result ? Number(sendable(*change.result)) : std::nullopt);
    states_.back() = to_string(change.state);
    whos_.back() = change.who;
    whys_.back() = change.why;
  }
  void add(std::int16_t op, Position call, Number other) {
    ops_.push_back(op);
    calls_.push_back(sendable(call));
    others_.push_back(other);
    tools_.emplace_back();
    provider_ids_.emplace_back();
    effects_.emplace_back();
    keys_.emplace_back();
    states_.emplace_back();
    deadlines_.emplace_back();
    whos_.emplace_back();
    whys_.emplace_back();
  }

  std::vector<std::int16_t> ops_;
  std::vector<std::int64_t> calls_;
  std::vector<Number> others_;
  std::vector<Text> tools_;
  std::vector<Bytes> provider_ids_;
  std::vector<Text> effects_;
  std::vector<Bytes> keys_;
  std::vector<Text> states_;
  std::vector<Number> deadlines_;
  std::vector<Text> whos_;
  std::vector<Text> whys_;
};

/// Checkpoint, status, annotation, messages, children.
class RestColumns {
 public:
  RestColumns(const Batch& batch, IdSource& ids) : batch_(batch) {
    if (batch.annotation && batch.annotation->tags) {
      tags_ = rules::tags_text(*batch.annotation->tags);
    }
    for (const MessageId& message : batch.consumed) consumed_.emplace_back(message.text());
    if (batch.children.empty()) return;
    Json::Array children;
    for (const NewSession& child : batch.children) {
      children.push_back(SessionRow(child, mint<BatchTag>(ids).text()).to_json());
    }
    children_ = Json(std::move(children)).text();
  }

  void add_to(Params& params) const {
    if (const auto& named = batch_.checkpoint) {
      params.add(named->reason).add(named->label).add(named->metadata);
    } else {
      params.add_null(Type::text).add_null(Type::text).add_null(Type::text);
    }
    if (const auto& status = batch_.status) {
      params.add(to_string(status->status)).add(status->wait_reason).add(status->wake_at);
    } else {
      params.add_null(Type::text).add_null(Type::text).add_null(Type::bigint);
    }
    if (const auto& annotation = batch_.annotation) {
      params.add(annotation->title).add(annotation->opening).add(tags_).add(annotation->metadata);
    } else {
      params.add_null(Type::text).add_null(Type::text).add_null(Type::text).add_null(Type::text);
    }
    if (consumed_.empty()) {
      params.add_null(Type::text_array);
    } else {
      params.add(consumed_);
    }
    params.add(children_);
  }

 private:
  const Batch& batch_;
  std::optional<std::string> tags_;
  std::vector<std::string_view> consumed_;
  std::optional<std::string> children_;
};

// The last parameter is the committer's: whether the transaction may be synced later.
constexpr std::string_view commit_sql =
    "SELECT perdure.commit($1, NOT $43, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
    "$15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, "
    "$33, $34, $35, $36, $37, $38, $39, $40, $41, $42::jsonb)";

/// Reads what perdure.answer() wrote, from its beginning on.
class AnswerReader {
 public:
  explicit AnswerReader(std::string_view bytes) : bytes_(bytes) {}

  bool flag() { return take(1).front() != '\0'; }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (const char byte : take(sizeof number)) {
      number = number << 8 | static_cast<std::uint8_t>(byte);
    }
    return number;
  }
  Digest digest() {
    Digest digest{};
    std::ranges::copy(take(digest.size()), digest.begin());
    return digest;
  }

 private:
  std::string_view take(std::size_t count) {
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }

  std::string_view bytes_;
};

Committed read_committed(Rows& rows, const BatchId& batch) {
  rows.next();
  AnswerReader answer(rows.text(0));
  Committed committed;
  committed.repeated = answer.flag();
  Receipt& receipt = committed.receipt;
  receipt.batch = batch;
  receipt.first = answer.number();
  receipt.count = answer.number();
  receipt.head = answer.number();
  const std::uint64_t version = answer.number();
  if (version != 0) receipt.version = version;
  receipt.at = Timestamp(Duration(static_cast<std::int64_t>(answer.number())));
  receipt.chain = answer.digest();
  return committed;
}

}  // namespace

Result<Committed> commit_batch(const Access& access, const Lease& lease, const Batch& batch) {
  const EntryColumns entries(batch);
  const CallColumns calls(batch);
  const RestColumns rest(batch, access.ids);
  const std::string seal = rules::seal_of_batch(batch.id);
  Params params = Params::of(access.now(), lease.session.text(), lease.worker.text(),
                             sendable(lease.fence), batch.id.text(), sendable(batch.expected_head));
  if (batch.branch_from) {
    params.add(kind_of(*batch.branch_from)).add(sendable(batch.branch_from->number()));
  } else {
    params.add_null(Type::bigint).add_null(Type::bigint);
  }
  entries.add_to(params);
  params.add(BytesView{seal});
  entries.add_seals_to(params);
  entries.add_blobs_to(params);
  calls.add_to(params);
  rest.add_to(params);
  const Sync sync = access.is_synced(rules::sync_of(batch)) ? Sync::now : Sync::later;
  auto rows = access.client.commit(lease.session, commit_sql, std::move(params), sync);
  if (!rows) return forward(rows);
  access.watcher.note_write();
  return read_committed(*rows, batch.id);
}

}  // namespace perdure::postgres
