// The fixture of the store contract: a fresh store of each backend, a clock and
// ids that the test owns, and short words for what most tests begin with.
//
// A new rule joins by one test in the file of its role; a backend never has a
// contract test of its own.

#pragma once

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "contract/describe.hpp"
#include "contract/everything.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

using namespace std::chrono_literals;

/// What it failed with; empty if it did not fail.
template <class T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

template <class T>
std::string subject_of(const Result<T>& result) {
  return result ? "(did not fail)" : result.error().subject;
}

inline SessionId session_id(std::string text) { return must(SessionId::parse(std::move(text))); }
inline WorkerId worker_id(std::string text) { return must(WorkerId::parse(std::move(text))); }
inline BatchId batch_id(std::string text) { return must(BatchId::parse(std::move(text))); }
inline MessageId message_id(std::string text) { return must(MessageId::parse(std::move(text))); }

NewEntry message(std::string text, std::string channel = "transcript");
/// A `replace` entry: the channel's value from here on.
NewEntry value(std::string text, std::string channel = "plan");
LogQuery as_of(Point point);

class StoreContract : public testing::TestWithParam<Backend> {
 protected:
  StoreContract();

  Result<std::unique_ptr<Store>> open(OpenOptions options = {});

  SessionId create(const std::string& name = "session");
  SessionId create(const NewSession& session);
  SessionId fork(const std::string& name, const SessionId& of, Point at);
  WorkerId enroll(const std::string& name, Duration lease_time = 30s);
  /// The lease of the session for a worker of that name, enrolled if need be.
  Lease own(const SessionId& session, const std::string& worker = "worker");

  /// An empty batch under a fresh id that expects the head as it is.
  Batch batch(const SessionId& session);
  Batch batch_of(const SessionId& session, std::vector<NewEntry> entries);
  Receipt commit(const Lease& lease, const Batch& batch);
  Receipt say(const Lease& lease, const std::string& text);
  Version checkpoint(const Lease& lease, const std::string& label = {});
  /// Goes on from `point`, with one message.
  Receipt branch(const Lease& lease, Point point, const std::string& text);
  Receipt change(const Lease& lease, StatusChange status);

  /// Commits an intent (its entry is its arguments too) and returns the call's position.
  Position intend(const Lease& lease, std::optional<Digest> key = {});
  Receipt apply(const Lease& lease, CallChange call);
  Position in_state(const Lease& lease, CallState state, std::optional<Digest> key = {});

  void post(const SessionId& session, const std::string& id, const std::string& text = "hello");

  SessionSummary row(const SessionId& session) { return must(store->sessions().read(session)); }
  Call call(const SessionId& session, Position at) {
    return must(store->ledger().read(session, at));
  }
  /// The bodies of the entries that the query finds.
  std::vector<std::string> texts(const SessionId& session, const LogQuery& query = {});
  std::vector<Position> positions(const SessionId& session, const LogQuery& query = {});

  TempFolder folder;
  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  CountingIds fresh{1};  ///< For the ids that a caller mints.
  std::set<std::string> enrolled;
  std::unique_ptr<Store> store;
};

/// The part of the contract that needs a store which outlives its object.
class SurvivingStore : public StoreContract {};
/// The part that is about files.
class FileStore : public StoreContract {};

/// "memory", "sqlite"…: how a test's name ends.
inline std::string name_of(const testing::TestParamInfo<Backend>& info) { return info.param.name; }

}  // namespace perdure
