// What few batches have, then what all have.

#include "postgres/client/batch_form.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/commission.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/session_row.hpp"
#include "postgres/client/values.hpp"
#include "rules/chain.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {

// The columns of perdure.rest (sql/commit.sql).

namespace {

using Number = std::optional<std::int64_t>;
using Text = std::optional<std::string_view>;
using Bytes = std::optional<BytesView>;

constexpr std::size_t fields_count = 21;

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

}  // namespace

BatchRest::BatchRest(const Batch& batch, IdSource& ids) : batch_(batch) {
  for (const NewEntry& entry : batch.entries) {
    if (const auto ref = entry.body.blob()) {
      blobs_.push_back(ref->digest);
      blob_sizes_.push_back(sendable(ref->size));
    }
  }
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

bool BatchRest::is_empty() const {
  return !batch_.branch_from && blobs_.empty() && batch_.calls.empty() && !batch_.annotation &&
         batch_.consumed.empty() && batch_.children.empty();
}

Params BatchRest::fields() const {
  Params fields;
  fields.reserve(fields_count);
  if (const auto& from = batch_.branch_from) {
    fields.add(kind_of(*from)).add(sendable(from->number()));
  } else {
    fields.add_null(Type::bigint).add_null(Type::bigint);
  }
  if (blobs_.empty()) {
    fields.add_null(Type::bytea_array).add_null(Type::bigint_array);
  } else {
    std::vector<BytesView> digests;
    digests.reserve(blobs_.size());
    for (const Digest& digest : blobs_) digests.push_back(bytes_view(digest));
    fields.add(digests).add(blob_sizes_);
  }
  CallColumns(batch_).add_to(fields);
  if (const auto& annotation = batch_.annotation) {
    fields.add(annotation->title).add(annotation->opening).add(tags_).add(annotation->metadata);
  } else {
    fields.add_null(Type::text).add_null(Type::text).add_null(Type::text).add_null(Type::text);
  }
  if (consumed_.empty()) {
    fields.add_null(Type::text_array);
  } else {
    fields.add(consumed_);
  }
  fields.add(children_);
  return fields;
}

// The columns of perdure.commit and perdure.commit_all (sql/commit.sql).

namespace {

using Number = std::optional<std::int64_t>;
using Text = std::optional<std::string_view>;
using Bytes = std::optional<BytesView>;

// What an entry takes beside its body.
constexpr std::size_t entry_bytes = 400;

constexpr std::size_t alone_params = 22;
constexpr std::size_t entry_fields = 14;
constexpr std::string_view alone_sql =
    "SELECT perdure.commit($1, NOT $22, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
    "$15, $16, $17, $18, $19, $20, $21)";

// The same, of a session that is made first.
constexpr std::string_view first_sql =
    "SELECT perdure.commit($1, NOT $24, perdure.begin_session($1, $22, $2, $3, $23), $3, $4, $5, "
    "$6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)";

constexpr std::string_view together_sql =
    "SELECT perdure.commit_all($1, NOT $16, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
    "$14, $15)";

Number millis(const std::optional<Timestamp>& time) {
  return time ? Number(time->time_since_epoch().count()) : std::nullopt;
}

}  // namespace

class BatchForm::Columns {
 public:
  void add(const BatchForm& form);
  [[nodiscard]] Params params(const std::optional<Timestamp>& now) const;

 private:
  void add_entries(const BatchForm& form);

  std::vector<std::string_view> sessions_;
  std::vector<std::string_view> workers_;
  std::vector<std::string_view> batches_;
  std::vector<std::string_view> seals_;
  std::vector<std::int64_t> numbers_;
  std::vector<Text> reasons_;
  std::vector<Text> labels_;
  std::vector<Text> metadata_;

  std::vector<std::string_view> channels_;
  std::vector<std::string_view> kinds_;
  std::vector<Number> entry_numbers_;
  std::string hashes_;
  std::vector<Text> texts_;
  std::vector<Bytes> binaries_;
  bool has_binaries_ = false;
  std::size_t bytes_ = 0;
};

void BatchForm::Columns::add(const BatchForm& form) {
  const Batch& batch = form.batch_;
  const Tally& total = form.total_;
  bytes_ += form.bytes_;
  sessions_.emplace_back(form.lease_.session.text());
  workers_.emplace_back(form.lease_.worker.text());
  batches_.emplace_back(batch.id.text());
  seals_.emplace_back(form.seal_);
  numbers_.insert(numbers_.end(),
                  {sendable(form.lease_.fence), sendable(batch.expected_head),
                   sendable(batch.entries.size()), sendable(channels_.size()), total.turns,
                   total.steps, total.tokens_in, total.tokens_out, total.cost_micros});
  const auto& named = batch.checkpoint;
  reasons_.push_back(named ? Text(named->reason) : std::nullopt);
  labels_.push_back(named ? Text(named->label) : std::nullopt);
  metadata_.push_back(named ? Text(named->metadata) : std::nullopt);
  add_entries(form);
}

void BatchForm::Columns::add_entries(const BatchForm& form) {
  for (const Digest& hash : form.hashes_) hashes_ += bytes_view(hash).bytes;
  for (const NewEntry& entry : form.batch_.entries) {
    const Tally& tally = entry.tally;
    const BodyColumns columns = columns_of(entry.body);
    channels_.emplace_back(entry.channel);
    kinds_.emplace_back(entry.kind);
    entry_numbers_.insert(
        entry_numbers_.end(),
        {static_cast<std::int64_t>(entry.fold), static_cast<std::int64_t>(entry.body.codec()),
         millis(entry.at), rules::unless_zero(tally.turns), rules::unless_zero(tally.steps),
         rules::unless_zero(tally.tokens_in), rules::unless_zero(tally.tokens_out),
         rules::unless_zero(tally.cost_micros)});
    texts_.push_back(columns.body);
    binaries_.push_back(columns.bytes);
    has_binaries_ |= columns.bytes.has_value();
  }
}

Params BatchForm::Columns::params(const std::optional<Timestamp>& now) const {
  Params params;
  params.reserve_bytes(bytes_);
  params.add(now).add(sessions_).add(workers_).add(batches_).add(seals_).add(numbers_);
  params.add(reasons_).add(labels_).add(metadata_);
  params.add(channels_).add(kinds_).add(entry_numbers_).add_copy({hashes_}).add(texts_);
  if (has_binaries_) {
    params.add(binaries_);
  } else {
    params.add_null(Type::bytea_array);
  }
  return params;
}

BatchForm::BatchForm(const Lease& lease, const Batch& batch, std::optional<Timestamp> now,
                     IdSource& ids, std::optional<FirstOwner> first)
    : lease_(lease), batch_(batch), now_(now), first_(std::move(first)), rest_(batch, ids) {
  hashes_.reserve(batch.entries.size());
  for (const NewEntry& entry : batch.entries) {
    hashes_.push_back(sha256(entry.body.bytes()));
    total_ += entry.tally;
    bytes_ += entry_bytes + entry.body.bytes().size();
  }
  seal_ = rules::unsealed(batch, hashes_);
  bytes_ += seal_.size() + rest_.bytes();
}

bool BatchForm::is_plain() const {
  return !first_ && !batch_.entries.empty() && !batch_.status && rest_.is_empty();
}

bool BatchForm::goes_with(const Commission& other) const {
  const auto& form = static_cast<const BatchForm&>(other);
  return is_plain() && form.is_plain() && now_ == form.now_;
}

Prepared BatchForm::alone(bool is_repeated) const {
  Params params;
  params.reserve(alone_params);
  params.reserve_bytes(bytes_);
  params.add(now_).add(lease_.session.text()).add(lease_.worker.text());
  params.add(sendable(lease_.fence)).add(batch_.id.text()).add(sendable(batch_.expected_head));
  params.add(is_repeated || batch_.entries.empty() || batch_.branch_from.has_value());
  params.add_records(entries());
  params.add(total_.turns).add(total_.steps).add(total_.tokens_in).add(total_.tokens_out);
  params.add(total_.cost_micros).add(seal_);
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
  if (rest_.is_empty()) {
    params.add_null(Type::inferred);
  } else {
    params.add_record(rest_.fields());
  }
  if (!first_) return {alone_sql, std::move(params)};
  params.add(first_->uptime).add(first_->row);
  return {first_sql, std::move(params)};
}

Prepared BatchForm::together(std::span<const Commission* const> all) const {
  Columns columns;
  for (const Commission* one : all) columns.add(static_cast<const BatchForm&>(*one));
  return {together_sql, columns.params(now_)};
}

std::vector<Params> BatchForm::entries() const {
  std::vector<Params> all(batch_.entries.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const NewEntry& entry = batch_.entries[i];
    const Tally& tally = entry.tally;
    const BodyColumns columns = columns_of(entry.body);
    all[i].reserve(entry_fields);
    all[i].add(sendable(i)).add(entry.channel).add(entry.kind);
    all[i].add(static_cast<std::int16_t>(entry.fold));
    all[i].add(static_cast<std::int16_t>(entry.body.codec())).add(entry.at);
    all[i].add(rules::unless_zero(tally.turns)).add(rules::unless_zero(tally.steps));
    all[i].add(rules::unless_zero(tally.tokens_in)).add(rules::unless_zero(tally.tokens_out));
    all[i].add(rules::unless_zero(tally.cost_micros)).add(bytes_view(hashes_[i]));
    all[i].add(columns.body).add(columns.bytes);
  }
  return all;
}

}  // namespace perdure::postgres
