// The bank: takes refund requests over HTTP on loopback, and keeps a ledger.
//
//   POST /refunds {"operation": …, "order": …, "cents": …}   pays, each time it is called
//   GET  /refunds/OPERATION                                  whether it paid for that, and how much
//   GET  /orders/ORDER, GET /book
//
// It honours no idempotency key: asked twice, it pays twice.

#pragma once

#include <string>

namespace refund_desk {

/// Runs until the process ends. Returns an exit code only if it cannot start.
int run_bank(const std::string& folder);

}  // namespace refund_desk
