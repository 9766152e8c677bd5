// The main path of the store: a batch as the parameters of perdure.commit (sql/commit.sql), and what
// that answers.
//
// Everything that can be computed without the server is, by the caller's own thread: hashes of bodies,
// totals, and what the seal is the hash of, except for the commit's time, which is the server's.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/chain.hpp"
#include "rules/checks.hpp"
#include "rules/stored_rows.hpp"
#include "store/api/lookup.hpp"

namespace perdure::postgres {
namespace {

using Text = std::optional<std::string_view>;

Json change_row(const CallChange& change) {
  JsonRow row;
  if (const auto* intent = std::get_if<Intend>(&change)) {
    row.add("to", "intended").add("call", intent->call).add("other", intent->args);
    row.add("tool", intent->tool).add("provider_id", BytesView{intent->provider_id});
    row.add("effect", to_string(intent->effect)).add("key", intent->key);
  } else if (const auto* start = std::get_if<Dispatch>(&change)) {
    row.add("to", "dispatched").add("call", start->call).add("deadline", start->deadline);
  } else if (const auto* end = std::get_if<Settle>(&change)) {
    row.add("to", to_string(end->state)).add("call", end->call).add("other", end->result);
    row.add("who", end->who).add("why", end->why);
  }
  return std::move(row).json();
}

template <class Items, class Row>
void add_array(JsonRow& rest, const char* name, const Items& items, Row row_of) {
  if (items.empty()) return;
  Json::Array rows;
  for (const auto& item : items) rows.push_back(row_of(item));
  rest.add(name, Json(std::move(rows)));
}

/// What most batches have nothing of, as perdure.apply_rest takes it.
std::optional<std::string> rest_of(const Batch& batch, IdSource& ids) {
  JsonRow rest;
  if (const auto& from = batch.branch_from) {
    rest.add("branch_kind", kind_of(*from)).add("branch_number", from->number());
  }
  std::vector<BlobRef> blobs;
  for (const NewEntry& entry : batch.entries) {
    if (const auto ref = entry.body.blob()) blobs.push_back(*ref);
  }
  add_array(rest, "blobs", blobs, [](const BlobRef& ref) {
    JsonRow row;
    row.add("hash", ref.digest).add("size", ref.size);
    return std::move(row).json();
  });
  add_array(rest, "calls", batch.calls, change_row);
  if (batch.annotation) add_to(rest, *batch.annotation);
  add_array(rest, "consumed", batch.consumed, [](const MessageId& id) { return Json(id.text()); });
  add_array(rest, "children", batch.children, [&](const NewSession& child) {
    return session_row(child, mint<BatchTag>(ids).text());
  });
  if (rest.is_empty()) return std::nullopt;
  return std::move(rest).json().text();
}

/// As perdure.new_entry has them.
std::string entries_of(const Batch& batch, const std::vector<Digest>& hashes) {
  std::vector<Params> rows(batch.entries.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NewEntry& entry = batch.entries[i];
    const Tally& tally = entry.tally;
    const BodyColumns columns = columns_of(entry.body);
    rows[i].add(i).add(entry.channel).add(entry.kind);
    rows[i].add(static_cast<std::int16_t>(entry.fold));
    rows[i].add(static_cast<std::int16_t>(entry.body.codec())).add(entry.at);
    rows[i].add(rules::unless_zero(tally.turns)).add(rules::unless_zero(tally.steps));
    rows[i].add(rules::unless_zero(tally.tokens_in)).add(rules::unless_zero(tally.tokens_out));
    rows[i].add(rules::unless_zero(tally.cost_micros)).add(bytes_view(hashes[i]));
    rows[i].add(columns.body).add(columns.bytes);
  }
  return array_of_records(rows);
}

template <class Part>
Text text_of(const std::optional<Part>& part, std::string Part::* member) {
  return part ? Text((*part).*member) : std::nullopt;
}

}  // namespace

Commission commission_of(const Access& access, const Lease& lease, const Batch& batch,
                         std::optional<std::string> first_row) {
  std::vector<Digest> hashes;
  hashes.reserve(batch.entries.size());
  Tally total;
  for (const NewEntry& entry : batch.entries) {
    hashes.push_back(sha256(entry.body.bytes()));
    total += entry.tally;
  }
  const auto& status = batch.status;
  const std::string entries = entries_of(batch, hashes);
  const bool is_examined = batch.entries.empty() || batch.branch_from || first_row;
  Params row;
  row.add(lease.session.text()).add(lease.worker.text()).add(sendable(lease.fence));
  row.add(batch.id.text()).add(sendable(batch.expected_head)).add(access.now());
  row.add(access.uptime()).add(rules::begins(batch)).add_records(entries);
  row.add(total.turns).add(total.steps).add(total.tokens_in).add(total.tokens_out);
  row.add(total.cost_micros).add(rules::unsealed(batch, hashes));
  row.add(text_of(batch.checkpoint, &NewCheckpoint::reason));
  row.add(text_of(batch.checkpoint, &NewCheckpoint::label));
  row.add(text_of(batch.checkpoint, &NewCheckpoint::metadata));
  row.add(status ? Text(to_string(status->status)) : std::nullopt);
  row.add(text_of(status, &StatusChange::wait_reason));
  row.add(status ? status->wake_at : std::nullopt);
  row.add(rest_of(batch, access.ids)).add(std::move(first_row));
  return {.session = lease.session.text(),
          .batch = array_of_records({&row, 1}),
          .is_examined = is_examined};
}

namespace {

// Nothing was sent yet when this fails: bodies that are too large for one statement, no memory.
Result<Commission> build_commission(const Access& access, const Lease& lease, const Batch& batch,
                                    std::optional<std::string> first_row) try {
  return commission_of(access, lease, batch, std::move(first_row));
} catch (const PgError& error) {
  return std::unexpected(error.to_error());
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::unavailable, "the process has no memory left for this batch");
}

}  // namespace

Result<Receipt> PostgresRoles::commit_as(const Lease& lease, const Batch& batch,
                                         std::optional<std::string> first_row) {
  if (auto checked = rules::check(batch); !checked) return forward(checked);
  const Sync sync = access_.is_synced(rules::sync_of(batch)) ? Sync::now : Sync::later;
  auto commission = build_commission(access_, lease, batch, std::move(first_row));
  if (!commission) return forward(commission);
  auto bytes = access_.client.commit(*std::move(commission), sync);
  if (!bytes) return forward(bytes);
  access_.watcher.note_write();
  AnswerReader answer(*bytes);
  // What was there already was not written again.
  if (answer.byte() == 0) ++commits_;
  Receipt receipt{.batch = batch.id};
  receipt.first = answer.number();
  receipt.count = answer.number();
  receipt.head = answer.number();
  const std::uint64_t version = answer.number();
  if (version != 0) receipt.version = version;
  receipt.at = Timestamp(Duration(static_cast<std::int64_t>(answer.number())));
  receipt.chain = answer.digest();
  return receipt;
}

Result<Receipt> PostgresRoles::commit(const Lease& lease, const Batch& batch) {
  return commit_as(lease, batch, std::nullopt);
}

// Known again by its batch's id, like the batch itself.
Result<Created> PostgresRoles::create(const NewSession& session, const WorkerId& worker,
                                      const Batch& first) {
  if (auto checked = rules::check(session); !checked) return forward(checked);
  const Lease lease{.session = session.id, .worker = worker, .fence = first_fence};
  auto receipt = commit_as(lease, first, session_row(session, first.id.text()).text());
  if (!receipt) return forward(receipt);
  return Created{lease, *std::move(receipt)};
}

}  // namespace perdure::postgres
