// SQLSTATEs by what can be done about them (PostgreSQL's manual, appendix A), then repetitions.

#include "postgres/client/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {
namespace {

struct Mapped {
  std::string_view sqlstate;
  ErrorCode code;
};

// PDxxx are raised by our own functions.
constexpr std::array mapped = {
    Mapped{"PD001", ErrorCode::not_found},
    Mapped{"PD002", ErrorCode::lease_lost},
    Mapped{"PD003", ErrorCode::conflict},
    Mapped{"PD004", ErrorCode::already_exists},
    Mapped{"PD005", ErrorCode::invalid_argument},
    Mapped{"PD006", ErrorCode::lease_held},
    Mapped{"PD007", ErrorCode::unsupported},
    Mapped{"PD008", ErrorCode::corrupted},
    Mapped{"PD009", ErrorCode::unavailable},
    Mapped{"0A000", ErrorCode::unsupported},       // A feature this server lacks.
    Mapped{"42883", ErrorCode::unsupported},       // A function that is not there any more.
    Mapped{"22021", ErrorCode::invalid_argument},  // NUL or broken UTF-8 in a text.
    Mapped{"54000", ErrorCode::invalid_argument},  // Larger than the server takes.
    Mapped{"XX001", ErrorCode::corrupted},
    Mapped{"XX002", ErrorCode::corrupted},
};

// Refused by the way of things among others, or for now. 23505: the same thing was written at the same
// time, which a second look finds. 26000 and 42P05: a pooler between us and the server exchanged the
// connection under our prepared statements; the next one is fresh.
constexpr std::array<std::string_view, 8> passing = {"40001", "40P01", "23505", "55P03",
                                                     "57014", "53300", "26000", "42P05"};

// 57P02 is a crash of another backend. 57P03, on a connection that is there, comes from a pooler.
constexpr std::array<std::string_view, 4> ending = {"57P01", "57P02", "57P04", "57P05"};

constexpr Duration pause_min{4};
constexpr Duration pause_max{250};
constexpr int doublings_max = 6;

/// Something in [0, bound) that differs from thread to thread and from time to time.
std::size_t scatter(std::size_t bound) {
  const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  const auto time = static_cast<std::size_t>(system_clock().uptime().count());
  return (thread ^ time) * 0x9E3779B97F4A7C15U % bound;
}

bool is_among(const auto& list, std::string_view sqlstate) {
  return std::ranges::find(list, sqlstate) != list.end();
}

}  // namespace

PgError::PgError(Kind kind, Words words, bool may_have_happened)
    : kind_(kind), may_have_happened_(may_have_happened), words_(std::move(words)) {}

// A backend that is terminated may have committed just before.
PgError::PgError(Words words) : PgError(Kind::refused, std::move(words), false) {
  may_have_happened_ = is_lost();
}

PgError PgError::away(std::string message, std::string sqlstate) {
  return {Kind::away, {std::move(sqlstate), std::move(message), {}}, false};
}

PgError PgError::silent(std::string message) {
  return {Kind::silent, {{}, std::move(message), {}}, false};
}

PgError PgError::lost(std::string message, bool was_sent) {
  return {Kind::lost, {"08006", std::move(message), {}}, was_sent};
}

PgError PgError::undone() {
  return PgError(Words{"25P02", "undone, because another statement of its transaction failed", {}});
}

PgError PgError::unsupported(std::string message) {
  return PgError(Words{"PD007", std::move(message), {}});
}

bool PgError::is_answer() const { return has_class("PD"); }

bool PgError::is_away() const {
  return kind_ == Kind::away || kind_ == Kind::silent || words_.sqlstate == "57P03" ||
         words_.sqlstate == "25006";
}

// 08P01 is not a lost connection but a message the server did not understand: ours, every time.
bool PgError::is_lost() const {
  if (kind_ != Kind::refused) return kind_ == Kind::lost;
  return is_among(ending, words_.sqlstate) || (has_class("08") && words_.sqlstate != "08P01");
}

bool PgError::may_be_repeated() const {
  // No right to log in, no such database: waiting does not mend it.
  if (has_class("28") || has_class("3D")) return false;
  return is_lost() || is_away() || is_among(passing, words_.sqlstate);
}

Error PgError::to_error() const {
  std::string message = words_.message;
  if (words_.sqlstate == "42501") {
    message +=
        ". This role lacks a right on the store's schema: the schema's owner must grant "
        "it USAGE there, and what the tables and functions need.";
  } else if (words_.sqlstate == "42883") {
    message +=
        ". The functions of the store are those of another version of Perdure, which has migrated "
        "it since this program opened it: restart the program, with that version or a newer one.";
  }
  if (has_class("28") || words_.sqlstate == "42501") {
    return {ErrorCode::unavailable, std::move(message), "authority"};
  }
  if (words_.sqlstate == "3D000") {
    return {ErrorCode::not_found,
            message + ". Perdure makes its schema, not the database: CREATE DATABASE does.",
            "database"};
  }
  const auto* found = std::ranges::find(mapped, words_.sqlstate, &Mapped::sqlstate);
  if (found != mapped.end()) return {found->code, std::move(message), words_.subject};
  return {ErrorCode::unavailable, std::move(message), {}};
}

// The first repetition comes at once: most often a connection died that had not been used for a
// while. Later ones come slower, each caller at its own pace, so that a server that comes back is not
// met by all of them in the same moment.
std::optional<Error> Attempts::after(const PgError& error) {
  note(error);
  const bool is_better = !said_ || said_->sqlstate().empty();
  if (!error.sqlstate().empty() || (!error.is_silent() && is_better)) said_ = error;
  if (error.is_answer() || !error.may_be_repeated() || deadline_.is_over()) return give_up(error);
  if (failed_++ > 0) pause();
  return std::nullopt;
}

Error Attempts::give_up(const PgError& error) const {
  if (error.is_answer() || !may_have_happened_) return reason(error).to_error();
  return {ErrorCode::commit_unknown,
          fmt::format("it may or may not have happened ({}). Repeat the same batch to find out.",
                      reason(error).what()),
          {}};
}

void Attempts::pause() {
  const Duration longest = std::min(pause_max, pause_min * (1 << std::min(failed_, doublings_max)));
  const auto half = static_cast<std::size_t>(longest.count() / 2);
  const Duration time(half + scatter(half + 1));
  poll(nullptr, 0, static_cast<int>(std::min(time, deadline_.left()).count()));
}

}  // namespace perdure::postgres
