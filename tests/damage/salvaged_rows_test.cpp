// One byte of one row is damaged: what a reader could still read of it, and of all others, a
// salvage keeps. Each of these was once found by the sweep, with a seed nobody had tried.

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damage/sample.hpp"
#include "damage/verdict.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/salvage/row_finder.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

constexpr std::size_t usable_bytes = sqlite::summed_page_bytes - sqlite::sum_bytes;
constexpr std::size_t segment_column = 14;
// As a total it is found among the bytes of a record.
constexpr std::int64_t tokens = 0x12345678;
constexpr std::string_view tokens_stored = "\x12\x34\x56\x78";

class SalvagedRow : public testing::Test {
 protected:
  SalvagedRow() {
    const auto store = must(open_store(path));
    must(store->sessions().create({.id = id, .annotation = {.title = "The title"}}));
    must(store->ownership().enroll({.id = worker}));
    const Lease lease = must(store->ownership().acquire(id, worker));
    Batch batch{.id = mint<BatchTag>(random_ids())};
    batch.entries.push_back({.channel = "said",
                             .kind = "k",
                             .body = Body::from_text("\"the first\""),
                             .tally = {.turns = 1, .tokens_in = tokens}});
    batch.calls = {Intend{.call = 1, .args = 1, .tool = "the tool", .key = key},
                   Dispatch{.call = 1},
                   Settle{.call = 1, .state = CallState::succeeded, .result = 1}};
    batch.checkpoint = NewCheckpoint{.reason = "turn", .label = "the label", .metadata = "{}"};
    must(store->commit(lease, batch));
    for (int i = 0; i < 20; ++i) say(*store, lease, std::string(900, static_cast<char>('a' + i)));
    say(*store, lease, std::string(40'000, 'z'));
    blob = must(store->blobs().put("the bytes of a blob"));
    must(store->inbox().post({.session = id,
                              .id = must(MessageId::parse("message-one")),
                              .kind = "note",
                              .body = Body::from_text("\"the message\"")}));
    before = must(store->log().read(id, {}));
  }

  void SetUp() override { file = read_files(path).file; }

  /// A plan, and a call that was only intended.
  void leave_open() {
    const auto store = must(open_store(path));
    const auto other = mint<WorkerTag>(random_ids());
    must(store->ownership().enroll({.id = other}));
    const Lease lease = must(store->ownership().acquire(id, other));
    const Position head = must(store->sessions().read(id)).head;
    Batch batch{.id = mint<BatchTag>(random_ids()), .expected_head = head};
    batch.entries.push_back({.channel = "plan",
                             .kind = "plan",
                             .fold = Fold::replace,
                             .body = Body::from_text("\"the plan\"")});
    batch.calls = {Intend{.call = head + 1, .args = head + 1, .tool = "the open tool"}};
    must(store->commit(lease, batch));
  }

  void say(Store& store, const Lease& lease, const std::string& text) {
    Batch batch{.id = mint<BatchTag>(random_ids()),
                .expected_head = must(store.sessions().read(id)).head};
    batch.entries.push_back({.channel = "said", .kind = "k", .body = Body::from_bytes(text)});
    must(store.commit(lease, batch));
    middle_batch = std::exchange(last_batch, batch.id);
  }

  /// Where the record begins that holds these texts: first its header, a byte for each column.
  [[nodiscard]] std::size_t record_with(std::string_view text, std::string_view also = {}) const {
    for (std::size_t page = 0; page < file.size() / sqlite::summed_page_bytes; ++page) {
      const auto bytes = std::string_view(file).substr(page * sqlite::summed_page_bytes,
                                                       sqlite::summed_page_bytes);
      const auto cells = sqlite::parse_page(bytes, usable_bytes, page == 0);
      for (const auto& cell : cells ? cells->cells : std::vector<sqlite::Cell>{}) {
        if (cell.local.find(text) == std::string_view::npos) continue;
        if (cell.local.find(also) == std::string_view::npos) continue;
        return static_cast<std::size_t>(cell.local.data() - file.data());
      }
    }
    throw std::runtime_error(fmt::format("no record holds {}", text));
  }

  /// The byte that says of what kind a column is.
  char& kind_of(std::size_t record, std::size_t column) { return file[record + 1 + column]; }

  std::unique_ptr<Store> salvage() {
    write_files(path, {.file = file, .log = {}, .lock = {}});
    report = must(salvage_store(path, saved));
    return must(open_store(saved));
  }

  static std::vector<std::string> damage_of_file(Store& store) {
    std::vector<std::string> found;
    for (const Damage& damage : must(store.upkeep().check()).damage) {
      if (damage.fault == Fault::file) found.push_back(damage.what);
    }
    return found;
  }

  TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("damaged.db");
  const std::string saved = folder.file("saved.db");
  const SessionId id = must(SessionId::parse("the-session"));
  const WorkerId worker = mint<WorkerTag>(random_ids());
  const Digest key = sha256("key");
  SalvageReport report;
  BatchId middle_batch;
  BatchId last_batch;
  BlobRef blob;
  std::vector<Entry> before;
  std::string file;
};

TEST_F(SalvagedRow, IsKeptIfABitMadeItsTextABlob) {
  char& title = kind_of(record_with("The title"), 7);
  ASSERT_EQ(title, 13 + 2 * 9);
  title ^= 1;

  EXPECT_EQ(must(salvage()->sessions().read(id)).title, "The title");
}

TEST_F(SalvagedRow, IsKeptIfOneColumnHasAKindThatDoesNotFit) {
  char& fold = kind_of(record_with("the first"), 3);
  ASSERT_EQ(fold, 8) << "the number 0";
  fold = 0;

  const auto entries = must(salvage()->log().read(id, {}));

  EXPECT_EQ(entries, before);
}

TEST_F(SalvagedRow, IsKeptIfOneColumnHasAKindThatIsNone) {
  kind_of(record_with("the first"), 3) = 10;

  EXPECT_EQ(must(salvage()->log().read(id, {})), before);
}

TEST_F(SalvagedRow, IsOfTheSessionOfItsNeighbours) {
  char& session = kind_of(record_with(middle_batch.text()), 0);
  ASSERT_EQ(session, 9) << "the number 1";
  session = 11;

  (void)salvage();

  EXPECT_EQ(report.whole, 1U);
}

TEST_F(SalvagedRow, OfASessionKeepsItsWordsIfANumberHasAKindThatDoesNotFit) {
  char& attention = kind_of(record_with("The title"), 26);
  ASSERT_EQ(attention, 8) << "the number 0";
  attention = 0;

  const auto session = must(salvage()->sessions().read(id));

  EXPECT_EQ(session.title, "The title");
  EXPECT_EQ(session.tally.tokens_in, tokens);
}

TEST_F(SalvagedRow, IsKeptAsFarAsItCanBeRead) {
  // Takes the kind of the next column for a part of its own, and a length beyond the record's.
  kind_of(record_with("the label", "turn"), 4) = '\xFE';

  const auto store = salvage();

  const auto seen = store->log().read(id, {.as_of = Point::version(1)});
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ(seen->front().body.bytes(), "\"the first\"");
}

TEST_F(SalvagedRow, IsNotMadeOfTwoColumnsThatDoNotFit) {
  const std::size_t record = record_with("the label", "turn");
  kind_of(record, 5) = 9;
  kind_of(record, 2) = 0;

  EXPECT_TRUE(must(salvage()->log().checkpoints(id, {})).empty());
}

TEST_F(SalvagedRow, OfASessionKeepsItsTotalsIfANumberOfAnEntryIsWrong) {
  const std::size_t record = record_with("the first");
  file[file.find(tokens_stored, record)] ^= 4;

  EXPECT_EQ(must(salvage()->sessions().read(id)).tally.tokens_in, tokens);
}

TEST_F(SalvagedRow, OfASessionStaysWhereItIsWhateverAReceiptSays) {
  const std::size_t record = record_with(last_batch.text());
  const std::size_t header = static_cast<unsigned char>(file[record]);
  // Behind the number of the session, which takes no byte, the batch's id, and a number.
  char& first = file[record + header + last_batch.text().size() + 1];
  ASSERT_EQ(first, static_cast<char>(before.size()));
  first = 0x60;

  const auto store = salvage();

  const auto session = must(store->sessions().read(id));
  EXPECT_EQ(session.head, before.size());
  EXPECT_EQ(session.next, before.size() + 1);
  EXPECT_EQ(report.entries_lost, 0U);
  EXPECT_EQ(must(store->log().read(id, {})), before);
}

TEST_F(SalvagedRow, OfASessionHasTheTotalsOfItsLogIfItsOwnPageIsWrong) {
  const std::size_t record = record_with("The title");
  file[file.find(tokens_stored, record)] ^= 4;

  EXPECT_EQ(must(salvage()->sessions().read(id)).tally.tokens_in, tokens);
}

TEST_F(SalvagedRow, OfASessionHasTheIdThatItsIndexHasIfItsOwnPageIsWrong) {
  const std::size_t record = record_with("The title");
  file[file.find("the-session", record)] ^= 1;

  EXPECT_EQ(must(salvage()->sessions().read(id)).title, "The title");
}

TEST_F(SalvagedRow, OfASessionHasItsOwnIdIfThePageOfItsIndexIsWrong) {
  const std::size_t own = file.find("the-session", record_with("The title"));
  for (std::size_t at = 0; (at = file.find("the-session", at)) != std::string::npos; ++at) {
    if (at != own) file[at] ^= 1;
  }

  EXPECT_EQ(must(salvage()->sessions().read(id)).title, "The title");
}

TEST_F(SalvagedRow, OfASessionHasTheNumberThatItsIndexHas) {
  // Right before the record.
  char& number = file[record_with("The title") - 1];
  ASSERT_EQ(number, 1);
  number = 0x21;

  const auto store = salvage();

  EXPECT_EQ(must(store->sessions().read(id)).title, "The title");
  EXPECT_EQ(must(store->log().read(id, {})), before);
  EXPECT_EQ(report.found, 0U);
  EXPECT_EQ(report.whole, 1U);
}

TEST_F(SalvagedRow, OfASessionMakesUpNoSegment) {
  constexpr char zero = 8;
  constexpr char one = 9;
  char& segment = kind_of(record_with("The title"), segment_column);
  ASSERT_EQ(segment, one);
  segment = zero;

  const auto store = salvage();

  EXPECT_EQ(must(store->log().read(id, {})), before);
  EXPECT_EQ(report.found, 0U);
}

TEST_F(SalvagedRow, OfAReceiptThatIsNotWhatItWasIsNamed) {
  const std::size_t record = record_with(middle_batch.text());
  file[file.find(middle_batch.text(), record) + middle_batch.text().size() - 1] ^= 1;

  const auto found = must(salvage()->upkeep().check());

  EXPECT_EQ(report.damage, found.damage);
  ASSERT_EQ(report.damage.size(), 1U);
  EXPECT_EQ(report.damage.front().fault, Fault::chain);
  EXPECT_EQ(report.damage.front().session, id);
  EXPECT_EQ(report.whole, 0U);
}

TEST_F(SalvagedRow, OfACallHoldsTheKeyThatItsIndexHas) {
  std::string stored(key.size(), '\0');
  std::memcpy(stored.data(), key.data(), stored.size());
  file[file.find(stored, record_with("the tool"))] ^= 4;

  const auto holder = must(salvage()->ledger().find_holder(key));

  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->tool, "the tool");
}

TEST_F(SalvagedRow, OfACallHasTheStateThatItsIndexHas) {
  leave_open();
  SetUp();
  const std::size_t record = record_with("the open tool", "intended");
  file[file.find("intended", record)] ^= 1;

  const auto calls =
      must(salvage()->ledger().list({.session = id, .states = {CallState::intended}}));

  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(SalvagedRow, OfAnEntryIsOnTheChannelThatItsIndexHas) {
  leave_open();
  SetUp();
  const std::size_t record = record_with("plan", "the plan");
  file[file.find("plan", record)] ^= 1;

  const auto plans = must(salvage()->log().read(id, {.channel = "plan"}));

  EXPECT_EQ(plans.size(), 1U);
}

TEST_F(SalvagedRow, OfACheckpointHasTheLabelThatItsIndexHas) {
  const std::size_t record = record_with("the label", "turn");
  file[file.find("the label", record)] ^= 1;

  const auto named = must(salvage()->log().checkpoints(id, {}));

  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named.front().label, "the label");
}

TEST_F(SalvagedRow, OfABlobHasTheNameThatItsBytesHave) {
  const std::size_t record = record_with("the bytes of a blob");
  std::string name(blob.digest.size(), '\0');
  std::memcpy(name.data(), blob.digest.data(), name.size());
  file[file.find(name, record)] ^= 4;

  EXPECT_EQ(must(salvage()->blobs().get(blob)), "the bytes of a blob");
}

TEST_F(SalvagedRow, OfAMessageHasTheIdThatItsIndexHas) {
  const std::size_t record = record_with("the message");
  file[file.find("message-one", record) + 3] ^= '\xFF';

  const auto store = salvage();

  const auto waiting = must(store->inbox().list(id, 10));
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting.front().id.text(), "message-one");
  EXPECT_EQ(damage_of_file(*store), std::vector<std::string>{});
}

TEST_F(SalvagedRow, OfAMessageGoesToTheSessionThatItsIndexHas) {
  char& session = kind_of(record_with("the message"), 1);
  ASSERT_EQ(session, 9) << "the number 1";
  session = 8;

  EXPECT_EQ(must(salvage()->inbox().list(id, 10)).size(), 1U);
}

TEST_F(SalvagedRow, OfAMessageGetsAnIdIfNothingHasItsOwn) {
  for (std::size_t at = 0; (at = file.find("message-one", at)) != std::string::npos; ++at) {
    file[at + 3] ^= '\xFF';
  }

  const auto store = salvage();

  const auto waiting = must(store->inbox().list(id, 10));
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting.front().body.bytes(), "\"the message\"");
  EXPECT_EQ(damage_of_file(*store), std::vector<std::string>{});
}

// A number that leads from a long body to a page of rows must not cost these rows.
TEST_F(SalvagedRow, IsNotTakenForAPartOfALongBody) {
  const std::size_t first_rows = record_with("the first") / sqlite::summed_page_bytes;
  const std::size_t inside =
      file.find(std::string(8000, 'z')) / sqlite::summed_page_bytes * sqlite::summed_page_bytes;
  ASSERT_EQ(file[inside], '\0');
  file[inside + 3] = static_cast<char>(first_rows + 1);

  const auto entries = must(salvage()->log().read(id, {}));

  ASSERT_EQ(entries.size(), before.size());
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) EXPECT_EQ(entries[i], before[i]) << i;
  EXPECT_EQ(entries.back().condition, Condition::damaged);
}

// Rows wander between pages as others come: then an older page still has what a damaged frame lost.
TEST(SalvagedLog, KeepsRowsThatWanderedToAPageInADamagedFrame) {
  const TempFolder folder = TempFolder::in_memory();
  const Sample sample = make_sample(folder.file("store.db"), true);
  const Files files = read_files(folder.file("store.db"));
  for (std::size_t frame = 0; frame < 24; ++frame) {
    SCOPED_TRACE(frame);
    Files damaged = files;
    damaged.log.at(32 + frame * (24 + sqlite::summed_page_bytes) + 24 + 4000) ^= 1;

    EXPECT_EQ(judge(damaged, sample).wrong, std::vector<std::string>{});
  }
}

// What was removed after the damage is not brought back from the moment before it.
TEST_F(SalvagedRow, OfASessionThatWasRemovedAfterADamagedFrameStaysAway) {
  const std::string copy = folder.file("copy.db");
  const SessionId other = must(SessionId::parse("other"));
  {
    const auto store = must(open_store(path));
    must(store->sessions().create({.id = other}));
    must(store->upkeep().remove(id));
    write_files(copy, read_files(path));
  }
  Files files = read_files(copy);
  ASSERT_GT(files.log.size(), 2 * sqlite::summed_page_bytes);
  files.log[32 + 24 + 4000] ^= 1;
  write_files(copy, files);

  must(salvage_store(copy, saved));

  const auto sessions = must(must(open_store(saved))->sessions().list({})).sessions;
  for (const SessionSummary& session : sessions) EXPECT_NE(session.id, id);
}

}  // namespace
}  // namespace perdure
