// The main path of the store, and what it is answered.

#include "postgres/operations/commit.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/batch_form.hpp"
#include "postgres/client/session_row.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/checks.hpp"

namespace perdure::postgres {
namespace {

/// Reads what perdure.answer() wrote, from its beginning on.
class AnswerReader {
 public:
  explicit AnswerReader(std::string_view bytes) : bytes_(bytes) {}

  bool flag() { return take(1).front() != '\0'; }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (const char byte : take(sizeof number)) {
      number = number << 8 | static_cast<std::uint8_t>(byte);
    }
    return number;
  }
  Digest digest() {
    Digest digest{};
    std::ranges::copy(take(digest.size()), digest.begin());
    return digest;
  }

 private:
  std::string_view take(std::size_t count) {
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }

  std::string_view bytes_;
};

Committed read_committed(std::string_view bytes, const BatchId& batch) {
  AnswerReader answer(bytes);
  Committed committed;
  committed.repeated = answer.flag();
  Receipt& receipt = committed.receipt;
  receipt.batch = batch;
  receipt.first = answer.number();
  receipt.count = answer.number();
  receipt.head = answer.number();
  const std::uint64_t version = answer.number();
  if (version != 0) receipt.version = version;
  receipt.at = Timestamp(Duration(static_cast<std::int64_t>(answer.number())));
  receipt.chain = answer.digest();
  return committed;
}

Result<Committed> send(const Access& access, const Batch& batch, const BatchForm& form) {
  const Sync sync = access.is_synced(rules::sync_of(batch)) ? Sync::now : Sync::later;
  auto answer = access.client.commit(form, sync);
  if (!answer) return forward(answer);
  access.watcher.note_write();
  return read_committed(*answer, batch.id);
}

}  // namespace

Result<Committed> commit_batch(const Access& access, const Lease& lease, const Batch& batch) {
  return send(access, batch, BatchForm(lease, batch, access.now(), access.ids));
}

// Known again by its batch's id, like the batch itself.
Result<Committed> create_with_batch(const Access& access, const NewSession& session,
                                    const Lease& lease, const Batch& first) {
  const BatchForm form(lease, first, access.now(), access.ids,
                       FirstOwner{.row = SessionRow(session, first.id.text()).to_json().text(),
                                  .uptime = access.uptime()});
  return send(access, first, form);
}

}  // namespace perdure::postgres
