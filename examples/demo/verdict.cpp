// Every entry is compared with the turn it belongs to, and every receipt with what the
// writer was told at the time.

#include "verdict.hpp"

#include <filesystem>
#include <set>

#include "perdure/store/open.hpp"
#include "turn.hpp"

namespace demo {

using namespace perdure;  // NOLINT(google-build-using-namespace): an example.

namespace {

Result<void> judge_turn(Store& store, Version turn, const std::vector<Entry>& entries,
                        Verdict& verdict) {
  const Batch expected = turn_batch(turn);
  for (std::size_t i = 0; i < expected.entries.size(); ++i) {
    const std::size_t index = expected.expected_head + i;
    if (index >= entries.size()) return {};
    const Entry& found = entries[index];
    verdict.bytes += found.body.bytes().size();
    if (found.position != index + 1) ++verdict.reordered;
    if (found.body == expected.entries[i].body && found.condition == Condition::intact) continue;
    ++(found.kind == expected.entries[i].kind ? verdict.reordered : verdict.changed);
  }
  auto checkpoint = store.log().read_checkpoint(session_id(), turn);
  if (!checkpoint) return forward(checkpoint);
  if (checkpoint->position != expected.expected_head + expected.entries.size()) ++verdict.changed;
  return {};
}

Result<void> judge_receipts(Store& store, const Record& record, Verdict& verdict) {
  for (const auto& [turn, chain] : record.acknowledged) {
    auto receipt = store.log().find_receipt(session_id(), turn_batch(turn).id);
    if (!receipt) return forward(receipt);
    if (!*receipt) {
      ++verdict.missing;
    } else if (to_hex((*receipt)->chain) != chain) {
      ++verdict.changed;
    }
  }
  return {};
}

}  // namespace

Result<Verdict> judge(const std::string& store_path, const Record& record) {
  auto store = open_store(store_path, {.create = false});
  if (!store) return forward(store);
  auto session = (*store)->sessions().read(session_id());
  if (!session) return forward(session);
  auto entries = (*store)->log().read(session_id(), {});
  if (!entries) return forward(entries);

  Verdict verdict{.turns = session->version, .entries = entries->size()};
  const std::uint64_t expected = verdict.turns * turn_batch(1).entries.size();
  verdict.doubled = entries->size() > expected ? entries->size() - expected : 0;
  verdict.missing = entries->size() < expected ? expected - entries->size() : 0;
  for (Version turn = 1; turn <= verdict.turns; ++turn) {
    if (auto judged = judge_turn(**store, turn, *entries, verdict); !judged) return forward(judged);
  }
  if (auto judged = judge_receipts(**store, record, verdict); !judged) return forward(judged);
  store->reset();
  verdict.file_bytes = std::filesystem::file_size(store_path);
  return verdict;
}

}  // namespace demo
