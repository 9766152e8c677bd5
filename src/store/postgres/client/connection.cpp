// libpq's C interface, wrapped once.
//
// What must stay true: a transaction ends at its sync, which is the last message of a pipeline. So
// a pipeline that did not leave our buffer completely surely did not happen, and one whose sync was
// not answered may have: rows alone prove nothing.

#include "postgres/client/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

namespace {

constexpr std::int64_t server_version_min = 140000;
constexpr std::size_t swollen_bytes = std::size_t{32} << 20;
constexpr int binary = 1;
// Between two steps of a pipeline libpq returns one null. More mean that it lost count.
constexpr int nulls_max = 3;
constexpr std::string_view written_schema = "perdure.";

// $1 is the server's process as libpq learned it at the start, $2 is in milliseconds. Settings are
// made only where they stay with us, which is where both are the same. A backend that waits for a
// lock notices only by the last one that its client is gone.
constexpr std::string_view hello =
    "SELECT pg_backend_pid(), current_setting('server_version_num')::bigint, "
    "pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', "
    "current_setting('server_encoding'), "
    "CASE WHEN pg_backend_pid() = $1 THEN set_config('lock_timeout', $2::text, false) END, "
    "CASE WHEN pg_backend_pid() = $1 AND current_setting('server_version_num')::bigint >= 140000 "
    "THEN set_config('client_connection_check_interval', '1000', false) END";

/// False if nothing happened in time.
bool poll_until(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd one{.fd = socket, .events = events, .revents = 0};
    const int ready = poll(&one, 1, static_cast<int>(deadline.left().count()));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // Whatever it is, libpq will meet it too, and has words.
  }
}

// libpq's words are several lines, in its verbose form with a place in the server's source.
std::string one_line(std::string_view words) {
  words = words.substr(0, words.find("\nLOCATION:"));
  std::string line;
  for (const char letter : words) {
    const bool is_space = letter == '\n' || letter == '\t' || letter == ' ';
    if (!is_space) {
      line += letter;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

// While it connects, libpq has the server's SQLSTATE only as a part of its verbose words:
// `FATAL:  28P01: password authentication failed`.
std::string sqlstate_in(std::string_view words) {
  constexpr std::string_view before = ":  ";
  constexpr std::size_t size = 5;
  for (std::size_t at = words.find(before); at != std::string_view::npos;
       at = words.find(before, at + 1)) {
    const std::string_view state = words.substr(at + before.size(), size);
    const bool is_state = state.size() == size && std::ranges::all_of(state, [](char c) {
                            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                          });
    if (is_state && words.substr(at + before.size() + size).starts_with(": ")) {
      return std::string(state);
    }
  }
  return {};
}

std::string_view field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

std::string quoted_name(std::string_view identifier) {
  std::string text = "\"";
  for (const char letter : identifier) {
    if (letter == '"') text += '"';
    text += letter;
  }
  text += '"';
  return text;
}

std::string in_schema(std::string_view sql, std::string_view schema) {
  std::string text;
  text.reserve(sql.size() + 64);
  for (;;) {
    const std::size_t at = sql.find(written_schema);
    text += sql.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += schema;
    text += '.';
    sql.remove_prefix(at + written_schema.size());
  }
}

// The width of a value says which whole number it is.
namespace {

std::int64_t number_in(std::string_view bytes) {
  if (bytes.empty()) return 0;
  // Widened with the sign of its first bit.
  const bool is_negative = (static_cast<std::uint8_t>(bytes.front()) & 0x80) != 0;
  std::uint64_t bits = is_negative ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) bits = bits << 8 | static_cast<std::uint8_t>(byte);
  return static_cast<std::int64_t>(bits);
}

}  // namespace

std::int64_t Rows::integer(int column) const { return number_in(text(column)); }

// Of an array with one dimension, after its head come the elements, each behind its length.
std::vector<std::string_view> Rows::array(int column) const {
  constexpr std::size_t length_bytes = 4;
  std::vector<std::string_view> elements;
  std::string_view rest = text(column);
  rest.remove_prefix(std::min(rest.size(), array_head_bytes));
  while (rest.size() >= length_bytes) {
    const auto length = static_cast<std::size_t>(number_in(rest.substr(0, length_bytes)));
    elements.push_back(rest.substr(length_bytes, length));
    rest.remove_prefix(length_bytes + elements.back().size());
  }
  return elements;
}

Digest Rows::digest(int column) const {
  Digest digest{};
  const std::string_view bytes = text(column);
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

std::optional<Timestamp> Rows::optional_time(int column) const {
  if (is_null(column)) return std::nullopt;
  return time(column);
}

std::string_view Rows::text(int column) const {
  return {PQgetvalue(result_.get(), row_, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
}

std::vector<std::int64_t> Rows::integers() {
  std::vector<std::int64_t> all;
  while (next()) all.push_back(integer(0));
  return all;
}

Connection::Connection(const Address& address, Deadline deadline, Counters& counters,
                       std::size_t first)
    : counters_(counters), schema_(quoted_name(address.schema)), patience_(deadline.left()) {
  connect_to_any(address, deadline, first);
  ++counters_.connects;
}

Connection::~Connection() = default;

void Connection::connect_to_any(const Address& address, Deadline deadline, std::size_t first) {
  std::optional<PgError> worst;
  for (std::size_t i = 0; i < address.hosts.size(); ++i) {
    host_ = (first + i) % address.hosts.size();
    try {
      connect(address.hosts[host_], Deadline(std::min(address.connect_wait, deadline.left())));
      return say_hello(address.lock_wait);
    } catch (const PgError& error) {
      // What waiting does not mend is the more helpful thing to say.
      if (!worst || worst->may_be_repeated()) worst = error;
    }
    is_usable_ = true;
    is_busy_ = false;
    is_pooled_ = true;
  }
  if (worst->is_answer()) throw PgError(*worst);
  std::string message = fmt::format("cannot connect to {}: {}", address.shown, worst->what());
  if (worst->is_silent()) throw PgError::silent(std::move(message));
  throw PgError::away(std::move(message), worst->sqlstate());
}

void Connection::connect(const Host& host, Deadline deadline) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : host.settings) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  handle_.reset(PQconnectStartParams(names.data(), values.data(), 0));
  if (handle_ == nullptr) throw PgError::away("out of memory");
  PGconn* handle = handle_.get();
  PQsetErrorVerbosity(handle, PQERRORS_VERBOSE);
  PQsetNoticeReceiver(handle, notice, this);
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (PQstatus(handle) != CONNECTION_BAD && status != PGRES_POLLING_OK) {
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!poll_until(PQsocket(handle), events, deadline)) throw PgError::silent("no answer in time");
    status = PQconnectPoll(handle);
    if (status == PGRES_POLLING_FAILED) break;
  }
  if (status != PGRES_POLLING_OK) {
    const std::string words = PQerrorMessage(handle);
    throw PgError::away(one_line(words), sqlstate_in(words));
  }
  PQsetnonblocking(handle, 1);
  PQenterPipelineMode(handle);
}

void Connection::say_hello(Duration lock_wait) {
  const int process = PQbackendPID(handle_.get());
  Rows rows = query(hello, Params::of(process, lock_wait));
  rows.next();
  server_process_ = rows.integer(0);
  const std::int64_t version = rows.integer(1);
  if (version < server_version_min) {
    throw PgError::unsupported(
        fmt::format("the server is PostgreSQL {}; Perdure needs 14 or newer", version / 10000));
  }
  if (rows.text(4) != "UTF8") {
    throw PgError::unsupported(fmt::format(
        "the database's encoding is {}, and it must be UTF8 to hold every text. Create the store "
        "in a database made with ENCODING 'UTF8'.",
        rows.text(4)));
  }
  if (rows.boolean(2)) throw PgError::away("the server is a standby, and takes no writes");
  if (rows.boolean(3)) throw PgError::away("the server, or this role, is set to read only");
  is_pooled_ = server_process_ != process;
}

// A server that ends an idle connection says so first, as a notice, and in the next moment is gone.
void Connection::notice(void* self, const PGresult* result) {
  const std::string_view sqlstate = field(result, PG_DIAG_SQLSTATE);
  if (sqlstate.starts_with("57P")) static_cast<Connection*>(self)->is_usable_ = false;
}

Rows Connection::query(std::string_view sql, const Params& params) {
  const Statement statement{sql, &params};
  auto answers = pipeline({&statement, 1});
  if (auto* error = std::get_if<PgError>(&answers.front())) throw PgError(*error);
  return std::get<Rows>(std::move(answers.front()));
}

void Connection::begin() {
  if (!is_usable()) throw PgError::lost("the connection was lost before", false);
  is_busy_ = true;
  was_sent_ = false;
  steps_.clear();
}

std::vector<Answer> Connection::pipeline(std::span<const Statement> statements) {
  begin();
  std::size_t bytes = 0;
  for (const Statement& statement : statements) {
    send(statement);
    bytes += statement.params->bytes();
  }
  if (bytes > swollen_bytes) is_swollen_ = true;
  if (PQpipelineSync(handle_.get()) == 0) lose(PQerrorMessage(handle_.get()));
  counters_.statements += statements.size();
  ++counters_.round_trips;
  flush();
  auto answers = receive(statements.size());
  is_busy_ = false;
  return answers;
}

Connection::Known& Connection::know(std::string_view sql) {
  if (const auto found = known_.find(sql); found != known_.end()) return found->second;
  Known known{.sql = in_schema(sql, schema_), .name = "p" + std::to_string(known_.size())};
  return known_.emplace(sql, std::move(known)).first->second;
}

// In one pipeline with its first execution, preparing costs no round trip. It also outlives a
// transaction that fails later.
void Connection::send(const Statement& statement) {
  const Params& params = *statement.params;
  const auto size = static_cast<std::size_t>(params.count());
  if (formats_.size() < size) formats_.resize(size, binary);
  values_.resize(size);
  for (std::size_t i = 0; i < size; ++i) values_[i] = params.value(i);

  Known& known = know(statement.sql);
  const bool is_new = !known.is_prepared && !known.is_sent;
  const bool is_named = !is_pooled_ && (is_new || known.types == params.types());
  PGconn* handle = handle_.get();
  int sent = 1;
  if (is_named && is_new) {
    sent = PQsendPrepare(handle, known.name.c_str(), known.sql.c_str(), params.count(),
                         params.types().data());
    known.types = params.types();
    known.is_sent = true;
    steps_.push_back({&known});
  }
  if (sent == 1 && is_named) {
    sent = PQsendQueryPrepared(handle, known.name.c_str(), params.count(), values_.data(),
                               params.lengths().data(), formats_.data(), binary);
  } else if (sent == 1) {
    sent = PQsendQueryParams(handle, known.sql.c_str(), params.count(), params.types().data(),
                             values_.data(), params.lengths().data(), formats_.data(), binary);
  }
  if (sent != 1) lose(PQerrorMessage(handle));
  steps_.push_back({nullptr});
}

void Connection::flush() {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left < 0) lose(PQerrorMessage(handle_.get()));
    if (left == 0) break;
    wait(true);
  }
  was_sent_ = true;
}

std::vector<Answer> Connection::receive(std::size_t count) {
  std::vector<Answer> answers;
  answers.reserve(count);
  std::optional<PgError> failed;
  for (const Step& step : steps_) {
    std::optional<Answer> answer = receive_step();
    auto* error = answer ? std::get_if<PgError>(&*answer) : nullptr;
    if (error != nullptr) failed = std::move(*error);
    if (step.prepares != nullptr) {
      step.prepares->is_sent = false;
      step.prepares->is_prepared = answer && error == nullptr;
    } else if (!failed) {
      answers.push_back(std::move(*answer));
    }
  }
  // Whose statement, or the preparation of it, it was that failed: the first without an answer.
  const std::size_t failed_at = failed ? answers.size() : count;
  receive_sync(failed);
  if (!failed) return answers;
  answers.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_its_own = failed_at == count || failed_at == i;
    answers.emplace_back(is_its_own ? *failed : PgError::undone());
  }
  return answers;
}

std::optional<Answer> Connection::receive_step() {
  Rows result(next_result());
  std::optional<Answer> answer;
  switch (PQresultStatus(result.get())) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
      counters_.rows_read += result.count();
      if (PQresultMemorySize(result.get()) > swollen_bytes) is_swollen_ = true;
      answer = std::move(result);
      break;
    case PGRES_PIPELINE_ABORTED:
      break;
    case PGRES_FATAL_ERROR:
      answer = refusal(result.get());
      break;
    default:
      lose("the server answered out of order");
  }
  if (const Rows rest(next_result()); rest.get() != nullptr) {
    lose("the server answered more than it was asked");
  }
  return answer;
}

// What is only found out at the end, such as a deferred constraint, comes before it as an error.
void Connection::receive_sync(std::optional<PgError>& failed) {
  for (int nulls = 0; nulls < nulls_max;) {
    const Rows result(next_result());
    if (result.get() == nullptr) {
      ++nulls;
    } else if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) {
      return;
    } else if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
      const PgError error = refusal(result.get());
      if (!failed) failed = error;
    } else {
      break;
    }
  }
  lose("the server answered out of order");
}

PGresult* Connection::next_result() {
  PGconn* handle = handle_.get();
  while (PQisBusy(handle) != 0) {
    wait(false);
    if (PQconsumeInput(handle) == 0) lose(PQerrorMessage(handle));
  }
  return PQgetResult(handle);
}

// What the server says may be in the way of what we still have to write.
void Connection::wait(bool to_write) {
  PGconn* handle = handle_.get();
  const auto events = static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN);
  if (!poll_until(PQsocket(handle), events, Deadline(patience_))) {
    lose(fmt::format("no answer from the server in {} ms", patience_.count()));
  }
  if (to_write && PQconsumeInput(handle) == 0) lose(PQerrorMessage(handle));
}

void Connection::lose(const std::string& why) {
  is_usable_ = false;
  throw PgError::lost("the connection to the server was lost: " + one_line(why), was_sent_);
}

// Without a SQLSTATE it is libpq itself that speaks, and it does so when a connection breaks.
PgError Connection::refusal(const PGresult* result) {
  const std::string_view sqlstate = field(result, PG_DIAG_SQLSTATE);
  if (sqlstate.empty()) lose(PQresultErrorMessage(result));
  PgError error({std::string(sqlstate), std::string(field(result, PG_DIAG_MESSAGE_PRIMARY)),
                 std::string(field(result, PG_DIAG_MESSAGE_DETAIL))});
  const bool names_are_gone = sqlstate == "26000" || sqlstate == "42P05";
  if (error.is_lost() || error.is_away() || names_are_gone) is_usable_ = false;
  // Nothing more will come.
  if (error.is_lost()) throw PgError(error);
  return error;
}

void Connection::execute(std::string_view script) {
  begin();
  PGconn* handle = handle_.get();
  const std::string sql = in_schema(script, schema_);
  if (PQexitPipelineMode(handle) == 0 || PQsendQuery(handle, sql.c_str()) == 0) {
    lose(PQerrorMessage(handle));
  }
  ++counters_.statements;
  ++counters_.round_trips;
  flush();
  std::optional<PgError> failed;
  for (;;) {
    const Rows result(next_result());
    if (result.get() == nullptr) break;
    if (PQresultStatus(result.get()) != PGRES_FATAL_ERROR) continue;
    const PgError error = refusal(result.get());
    if (!failed) failed = error;
  }
  PQenterPipelineMode(handle);
  is_busy_ = false;
  if (failed) throw PgError(*failed);
}

// Needs no table: a record in the log that is never read, and the wait for it, also where the server's
// default is not to wait.
void Connection::await_durability() {
  query(
      "SELECT pg_logical_emit_message(true, 'perdure', ''), CASE WHEN "
      "current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', "
      "true) END");
}

bool Connection::wait_for_notification(Duration wait) {
  PGconn* handle = handle_.get();
  const Deadline deadline(wait);
  for (;;) {
    bool found = false;
    while (PGnotify* arrived = PQnotifies(handle)) {
      PQfreemem(arrived);
      found = true;
    }
    if (found) return true;
    if (!is_usable_) lose("the server ended it");
    if (!poll_until(PQsocket(handle), POLLIN, deadline)) return false;
    if (PQconsumeInput(handle) == 0) lose(PQerrorMessage(handle));
  }
}

bool Connection::is_alive() {
  // All pending input is read; at an end of file libpq reports a failure.
  while (is_usable() && poll_until(PQsocket(handle_.get()), POLLIN, Deadline(Duration(0)))) {
    if (PQconsumeInput(handle_.get()) == 0) is_usable_ = false;
    (void)PQisBusy(handle_.get());  // Makes libpq read its buffer, and so tell us of notices.
  }
  return is_usable();
}

// The pool.

namespace {

// A wait for a lock is ended by the server: its refusal is a clear answer, silence is not.
constexpr Duration patience_beyond_locks = std::chrono::seconds(1);
constexpr Duration surplus_after = std::chrono::minutes(2);

}  // namespace

Pool::Pool(Address address, Counters& counters)
    : address_(std::move(address)), counters_(counters) {
  idle_.reserve(address_.pool);
}

Pool::Loan Pool::borrow(Deadline deadline) {
  std::unique_ptr<Connection> connection;
  for (;;) {
    connection = take_idle(deadline);
    if (connection == nullptr) {
      connection = connect_counted(deadline);
      break;
    }
    if (connection->is_alive()) break;
    connection.reset();
    forget_one();
  }
  connection->set_patience(std::max(deadline.left(), address_.lock_wait + patience_beyond_locks));
  return {connection.release(), Returner{this}};
}

std::unique_ptr<Connection> Pool::take_idle(Deadline deadline) {
  const Duration wait = deadline.left();
  std::unique_lock lock(mutex_);
  const bool is_free =
      freed_.wait_for(lock, wait, [&] { return !idle_.empty() || size_ < address_.pool; });
  if (!is_free) {
    throw PgError::away(fmt::format(
        "all {} connections of this store are in use, and none came back in {} ms. Let fewer "
        "threads use it at once, or give the location a larger pool=",
        address_.pool, wait.count()));
  }
  if (idle_.empty()) {
    ++size_;
    return nullptr;
  }
  auto connection = std::move(idle_.back().connection);
  idle_.pop_back();
  return connection;
}

std::unique_ptr<Connection> Pool::connect_counted(Deadline deadline) try {
  return connect(deadline);
} catch (...) {
  forget_one();
  throw;
}

std::unique_ptr<Connection> Pool::connect(Deadline deadline) {
  std::size_t first = 0;
  std::string_view beginning;
  {
    const std::scoped_lock lock(mutex_);
    first = host_;
    beginning = beginning_;
  }
  auto connection = std::make_unique<Connection>(address_, deadline, counters_, first);
  if (!beginning.empty()) connection->query(beginning);
  const std::scoped_lock lock(mutex_);
  host_ = connection->host();
  return connection;
}

void Pool::begin_with(std::string_view sql) {
  const std::scoped_lock lock(mutex_);
  beginning_ = sql;
}

void Pool::take_back(std::unique_ptr<Connection> connection) noexcept {
  if (!connection->is_usable() || connection->is_swollen()) {
    connection.reset();
    return forget_one();
  }
  std::unique_ptr<Connection> surplus;
  {
    const std::scoped_lock lock(mutex_);
    const Uptime now = system_clock().uptime();
    if (!idle_.empty() && now - idle_.front().since > surplus_after) {
      surplus = std::move(idle_.front().connection);
      idle_.erase(idle_.begin());
      --size_;
    }
    idle_.push_back({std::move(connection), now});
  }
  freed_.notify_one();
}

void Pool::forget_one() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    --size_;
  }
  freed_.notify_one();
}

std::size_t Pool::size() const {
  const std::scoped_lock lock(mutex_);
  return size_;
}

}  // namespace perdure::postgres
