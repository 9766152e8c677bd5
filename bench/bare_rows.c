/* The rows that Perdure's tables get for the same turns, written by nothing but prepared statements:
 * no ids checked, no hashes computed, no lease, nothing read back. What a store could at best cost
 * on SQLite.
 *
 *   bare_rows write FILE WORKLOAD TURNS full|normal   a turn for every session in one transaction
 *   bare_rows tables FILE                             rows and bytes of payload in each b-tree
 *
 * FILE was made by `store_bench prepare`, so the schema is the store's own; with one session in it a
 * transaction is a turn, with S it is S turns that share a sync. run.py compares what `tables` says
 * of this file with what it says of the one Perdure wrote, and fails if they differ. */
#include "bench.h"
#include "messages.h"

#include <sqlite3.h>
#include <sys/resource.h>

enum { MESSAGES_MAX = 16 };

/* One session's hot columns; the totals grow by the tally of workload.cpp. */
typedef struct {
  long long num, segment, fence, head, version, commits, turns;
} session_t;

static sqlite3* db;
static sqlite3_stmt *begin, *commit, *entry, *receipt, *checkpoint, *session;
static unsigned long long serial; /* tells one batch id, hash and chain from the next */

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "no database");
  exit(1);
}
static void run(const char* sql) {
  if (sqlite3_exec(db, sql, 0, 0, 0)) fail(sql);
}
static sqlite3_stmt* prepare(const char* sql) {
  sqlite3_stmt* statement = NULL;
  if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0)) fail(sql);
  return statement;
}
static void step(sqlite3_stmt* statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) fail("step");
  sqlite3_reset(statement);
}
static void bind_number(sqlite3_stmt* s, int i, long long v) { sqlite3_bind_int64(s, i, v); }
static void bind_text(sqlite3_stmt* s, int i, const char* text, int bytes) {
  sqlite3_bind_text(s, i, text, bytes, SQLITE_STATIC);
}
static void bind_digest(sqlite3_stmt* s, int i) {
  static unsigned char digest[32];
  memcpy(digest, &serial, sizeof serial);
  sqlite3_bind_blob(s, i, digest, sizeof digest, SQLITE_TRANSIENT);
}
static long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* The settings that are not kept in the file are those of sqlite_store.cpp. */
static void open_file(const char* path, const char* sync) {
  if (sqlite3_open(path, &db)) fail(path);
  run("PRAGMA busy_timeout = 10000; PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 500;");
  run(!strcmp(sync, "full") ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}
static void prepare_all(void) {
  begin = prepare("BEGIN IMMEDIATE");
  commit = prepare("COMMIT");
  entry = prepare(
      "INSERT INTO entry (id, channel, kind, fold, codec, at, turns, steps, tokens_in, tokens_out,"
      " cost_micros, hash, body) VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)");
  checkpoint = prepare(
      "INSERT INTO checkpoint (session, version, segment, position, at, reason, label, metadata,"
      " turns, steps, tokens_in, tokens_out, cost_micros)"
      " VALUES (?, ?, ?, ?, ?, 'turn', '', '{}', ?, ?, ?, ?, ?)");
  session = prepare(
      "UPDATE session SET updated_at = ?, segment = ?, head = ?, next = ?, version = ?, commits = ?,"
      " revision = revision + 1, chain = ?, turns = ?, steps = ?, tokens_in = ?, tokens_out = ?,"
      " cost_micros = ?, attention = 0 WHERE num = ?");
  receipt = prepare(
      "INSERT INTO receipt (session, batch, number, segment, first, count, head, version, at, fence,"
      " chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
}

/* The tally of workload.cpp, `times` over, from column `first` on. */
static void bind_tally(sqlite3_stmt* s, int first, long long times) {
  const long long tally[] = {1, 2, 900, 240, 17300};
  for (int i = 0; i < 5; i++) bind_number(s, first + i, tally[i] * times);
}
static void write_entry(session_t* s, const char* channel, const char* kind, int fold, long long at,
                        element_t body) {
  serial++;
  s->head++;
  bind_number(entry, 1, s->segment << 32 | s->head);
  bind_text(entry, 2, channel, -1);
  bind_text(entry, 3, kind, -1);
  bind_number(entry, 4, fold);
  bind_number(entry, 5, at);
  bind_digest(entry, 11);
  bind_text(entry, 12, body.text, (int)body.bytes);
  step(entry);
}
static void write_turn(session_t* s, const turn_t* turn) {
  element_t message[MESSAGES_MAX];
  const long long at = now_ms(), first = s->head + 1;
  const size_t count = split_array(turn->f[MSGS], (size_t)turn->n[MSGS], message, MESSAGES_MAX);
  for (size_t i = 0; i < count; i++) {
    if (i + 1 == count) bind_tally(entry, 6, 1);
    write_entry(s, "transcript", "message", 0, at, message[i]);
  }
  for (int i = 6; i < 11; i++) sqlite3_bind_null(entry, i);
  write_entry(s, "plan", "plan", 1, at, (element_t){turn->f[PLAN], (size_t)turn->n[PLAN]});

  s->version++, s->commits++, s->turns++;
  const long long named[] = {s->num, s->version, s->segment, s->head, at};
  for (int i = 0; i < 5; i++) bind_number(checkpoint, i + 1, named[i]);
  bind_tally(checkpoint, 6, s->turns);
  step(checkpoint);

  const long long row[] = {at, s->segment, s->head, s->head + 1, s->version, s->commits};
  for (int i = 0; i < 6; i++) bind_number(session, i + 1, row[i]);
  bind_digest(session, 7);
  bind_tally(session, 8, s->turns);
  bind_number(session, 13, s->num);
  step(session);

  char batch[40];
  snprintf(batch, sizeof batch, "bat_%026llu", serial);
  const long long proof[] = {s->commits, s->segment, first, (long long)count + 1, s->head, s->version, at, s->fence};
  bind_number(receipt, 1, s->num);
  bind_text(receipt, 2, batch, -1);
  for (int i = 0; i < 8; i++) bind_number(receipt, i + 3, proof[i]);
  bind_digest(receipt, 11);
  step(receipt);
}

static int read_sessions(session_t** out) {
  sqlite3_stmt* rows = prepare("SELECT num, segment, fence FROM session ORDER BY num");
  int count = 0;
  *out = NULL;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    *out = realloc(*out, (size_t)(count + 1) * sizeof **out);
    (*out)[count++] = (session_t){.num = sqlite3_column_int64(rows, 0),
                                  .segment = sqlite3_column_int64(rows, 1),
                                  .fence = sqlite3_column_int64(rows, 2)};
  }
  sqlite3_finalize(rows);
  return count;
}
static double cpu_us(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int write_turns(const char* path, const char* workload, int turns, const char* sync) {
  int got;
  const turn_t* w = load_workload(workload, 1000, &got);
  open_file(path, sync);
  prepare_all();
  session_t* s;
  const int sessions = read_sessions(&s);
  double* took = malloc((size_t)turns * sizeof *took);
  const double cpu = cpu_us(), start = now_us();
  for (int i = 0; i < turns; i++) {
    const double t = now_us();
    step(begin);
    for (int k = 0; k < sessions; k++) write_turn(&s[k], &w[i % got]);
    step(commit);
    took[i] = now_us() - t;
  }
  const double wall = now_us() - start, all = (double)turns * sessions;
  printf("{\"sessions\":%d,\"p50_us\":%.1f,\"p99_us\":%.1f,\"turns_per_s\":%.1f,\"cpu_us_per_turn\":%.2f}\n", sessions,
         pct(took, turns, .5), pct(took, turns, .99), all / wall * 1e6, (cpu_us() - cpu) / all);
  sqlite3_stmt* all_statements[] = {begin, commit, entry, receipt, checkpoint, session};
  for (int i = 0; i < 6; i++) sqlite3_finalize(all_statements[i]);
  return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* Of every table and index that a turn may touch: `worker` holds a time, which may be one byte
 * longer in one file than in the other. */
static int print_tables(const char* path) {
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, 0)) fail(path);
  sqlite3_stmt* rows = prepare(
      "SELECT name, sum(ncell), sum(payload) FROM dbstat WHERE pagetype <> 'internal' OR name IN"
      " (SELECT name FROM sqlite_schema WHERE type = 'index' OR sql LIKE '%WITHOUT ROWID%')"
      " GROUP BY name HAVING name NOT IN ('worker', 'sqlite_schema') ORDER BY name");
  printf("{");
  for (int i = 0; sqlite3_step(rows) == SQLITE_ROW; i++) {
    printf("%s\"%s\":{\"rows\":%lld,\"bytes\":%lld}", i ? "," : "", (const char*)sqlite3_column_text(rows, 0),
           (long long)sqlite3_column_int64(rows, 1), (long long)sqlite3_column_int64(rows, 2));
  }
  printf("}\n");
  sqlite3_finalize(rows);
  return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

int main(int c, char** v) {
  if (c == 6 && !strcmp(v[1], "write")) return write_turns(v[2], v[3], atoi(v[4]), v[5]);
  if (c == 3 && !strcmp(v[1], "tables")) return print_tables(v[2]);
  fprintf(stderr, "see the head of bare_rows.c\n");
  return 2;
}
