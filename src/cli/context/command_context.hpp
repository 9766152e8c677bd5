// What a command works with: what was asked for, the two screens, the store, a person to ask; and the
// options and values that more than one verb has: numbers, money, texts, paths, a file for what goes
// through a pipe. Includers of this header may rely on all that it exports.

#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "context/settings.hpp"
#include "context/signal_watch.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/display.hpp"
#include "screen/screen.hpp"
#include "screen/text.hpp"
// IWYU pragma: end_exports

namespace perdure::cli {

class CommandContext {
 public:
  /// `fields`: what items of a JSON list are printed with; empty: all.
  CommandContext(ProcessIo& io, Invocation given, std::vector<Setting> settings,
                 std::vector<std::string> fields = {});

  [[nodiscard]] const Invocation& given() const { return given_; }
  [[nodiscard]] ProcessIo& io() { return io_; }
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  /// stdout, for people: silent if JSON was asked for.
  Screen& screen() { return screen_; }
  /// stdout, as JSON: silent if it was not.
  Output& output() { return output_; }
  /// stderr; silent with --quiet.
  Screen& talk() { return talk_; }
  /// The same for what only people need: silent with JSON too.
  Screen& advice() { return output_.is_json() ? no_screen_ : talk_; }
  /// Advises on the command that continues from here.
  void advise_next(const std::string& command);
  /// A bar on stderr, for as long as what is returned lives.
  [[nodiscard]] ProgressBar progress(std::string what) {
    return {talk_, *io_.clock, std::move(what)};
  }
  /// stderr, also with --quiet: a person who is asked has to see what.
  [[nodiscard]] Screen question() const;
  SignalWatch& signals() { return io_.signals == nullptr ? no_signals_ : *io_.signals; }

  /// The store, which must be there.
  /// Fails: as open_store; `not_found` says how one is made.
  [[nodiscard]] Result<Store*> open();
  /// Makes it, and its folder, if need be.
  [[nodiscard]] Result<Store*> open_or_make();
  [[nodiscard]] const std::string& location() const;
  /// Another store, or one of which is known that it may be opened.
  /// Fails: as open_store.
  [[nodiscard]] Result<std::unique_ptr<Store>> open_at(const std::string& location, bool makes);
  /// Where PLACE, the first argument, says that another store is.
  /// Fails: `invalid_argument` for what names none that outlives this command, or names the same one.
  [[nodiscard]] Result<std::string> other_location() const;
  /// Fails: `unavailable` about "authority" for a store that was found and is another user's.
  [[nodiscard]] Result<void> check_trusted() const;

  /// `perdure WORDS`, to be copied: it names the store too, where this invocation did.
  [[nodiscard]] std::string command(std::string_view words) const;

  /// This process as a worker, without tools: for what is decided, not done.
  [[nodiscard]] Result<Runtime*> worker();

  /// Relative on a terminal, RFC 3339 elsewhere.
  [[nodiscard]] std::string when(Timestamp time) const;
  [[nodiscard]] std::string short_id(const std::string& id) const;
  [[nodiscard]] bool is_terminal() const { return screen_.is_terminal(); }
  /// Whether the terminal has another width than the screen; from now on the screen has it too.
  [[nodiscard]] bool follows_resize();

  /// Whether a person sits at the terminal, who reads stderr and types on stdin.
  [[nodiscard]] bool can_ask() const { return io_.is_in_terminal && io_.is_err_terminal; }
  /// Whether to continue with something dangerous: `--yes`, or a person says so. Without a terminal
  /// there is no question, and the answer is no.
  [[nodiscard]] bool confirms(const std::string& question);
  /// What was asked last.
  [[nodiscard]] const std::string& asked() const { return asked_; }

 private:
  [[nodiscard]] Result<Store*> open(bool makes);

  ProcessIo& io_;
  Invocation given_;
  std::vector<Setting> settings_;
  Screen screen_;
  Screen talk_;
  Screen no_screen_;
  Output output_;
  std::string asked_;
  SignalWatch no_signals_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Runtime> worker_;  ///< After the store: it goes first.
};

using StoreVerb = std::function<Result<Exit>(CommandContext&, Store&)>;
/// A verb that works with the store, which must be there: it is opened first.
[[nodiscard]] RunVerb on_store(StoreVerb run);

/// For Command::check, of what it tries.
template <class T>
[[nodiscard]] Result<void> checked(Result<T> tried) {
  return tried ? Result<void>() : forward(tried);
}

/// Of an option that takes a count.
[[nodiscard]] std::int64_t number_option(const Invocation& given, std::string_view name,
                                         std::int64_t otherwise);

/// The text itself, or, after "@", what the file of that name holds.
/// Fails: `not_found` if there is no such file; `invalid_argument` if it does not end before
/// `body_bytes_max` (limits.hpp).
[[nodiscard]] Result<std::string> text_or_file(const std::string& value, const std::string& folder);

/// All of stdin; nothing where there is none.
/// Fails: `invalid_argument` as above.
[[nodiscard]] Result<std::string> text_of_stdin(const ProcessIo& io);

/// What a word means: all of stdin for "-", otherwise as text_or_file.
/// Fails: as both.
[[nodiscard]] Result<std::string> text_of_word(const std::string& value, const ProcessIo& io);

/// How a verb ends that a signal stopped.
[[nodiscard]] Exit exit_by(const SignalWatch& signals);
/// The same of one that did not take a session up, because a signal came while it waited for it, or while
/// a person was asked. Fails: as it did, if that was not why.
[[nodiscard]] Result<Exit> exit_by(const SignalWatch& signals, const Error& error);

/// Where entries cannot be read.
[[nodiscard]] std::vector<Position> damaged_places(const State& state);
/// The end of a verb that has shown what could be read: `done`, or `damaged` if something could not.
/// Fails: `corrupted`, which names the places; not where the output is JSON, which has them.
[[nodiscard]] Result<Exit> end_with_damage(CommandContext& context, const SessionId& session,
                                           const std::vector<Position>& places);

inline const Argument place_argument = {
    .name = "PLACE", .summary = "The other store: a path, or postgres://…", .by = Completes::file};

/// With those of a verb that begins sessions: --model, --provider, --base-url, --budget.
[[nodiscard]] std::vector<Option> with_model_options(std::vector<Option> options);
/// With those of one that takes sessions up: --agent, --accept-agent, --accept-changes, --wait …
[[nodiscard]] std::vector<Option> with_take_up_options(std::vector<Option> options);

/// The option --budget, in millionths of a dollar; empty: it is not given.
[[nodiscard]] std::optional<std::int64_t> budget_option(const Invocation& given);

/// Of a path as it was written in this folder.
[[nodiscard]] std::string whole_path(const std::string& path, const std::string& folder);

/// The same of a file that is to be read or made.
/// Fails: `invalid_argument` for what is none: nothing, a stream, the address of a server.
[[nodiscard]] Result<std::string> file_path(const std::string& file, const std::string& folder);

/// Whether there is no word in it.
[[nodiscard]] bool is_blank(std::string_view text);

/// Whether the word means an agent file, there or not, rather than something else.
[[nodiscard]] bool names_agent_file(const std::string& word, const std::string& folder);

/// Only this user may read it, and it is deleted with this.
class SpooledFile {
 public:
  /// A place in $TMPDIR, or /tmp; nothing is there yet.
  /// Fails: `unavailable`.
  [[nodiscard]] static Result<SpooledFile> make(const ProcessIo& io);
  ~SpooledFile();
  SpooledFile(SpooledFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  SpooledFile& operator=(SpooledFile&&) = delete;
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  [[nodiscard]] std::string path() const { return folder_ + "/passing"; }

  /// All that comes. Fails: `unavailable`.
  [[nodiscard]] Result<void> fill(std::istream& from) const;
  /// All that is there. Fails: `unavailable` if `to` did not take all of it.
  [[nodiscard]] Result<void> pour(std::ostream& to) const;

 private:
  explicit SpooledFile(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace perdure::cli
