// The lock is a record lock: whether it is held can be asked without taking it, and the kernel
// gives it up with its process.

#include "doubles/postgres_note.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>

#include "doubles/postgres_programs.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view notes_name = "postgres_cluster.";

fs::path programs_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::string note_for(pid_t process) {
  return (programs_folder() / (std::string(notes_name) + std::to_string(process))).string();
}

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

struct Read {
  bool is_kept = false;
  std::string address;
  std::string folder;
};

std::optional<Read> read_note(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct flock lock = whole_file();
  Read note;
  note.is_kept = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  std::istringstream lines(text_of_file(path));
  std::getline(lines, note.address);
  std::getline(lines, note.folder);
  return note;
}

// Of a process, as /proc tells: "pid (name) state parent …", where the name may hold anything.
pid_t parent_of(pid_t process) {
  const std::string line = text_of_file("/proc/" + std::to_string(process) + "/stat");
  const std::size_t after_name = line.rfind(") ");
  if (after_name == std::string::npos) return 0;
  return static_cast<pid_t>(std::strtol(line.c_str() + after_name + 3, nullptr, 10));
}

// A note is locked before it has its name, so one without a lock has nobody.
void tidy_up() {
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(programs_folder())) {
    const std::string name = each.path().filename().string();
    const bool is_note = name.starts_with(notes_name) &&
                         name.find_first_not_of("0123456789", notes_name.size()) == name.npos;
    const auto note = is_note ? read_note(each.path().string()) : std::nullopt;
    if (!note || note->is_kept) continue;
    if (!note->folder.empty()) fs::remove_all(note->folder, ignored);
    fs::remove(each.path(), ignored);
  }
}

}  // namespace

PostgresNote::PostgresNote(pid_t kept_for, const std::string& address, const std::string& folder)
    : path_(note_for(kept_for)) {
  tidy_up();
  const std::string unfinished = path_ + ".new";
  fs::remove(unfinished);
  file_ = open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  struct flock lock = whole_file();
  const std::string text = address + "\n" + folder + "\n";
  const bool good = file_ >= 0 && fcntl(file_, F_SETLK, &lock) == 0 &&
                    write(file_, text.data(), text.size()) == std::ssize(text);
  if (!good) throw std::system_error(errno, std::generic_category(), "cannot write " + unfinished);
  fs::rename(unfinished, path_);
}

PostgresNote::~PostgresNote() {
  std::error_code ignored;
  fs::remove(path_, ignored);
  close(file_);
}

std::optional<std::string> PostgresNote::find() {
  for (pid_t process = getpid(); process > 0; process = parent_of(process)) {
    const auto note = read_note(note_for(process));
    if (note && note->is_kept) return note->address;
  }
  return std::nullopt;
}

}  // namespace perdure
