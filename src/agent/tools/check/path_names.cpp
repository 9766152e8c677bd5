// From a path as it was given to all that it may be called.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/agent/permissions.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

std::string joined(const std::string& folder, std::string_view within) {
  if (within == ".") return folder;
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(within);
}

// "." for the folder itself.
std::optional<std::string> within(const std::string& folder, const std::string& whole) {
  if (whole == folder) return ".";
  const std::string beginning = joined(folder, "");
  if (!whole.starts_with(beginning)) return std::nullopt;
  return whole.substr(beginning.size());
}

std::vector<std::string> names_of_whole(const std::string& whole, const PathPlace& place) {
  std::vector<std::string> names = {whole};
  for (const FileRoot& root : place.roots) {
    const auto inside = within(root.path, whole);
    if (!inside) continue;
    names.push_back(root.name.empty() ? *inside : joined(root.name, *inside));
  }
  if (names.size() > 1 || place.folder.empty()) return names;
  if (auto inside = within(place.folder, whole)) names.push_back(*std::move(inside));
  return names;
}

std::vector<std::string> names_in_roots(const std::string& plain, const PathPlace& place) {
  std::vector<std::string> names = {plain};
  for (const FileRoot& root : place.roots) {
    const auto inside = root.name.empty() ? std::optional(plain) : within(root.name, plain);
    if (inside) names.push_back(joined(root.path, *inside));
  }
  return names;
}

}  // namespace

std::vector<FileRoot> named_roots(std::vector<FileRoot> roots) {
  if (roots.size() == 1) roots.front().name.clear();
  std::vector<FileRoot> real;
  for (const FileRoot& root : roots) {
    std::error_code error;
    const std::string path = std::filesystem::weakly_canonical(root.path, error).string();
    if (error || path == root.path) continue;
    real.push_back(root);
    real.back().path = path;
  }
  roots.insert(roots.end(), real.begin(), real.end());
  return roots;
}

Result<std::vector<std::string>> path_names(const std::string& path, const PathPlace& place) {
  const bool is_whole = path.starts_with('/');
  const bool is_in_folder = !is_whole && !place.folder.empty() && !path.empty();
  const auto plain = plain_path(is_in_folder ? joined(place.folder, path) : path);
  if (!plain) return fail(plain.error().code, plain.error().message);
  if (!is_whole && !is_in_folder) return names_in_roots(*plain, place);
  auto names = names_of_whole(*plain, place);
  if (is_in_folder && names.size() == 1) {
    return fail(ErrorCode::invalid_argument, "a path leads out of its root");
  }
  return names;
}

}  // namespace perdure
