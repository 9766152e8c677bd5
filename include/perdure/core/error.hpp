// What a call returns when it could not do what it was asked.
//
// An operating error (the world, the caller's data) is a value: Result<T>. An expected answer
// ("there is none") is a value too, but never an Error: that is std::optional. A programmer's error
// stops the process. Nothing in Perdure throws across an interface, except Result::value_or_throw.
//
// The set of codes is closed. A code says what the caller can do about it; the message says the
// rest to a person. docs/errors/ has one page per code.

#pragma once

#include <concepts>
#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace perdure {

enum class ErrorCode {
  invalid_argument,  ///< Can never succeed as written: change the call.
  not_found,         ///< There is nothing by that name.
  already_exists,    ///< The name is taken.
  conflict,          ///< The caller's view was stale: read again, then decide.
  lease_held,        ///< Another worker owns it: wait, or go elsewhere.
  lease_lost,        ///< This worker no longer owns it: stop, write nothing.
  commit_unknown,    ///< The commit may have happened: repeat the same batch first.
  unavailable,       ///< The outside world failed: the same call may succeed later.
  closed,            ///< This store object takes no more writes: reopen it.
  unsupported,       ///< Made by a newer version, or this build lacks it: upgrade.
  corrupted,         ///< Stored bytes break an invariant: never retry, tell a human.
};

struct Error {
  ErrorCode code;
  std::string message;  ///< For a person, never parsed: what happened, why, what to do.
  std::string subject;  ///< The id of what is in the way (a worker, a call, a batch), or empty.

  bool operator==(const Error&) const = default;
};

/// An Error as an exception: what value_or_throw throws. what() is the error's message.
class Failure : public std::runtime_error {
 public:
  explicit Failure(Error error);

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }

 private:
  ErrorCode code_;
  std::string subject_;
};

/// A value, or the Error that came instead of it: a std::expected that may not be dropped.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;

  Result(const Result&) = default;
  Result(Result&&) noexcept = default;
  /// Without it a Result<bool> that is copied would convert to bool instead.
  Result(Result& other) : Result(std::as_const(other)) {}
  Result& operator=(const Result&) = default;
  Result& operator=(Result&&) noexcept = default;
  ~Result() = default;

  /// The value. Of a temporary Result it is moved out, so nothing dangles.
  /// Throws: Failure, if this holds an error.
  std::add_lvalue_reference_t<T> value_or_throw() & {
    if (!this->has_value()) throw Failure(this->error());
    return **this;
  }
  std::add_lvalue_reference_t<std::add_const_t<T>> value_or_throw() const& {
    if (!this->has_value()) throw Failure(this->error());
    return **this;
  }
  T value_or_throw() && {
    if (!this->has_value()) throw Failure(std::move(this->error()));
    return *std::move(*this);
  }

  friend bool operator==(const Result& left, const Result& right) {
    return left.base() == right.base();
  }
  template <class Value>
    requires(!std::derived_from<Value, Result>)
  friend bool operator==(const Result& left, const Value& right) {
    return left.base() == right;
  }

 private:
  [[nodiscard]] const std::expected<T, Error>& base() const { return *this; }
};

/// `return fail(ErrorCode::not_found, "no session ses_1");`
[[nodiscard]] std::unexpected<Error> fail(ErrorCode code, std::string message,
                                          std::string subject = {});

/// Moves the error out of `failed`, which must hold one, for a caller whose Result has another
/// value type: `if (!lease) return forward(lease);`.
template <class T>
[[nodiscard]] std::unexpected<Error> forward(Result<T>& failed) {
  return std::unexpected<Error>(std::move(failed.error()));
}

/// The code's name as it is written everywhere: "lease_held".
[[nodiscard]] std::string_view to_string(ErrorCode code);

}  // namespace perdure
