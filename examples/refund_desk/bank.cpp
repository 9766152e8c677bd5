// The ledger is on disk before the bank responds. Killing a client of the bank at this moment shows
// what it knows afterwards.

#include "bank.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "desk.hpp"
#include "http.hpp"
#include <perdure/core/json.hpp>

using perdure::Json;

namespace refund_desk {

namespace {

struct Order {
  const char* number;
  const char* customer;
  const char* goods;
  int cents;
};

constexpr Order orders[] = {
    {"1041", "Charles Babbage", "a clock that runs backwards", 12900},
    {"1042", "Ada Lovelace", "a kettle that whistles out of tune", 4900},
};

const Order* find_order(const std::string& number) {
  for (const Order& order : orders) {
    if (number == order.number) return &order;
  }
  return nullptr;
}

class Bank {
 public:
  explicit Bank(std::string folder) : folder_(std::move(folder)), book_(folder_ + "/book.jsonl") {}

  Reply answer(const Request& request) const {
    if (request.method == "POST" && request.path == "/refunds") return pay(request.body);
    if (request.path == "/book") return {.status = 200, .body = read_file(book_)};
    if (request.path.starts_with("/refunds/")) return look(request.path.substr(9));
    if (request.path.starts_with("/orders/")) return order(request.path.substr(8));
    return refuse(404, "there is nothing here");
  }

 private:
  static Reply refuse(int status, const std::string& why) {
    return {.status = status, .body = Json(Json::Object{{"error", why}}).text()};
  }

  Reply pay(const std::string& body) const {
    const auto asked = perdure::parse_json(body);
    if (!asked) return refuse(400, asked.error().message);
    const auto operation = asked->get<std::string>("operation");
    if (!operation) return refuse(400, operation.error().message);
    const auto number = asked->get<std::string>("order");
    if (!number) return refuse(400, number.error().message);
    const auto cents = asked->get<std::int64_t>("cents");
    if (!cents) return refuse(400, cents.error().message);
    const Order* order = find_order(*number);
    if (order == nullptr) return refuse(404, "there is no such order");
    if (*cents < 1 || *cents > order->cents) return refuse(409, "that is not what was paid");
    const Json line(Json::Object{{"refund", refunds() + 1},
                                 {"order", *number},
                                 {"cents", *cents},
                                 {"to", order->customer},
                                 {"operation", *operation}});
    if (!append_line(book_, line.text())) return refuse(500, "the book cannot be written");
    spring_trap(folder_, "refund");
    return {.status = 201, .body = line.text()};
  }

  [[nodiscard]] int refunds() const {
    std::istringstream lines(read_file(book_));
    int count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    return count;
  }

  [[nodiscard]] Reply look(const std::string& operation) const {
    std::istringstream lines(read_file(book_));
    for (std::string line; std::getline(lines, line);) {
      const auto refund = perdure::parse_json(line);
      const Json* made = refund ? refund->find("operation") : nullptr;
      if (made != nullptr && *made == Json(operation)) return {.status = 200, .body = line};
    }
    return refuse(404, "nothing was paid for that operation");
  }

  static Reply order(const std::string& number) {
    const Order* order = find_order(number);
    if (order == nullptr) return refuse(404, "there is no such order");
    return {.status = 200,
            .body = Json(Json::Object{{"order", order->number},
                                      {"customer", order->customer},
                                      {"goods", order->goods},
                                      {"cents", order->cents}})
                        .text()};
  }

  const std::string folder_;
  const std::string book_;
};

}  // namespace

int run_bank(const std::string& folder) {
  const Listener listener;
  if (listener.port() == 0) {
    std::cerr << "the bank finds no free port\n";
    return 1;
  }
  // Renamed to its final name when it is complete.
  std::ofstream(folder + "/bank.port.part") << listener.port() << '\n';
  std::filesystem::rename(folder + "/bank.port.part", folder + "/bank.port");
  std::cout << "the bank is open: http://127.0.0.1:" << listener.port() << "/book" << std::endl;
  const Bank bank(folder);
  listener.serve([&](const Request& request) { return bank.answer(request); });
  return 0;
}

}  // namespace refund_desk
