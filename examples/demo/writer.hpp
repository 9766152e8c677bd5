// The process that is killed: it appends turns to the session until it dies.
//
// Its output, one line a write, is the only thing the killer learns from it:
//
//   found N          the session held N turns when this process had recovered it
//   begin N          about to commit turn N
//   done N CHAIN     the store has acknowledged turn N, with that chain hash
//   trouble TEXT     something that must not happen

#pragma once

#include <string>

namespace demo {

/// Returns only if something went wrong, as an exit code.
int write_turns(const std::string& store_path);

}  // namespace demo
