// The folder that the bank, the tools and the viewer of the refund desk share.
//
//   bank.port      where the bank listens, on loopback
//   book.jsonl     the bank's ledger, a line for each refund; only the bank writes to it
//   letters.jsonl  the posted letters
//   kill-after-…   a trap: the process whose number is in it is killed at that moment

#pragma once

#include <optional>
#include <string>

namespace refund_desk {

/// From the environment: REFUND_DESK.
[[nodiscard]] std::optional<std::string> folder_from_environment();

/// All of a file; empty if there is none.
[[nodiscard]] std::string read_file(const std::string& path);

/// Adds a line that survives the machine. False if that failed.
[[nodiscard]] bool append_line(const std::string& path, const std::string& line);

/// If there is a trap "kill-after-<moment>", kills the process it names, once. The worst moment of a
/// call: it took effect, and the effect was not reported yet.
void spring_trap(const std::string& folder, const std::string& moment);

}  // namespace refund_desk
