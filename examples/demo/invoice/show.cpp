// Plain lines, written when they happen: a person can follow it, a file can keep it.

#include "invoice/show.hpp"

#include <cstdio>
#include <fmt/format.h>

#include "paint.hpp"

namespace invoice {
namespace {

using demo::bold;
using demo::dim;
using demo::judged;

void print_event(int life, const std::string& what, const std::string& text) {
  static int last_life = 0;
  const std::string name = life == last_life ? "" : fmt::format("life {}", life);
  last_life = life;
  fmt::print("  {:<8}{:<12}{}\n", name, what, text);
  std::fflush(stdout);
}

void print_question(const Question& question) {
  fmt::print("\n  {}\n", bold("Somebody has to say what is true"));
  fmt::print("    {:<16}{} {}\n", "the call", question.tool, question.args);
  fmt::print("    {:<16}{}\n", "its name", question.call);
  fmt::print("    {:<16}begun {}, attempt {}; its process died\n", "what is known", question.since,
             question.attempts);
  fmt::print("    {:<16}{}\n", "why it waits", question.why);
  fmt::print("    {:<16}look into the outbox; then say succeeded, failed, retry or abandoned\n",
             "next step");
  fmt::print("    {:<16}{}\n\n", "said", question.said);
  std::fflush(stdout);
}

void row(const std::string& name, std::uint64_t value, std::uint64_t expected,
         const std::string& note) {
  fmt::print("  {:<22}{}  {}\n", name, judged(fmt::format("{:>10}", value), value == expected),
             dim(note));
}

}  // namespace

void print_opening() {
  fmt::print("\n{}\n\n", bold("One payment, one email, two deaths"));
  fmt::print(
      "An agent is told: \"Pay invoice 7 and tell Ann.\" Each tool dies by SIGKILL right after "
      "the\n"
      "world has its effect, before anything says so. The bank can be asked afterwards whether it\n"
      "has a charge; a mail server cannot.\n\n");
  std::fflush(stdout);
}

Audience printing_audience() { return {.hears = print_event, .sees = print_question}; }

void print(const Episode& episode) {
  fmt::print("\n");
  row("charges at the bank", episode.charges, 1, "found by its key, not charged again");
  row("emails to Ann", episode.emails, 1,
      "in doubt until a person looked; never sent again by itself");
  row("model requests", episode.requests, 3,
      fmt::format("paid for: ${:.4f}; none was made twice",
                  static_cast<double>(episode.spent_micros) / 1e6));
  fmt::print("\n");
  for (const std::string& trouble : episode.troubles) fmt::print("  {}\n", judged(trouble, false));
  fmt::print("{}\n",
             episode.is_good()
                 ? judged("Charged once, asked about what nobody could know, and done.", true)
                 : judged("The session broke its promise. Please report it.", false));
}

}  // namespace invoice
