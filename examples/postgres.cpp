// The same session on a server that many machines share. Nothing above the store changes.

#include <iostream>

#include <perdure/runtime/runtime.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

int main(int /*count*/, char** words) {
  auto opened = open_store(words[1]);  // postgres://user@host:port/database
  if (!opened) {
    std::cout << opened.error().message << std::endl;
    return 1;
  }
  const auto& store = *opened;
  std::cout << store->info().engine << std::endl;
  const auto remarks = store->doctor().value();
  for (const Remark& remark : remarks) {
    std::cout << to_string(remark.gravity) << ": " << remark.what << std::endl;
  }

  const auto runtime = Runtime::start(*store, {}).value();
  const auto id = SessionId::parse("my first session").value();
  auto session = runtime->open_or_create(id).value();  // From the second run on it is opened.
  session.append(user_says("Hello!")).value();
  std::cout << session.state().transcript.size() << " messages" << std::endl;
}
