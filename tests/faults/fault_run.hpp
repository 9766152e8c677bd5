// One run of the script in which one call to the files fails, and what must hold then:
//
// - the trouble comes as an Error whose code is in docs/errors;
// - what was refused left nothing, what is unknown is wholly there or wholly absent, what
//   was acknowledged is there;
// - work goes on: with the same store object once the cause is gone, unless it says
//   `closed`; with a reopened one in any case.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "crash/crash_check.hpp"
#include "crash/script.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/fault_vfs.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// What the one who met the trouble does next.
enum class Then : std::uint8_t {
  goes_on,  ///< The cause goes; the same store object is used.
  reopens,  ///< The store object is given up while the cause is still there.
};

class FaultRun {
 public:
  /// What makes the trouble begins when `begin` is called, and ends with `heal`.
  struct Trouble {
    std::function<void()> begin;
    std::function<void()> heal;
    std::function<bool()> has_come;
    std::string vfs{};
    bool may_corrupt = false;  ///< Whether what is read may be wrong, and found to be.
  };

  FaultRun(const CrashCheck& check, Trouble trouble);

  /// Empty if all of the above holds, else what does not.
  [[nodiscard]] std::string find_fault(Then then);
  /// Whether the trouble came at all; if not, the script ran clean.
  [[nodiscard]] bool was_hit() const { return hit_; }
  /// Whether the store object took no more writes.
  [[nodiscard]] bool was_closed() const { return was_closed_; }

 private:
  std::string open();
  std::string enroll();
  [[nodiscard]] std::string let_another_write() const;
  std::string do_script();
  std::string go_on();
  std::string do_rest();
  std::string note(const Error& error);
  [[nodiscard]] std::string path() const { return folder_.file("store.db"); }

  const CrashCheck& check_;
  const Trouble trouble_;
  const TempFolder folder_ = TempFolder::in_memory();
  FakeClock clock_;
  std::unique_ptr<Store> store_;
  int workers_ = 0;
  std::string worker_;  ///< Empty if none is enrolled.
  Testimony testimony_;
  bool hit_ = false;
  bool is_closed_ = false;  ///< The present store object.
  bool was_closed_ = false;
};

}  // namespace perdure
