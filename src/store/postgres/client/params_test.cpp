// Parameters and rows, there and back through a real server: it is the one that knows its own
// binary forms.

#include "postgres/client/params.hpp"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doubles/postgres_cluster.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {
namespace {

using namespace std::string_view_literals;

class ParamsTest : public testing::Test {
 protected:
  /// What comes back of one parameter.
  [[nodiscard]] Rows echo(std::string_view sql, const Params& params) {
    Rows rows = connection.query(sql, params);
    EXPECT_TRUE(rows.next());
    return rows;
  }
  /// As the server writes it.
  [[nodiscard]] std::string written(std::string_view sql, const Params& params) {
    return echo(sql, params).string(0);
  }

  Counters counters;
  Connection connection{parse_address(cluster().address()).value(),
                        Deadline(std::chrono::minutes(5)), counters};
};

TEST_F(ParamsTest, NumbersComeBackAsTheyWere) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{255}, std::int64_t{-256},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(echo("SELECT $1", Params::of(number)).integer(0), number);
    EXPECT_EQ(written("SELECT $1::text", Params::of(number)), std::to_string(number));
  }
}

TEST_F(ParamsTest, NarrowNumbersAreReadWithTheirSign) {
  const Rows rows = echo("SELECT (-2)::smallint, (-70000)::integer, true, false", {});
  EXPECT_EQ(rows.integer(0), -2);
  EXPECT_EQ(rows.integer(1), -70000);
  EXPECT_TRUE(rows.boolean(2));
  EXPECT_FALSE(rows.boolean(3));
}

TEST_F(ParamsTest, TimesAreMilliseconds) {
  const Timestamp time(Duration(1'763'280'000'123));
  EXPECT_EQ(echo("SELECT $1", Params::of(time)).time(0), time);
  EXPECT_EQ(written("SELECT $1::text", Params::of(time)), "1763280000123");
}

TEST_F(ParamsTest, TextAndBytesComeBackAsTheyWere) {
  const std::string odd("a\0\xFF\"'\\%", 7);
  EXPECT_EQ(echo("SELECT $1", Params::of(BytesView{odd})).text(0), odd);
  EXPECT_EQ(echo("SELECT $1", Params::of("Grüße \"'\\")).text(0), "Grüße \"'\\");
}

TEST_F(ParamsTest, EmptyIsNotNull) {
  const Rows rows = echo("SELECT $1, $2", Params::of(std::string_view(), BytesView{}));
  EXPECT_FALSE(rows.is_null(0));
  EXPECT_FALSE(rows.is_null(1));
  EXPECT_EQ(rows.text(0), "");
}

TEST_F(ParamsTest, NothingIsANullOfItsType) {
  Params params;
  params.add(std::optional<std::int64_t>())
      .add(std::optional<std::string_view>())
      .add(std::optional<BytesView>())
      .add(std::optional<Timestamp>())
      .add_null(Type::boolean);
  const Rows rows = echo(
      "SELECT $1, $2, $3, $4, pg_typeof($1)::text || pg_typeof($2)::text || "
      "pg_typeof($3)::text || pg_typeof($4)::text || pg_typeof($5)::text",
      params);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rows.is_null(i));
  EXPECT_EQ(rows.optional_time(3), std::nullopt);
  EXPECT_EQ(rows.integer(0), 0);
  EXPECT_EQ(rows.text(4), "biginttextbyteabigintboolean");
}

TEST_F(ParamsTest, ADigestIsBytes) {
  const Digest digest = sha256("x");
  const Rows rows = echo("SELECT $1, $2", Params::of(digest, bytes_view(digest)));
  EXPECT_EQ(rows.digest(0), digest);
  EXPECT_EQ(rows.digest(1), digest);
}

TEST_F(ParamsTest, ArraysAreWhatTheyHold) {
  const std::vector<std::optional<std::int64_t>> numbers = {1, std::nullopt, -3};
  EXPECT_EQ(written("SELECT $1::text", Params::of(numbers)), "{1,NULL,-3}");
  const std::vector<std::optional<std::string_view>> texts = {"a,b", std::nullopt, ""};
  EXPECT_EQ(written("SELECT $1::text", Params::of(texts)), "{\"a,b\",NULL,\"\"}");
  const std::vector<std::optional<BytesView>> bytes = {BytesView{"\0\1"sv}, std::nullopt};
  EXPECT_EQ(written("SELECT $1::text", Params::of(bytes)), "{\"\\\\x0001\",NULL}");
  EXPECT_EQ(written("SELECT $1::text", Params::of(std::vector<std::uint64_t>{7, 8})), "{7,8}");
}

TEST_F(ParamsTest, EmptyArraysAreEmpty) {
  EXPECT_EQ(written("SELECT cardinality($1)::text", Params::of(std::vector<std::int64_t>())), "0");
  EXPECT_EQ(written("SELECT cardinality($1)::text", Params::of(std::vector<std::string_view>())),
            "0");
}

TEST_F(ParamsTest, RecordsAreReadAsTypesOfOurOwn) {
  (void)connection.query("CREATE TYPE pg_temp.pair AS (n bigint, s smallint, t text, b bytea)");
  (void)connection.query(
      "CREATE FUNCTION pg_temp.all(pg_temp.pair[]) RETURNS text LANGUAGE sql AS "
      "$$ SELECT ($1)::text $$");
  const Params full = Params::of(std::int64_t{-7}, std::int16_t{3}, "a"sv, BytesView{"\0\xff"sv});
  Params empty;
  empty.add_null(Type::bigint).add_null(Type::smallint).add(""sv).add_null(Type::bytea);

  const auto read = [&](const std::string& array) {
    return written("SELECT pg_temp.all($1)", Params().add_records(array));
  };
  const std::string one = array_of_records({&full, 1});
  const std::string other = array_of_records({&empty, 1});
  constexpr auto both = R"x({"(-7,3,a,\"\\\\x00ff\")","(,,\"\",)"})x";
  EXPECT_EQ(read(array_of_records(std::vector{full, empty})), both);
  EXPECT_EQ(read(joined_arrays(std::vector<std::string_view>{one, other})), both);
  EXPECT_EQ(read(array_of_records({})), "{}");
}

TEST_F(ParamsTest, LargeBytesAreNotCopied) {
  const std::string large(1 << 20, 'x');
  const Params params = Params::of(large, 7);
  EXPECT_EQ(params.value(0), large.data());
  EXPECT_GE(params.bytes(), large.size());
}

TEST_F(ParamsTest, RowsStayWhenTheConnectionIsUsedOn) {
  Rows rows = connection.query("SELECT n::bigint, n::text FROM generate_series(1, 3) AS n");
  (void)connection.query("SELECT 7");
  for (std::int64_t n = 1; n <= 3; ++n) {
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.integer(0), n);
    EXPECT_EQ(rows.string(1), std::to_string(n));
  }
  EXPECT_FALSE(rows.next());
  EXPECT_EQ(rows.count(), 3U);
  EXPECT_EQ(counters.rows_read, 5U);  // Those three, the 7, and the hello.
}

}  // namespace
}  // namespace perdure::postgres
