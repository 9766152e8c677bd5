// What makes a draft worth a commit.

#include <cstddef>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

// A draft that looks empty is not committed, and whoever made it hears that all is well.
TEST(Draft, IsNotEmptyWithAnyOneOfItsParts) {
  EXPECT_TRUE(Draft(1).is_empty());
  const std::vector<std::function<void(Draft&)>> parts = {
      [](Draft& draft) { draft.add({}); },
      [](Draft& draft) { draft.batch.calls.emplace_back(Settle{}); },
      [](Draft& draft) { draft.batch.consumed.emplace_back(); },
      [](Draft& draft) { draft.batch.children.emplace_back(); },
      [](Draft& draft) { draft.stand({.status = Status::paused}); },
      [](Draft& draft) { draft.batch.checkpoint.emplace(); },
      [](Draft& draft) { draft.batch.annotation.emplace(); },
      [](Draft& draft) { draft.batch.branch_from = Point::position(1); },
      [](Draft& draft) { draft.next_request.emplace(); },
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Draft draft(1);
    parts[i](draft);
    EXPECT_FALSE(draft.is_empty()) << "part " << i;
  }
}

}  // namespace
}  // namespace perdure
