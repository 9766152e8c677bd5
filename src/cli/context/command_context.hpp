// What a command works with: what was asked for, the two screens, the store, and a person to ask.
// A verb gets by with this header for all of them.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// IWYU pragma: begin_exports
#include "command/command.hpp"
#include "context/process_io.hpp"
#include "context/settings.hpp"
#include "context/signal_watch.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "screen/screen.hpp"
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
  Screen& screen() { return screen_; }  ///< stdout, for people.
  Output& output() { return output_; }  ///< stdout, as JSON.
  Screen& talk() { return talk_; }      ///< stderr; silent with --quiet.
  /// stderr, also with --quiet: whoever is asked has to see what.
  [[nodiscard]] Screen question() const;
  SignalWatch& signals() { return io_.signals == nullptr ? no_signals_ : *io_.signals; }

  /// The store, which must be there.
  /// Fails: as open_store; `not_found` says how one is made.
  [[nodiscard]] Result<Store*> open();
  /// Makes it, and its folder, if need be.
  [[nodiscard]] Result<Store*> open_or_make();
  [[nodiscard]] const std::string& location() const;
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

  /// Whether to go on with something dangerous: `--yes`, or a person says so. Without a terminal
  /// nobody is asked, and the answer is no.
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
  Output output_;
  std::string asked_;
  SignalWatch no_signals_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Runtime> worker_;  ///< After the store: it goes first.
};

}  // namespace perdure::cli
