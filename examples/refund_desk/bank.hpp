// The bank: takes orders to refund, over HTTP on loopback, and keeps a book.
//
//   POST /refunds {"operation": …, "order": …, "cents": …}   it pays, every time it is asked
//   GET  /refunds/OPERATION                                  whether it paid for that, and what
//   GET  /orders/ORDER, GET /book
//
// It honours no idempotency key: asked twice, it pays twice.

#pragma once

#include <string>

namespace refund_desk {

/// Runs until the process ends. The exit code, should it not even begin.
int run_bank(const std::string& folder);

}  // namespace refund_desk
