// A length that a file claims is believed only as far as there is file: nothing is reserved for
// bytes that are not there.

#include "bundle/bundle_file.hpp"

#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "copy/packing.hpp"
#include "core/api/sha256.hpp"
#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/bundle.hpp"

namespace perdure::bundle {

namespace {

// The line's end shows whether somebody's tool took the file for text.
constexpr std::string_view magic = "perdure bundle\r\n";
constexpr std::uint64_t number_bytes = 8;

std::string packed(std::uint64_t number) {
  Packer pack;
  pack(number);
  return std::move(pack).take();
}

std::uint64_t number_from(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

Digest digest_of_opening() {
  Sha256 hash;
  hash.update(magic);
  hash.update_number(bundle_format);
  return hash.finish();
}

Digest digest_after(const Digest& before, std::uint64_t kind, std::string_view payload) {
  Sha256 hash;
  hash.update({reinterpret_cast<const char*>(before.data()), before.size()});
  hash.update_number(kind);
  hash.update_sized(payload);
  return hash.finish();
}

}  // namespace

std::unexpected<Error> damaged_bundle(const std::string& path, std::uint64_t position,
                                      std::string_view what) {
  return fail(
      ErrorCode::corrupted,
      fmt::format("the bundle {} is not what was exported: {} at byte {}. Fetch it again, or "
                  "export it anew",
                  path, what, position),
      path);
}

Result<void> RecordWriter::append(std::string_view bytes) {
  bytes_ += bytes.size();
  return file_.append(bytes);
}

Result<void> RecordWriter::begin() {
  digest_ = digest_of_opening();
  if (auto written = append(magic); !written) return written;
  return append(packed(bundle_format));
}

Result<void> RecordWriter::write(RecordKind kind, std::string_view payload) {
  const auto number = static_cast<std::uint64_t>(kind);
  digest_ = digest_after(digest_, number, payload);
  auto opened = append(packed(number) + packed(payload.size()));
  if (!opened) return opened;
  if (auto written = append(payload); !written) return written;
  return append({reinterpret_cast<const char*>(digest_.data()), digest_.size()});
}

Result<RecordReader> RecordReader::open(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(ErrorCode::not_found, fmt::format("there is no file {}", path), path);
  }
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return fail(ErrorCode::unavailable, fmt::format("cannot read {}", path), path);
  }
  RecordReader reader(path, std::move(file), size);
  if (auto read = reader.read_opening(); !read) return forward(read);
  return reader;
}

Result<void> RecordReader::read_opening() {
  if (size_ < magic.size() + number_bytes) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a bundle", path_), path_);
  }
  auto opening = read(magic.size() + number_bytes);
  if (!opening) return forward(opening);
  if (!opening->starts_with(magic)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a bundle", path_), path_);
  }
  const std::uint64_t format = number_from(std::string_view(*opening).substr(magic.size()));
  if (format != bundle_format) {
    return fail(ErrorCode::unsupported,
                fmt::format("the bundle {} is of format {}, and this program knows {}: upgrade it",
                            path_, format, bundle_format),
                path_);
  }
  digest_ = digest_of_opening();
  return {};
}

Result<std::string> RecordReader::read(std::uint64_t bytes) {
  if (bytes > size_ - position_) return damaged_bundle(path_, size_, "it ends too early");
  std::string read(bytes, '\0');
  file_.read(read.data(), static_cast<std::streamsize>(bytes));
  if (std::cmp_not_equal(file_.gcount(), bytes)) {
    return damaged_bundle(path_, position_, "it cannot be read");
  }
  position_ += bytes;
  return read;
}

Result<std::optional<Record>> RecordReader::next() {
  if (is_ended_) {
    if (position_ == size_) return std::nullopt;
    return damaged_bundle(path_, position_, "there is more than there should be");
  }
  const std::uint64_t begin = position_;
  auto opening = read(2 * number_bytes);
  if (!opening) return forward(opening);
  const std::string_view numbers = *opening;
  const std::uint64_t kind = number_from(numbers.substr(0, number_bytes));
  auto payload = read(number_from(numbers.substr(number_bytes)));
  if (!payload) return forward(payload);
  auto sum = read(digest_.size());
  if (!sum) return forward(sum);
  digest_ = digest_after(digest_, kind, *payload);
  if (*sum != std::string_view(reinterpret_cast<const char*>(digest_.data()), digest_.size())) {
    return damaged_bundle(path_, begin, "a record does not match its sum");
  }
  if (kind < 1 || kind > static_cast<std::uint64_t>(RecordKind::end)) {
    return damaged_bundle(path_, begin, "a record is of no known kind");
  }
  Record record{.kind = static_cast<RecordKind>(kind), .payload = *std::move(payload)};
  is_ended_ = record.kind == RecordKind::end;
  return record;
}

}  // namespace perdure::bundle
