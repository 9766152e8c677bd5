// Each in turn takes along all that go with it. Where the server's clock gives the time, as it does but
// in tests, those are all the plain ones.

#include "postgres/shipment.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/store/commit.hpp"
#include "postgres/commission.hpp"
#include "postgres/connection.hpp"
#include "postgres/error.hpp"
#include "postgres/rows.hpp"

namespace perdure::postgres {
namespace {

using Places = std::vector<std::size_t>;

/// "0 7 12"
Places read_places(std::string_view text) {
  Places places;
  const char* at = text.data();
  const char* const end = at + text.size();
  std::size_t place = 0;
  for (;;) {
    const auto [next, error] = std::from_chars(at, end, place);
    if (error != std::errc()) return places;
    places.push_back(place);
    if (next == end) return places;
    at = next + 1;
  }
}

}  // namespace

Shipment::Shipment(std::span<CommitRequest* const> group, bool is_repeated)
    : group_(group),
      is_later_(
          std::ranges::all_of(group, [](const auto* one) { return one->sync == Sync::later; })) {
  Places rest(group.size());
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  while (!rest.empty()) {
    const Commission& first = group[rest.front()]->what;
    const auto stay = std::stable_partition(
        rest.begin(), rest.end(), [&](std::size_t i) { return first.goes_with(group[i]->what); });
    const auto end = stay == rest.begin() ? rest.begin() + 1 : stay;
    add(Places(rest.begin(), end), is_repeated);
    rest.erase(rest.begin(), end);
  }
}

void Shipment::add(Places members, bool is_repeated) {
  const Commission& first = group_[members.front()]->what;
  std::vector<const Commission*> all;
  all.reserve(members.size());
  for (const std::size_t place : members) all.push_back(&group_[place]->what);
  Part part{.sent = all.size() == 1 ? first.alone(is_repeated) : first.together(all),
            .members = std::move(members)};
  part.sent.params.add(is_later_);
  parts_.push_back(std::move(part));
}

std::vector<Statement> Shipment::statements() const {
  std::vector<Statement> statements;
  statements.reserve(parts_.size());
  for (const Part& part : parts_) statements.push_back({part.sent.sql, &part.sent.params});
  return statements;
}

Places Shipment::refused(std::size_t statement, const PgError& error) const {
  const Places& members = parts_[statement].members;
  if (error.sqlstate() != "PD010") return members;
  Places refused;
  for (const std::size_t place : read_places(error.subject())) {
    if (place < members.size()) refused.push_back(members[place]);
  }
  return refused.empty() ? members : refused;
}

void Shipment::deliver(std::vector<Answer> answers) const {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Places& members = parts_[i].members;
    Rows rows = std::get<Rows>(std::move(answers[i]));
    rows.next();
    const std::string_view all = rows.text(0);
    const std::size_t each = all.size() / members.size();
    for (std::size_t n = 0; n < members.size(); ++n) {
      group_[members[n]]->result = std::string(all.substr(n * each, each));
    }
  }
}

}  // namespace perdure::postgres
