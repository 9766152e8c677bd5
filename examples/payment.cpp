// A payment, charged once. The program dies by SIGKILL between the charge and its record, the worst
// possible moment. Started again, it does not guess: it asks the bank, by the call's key.
//
//   perdure_payment die   # "charging", and dead
//   perdure_payment       # asks the bank, which has the charge, and continues
//   cat bank.txt          # one charge

#include <csignal>
#include <fstream>
#include <iostream>
#include <string>

#include <perdure/runtime/runtime.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

/// The bank is a file: a line for each charge, with its key.
ToolOutcome charge(const CallContext& call) {
  std::cout << "charging" << std::endl;
  std::ofstream("bank.txt", std::ios::app) << call.key << ' ' << call.args.text() << std::endl;
  return Succeeded{"paid"};
}

Verdict ask_bank(const VerifyContext& call) {
  std::cout << "asking the bank" << std::endl;
  std::ifstream bank("bank.txt");
  for (std::string line; std::getline(bank, line);) {
    if (line.starts_with(call.key)) return Landed{"paid"};
  }
  return NotLanded{};
}

ToolOutcome charge_and_die(const CallContext& call) {
  charge(call);
  std::raise(SIGKILL);
  return Doubtful{};
}

/// The response of a model to "Pay invoice 7".
Message wants_to_pay() {
  const std::string args = R"({"invoice": 7, "cents": 1999})";
  return {.role = Role::assistant,
          .blocks = {ToolCallBlock{.id = "call_1", .name = "pay", .args = args}}};
}

}  // namespace

int main(int count, char** /*words*/) {
  const Tool pay{.name = "pay",
                 // A bank on another machine: `network` and `mutate`, and see `in_flight_max`.
                 .side_effects = SideEffects{.write = true},
                 .repeat = Repeat::once_per_session,  // If the model asks again: the same result.
                 .business_key = "/invoice",
                 .run = count > 1 ? charge_and_die : charge,
                 .verify = ask_bank};
  const auto store = open_store("payment.db").value();
  const auto runtime = Runtime::start(*store, {.tools = Tools::of({pay}).value()}).value();
  const auto id = SessionId::parse("invoice 7").value();

  (void)runtime->create({.id = id});  // From the second run on it already exists.
  auto [session, report] = runtime->resume(id).value();
  std::cout << "calls verified: " << report.calls.verified << std::endl;

  if (session.state().transcript.empty()) {
    session.record_request({}, user_says("Pay invoice 7.")).value();
    session.record_response(wants_to_pay()).value();  // The call is on disk before it is made.
    session.run_calls().value();
  }
  const auto calls = store->ledger().list({.session = id}).value();
  std::cout << calls.front().tool << ": " << to_string(calls.front().state) << std::endl;
}
