// The columns of perdure.commit and perdure.commit_all (sql/commit.sql).

#include "postgres/batch_form.hpp"

#include <algorithm>
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
#include "postgres/commission.hpp"
#include "postgres/params.hpp"
#include "postgres/session_row.hpp"
#include "postgres/values.hpp"
#include "rules/chain.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {
namespace {

using Number = std::optional<std::int64_t>;
using Text = std::optional<std::string_view>;
using Bytes = std::optional<BytesView>;

// As commit.sql has them.
constexpr std::size_t numbers_each = 8;
// What an entry takes beside its body.
constexpr std::size_t entry_bytes = 400;

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

template <class T>
void append_all(std::vector<T>& all, const std::vector<T>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

constexpr std::size_t alone_params = 43;
constexpr std::string_view alone_sql =
    "SELECT perdure.commit($1, NOT $43, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
    "$15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, "
    "$33, $34, $35, $36, $37, $38, $39, $40, $41, $42::jsonb)";

constexpr std::string_view together_sql =
    "SELECT perdure.commit_all($1, NOT $16, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
    "$14, $15)";

}  // namespace

BatchForm::BatchForm(const Lease& lease, const Batch& batch, std::optional<Timestamp> now,
                     IdSource& ids)
    : lease_(lease), batch_(batch), now_(now) {
  std::vector<Digest> hashes;
  hashes.reserve(batch.entries.size());
  entries_.reserve(batch.entries.size());
  for (const NewEntry& entry : batch.entries) {
    hashes.push_back(sha256(entry.body.bytes()));
    entries_.hashes += bytes_view(hashes.back()).bytes;
    add(entry);
  }
  seal_ = rules::unsealed(batch, hashes);
  bytes_ += seal_.size();

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
  bytes_ += children_->size();
}

void BatchForm::add(const NewEntry& entry) {
  const Tally& tally = entry.tally;
  const BodyColumns columns = columns_of(entry.body);
  entries_.channels.emplace_back(entry.channel);
  entries_.kinds.emplace_back(entry.kind);
  entries_.numbers.insert(
      entries_.numbers.end(),
      {static_cast<std::int64_t>(entry.fold), static_cast<std::int64_t>(entry.body.codec()),
       entry.at ? Number(entry.at->time_since_epoch().count()) : std::nullopt,
       rules::unless_zero(tally.turns), rules::unless_zero(tally.steps),
       rules::unless_zero(tally.tokens_in), rules::unless_zero(tally.tokens_out),
       rules::unless_zero(tally.cost_micros)});
  entries_.texts.push_back(columns.body);
  entries_.bytes.push_back(columns.bytes);
  total_ += tally;
  bytes_ += entry_bytes + entry.body.bytes().size();
  if (const auto ref = entry.body.blob()) {
    blobs_.push_back(ref->digest);
    blob_sizes_.push_back(sendable(ref->size));
  }
}

bool BatchForm::has_more() const {
  return !blobs_.empty() || !batch_.calls.empty() || batch_.status || batch_.annotation ||
         !batch_.consumed.empty() || !batch_.children.empty();
}

bool BatchForm::is_plain() const {
  return !batch_.entries.empty() && !batch_.branch_from && !has_more();
}

bool BatchForm::goes_with(const Commission& other) const {
  const auto& form = static_cast<const BatchForm&>(other);
  return is_plain() && form.is_plain() && now_ == form.now_;
}

Prepared BatchForm::alone() const {
  Params params;
  params.reserve(alone_params);
  params.reserve_bytes(bytes_);
  params.add(now_).add(lease_.session.text()).add(lease_.worker.text());
  params.add(sendable(lease_.fence)).add(batch_.id.text()).add(sendable(batch_.expected_head));
  if (const auto& from = batch_.branch_from) {
    params.add(kind_of(*from)).add(sendable(from->number()));
  } else {
    params.add_null(Type::bigint).add_null(Type::bigint);
  }
  entries_.add_to(params);
  params.add(std::vector{total_.turns, total_.steps, total_.tokens_in, total_.tokens_out,
                         total_.cost_micros});
  params.add(seal_);
  if (const auto& named = batch_.checkpoint) {
    params.add(named->reason).add(named->label).add(named->metadata);
  } else {
    params.add_null(Type::text).add_null(Type::text).add_null(Type::text);
  }
  params.add(has_more());
  add_blobs_to(params);
  CallColumns(batch_).add_to(params);
  add_rest_to(params);
  return {alone_sql, std::move(params)};
}

Prepared BatchForm::together(std::span<const Commission* const> all) const {
  std::vector<std::string_view> sessions;
  std::vector<std::string_view> workers;
  std::vector<std::string_view> batches;
  std::vector<std::string_view> seals;
  std::vector<std::int64_t> numbers;
  std::vector<Text> reasons;
  std::vector<Text> labels;
  std::vector<Text> metadata;
  Entries entries;
  std::size_t bytes = 0;
  for (const Commission* commission : all) {
    const auto& form = static_cast<const BatchForm&>(*commission);
    bytes += form.bytes_;
    const Batch& batch = form.batch_;
    const Tally& total = form.total_;
    sessions.emplace_back(form.lease_.session.text());
    workers.emplace_back(form.lease_.worker.text());
    batches.emplace_back(batch.id.text());
    seals.emplace_back(form.seal_);
    numbers.insert(numbers.end(),
                   {sendable(form.lease_.fence), sendable(batch.expected_head),
                    sendable(batch.entries.size()), sendable(entries.channels.size()), total.turns,
                    total.steps, total.tokens_in, total.tokens_out, total.cost_micros});
    const auto& named = batch.checkpoint;
    reasons.push_back(named ? Text(named->reason) : std::nullopt);
    labels.push_back(named ? Text(named->label) : std::nullopt);
    metadata.push_back(named ? Text(named->metadata) : std::nullopt);
    entries.append(form.entries_);
  }
  Params params;
  params.reserve_bytes(bytes);
  params.add(now_).add(sessions).add(workers).add(batches).add(seals).add(numbers);
  params.add(reasons).add(labels).add(metadata);
  entries.add_to(params);
  return {together_sql, std::move(params)};
}

void BatchForm::add_rest_to(Params& params) const {
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

void BatchForm::add_blobs_to(Params& params) const {
  if (blobs_.empty()) {
    params.add_null(Type::bytea_array).add_null(Type::bigint_array);
    return;
  }
  std::vector<BytesView> digests;
  digests.reserve(blobs_.size());
  for (const Digest& digest : blobs_) digests.push_back(bytes_view(digest));
  params.add(digests).add(blob_sizes_);
}

void BatchForm::Entries::reserve(std::size_t count) {
  channels.reserve(count);
  kinds.reserve(count);
  numbers.reserve(count * numbers_each);
  hashes.reserve(count * sizeof(Digest));
  texts.reserve(count);
  bytes.reserve(count);
}

void BatchForm::Entries::append(const Entries& others) {
  append_all(channels, others.channels);
  append_all(kinds, others.kinds);
  append_all(numbers, others.numbers);
  hashes += others.hashes;
  append_all(texts, others.texts);
  append_all(bytes, others.bytes);
}

void BatchForm::Entries::add_to(Params& params) const {
  params.add(channels).add(kinds).add(numbers).add_copy({hashes}).add(texts);
  if (std::ranges::any_of(bytes, [](const Bytes& one) { return one.has_value(); })) {
    params.add(bytes);
  } else {
    params.add_null(Type::bytea_array);
  }
}

}  // namespace perdure::postgres
