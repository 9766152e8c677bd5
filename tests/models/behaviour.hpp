// What a model server does with a request: a path and a count in, bytes out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "models/model_server.hpp"

namespace perdure::models {

struct Behaviour {
  int status = 200;
  std::string headers{};  ///< Further ones, each with its end of line.
  std::string body{};
  std::string repeated{};  ///< Sent after the body, again and again, until the client is gone.
  std::string type = "text/event-stream";  ///< Empty: none is told.
  bool is_chunked = true;
  bool has_length = false;           ///< Instead of chunks: the whole body's, also if it is cut.
  std::size_t bytes_max = SIZE_MAX;  ///< Then it is cut.
  bool has_end = true;               ///< Of the chunks; the connection is kept then.
  bool is_left_open = false;
  bool is_silent = false;
  bool is_dropped = false;
  std::size_t piece_bytes = 16384;
};

/// `count`: how many requests for this path there were, this one included.
[[nodiscard]] Behaviour behaviour_of(const SeenRequest& request, int count);

}  // namespace perdure::models
