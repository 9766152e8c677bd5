// Rows beside the log: words, blobs and messages, each made to make sense again. Where a row
// contradicts itself, its index may still say what it said.

#include <cstdint>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/salvaged_file.hpp"

namespace perdure::sqlite {
namespace {

void mend_words(Connection& db) {
  db.run("UPDATE session SET tags = '[]' WHERE NOT json_valid(tags)");
  db.run("UPDATE session SET metadata = '{}' WHERE NOT json_valid(metadata)");
  db.run(
      "UPDATE session SET status = 'active' WHERE status NOT IN ('active', 'waiting', 'paused', "
      "'completed', 'failed', 'cancelled')");
}

// A session is found by its id in the index. Where the page of its own row is wrong, that one counts.
void mend_ids(Connection& db) {
  db.run(
      "UPDATE OR IGNORE session SET id = (SELECT i.id FROM temp.session_id i WHERE i.num = "
      "session.num) WHERE num IN (SELECT session FROM temp.doubtful) AND num IN (SELECT num FROM "
      "temp.session_id)");
}

// Likewise the key that a call holds, and whatever else an index says of a row: readers went by it.
void mend_by_index(Connection& db) {
  db.run(
      "UPDATE call SET key = k.key FROM temp.call_key k, temp.doubtful_row d WHERE k.session = "
      "call.session AND k.position = call.position AND d.name = 'call' AND d.a = call.session AND "
      "d.b = call.position AND k.key IS NOT call.key");
  db.run(
      "UPDATE call SET state = s.state FROM temp.call_state s, temp.doubtful_row d WHERE s.session "
      "= call.session AND s.position = call.position AND d.name = 'call' AND d.a = call.session "
      "AND d.b = call.position");
  db.run(
      "UPDATE entry SET channel = c.channel FROM temp.entry_channel c, temp.doubtful_row d WHERE "
      "c.num = entry.id AND d.name = 'entry' AND d.a = entry.id");
  db.run(
      "UPDATE checkpoint SET label = l.label FROM temp.checkpoint_label l, temp.doubtful_row d "
      "WHERE l.session = checkpoint.session AND l.version = checkpoint.version AND d.name = "
      "'checkpoint' AND d.a = checkpoint.session AND d.b = checkpoint.version");
}

// A blob is found by its name in the index. If the name in its own row is another one, the one
// that its bytes have is right.
void mend_blobs(Connection& db) {
  std::vector<std::pair<std::int64_t, Digest>> named;
  {
    Rows rows = db.query(
        "SELECT b.num, h.hash, b.bytes FROM blob b JOIN temp.blob_hash h ON h.num = b.num WHERE "
        "h.hash <> b.hash AND h.hash NOT IN (SELECT hash FROM blob)");
    while (rows.next()) {
      const Digest name = rows.digest(1);
      if (sha256(rows.text(2)) == name) named.emplace_back(rows.integer(0), name);
    }
  }
  for (const auto& [number, name] : named) {
    db.run("UPDATE blob SET hash = ? WHERE num = ?", blob_view(name), number);
  }
}

std::vector<std::int64_t> messages_without_id(Connection& db) {
  std::vector<std::int64_t> found;
  Rows rows = db.query("SELECT num, id FROM message");
  while (rows.next()) {
    if (!MessageId::parse(rows.string(1))) found.push_back(rows.integer(0));
  }
  return found;
}

void mend_messages(Connection& db) {
  // To whom it goes is in the index as well, by which it is found.
  db.run(
      "UPDATE OR IGNORE message SET session = m.session FROM temp.message_id m, "
      "temp.doubtful_row d WHERE m.num = message.num AND d.name = 'message' AND d.a = message.num "
      "AND m.session IN (SELECT num FROM session)");
  for (const std::int64_t number : messages_without_id(db)) {
    db.run(
        "UPDATE OR IGNORE message SET id = (SELECT id FROM temp.message_id m WHERE m.num = "
        "message.num) WHERE num = ? AND num IN (SELECT num FROM temp.message_id)",
        number);
  }
  for (const std::int64_t number : messages_without_id(db)) {
    db.run("UPDATE message SET id = 'salvaged-' || num WHERE num = ?", number);
  }
  db.run("UPDATE message SET kind = 'salvaged' WHERE kind = ''");
  db.run("UPDATE message SET codec = 1 WHERE codec NOT BETWEEN 0 AND 2");
  // What is consumed has no body any more.
  db.run("UPDATE message SET consumed = body IS NULL WHERE consumed <> (body IS NULL)");
}

}  // namespace

void mend_rest(Connection& db) {
  mend_ids(db);
  mend_by_index(db);
  mend_words(db);
  mend_blobs(db);
  mend_messages(db);
}

}  // namespace perdure::sqlite
