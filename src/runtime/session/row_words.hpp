// Words of others in the rows that people list by.
//
// What a tool, a model, its provider or a person said is in the log as it was. A row has room for
// less: a store refuses words that are long, or that a terminal must not be shown, and with them the
// whole commit. A response that was paid for, or what became of a call, must not be lost for that.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "perdure/store/commit.hpp"

namespace perdure {

/// The words as a row takes them: no control characters but those of lines, valid UTF-8, and no more
/// bytes than that.
[[nodiscard]] std::string row_words(std::string_view words, std::size_t bytes_max);

/// The same as a name: one line, no space at either end, never empty.
[[nodiscard]] std::string row_name(std::string_view name);

/// Whatever a batch says of calls and of its session in somebody's words.
void fit_rows(Batch& batch);

}  // namespace perdure
