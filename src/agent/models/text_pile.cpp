// Blocks of one size, so that a place says which one it is in.

#include "models/text_pile.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perdure {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 16U;

}  // namespace

std::size_t TextPile::size() const {
  return blocks_.empty() ? 0 : (blocks_.size() - 1) * block_bytes + blocks_.back().size();
}

void TextPile::append(std::string_view piece) {
  while (!piece.empty()) {
    if (blocks_.empty() || blocks_.back().size() == block_bytes) {
      blocks_.emplace_back().reserve(block_bytes);
    }
    std::string& block = blocks_.back();
    const std::size_t fits = std::min(piece.size(), block_bytes - block.size());
    block.append(piece.substr(0, fits));
    piece.remove_prefix(fits);
  }
}

void TextPile::cut(std::size_t bytes) {
  blocks_.resize((bytes + block_bytes - 1) / block_bytes);
  if (!blocks_.empty()) blocks_.back().resize(bytes - (blocks_.size() - 1) * block_bytes);
}

void TextPile::list(std::size_t begin, std::size_t end, std::vector<std::string_view>& to) const {
  while (begin < end) {
    const std::size_t block = begin / block_bytes;
    const std::size_t here = std::min(end, (block + 1) * block_bytes) - begin;
    to.push_back(std::string_view(blocks_[block]).substr(begin % block_bytes, here));
    begin += here;
  }
}

}  // namespace perdure
