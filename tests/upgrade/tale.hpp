// What a store tells about itself, field by field as of format 4: what a file of any
// format must still tell when a later Perdure has opened it.
//
// Not contract/describe.hpp: that grows with the interfaces, and a golden text must
// stay true when they do. A field that a later format brings is not told here.

#pragma once

#include <string>

#include "perdure/store/store.hpp"

namespace perdure {

/// Everything that can be listed, and what cannot: receipts of the batches "b1" … "b60",
/// the blobs that bodies refer to, the holders of keys, the resources "printer" and
/// "mailbox".
[[nodiscard]] std::string tell(Store& store);

}  // namespace perdure
