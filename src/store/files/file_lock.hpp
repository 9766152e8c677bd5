// Byte locks of an open file description.
//
// The kernel drops them when the process dies, however it dies, and no other
// descriptor of the process can drop them by accident.

#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"

namespace perdure::sqlite {

/// Which byte of the lock file means what. Locks need no bytes behind them.
inline constexpr off_t turn_byte = 0;
inline constexpr off_t door_byte = 1;
inline constexpr off_t worker_base = 4096;

/// Of every file that is made here: what is said in a store is for its owner alone.
inline constexpr mode_t private_rights = 0600;

/// Opens for reading and writing, and makes the file with these rights if it is not there; one that
/// is there keeps its own. Its locks end when the descriptor closes. Fails: `unavailable`, also for a
/// link, which is not followed.
[[nodiscard]] Result<Descriptor> open_file(const std::string& path, mode_t rights = private_rights);
/// Makes a new private file: `begin` and six characters of chance, which `begin` then ends with.
/// Fails: `unavailable`.
[[nodiscard]] Result<Descriptor> make_file(std::string& begin);

enum class LockWait : std::uint8_t { no, yes };

/// 0, or the kernel's error number.
[[nodiscard]] int lock_byte(const Descriptor& file, off_t byte, LockWait wait);
void unlock_byte(const Descriptor& file, off_t byte);
/// Whether another open file has it locked. If the kernel does not say: yes.
[[nodiscard]] bool is_locked_elsewhere(const Descriptor& file, off_t byte);

}  // namespace perdure::sqlite
