// A server on the loopback that speaks the formats of Anthropic and OpenAI, well or badly.
//
// How it behaves is in the path, so that any client can choose it by its base URL:
// `http://127.0.0.1:PORT/cut-4000/v1/messages` streams 4,000 bytes and hangs up. It checks requests
// as the vendors do, and answers 400 where they would. Exercised by the vendors' own clients
// (sdk_test.mjs), by the tests of ours, and by hand through the program model_server.
//
// whole            chunked, the connection kept                 error       an error in the middle of the stream
// cut-N            N bytes, then closed; no length told         eof         all but the last event
// chunkcut-N       the same, chunked                            linger      all of it, and never an end
// pieces-N         chunks of N bytes, one at a time             silent      no answer
// pings            pings and comments between all events        stall-N     N bytes, then nothing more
// unknown          events and fields that nobody knows          drop        closed instead of an answer
// status-N         that status, words, the key quoted           large-N     N kilobytes of text
// busy-K           429 K times, retry-after 0, then whole       huge        one event of 11 MB
// overloaded-K     529 K times, then whole                      nousage     (chat) no tokens told
// final            a text without calls                         nodone      (chat) no [DONE]
// tired-K          whole K times, then closed instead of an answer
// page             a page of HTML with status 200              refused-K   200 with an error instead of a response K times, then whole
// later-K          429 K times, retry-after 7, then whole       length, refusal, pause (Anthropic)   a text that stops for that reason
// object-K         one JSON object instead of a stream; K is how it is told: 0 as JSON, in chunks; 1 with a
//                  character set and a length; 2 in capitals, until it closes; 3 not at all; 4 as a stream;
//                  5 behind blanks and a byte order mark, byte by byte
// objectcut-N      N bytes of it, then closed                   objectshort-N   the same, and a length that promised more
// objecterror      (chat) such an object with an error in it    objectother     such an object of the other vendor
// packed           a stream that is called gzip
// text, joins, calls, comments, line, string, values, headers, refusal400: something of that kind without end

#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace perdure::models {

/// What a client sent.
struct SeenRequest {
  std::string path{};
  std::map<std::string, std::string> headers{};  ///< Names in lower case.
  std::string body{};
  int connection = 0;  ///< The first is 1.
};

class ModelServer {
 public:
  /// Listens at a port of its own; throws if it cannot.
  ModelServer();
  /// Closes all connections.
  ~ModelServer();
  ModelServer(const ModelServer&) = delete;
  ModelServer& operator=(const ModelServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& behaviour) const;
  [[nodiscard]] std::vector<SeenRequest> requests() const;
  /// Until a request has come in, so that a test can act while it is under way.
  /// False: none came in half a minute.
  [[nodiscard]] bool wait_for_request() const;

 private:
  class Connection;

  void accept_all();
  void join_ended();
  [[nodiscard]] int note(SeenRequest request);

  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  std::vector<int> open_;  // Descriptors of connections; -1: ended.
  std::vector<SeenRequest> requests_;
  std::map<std::string, int> counts_;  // Of requests by path.
  std::vector<std::jthread> threads_;
  std::size_t joined_ = 0;  // So many threads, from the first.
  std::jthread acceptor_;
};

}  // namespace perdure::models
