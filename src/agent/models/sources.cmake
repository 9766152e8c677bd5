# Models: what is sent to a provider, and what comes back.

list(
  APPEND
  PERDURE_AGENT_SOURCES
  models/anthropic.cpp
  models/dialect.cpp
  models/chat.cpp
  models/http_provider.cpp
  models/provider.cpp
  models/scripted.cpp
  models/http.cpp)

list(
  APPEND
  PERDURE_AGENT_TESTS
  models/anthropic_test.cpp
  models/api_key_test.cpp
  models/body_test.cpp
  models/chat_test.cpp
  models/exchange_test.cpp
  models/prices_test.cpp
  models/retry_test.cpp
  models/scripted_test.cpp
  models/sse_test.cpp
  models/url_test.cpp
  models/wire_test.cpp)
