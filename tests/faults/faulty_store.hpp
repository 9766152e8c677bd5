// A store whose files can be made to fail, with a worker in it, and turns to commit that
// follow from their session and number alone.

#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "doubles/committer.hpp"
#include "doubles/fault_vfs.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class FaultyStore {
 public:
  FaultyStore();

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] FaultVfs& vfs() { return vfs_; }
  [[nodiscard]] AskedClock& clock() { return clock_; }
  [[nodiscard]] std::string path() const { return folder_.file("store.db"); }
  [[nodiscard]] const TempFolder& folder() const { return folder_; }

  /// Another store object on the same file.
  [[nodiscard]] Result<std::unique_ptr<Store>> open_again();
  /// Gives up the store object for a new one, with a worker of its own.
  void reopen();

  /// Makes the session if it is not there, and gives it to this object's worker.
  [[nodiscard]] Lease own(const std::string& name);
  /// Turn `number` of a session, counted from 1: one entry.
  [[nodiscard]] static Batch turn(const std::string& name, Version number, std::size_t bytes = 100);
  /// Empty if the session holds exactly the turns 1 … `turns`, each once.
  [[nodiscard]] std::string find_wrong_turn(const std::string& name, Version turns);

 private:
  void open();

  const TempFolder folder_ = TempFolder::in_memory();
  FaultVfs vfs_;
  AskedClock clock_;
  std::unique_ptr<Store> store_;
  WorkerId worker_;
};

}  // namespace perdure
