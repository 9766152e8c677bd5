// The columns of perdure.rest (sql/commit.sql).

#include "postgres/batch_rest.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/params.hpp"
#include "postgres/session_row.hpp"
#include "postgres/values.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {
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

}  // namespace perdure::postgres
