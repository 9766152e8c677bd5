// A small store with something of everything in it: what the damage tests damage.

#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "perdure/store/store.hpp"

namespace perdure {

/// What a reader may ask for by name, because no list has it.
struct Named {
  std::vector<SessionId> sessions{};
  std::vector<std::pair<SessionId, BatchId>> receipts{};
  std::vector<BlobRef> blobs{};
  std::vector<Digest> keys{};
};

/// Everything a reader can ask for, and the answers, as text. What ends in " free" are words
/// that nothing else in the file bears out: titles, labels, who and why, waiting messages.
using Answers = std::map<std::string, std::string>;

[[nodiscard]] Answers ask_everything(Store& store, const Named& named);

/// Fills a new store of any backend, and closes it.
[[nodiscard]] Named fill_sample(const std::string& location);

struct Sample {
  Named named{};
  Answers answers{};               ///< Of the whole, undamaged.
  std::vector<Answers> moments{};  ///< As it was after each of the last commits.
};

/// The same in a new file. With `in_wal` its last commits lie in a
/// write-ahead log beside it, as a process that was killed leaves it.
[[nodiscard]] Sample make_sample(const std::string& path, bool in_wal);

}  // namespace perdure
