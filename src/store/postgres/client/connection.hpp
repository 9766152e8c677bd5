// One connection to a server, always in libpq's pipeline mode, and what comes back over it.
//
// A pipeline is some statements and one sync: one round trip and one transaction, which the server
// opens and ends by itself. So there is no BEGIN here, and a connection is never idle in a
// transaction. All waiting is done by poll, and ends when nothing moved for the connection's
// patience. While it writes it also reads, or a large batch would stop both sides.
//
// A failing statement throws PgError (error.hpp). A connection belongs to one thread at a time.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <libpq-fe.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

/// `"my schema"`, as an identifier of SQL.
[[nodiscard]] std::string quoted_name(std::string_view identifier);

/// `sql` with every `perdure.` replaced by `schema`, which is quoted already, and a dot. Plain
/// replacement of text: nothing but names of the store may be written `perdure.` in SQL.
[[nodiscard]] std::string in_schema(std::string_view sql, std::string_view schema);

/// What a statement returned: all its rows, in memory, in binary form.
/// Starts before its first row. Independent of the connection it came from; one thread at a time.
/// Columns count from 0. A null reads as 0, false or empty; ask is_null() where that matters.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}

  /// Moves to the next row; false when there is none left.
  bool next() { return ++row_ < PQntuples(result_.get()); }

  /// Of a smallint, integer, bigint or boolean.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] bool boolean(int column) const { return integer(column) != 0; }
  /// Of a text or bytea. Valid while this lives, or what it was moved to.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
  [[nodiscard]] bool is_null(int column) const {
    return PQgetisnull(result_.get(), row_, column) != 0;
  }
  /// Of an array of texts or bytes. Valid as long as text().
  [[nodiscard]] std::vector<std::string_view> array(int column) const;
  /// Zeros where the bytes end early.
  [[nodiscard]] Digest digest(int column) const;
  [[nodiscard]] Timestamp time(int column) const { return Timestamp(Duration(integer(column))); }
  [[nodiscard]] std::optional<Timestamp> optional_time(int column) const;

  /// For the connection, which reads how the statement ended.
  [[nodiscard]] const PGresult* get() const { return result_.get(); }

  /// Of each row that is left, its first column.
  [[nodiscard]] std::vector<std::int64_t> integers();

  /// The number of all rows, whichever is the current one.
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(PQntuples(result_.get()));
  }

 private:
  struct Clearer {
    void operator()(PGresult* result) const { PQclear(result); }
  };

  std::unique_ptr<PGresult, Clearer> result_;
  int row_ = -1;
};

/// Of all connections of a store together.
struct Counters {
  std::atomic<std::uint64_t> connects = 0;
  std::atomic<std::uint64_t> round_trips = 0;
  std::atomic<std::uint64_t> statements = 0;
  std::atomic<std::uint64_t> rows_read = 0;
};

/// Both must stay until the pipeline that sends it was answered.
struct Statement {
  std::string_view sql;
  const Params* params;
};

using Answer = std::variant<Rows, PgError>;

class Connection {
 public:
  /// Connects to the hosts of `address` one after the other, beginning with number `first`, and
  /// takes the first that is a PostgreSQL we can write to. `counters` must outlive it.
  /// Throws what the last host said, or the first reason that waiting does not mend.
  Connection(const Address& address, Deadline deadline, Counters& counters, std::size_t first = 0);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs one statement, in a transaction of its own.
  Rows query(std::string_view sql, const Params& params = {});

  /// Runs all in one transaction: all of them happened, or none. One answer for each statement: all
  /// are Rows, or all are PgErrors. Of these one is the failure, and the others say that they were
  /// undone (`is_undone`); if the transaction failed at its end, all are that failure. Throws only if
  /// the connection is lost.
  [[nodiscard]] std::vector<Answer> pipeline(std::span<const Statement> statements);

  /// Runs a script of several statements in one transaction, unprepared and without parameters.
  void execute(std::string_view script);

  /// Returns when all that was committed before is as safe as a commit of now: on disk, and with the
  /// standbys that are waited for. A repetition needs it that finds its work done: the one who did that
  /// may have been cut off while it still waited, and the server shows the work all the same.
  void await_durability();

  /// Waits until a NOTIFY arrived, and forgets it and all others that did. False after `wait`.
  [[nodiscard]] bool wait_for_notification(Duration wait);

  /// How long nothing may move between us and the server, while a statement runs, before the
  /// connection counts as lost. A statement that waits for a lock, or works, moves nothing.
  void set_patience(Duration patience) { patience_ = patience; }

  /// Each transaction may meet another backend: no LISTEN, no settings, no names.
  [[nodiscard]] bool is_pooled() const { return is_pooled_; }
  /// False once it was lost, or met a server that is none to write to: to be thrown away.
  [[nodiscard]] bool is_usable() const { return is_usable_ && !is_busy_; }
  /// It once moved so much at a time that its buffers, which never shrink, are better given back.
  [[nodiscard]] bool is_swollen() const { return is_swollen_; }
  /// Looks, without waiting, whether an idle connection still is one.
  [[nodiscard]] bool is_alive();
  /// Which of the address's hosts.
  [[nodiscard]] std::size_t host() const { return host_; }
  /// The number of the server's process; behind a pooler, of the one that said hello.
  [[nodiscard]] std::int64_t server_process() const { return server_process_; }

 private:
  struct Closer {
    void operator()(PGconn* handle) const { PQfinish(handle); }
  };

  /// A statement that this connection has met.
  struct Known {
    std::string sql{};         ///< In the schema of the store.
    std::string name{};        ///< For the server.
    std::vector<Oid> types{};  ///< Of the parameters it was prepared with.
    bool is_prepared = false;
    bool is_sent = false;  ///< In the pipeline under way.
  };

  /// What was sent and will be answered: a preparation, or, with none, an execution.
  struct Step {
    Known* prepares;
  };

  void connect_to_any(const Address& address, Deadline deadline, std::size_t first);
  void connect(const Host& host, Deadline deadline);
  void say_hello(Duration lock_wait);
  [[nodiscard]] Known& know(std::string_view sql);
  void send(const Statement& statement);
  void flush();
  [[nodiscard]] std::vector<Answer> receive(std::size_t count);
  void begin();
  /// The answer to one step. Nothing if it was not tried because an earlier one failed.
  [[nodiscard]] std::optional<Answer> receive_step();
  void receive_sync(std::optional<PgError>& failed);
  /// Waits for it; null between two steps.
  [[nodiscard]] PGresult* next_result();
  void wait(bool to_write);
  [[noreturn]] void lose(const std::string& why);
  [[nodiscard]] PgError refusal(const PGresult* result);
  static void notice(void* self, const PGresult* result);

  Counters& counters_;
  const std::string schema_;  ///< Quoted.
  std::map<std::string, Known, std::less<>> known_;
  std::unique_ptr<PGconn, Closer> handle_;
  Duration patience_;
  std::size_t host_ = 0;
  std::int64_t server_process_ = 0;
  bool is_pooled_ = true;
  bool is_usable_ = true;
  /// In the middle of a pipeline. Stays so if an exception of ours, such as no memory, cuts it off.
  bool is_busy_ = false;
  bool is_swollen_ = false;
  /// Nothing of the pipeline that is under way waits in our own buffer any more.
  bool was_sent_ = false;
  // Kept between calls for their memory alone.
  std::vector<Step> steps_;
  std::vector<const char*> values_;
  std::vector<int> formats_;
};

// The connections of one store: at most so many, made when they are needed. Lent last in, first out:
// those that are surplus stay at the front until they are closed.
//
// An idle connection may have died meanwhile, by a restart of the server or a firewall. It
// is checked before it is lent, and a dead one is replaced silently; what dies in use is
// its user's to repeat (error.hpp).

/// Thread safety: any thread at any time. Who holds a loan must not ask for a second one: all
/// could wait for each other until their deadlines.
class Pool {
 public:
  struct Returner {
    Pool* pool;
    void operator()(Connection* lent) const { pool->take_back(std::unique_ptr<Connection>(lent)); }
  };
  /// A connection for as long as this lives.
  using Loan = std::unique_ptr<Connection, Returner>;

  /// `counters` must outlive it.
  Pool(Address address, Counters& counters);

  /// An idle connection, or a new one, or the first that comes back; its patience is what is left
  /// until the deadline, but more than the server lets it wait for a lock. Throws PgError.
  [[nodiscard]] Loan borrow(Deadline deadline);

  /// One that is not counted and not taken back, for one who stays on it.
  [[nodiscard]] std::unique_ptr<Connection> connect(Deadline deadline);

  /// From now on every new connection begins with this statement, which must be a literal. Those
  /// that are there have done what it does.
  void begin_with(std::string_view sql);

  [[nodiscard]] const Address& address() const { return address_; }
  /// Lent or idle.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    Uptime since;
  };

  /// Null: there is room for a new one, which the caller now has to make.
  [[nodiscard]] std::unique_ptr<Connection> take_idle(Deadline deadline);
  [[nodiscard]] std::unique_ptr<Connection> connect_counted(Deadline deadline);
  void take_back(std::unique_ptr<Connection> connection) noexcept;
  void forget_one() noexcept;

  const Address address_;
  Counters& counters_;

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Idle> idle_;  ///< The one used last is at the end, and is taken first.
  std::size_t size_ = 0;
  std::string_view beginning_;
  std::size_t host_ = 0;  ///< That was good last time.
};

}  // namespace perdure::postgres
