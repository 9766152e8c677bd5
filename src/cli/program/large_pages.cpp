// glibc's heap grows by as much as it is told to, and the system takes advice about what it grew by.

#include "large_pages.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace perdure::cli {
namespace {

constexpr std::size_t page_bytes = std::size_t{2} << 20U;
constexpr std::size_t step_bytes = 16 * page_bytes;
// Two of these are more than is left of the first step, and each is too small for a mapping of its own.
constexpr std::size_t piece_bytes = 100'000;

// Through a volatile: what is freed unused, compilers do not even take.
void make_heap_grow() {
  std::array<void* volatile, 2> pieces{};
  // NOLINTBEGIN(cppcoreguidelines-owning-memory)
  for (auto& piece : pieces) piece = std::malloc(piece_bytes);
  for (const auto& piece : pieces) std::free(piece);
  // NOLINTEND(cppcoreguidelines-owning-memory)
}

}  // namespace

void take_large_pages() {
  ::mallopt(M_TOP_PAD, static_cast<int>(step_bytes));
  // To set one limit fixes the others: large blocks would never come from the heap.
  ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(2 * page_bytes));
  void* grown = ::sbrk(0);
  const char* const begin = static_cast<char*>(grown);
  make_heap_grow();
  auto room = static_cast<std::size_t>(static_cast<char*>(::sbrk(0)) - begin);
  // What is not granted is only slower.
  if (std::align(page_bytes, page_bytes, grown, room) != nullptr) {
    ::madvise(grown, room, MADV_HUGEPAGE);
  }
}

}  // namespace perdure::cli
