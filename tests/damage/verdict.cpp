// The rules: damage of the main file is found, wherever it is; a WAL that lacks commits is
// named, and the store is whole at the moment it went back to; damage of one table leaves what
// is in others alone; a salvage holds all that could be read.

#include "damage/verdict.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {
namespace {

std::string slurp(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The reader was told.
bool says_damage(const std::string& answer) {
  return has(answer, "fails: corrupted") || has(answer, " damaged");
}

// Whose answers an answer's question belongs to.
struct TableQuestions {
  std::string_view table;
  std::array<std::string_view, 4> words;
};

constexpr std::array table_questions = {
    TableQuestions{"entry", {" entry ", " entries", " plan", " version "}},
    TableQuestions{"receipt", {"receipt ", "receipt ", "receipt ", "receipt "}},
    TableQuestions{"checkpoint", {" named ", " versions", " version ", " plan"}},
    TableQuestions{"call", {" call ", " calls", "key ", "key "}},
    TableQuestions{"message", {" inbox", " inbox", " inbox", " inbox"}},
    TableQuestions{"blob", {"blob ", "blob ", "blob ", "blob "}},
};

// The one table that all findings of the file's structure name; nothing if there are several.
const TableQuestions* only_table(const CheckReport& report) {
  const TableQuestions* only = nullptr;
  for (const Damage& damage : report.damage) {
    if (damage.fault != Fault::file) continue;
    const auto* named = std::ranges::find_if(table_questions, [&](const TableQuestions& table) {
      return has(damage.what, fmt::format("in table {},", table.table));
    });
    if (named == table_questions.end() || (only != nullptr && only != &*named)) return nullptr;
    only = &*named;
  }
  return only;
}

class Judge {
 public:
  Judge(const Files& damaged, const Sample& original) : damaged_(damaged), original_(original) {
    write_files(path_, damaged);
  }

  DamageVerdict run() {
    read_damaged();
    salvage();
    return std::move(verdict_);
  }

 private:
  void read_damaged() {
    auto store = open_store(path_, {.create = false});
    if (!store) {
      const ErrorCode code = store.error().code;
      verdict_.found = true;
      verdict_.changed = true;
      if (code != ErrorCode::corrupted && code != ErrorCode::unsupported) {
        complain("opening fails with {}: {}", to_string(code), store.error().message);
      }
      return;
    }
    verdict_.opened = true;
    answers_ = ask_everything(**store, original_.named);
    const auto report = (*store)->upkeep().check();
    if (!report) {
      verdict_.found = true;
      return complain("check fails with {}: {}", to_string(report.error().code),
                      report.error().message);
    }
    verdict_.found = !report->is_sound();
    const bool is_of_main_file = original_.moments.empty();
    if (is_of_main_file && !verdict_.found) complain("the check found nothing");
    compare(*report);
  }

  void compare(const CheckReport& report) {
    verdict_.lost = std::ranges::any_of(report.damage, names_the_wal);
    if (verdict_.lost) return compare_with_moments();
    const TableQuestions* only = only_table(report);
    for (const std::string& question : differing()) {
      verdict_.changed = true;
      if (only != nullptr && !belongs(question, *only)) {
        complain("only table {} is damaged, and '{}' is now {}", only->table, question,
                 answers_[question]);
      }
      if (!verdict_.found && !says_damage(answers_[question])) {
        complain("'{}' changed and nothing says so: {}", question, answers_[question]);
      }
    }
  }

  static bool names_the_wal(const Damage& damage) {
    return has(damage.what, "the WAL lacks commits that were acknowledged");
  }

  // Sessions are paused, which their state shows; all else is as it was.
  void compare_with_moments() {
    verdict_.changed = true;
    const auto kept = [](Answers answers) {
      std::erase_if(answers,
                    [](const auto& answer) { return answer.first.ends_with("state free"); });
      return answers;
    };
    const Answers now = kept(answers_);
    const bool is_a_moment = std::ranges::any_of(original_.moments, [&](const Answers& moment) {
      return moment != original_.answers && kept(moment) == now;
    });
    if (!is_a_moment)
      complain("commits are said to be lost, and the store is at no earlier moment");
  }

  static bool belongs(const std::string& question, const TableQuestions& table) {
    return std::ranges::any_of(table.words, [&](auto word) { return has(question, word); });
  }

  std::vector<std::string> differing() {
    std::vector<std::string> found;
    for (const auto& [question, answer] : original_.answers) {
      if (answers_[question] != answer) found.push_back(question);
    }
    for (const auto& [question, answer] : answers_) {
      if (!original_.answers.contains(question)) found.push_back(question);
    }
    return found;
  }

  // From the files as they were damaged: opening them may have changed them.
  void salvage() {
    const std::string from = folder_.file("damaged.db");
    const std::string to = folder_.file("salvaged.db");
    write_files(from, damaged_);
    const auto report = salvage_store(from, to);
    if (read_files(from).file != damaged_.file || read_files(from).log != damaged_.log) {
      complain("the salvage changed the original");
    }
    if (!report) {
      if (verdict_.opened || report.error().code != ErrorCode::corrupted) {
        complain("the salvage fails: {}", report.error().message);
      }
      return;
    }
    auto store = open_store(to, {.create = false});
    if (!store) return complain("what was salvaged does not open: {}", store.error().message);
    const auto checked = (*store)->upkeep().check();
    if (!checked)
      return complain("what was salvaged cannot be checked: {}", checked.error().message);
    for (const Damage& damage : checked->damage) {
      if (damage.fault == Fault::file) complain("what was salvaged is damaged: {}", damage.what);
    }
    if (!verdict_.found && !checked->is_sound() && original_.moments.empty()) {
      complain("what was salvaged from a sound store is not sound: {}", checked->damage[0].what);
    }
    compare_salvaged(ask_everything(**store, original_.named));
  }

  void compare_salvaged(Answers salvaged) {
    for (const auto& [question, answer] : answers_) {
      const auto before = original_.answers.find(question);
      const bool was_readable = before != original_.answers.end() && before->second == answer;
      if (!was_readable || has(question, "state free") || salvaged[question] == answer) continue;
      complain("'{}' was readable ({}), and after the salvage is {}", question, answer,
               salvaged[question]);
    }
  }

  template <class... Args>
  void complain(fmt::format_string<Args...> text, Args&&... args) {
    std::string sentence = fmt::format(text, std::forward<Args>(args)...);
    if (sentence.size() > 300) sentence.resize(300);
    verdict_.wrong.push_back(std::move(sentence));
  }

  const TempFolder folder_ = TempFolder::in_memory();
  const std::string path_ = folder_.file("store.db");
  const Files& damaged_;
  const Sample& original_;
  Answers answers_;
  DamageVerdict verdict_;
};

}  // namespace

Files read_files(const std::string& path) {
  return {.file = slurp(path), .log = slurp(path + "-wal"), .lock = slurp(path + "-lock")};
}

void write_files(const std::string& path, const Files& files) {
  spill(path, files.file);
  if (!files.log.empty()) spill(path + "-wal", files.log);
  if (!files.lock.empty()) spill(path + "-lock", files.lock);
}

DamageVerdict judge(const Files& damaged, const Sample& original) {
  return Judge(damaged, original).run();
}

}  // namespace perdure
