// The roles of a memory store, one after the other: plain and right is what an oracle has to be.

#include "memory/roles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/commit.hpp"
#include "memory/memory_store.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/calls.hpp"
#include "rules/checks.hpp"
#include "rules/moves.hpp"
#include "rules/queries.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::memory {

namespace {

struct Candidate {
  rules::Mark mark;
  const SessionTable* table;
};

/// By key, then by id, in the direction of the query.
bool comes_before(const SessionQuery& query, const rules::Mark& a, const rules::Mark& b) {
  const auto key_of = [](const rules::Mark& mark) { return std::tie(mark.key, mark.id); };
  return query.descending ? key_of(b) < key_of(a) : key_of(a) < key_of(b);
}

std::vector<Candidate> candidates(const State& state, const SessionQuery& query,
                                  const std::optional<rules::Mark>& after) {
  std::vector<Candidate> found;
  for (const auto& [id, table] : state.sessions) {
    if (!rules::matches(query, table.row)) continue;
    rules::Mark mark = rules::mark_of(table.row, query.sort);
    if (after && !comes_before(query, *after, mark)) continue;
    found.push_back({std::move(mark), &table});
  }
  std::ranges::sort(found, [&](const Candidate& a, const Candidate& b) {
    return comes_before(query, a.mark, b.mark);
  });
  return found;
}

}  // namespace

Result<SessionSummary> MemoryStore::create(const NewSession& session) {
  auto checked = rules::check(session);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<SessionSummary> {
    Undo undo;
    auto added = add_session(state, undo, session, base_.clock.now());
    if (!added) return forward(added);
    undo.keep();
    state.note_change();
    return shown(state, state.sessions.at(session.id), base_.clock.uptime());
  });
}

Result<SessionSummary> MemoryStore::read(const SessionId& id) {
  return base_.state.with([&](State& state) -> Result<SessionSummary> {
    auto table = find_session(state, id);
    if (!table) return forward(table);
    ++state.counters.rows_read;
    return shown(state, **table, base_.clock.uptime());
  });
}

Result<SessionPage> MemoryStore::list(const SessionQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  std::optional<rules::Mark> after;
  if (!query.cursor.empty()) {
    auto mark = rules::from_cursor(query);
    if (!mark) return forward(mark);
    after = *std::move(mark);
  }
  return base_.state.with([&](State& state) -> Result<SessionPage> {
    const std::vector<Candidate> found = candidates(state, query, after);
    const std::size_t count = std::min(query.limit, found.size());
    const Uptime uptime = base_.clock.uptime();
    SessionPage page;
    for (std::size_t i = 0; i < count; ++i) {
      page.sessions.push_back(shown(state, *found[i].table, uptime));
    }
    if (count < found.size()) page.next = rules::to_cursor(query, found[count - 1].mark);
    state.counters.rows_read += count;
    return page;
  });
}

Result<std::vector<SessionSummary>> MemoryStore::due(std::size_t limit) {
  auto checked = rules::check_limit(limit);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<SessionSummary>> {
    const Timestamp now = base_.clock.now();
    const Uptime uptime = base_.clock.uptime();
    std::vector<std::pair<Timestamp, SessionSummary>> found;
    for (const auto& [id, table] : state.sessions) {
      SessionSummary session = shown(state, table, uptime);
      const auto since = rules::due_since(session, now);
      if (since) found.emplace_back(*since, std::move(session));
    }
    std::ranges::sort(found, {},
                      [](const auto& due) { return std::pair(due.first, due.second.id); });
    std::vector<SessionSummary> sessions;
    for (auto& [since, session] : found) {
      if (sessions.size() == limit) break;
      sessions.push_back(std::move(session));
    }
    state.counters.rows_read += sessions.size();
    return sessions;
  });
}

Result<SessionSummary> MemoryStore::annotate(const SessionId& id, const Annotation& part) {
  auto checked = rules::check(part);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<SessionSummary> {
    auto table = find_session(state, id);
    if (!table) return forward(table);
    auto here = rules::check_here(id, (*table)->moved);
    if (!here) return forward(here);
    SessionSummary& row = (*table)->row;
    memory::annotate(row, part);
    row.updated_at = base_.clock.now();
    ++row.revision;
    state.note_change();
    return shown(state, **table, base_.clock.uptime());
  });
}

// Ownership in a memory store. A worker is alive while its time has not run out;
// there is no other process whose death could be recognised earlier.

namespace {

/// Gives `grant` to `worker`; says whether that changed anything.
/// Fails: `lease_lost`; `lease_held`.
Result<bool> grant_to(const State& state, Grant& grant, const WorkerId& worker,
                      const Clock& clock) {
  const Uptime uptime = clock.uptime();
  if (auto live = require_live(state, worker, uptime); !live) return forward(live);
  if (grant.owner && grant.owner->worker == worker) return false;
  if (grant.owner && is_alive(state, grant.owner->worker, uptime)) {
    const std::string& owner = grant.owner->worker.text();
    return fail(ErrorCode::lease_held, fmt::format("worker {} holds it", owner), owner);
  }
  grant.owner = Grant::Owner{worker, clock.now()};
  ++grant.fence;
  return true;
}

bool give_up(Grant& grant, const WorkerId& worker) {
  if (!grant.owner || grant.owner->worker != worker) return false;
  grant.owner.reset();
  return true;
}

}  // namespace

Result<void> MemoryStore::enroll(const NewWorker& worker) {
  auto checked = rules::check(worker);
  if (!checked) return checked;
  return base_.state.with([&](State& state) -> Result<void> {
    if (state.workers.contains(worker.id)) {
      return fail(ErrorCode::already_exists,
                  fmt::format("there is a worker {} already", worker.id.text()), worker.id.text());
    }
    const Uptime until = base_.clock.uptime() + worker.lease_time;
    state.workers.emplace(worker.id, WorkerRow{worker, until});
    state.note_change();
    return {};
  });
}

Result<void> MemoryStore::renew(const WorkerId& worker) {
  return base_.state.with([&](State& state) -> Result<void> {
    const auto found = state.workers.find(worker);
    if (found == state.workers.end()) return require_live(state, worker, Uptime{});
    WorkerRow& row = found->second;
    row.until = base_.clock.uptime() + row.worker.lease_time;
    state.note_change();
    return {};
  });
}

Result<void> MemoryStore::retire(const WorkerId& worker) {
  return base_.state.with([&](State& state) -> Result<void> {
    if (!state.workers.contains(worker)) return {};
    for (auto& [id, table] : state.sessions) {
      if (give_up(table.grant, worker)) ++table.row.revision;
    }
    for (auto& [name, grant] : state.resources) give_up(grant, worker);
    state.workers.erase(worker);
    state.note_change();
    return {};
  });
}

Result<Lease> MemoryStore::acquire(const SessionId& session, const WorkerId& worker,
                                   Sync /*sync*/) {
  return base_.state.with([&](State& state) -> Result<Lease> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    auto here = rules::check_here(session, (*table)->moved);
    if (!here) return forward(here);
    Grant& grant = (*table)->grant;
    auto taken = grant_to(state, grant, worker, base_.clock);
    if (!taken) return forward(taken);
    if (*taken) {
      ++(*table)->row.revision;
      state.note_change();
    }
    return Lease{session, worker, grant.fence};
  });
}

Result<void> MemoryStore::release(const Lease& lease) {
  return base_.state.with([&](State& state) -> Result<void> {
    auto table = find_session(state, lease.session);
    if (!table || (*table)->grant.fence != lease.fence) return {};
    if (!give_up((*table)->grant, lease.worker)) return {};
    ++(*table)->row.revision;
    state.note_change();
    return {};
  });
}

Result<ResourceLease> MemoryStore::acquire_resource(const std::string& name,
                                                    const WorkerId& worker) {
  auto checked = rules::check_resource(name);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<ResourceLease> {
    const auto found = state.resources.find(name);
    Grant grant = found == state.resources.end() ? Grant{} : found->second;
    auto taken = grant_to(state, grant, worker, base_.clock);
    if (!taken) return forward(taken);
    if (*taken) {
      state.resources.insert_or_assign(name, grant);
      state.note_change();
    }
    return ResourceLease{name, worker, grant.fence};
  });
}

Result<std::optional<Holder>> MemoryStore::find_resource(const std::string& name) {
  return base_.state.with([&](State& state) -> Result<std::optional<Holder>> {
    const auto found = state.resources.find(name);
    if (found == state.resources.end()) return std::nullopt;
    ++state.counters.rows_read;
    return holder_of(state, found->second, base_.clock.uptime());
  });
}

// The log of a memory store: lines are walked segment by segment, in the order
// that was asked for, and no further than needed.

namespace {

/// The entries of a stretch with positions in [from, to].
std::span<const EntryRow> part_of(const Stretch& stretch, Position from, Position to) {
  const std::vector<EntryRow>& entries = stretch.table->entries;
  const auto position_of = [](const EntryRow& row) { return row.entry.position; };
  const auto begin = std::ranges::lower_bound(entries, from, {}, position_of);
  const auto end = std::ranges::upper_bound(entries, std::min(to, stretch.last), {}, position_of);
  if (begin >= end) return {};
  return {begin, end};
}

/// Calls `take` with each entry of the line in [from, to] until it says false.
template <class Take>
void walk(const std::vector<Stretch>& line, const LogQuery& query, Take&& take) {
  if (query.order == Order::oldest_first) {
    for (const Stretch& stretch : line) {
      for (const EntryRow& row : part_of(stretch, query.from, query.to)) {
        if (!take(row.entry)) return;
      }
    }
    return;
  }
  for (const Stretch& stretch : line | std::views::reverse) {
    for (const EntryRow& row : part_of(stretch, query.from, query.to) | std::views::reverse) {
      if (!take(row.entry)) return;
    }
  }
}

Result<std::vector<Stretch>> find_line(const State& state, const SessionId& session, Point as_of) {
  auto table = find_session(state, session);
  if (!table) return forward(table);
  auto place = resolve(state, **table, as_of);
  if (!place) return forward(place);
  return line_to(state, *place);
}

}  // namespace

Result<std::vector<Entry>> MemoryStore::read(const SessionId& session, const LogQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<Entry>> {
    auto line = find_line(state, session, query.as_of);
    if (!line) return forward(line);
    std::vector<Entry> entries;
    walk(*line, query, [&](const Entry& entry) {
      if (query.channel.empty() || entry.channel == query.channel) entries.push_back(entry);
      return entries.size() < query.limit;
    });
    state.counters.rows_read += entries.size();
    return entries;
  });
}

Result<std::optional<Entry>> MemoryStore::find_value(const SessionId& session,
                                                     const std::string& channel, Point as_of) {
  return base_.state.with([&](State& state) -> Result<std::optional<Entry>> {
    auto line = find_line(state, session, as_of);
    if (!line) return forward(line);
    std::optional<Entry> value;
    LogQuery query;
    query.order = Order::newest_first;
    walk(*line, query, [&](const Entry& entry) {
      if (entry.channel == channel && entry.fold == Fold::replace) value = entry;
      return !value;
    });
    state.counters.rows_read += value ? 1U : 0U;
    return value;
  });
}

Result<std::vector<Checkpoint>> MemoryStore::checkpoints(const SessionId& session,
                                                         const CheckpointQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<Checkpoint>> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    std::vector<Checkpoint> found;
    for (const CheckpointRow& row :
         (*table)->checkpoints | std::views::values | std::views::reverse) {
      if (found.size() == query.limit) break;
      if (rules::matches(query, row.checkpoint)) found.push_back(row.checkpoint);
    }
    state.counters.rows_read += found.size();
    return found;
  });
}

Result<std::vector<Segment>> MemoryStore::line(const SessionId& session, Point as_of) {
  return base_.state.with([&](State& state) -> Result<std::vector<Segment>> {
    auto line = find_line(state, session, as_of);
    if (!line) return forward(line);
    std::vector<Segment> segments;
    for (const Stretch& stretch : *line) segments.push_back(stretch.table->segment);
    state.counters.rows_read += segments.size();
    return segments;
  });
}

Result<std::optional<Receipt>> MemoryStore::find_receipt(const SessionId& session,
                                                         const BatchId& batch) {
  return base_.state.with([&](State& state) -> Result<std::optional<Receipt>> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    const auto found = (*table)->receipts.find(batch);
    if (found == (*table)->receipts.end()) return std::nullopt;
    ++state.counters.rows_read;
    return found->second.receipt;
  });
}

// Reading the ledger of a memory store. It is written by commits only.

namespace {

const Call& call_at(const State& state, const CallRef& ref) {
  return state.sessions.at(ref.session).calls.at(ref.position);
}

/// The sessions the query is about, oldest first, whatever it begins behind.
Result<std::vector<const SessionTable*>> sessions_of(const State& state, const CallQuery& query) {
  if (query.session) {
    auto table = find_session(state, *query.session);
    if (!table) return forward(table);
    return std::vector<const SessionTable*>{*table};
  }
  std::vector<const SessionTable*> tables;
  tables.reserve(state.sessions.size());
  for (const auto& [id, table] : state.sessions) tables.push_back(&table);
  std::ranges::sort(tables, {}, &SessionTable::born);
  return tables;
}

/// The age of a session and a position in it: behind which calls are asked for.
using CallAge = std::pair<std::uint64_t, Position>;

Result<CallAge> age_of(const State& state, const std::optional<CallId>& call) {
  if (!call) return CallAge{};
  auto table = find_session(state, call->session);
  if (!table) return forward(table);
  return CallAge{(*table)->born, call->position};
}

bool is_wanted(const CallQuery& query, const Call& call) {
  return query.states.empty() || std::ranges::find(query.states, call.state) != query.states.end();
}

}  // namespace

Result<Call> MemoryStore::read(const SessionId& session, Position call) {
  return base_.state.with([&](State& state) -> Result<Call> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    const auto found = (*table)->calls.find(call);
    if (found == (*table)->calls.end()) {
      const std::string name = call_name(session, call);
      return fail(ErrorCode::not_found, fmt::format("there is no call {}", name), name);
    }
    ++state.counters.rows_read;
    return found->second;
  });
}

Result<std::optional<Call>> MemoryStore::find_holder(const Digest& key) {
  return base_.state.with([&](State& state) -> Result<std::optional<Call>> {
    const auto found = state.key_holders.find(key);
    auto claim = find_claim(state, key);
    if (found == state.key_holders.end() && !claim) return std::nullopt;
    ++state.counters.rows_read;
    if (claim) return claim;
    return call_at(state, found->second);
  });
}

// Of the same age by the clock, a claim, whose session is gone, comes before all, and those of an
// older session before others.
Result<std::vector<Call>> MemoryStore::with_key(const Digest& key) {
  return base_.state.with([&](State& state) -> Result<std::vector<Call>> {
    std::multimap<Timestamp, Call> by_age;
    const auto add = [&](const Call& call) { by_age.emplace(call.intended_at, call); };
    for (const Digest& claimed : {key, rules::claim_key(key)}) {
      if (const auto claim = find_claim(state, claimed)) add(*claim);
    }
    std::vector<const SessionTable*> tables;
    for (const SessionTable& table : state.sessions | std::views::values) tables.push_back(&table);
    std::ranges::sort(tables, {}, &SessionTable::born);
    for (const SessionTable* table : tables) {
      for (const Call& call : table->calls | std::views::values) {
        const bool is_claim = call.claimed == key && rules::holds_key(call.state);
        if (call.key == key || is_claim) add(call);
      }
    }
    std::vector<Call> calls;
    for (const Call& call : by_age | std::views::values) calls.push_back(call);
    state.counters.rows_read += calls.size();
    return calls;
  });
}

Result<std::vector<Call>> MemoryStore::list(const CallQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<Call>> {
    auto tables = sessions_of(state, query);
    if (!tables) return forward(tables);
    auto after = age_of(state, query.after);
    if (!after) return forward(after);
    std::vector<Call> calls;
    for (const SessionTable* table : *tables) {
      for (const auto& [position, call] : table->calls) {
        if (CallAge(table->born, position) <= *after || !is_wanted(query, call)) continue;
        if (calls.size() < query.limit) calls.push_back(call);
      }
    }
    state.counters.rows_read += calls.size();
    return calls;
  });
}

// The inbox of a memory store. Messages leave it by a commit only.

Result<void> MemoryStore::post(const InboxMessage& message) {
  auto checked = rules::check(message);
  if (!checked) return checked;
  return base_.state.with([&](State& state) -> Result<void> {
    auto table = find_session(state, message.session);
    if (!table) return forward(table);
    InboxTable& inbox = (*table)->inbox;
    if (auto here = rules::check_here(message.session, (*table)->moved); !here) return here;
    if (inbox.messages.contains(message.id)) return {};
    if (auto there = require_blob(state, message.body); !there) return there;

    const Timestamp now = base_.clock.now();
    const std::uint64_t arrival = ++state.messages;
    inbox.messages.emplace(message.id,
                           MessageRow{arrival, message.kind, message.body.codec(), now});
    inbox.pending.emplace(
        arrival, InboxMessage{message.session, message.id, message.kind, message.body, now});

    SessionSummary& row = (*table)->row;
    const bool is_sleeping = !row.wake_at || *row.wake_at > now;
    if (row.status == Status::waiting && is_sleeping) row.wake_at = now;
    ++row.revision;
    state.note_change();
    return {};
  });
}

Result<std::vector<InboxMessage>> MemoryStore::list(const SessionId& session, std::size_t limit) {
  auto checked = rules::check_limit(limit);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<InboxMessage>> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    std::vector<InboxMessage> messages;
    for (const auto& [arrival, message] : (*table)->inbox.pending) {
      if (messages.size() == limit) break;
      messages.push_back(message);
    }
    state.counters.rows_read += messages.size();
    return messages;
  });
}

// Blobs of a memory store. A reference names a blob by hash and size; one with
// another size names nothing.

namespace {

const std::string* find_blob(const State& state, const BlobRef& ref) {
  const auto found = state.blobs.find(ref.digest);
  const bool is_there = found != state.blobs.end() && found->second.bytes.size() == ref.size;
  return is_there ? &found->second.bytes : nullptr;
}

std::unexpected<Error> no_blob(const BlobRef& ref) {
  const std::string name = to_hex(ref.digest);
  return fail(ErrorCode::not_found, fmt::format("there is no blob {} of {} bytes", name, ref.size),
              name);
}

}  // namespace

Result<BlobRef> MemoryStore::put(std::string_view bytes) {
  if (bytes.size() > blob_bytes_max) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the blob has {} bytes, at most {} are allowed", bytes.size(), blob_bytes_max));
  }
  const BlobRef ref{sha256(bytes), bytes.size()};
  return base_.state.with([&](State& state) -> Result<BlobRef> {
    const Timestamp now = base_.clock.now();
    const auto [row, is_new] =
        state.blobs.try_emplace(ref.digest, BlobRow{std::string(bytes), now});
    if (!is_new) row->second.put_at = now;
    state.note_change();
    return ref;
  });
}

Result<std::string> MemoryStore::read(const BlobRef& ref, std::uint64_t offset,
                                      std::uint64_t size) {
  return base_.state.with([&](State& state) -> Result<std::string> {
    const std::string* blob = find_blob(state, ref);
    if (blob == nullptr) return no_blob(ref);
    ++state.counters.rows_read;
    if (offset >= blob->size()) return std::string();
    return blob->substr(offset, size);
  });
}

// The store itself.

Result<Receipt> MemoryStore::commit(const Lease& lease, const Batch& batch) {
  auto checked = rules::check(batch);
  if (!checked) return forward(checked);
  return base_.state.with(
      [&](State& state) { return memory::commit(state, lease, batch, base_.clock.now()); });
}

Result<Created> MemoryStore::create(const NewSession& session, const WorkerId& worker,
                                    const Batch& first) {
  if (auto checked = rules::check(session); !checked) return forward(checked);
  if (auto checked = rules::check(first); !checked) return forward(checked);
  return base_.state.with(
      [&](State& state) { return memory::create(state, session, worker, first, base_.clock); });
}

StoreInfo MemoryStore::info() const {
  StoreInfo info = base_.info;
  static_cast<void>(base_.state.with([&](State& state) -> Result<void> {
    info.commits = state.counters.commits;
    info.transactions = state.counters.transactions;
    info.rows_read = state.counters.rows_read;
    return {};
  }));
  return info;
}

// Only this process can make a change.
Result<std::uint64_t> MemoryStore::wait_for_change(std::uint64_t since, Duration timeout) {
  return base_.state.wait(
      timeout, [since](const State& state) { return state.changes > since; },
      [](const State& state) -> Result<std::uint64_t> { return state.changes; });
}

Result<void> MemoryStore::backup(const std::string& /*path*/, const Progress& /*progress*/) {
  return fail(ErrorCode::unsupported, "a store in memory has no file to back up", "operation");
}

Result<std::vector<Remark>> MemoryStore::doctor() {
  return std::vector{Remark{.gravity = Gravity::danger,
                            .topic = "disk",
                            .what = "the store is in memory: all of it goes with the process",
                            .advice = "open a file or a database"}};
}

Result<void> MemoryStore::sync() {
  return base_.state.with([](State&) -> Result<void> { return {}; });
}

}  // namespace perdure::memory

namespace perdure {

Result<std::unique_ptr<Store>> open_memory(const OpenOptions& options) {
  if (!options.create) {
    return fail(ErrorCode::not_found,
                "a memory store is new whenever it is opened, and create is off");
  }
  StoreInfo info{.backend = "memory",
                 .location = "memory:",
                 .engine = "memory",
                 .format = 1,
                 .incarnation = "sto_" + to_base32(options.ids->next()),
                 // As asked for; memory keeps every promise but survival.
                 .durability = options.durability};
  return std::make_unique<memory::MemoryStore>(*options.clock, std::move(info));
}

}  // namespace perdure
