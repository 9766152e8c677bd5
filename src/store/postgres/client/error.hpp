// What went wrong between us and the server, and how long it is tried again.
//
// Inside this backend a failing statement throws PgError; it is caught where the backend ends, in
// Client and Committer, and becomes an Error there. Nothing else in Perdure sees it.
//
// Three questions decide what happens next: is the connection of any use, may the statement be
// sent again, and may it have happened already. The server's SQLSTATE answers them; where there is
// none, because no server answered, the one who noticed says it.

#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/deadline.hpp"  // IWYU pragma: export
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {

class PgError : public std::exception {
 public:
  /// What the server said.
  struct Words {
    std::string sqlstate{};
    std::string message{};
    std::string subject{};  ///< DETAIL. For errors that our functions raise: Error::subject.
  };

  /// The server refused the statement, or ended the connection with these words.
  explicit PgError(Words words);
  /// No server took the connection. `sqlstate` if one said why.
  [[nodiscard]] static PgError away(std::string message, std::string sqlstate = {});
  /// Whether one did was not heard in time.
  [[nodiscard]] static PgError silent(std::string message);
  /// The connection broke, or nothing came any more. `was_sent`: all of it had left, so the server
  /// may have done it.
  [[nodiscard]] static PgError lost(std::string message, bool was_sent);
  /// Another statement of the same transaction failed.
  [[nodiscard]] static PgError undone();
  /// It can be reached, and will never do.
  [[nodiscard]] static PgError unsupported(std::string message);

  [[nodiscard]] const char* what() const noexcept override { return words_.message.c_str(); }
  [[nodiscard]] const std::string& sqlstate() const { return words_.sqlstate; }
  [[nodiscard]] const std::string& subject() const { return words_.subject; }

  /// One of our functions answered no (PDxxx): final, and nothing was written.
  [[nodiscard]] bool is_answer() const;
  /// It would have gone well, but for another statement of its transaction.
  [[nodiscard]] bool is_undone() const { return words_.sqlstate == "25P02"; }
  /// It tells nothing about why: an earlier attempt may.
  [[nodiscard]] bool is_silent() const { return kind_ == Kind::silent; }
  /// There is no server here that can be written to: not reached, starting, a standby.
  [[nodiscard]] bool is_away() const;
  /// The connection ended. What was under way may have happened.
  [[nodiscard]] bool is_lost() const;
  /// The same statement may succeed on this or another connection, soon.
  [[nodiscard]] bool may_be_repeated() const;
  /// The statement may have been committed although this was thrown.
  [[nodiscard]] bool may_have_happened() const { return may_have_happened_; }

  /// As the caller of a store sees it. Whether to say `commit_unknown` instead is for who knows
  /// all attempts.
  [[nodiscard]] Error to_error() const;

 private:
  enum class Kind { refused, away, silent, lost };
  PgError(Kind kind, Words words, bool may_have_happened);
  [[nodiscard]] bool has_class(std::string_view prefix) const {
    return words_.sqlstate.starts_with(prefix);
  }

  Kind kind_;
  bool may_have_happened_;
  Words words_;
};

/// One operation and its repetitions: when to try again, and what to say in the end.
///
/// Every write of this backend may be repeated: it carries an id by which the server knows what it
/// did already. So a lost reply does not concern the caller while there is time. Only when that is
/// over does it matter whether any attempt may have happened.
class Attempts {
 public:
  explicit Attempts(Duration patience) : deadline_(patience) {}

  [[nodiscard]] const Deadline& deadline() const { return deadline_; }

  /// An attempt failed. Nothing: it is time for another one, after a short pause that was taken
  /// here. Otherwise the error for the caller: `commit_unknown` if any attempt may have
  /// happened and none was answered.
  [[nodiscard]] std::optional<Error> after(const PgError& error);

  /// An attempt that was made for several operations at once failed.
  void note(const PgError& error) { may_have_happened_ |= error.may_have_happened(); }
  /// Any of them, although it failed.
  [[nodiscard]] bool may_have_happened() const { return may_have_happened_; }
  /// What says most about why it failed: a last try may just have run out of time.
  [[nodiscard]] const PgError& reason(const PgError& last) const {
    return last.sqlstate().empty() && said_ ? *said_ : last;
  }
  /// No more of it, whatever time is left.
  [[nodiscard]] Error give_up(const PgError& error) const;

 private:
  void pause();

  Deadline deadline_;
  std::optional<PgError> said_;  ///< Last, by a server; or else about it.
  int failed_ = 0;
  bool may_have_happened_ = false;
};

}  // namespace perdure::postgres
