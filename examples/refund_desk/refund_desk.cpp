// The programs of the refund desk, in one:
//
//   refund_desk bank FOLDER          the bank; prints where it listens, and runs until it is stopped
//   refund_desk order|refund|letter  tools: arguments as JSON on stdin, a result on stdout
//   refund_desk verify               whether a refund took effect
//
// Tools find their folder in REFUND_DESK, and the key of the operation in PERDURE_KEY. Exit code 0: done;
// 75: nothing happened; any other: unknown.

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "bank.hpp"
#include "desk.hpp"
#include "http.hpp"
#include <perdure/core/json.hpp>

using perdure::Json;

namespace refund_desk {

namespace {

constexpr int done = 0;
constexpr int unknown = 1;
constexpr int nothing_happened = 75;

std::string operation() {
  const char* key = std::getenv("PERDURE_KEY");
  return key == nullptr ? "" : key;
}

int bank_port(const std::string& folder) {
  return static_cast<int>(std::strtol(read_file(folder + "/bank.port").c_str(), nullptr, 10));
}

int say(int code, const std::string& text) {
  (code == done ? std::cout : std::cerr) << text << '\n';
  return code;
}

int order(const std::string& folder, const Json& args) {
  const auto number = args.get<std::string>("order");
  if (!number) return say(unknown, number.error().message);
  const Exchange heard =
      ask(bank_port(folder), {.method = "GET", .path = "/orders/" + *number, .body = {}});
  if (!heard.reply) return say(unknown, "the bank does not answer");
  return say(heard.reply->status == 200 ? done : unknown, heard.reply->body);
}

// Refused, or no server: nothing happened. Sent, and no response: unknown.
int refund(const std::string& folder, Json args) {
  args.set("operation", operation());
  const Exchange heard =
      ask(bank_port(folder), {.method = "POST", .path = "/refunds", .body = args.text()});
  if (heard.sent == Sent::no) return say(nothing_happened, "the bank is closed");
  if (!heard.reply || heard.reply->status >= 500) return say(unknown, "the bank does not answer");
  return say(heard.reply->status == 201 ? done : nothing_happened, heard.reply->body);
}

int verify(const std::string& folder) {
  const Exchange heard =
      ask(bank_port(folder), {.method = "GET", .path = "/refunds/" + operation(), .body = {}});
  if (!heard.reply) return say(unknown, "the bank does not answer");
  if (heard.reply->status == 200) return say(done, heard.reply->body);
  return say(heard.reply->status == 404 ? nothing_happened : unknown, heard.reply->body);
}

// A post box cannot report what is in it.
int letter(const std::string& folder, const Json& args) {
  if (!append_line(folder + "/letters.jsonl", args.text())) return say(unknown, "the box is full");
  spring_trap(folder, "letter");
  return say(done, R"({"posted": true})");
}

int run_tool(std::string_view tool) {
  const auto folder = folder_from_environment();
  if (!folder) return say(nothing_happened, "REFUND_DESK is not set: which folder is the desk's?");
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  if (tool == "verify") return verify(*folder);
  const auto args = perdure::parse_json(input);
  if (!args || !args->is_object()) return say(nothing_happened, "the arguments are not JSON");
  if (tool == "order") return order(*folder, *args);
  if (tool == "refund") return refund(*folder, *args);
  if (tool == "letter") return letter(*folder, *args);
  return say(nothing_happened, "usage: refund_desk bank FOLDER | order | refund | verify | letter");
}

}  // namespace

}  // namespace refund_desk

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "bank") return refund_desk::run_bank(argv[2]);
  return refund_desk::run_tool(argc == 2 ? argv[1] : "");
}
