// Positions rise with a session's commits, so entries in their order are also in the order of the
// commits that put them there. Of a commit that was pruned in part nothing can be said but that
// the next one goes on from it; `check` does the same.

#include "copy/chain_check.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"
#include "rules/chain.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

void ChainCheck::add(const SessionFact& fact) {
  if (!fact.row) return;
  sessions_[fact.owner] = {
      .id = fact.row->summary.id, .chain = fact.row->chain, .commits = fact.row->commits};
}

void ChainCheck::add(const SegmentFact& fact) {
  segments_[fact.segment] = {.owner = fact.owner, .from = fact.parent_position};
}

Result<void> ChainCheck::add(const Entry& entry) {
  const OwnerNumber owner = segments_[entry.segment].owner;
  const auto session = sessions_.find(owner);
  if (session == sessions_.end()) return {};
  if (entry.condition == Condition::damaged) damaged_.insert(session->second.id);
  if (!is_started_) {
    is_started_ = true;
    if (auto read = read_receipt(); !read) return read;
  }
  while (receipt_ && is_behind(owner, entry.position)) {
    close();
    if (auto read = read_receipt(); !read) return read;
  }
  const bool is_its = receipt_ && receipt_->owner == owner && entry.segment == receipt_->segment &&
                      entry.position >= receipt_->receipt.first;
  if (!is_its) {
    damaged_.insert(session->second.id);  // No commit put it there.
    return {};
  }
  seal_->add(entry);
  ++seen_;
  return {};
}

Result<void> ChainCheck::finish() {
  if (!is_started_) {
    if (auto read = read_receipt(); !read) return read;
  }
  while (receipt_) {
    close();
    if (auto read = read_receipt(); !read) return read;
  }
  end_session();
  // Those without a single commit.
  for (const auto& [owner, session] : sessions_) {
    if (session.commits == 0 && session.chain != rules::chain_start(session.id)) {
      damaged_.insert(session.id);
    }
  }
  return {};
}

bool ChainCheck::is_behind(OwnerNumber owner, Position position) const {
  const Receipt& receipt = receipt_->receipt;
  return std::pair(receipt_->owner, receipt.first + receipt.count) <= std::pair(owner, position);
}

Result<void> ChainCheck::read_receipt() {
  receipt_.reset();
  auto fact = receipts_.next();
  if (!fact) return forward(fact);
  if (*fact == nullptr) return {};
  const auto* receipt = std::get_if<ReceiptFact>(*fact);
  if (receipt == nullptr) return {};
  receipt_ = *receipt;
  begin();
  return {};
}

void ChainCheck::begin() {
  const Receipt& receipt = receipt_->receipt;
  if (receipt_->owner != owner_) {
    end_session();
    owner_ = receipt_->owner;
    segment_ = 0;
    number_ = 0;
    chain_ = rules::chain_start(sessions_[owner_].id);
  }
  if (receipt_->segment != segment_) {
    segment_ = receipt_->segment;
    position_ = segments_[segment_].from;
  }
  seal_.emplace(receipt.batch, receipt.at, receipt.count);
  seen_ = 0;
}

void ChainCheck::close() {
  const Receipt& receipt = receipt_->receipt;
  const bool is_whole = seen_ == receipt.count;
  const bool is_next = receipt_->number == number_ + 1;
  if (!is_next || (is_whole && rules::chain_next(chain_, seal_->finish(), position_,
                                                 receipt.first) != receipt.chain)) {
    damaged_.insert(sessions_[owner_].id);
  }
  chain_ = receipt.chain;
  number_ = receipt_->number;
  position_ = receipt.head;
}

void ChainCheck::end_session() {
  const auto session = sessions_.find(owner_);
  if (session == sessions_.end()) return;
  if (session->second.chain != chain_ || session->second.commits != number_) {
    damaged_.insert(session->second.id);
  }
}

}  // namespace perdure::copy
