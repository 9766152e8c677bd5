/* A saver that inserts the whole state, the comparator of saver_bench.cpp: one table, one prepared
 * statement, WAL, a sync at every commit. It checks nothing, and its file holds no history, which
 * only makes it faster.
 *
 *   whole_states warm  FILE WORKLOAD TURNS    the states of the last ten turns
 *   whole_states fresh FILE WORKLOAD TURN     opens the file and puts the state of that turn */
#include "bench.h"

#include <sqlite3.h>

enum { COUNTED = 10 };

static sqlite3* db;
static sqlite3_stmt* insert;

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "no database");
  exit(1);
}
static void open_file(const char* path) {
  if (sqlite3_open(path, &db)) fail(path);
  if (sqlite3_exec(db,
                   "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                   "CREATE TABLE IF NOT EXISTS checkpoints (thread_id TEXT, id TEXT, created_at "
                   "INTEGER, parent_id TEXT, state TEXT, metadata TEXT, PRIMARY KEY (thread_id, "
                   "created_at, id));",
                   0, 0, 0))
    fail("open");
  if (sqlite3_prepare_v3(db, "INSERT INTO checkpoints VALUES ('thread', ?, ?, NULL, ?, '{}')", -1,
                         SQLITE_PREPARE_PERSISTENT, &insert, 0))
    fail("prepare");
}
static void put(int turn, const char* state, size_t bytes) {
  char id[40];
  snprintf(id, sizeof id, "%032d", turn);
  sqlite3_bind_text(insert, 1, id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(insert, 2, turn);
  sqlite3_bind_text(insert, 3, state, (int)bytes, SQLITE_STATIC);
  if (sqlite3_step(insert) != SQLITE_DONE) fail("insert");
  sqlite3_reset(insert);
}
static long long written(void) {
  FILE* f = fopen("/proc/self/io", "r");
  char line[128];
  long long bytes = 0;
  while (f && fgets(line, sizeof line, f)) sscanf(line, "wchar: %lld", &bytes);
  if (f) fclose(f);
  return bytes;
}

/* The state of a turn, as States::next() of saver_bench.cpp makes it. */
static char* make_state(const turn_t* turns, int got, int turn, size_t* bytes) {
  size_t room = 64 + (size_t)turns[(turn - 1) % got].n[PLAN];
  for (int i = 0; i < turn; i++) room += (size_t)turns[i % got].n[MSGS] + 1;
  char* text = malloc(room);
  size_t at = (size_t)sprintf(text, "{\"turn\":%d,\"plan\":%s,\"messages\":[", turn,
                              turns[(turn - 1) % got].f[PLAN]);
  for (int i = 0; i < turn; i++) {
    const int n = turns[i % got].n[MSGS] - 2; /* without its brackets */
    memcpy(text + at, turns[i % got].f[MSGS] + 1, (size_t)n);
    at += (size_t)n;
    if (i + 1 < turn) text[at++] = ',';
  }
  memcpy(text + at, "]}", 3);
  *bytes = at + 2;
  return text;
}

int main(int count, char** words) {
  if (count != 5) return 2;
  const int turn = atoi(words[4]), warm = !strcmp(words[1], "warm");
  int got = 0;
  turn_t* turns = load_workload(words[3], turn, &got);
  double took[COUNTED], bytes[COUNTED];
  if (warm) open_file(words[2]);
  const int puts = warm ? COUNTED : 1;
  for (int i = 0; i < puts; i++) {
    size_t size = 0;
    char* state = make_state(turns, got, turn - puts + 1 + i, &size);
    const long long before = written();
    const double start = now_us();
    if (!warm) open_file(words[2]);
    put(turn - puts + 1 + i, state, size);
    /* A saver that goes on frees one state a put, as ours does, which keeps the last one only. */
    if (warm) free(state);
    took[i] = now_us() - start;
    bytes[i] = (double)(written() - before);
  }
  printf("{\"put_us\":%.1f,\"put_bytes\":%.0f,\"errors\":0}\n", pct(took, puts, .5),
         pct(bytes, puts, .5));
  /* Else it does not close, and the next process begins with a WAL to recover. */
  sqlite3_finalize(insert);
  if (sqlite3_close(db)) fail("close");
  return 0;
}
