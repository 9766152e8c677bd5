// The model server as a program: prints its port, and serves until its input ends.

#include <iostream>
#include <string>

#include "models/model_server.hpp"

int main() {
  const perdure::models::ModelServer server;
  std::cout << server.port() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}
