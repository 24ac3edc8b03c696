// One connection of a load: a request, its answer, the next request.
//
// HTTP/1.1 is spoken right on the Stream, and a body nobody wants is thrown away as it comes in,
// because the load shares its machine with the server it measures. HTTP/2 uses http::Client.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "tools/bench/target.h"

namespace fairlead::bench {

struct Call {
  std::string_view method = "GET";
  std::string target;  // path and query, without the base path
  std::string body;
  std::string_view content_type = "application/json";
  bool want_body = false;  // of the answer; bodies of refusals are always given
};

struct Answer {
  int status = 0;
  std::size_t bytes = 0;  // of body received
  std::string body;
};

class Connection {
 public:
  virtual ~Connection() = default;
  // Connects if there is no connection. After a failure the next call connects again.
  virtual Task<Result<Answer>> exchange(const Call& call) = 0;
  // The exchange under way fails, and every later one.
  virtual void close() = 0;
};

std::unique_ptr<Connection> make_http1_connection(runtime::Runtime& runtime, const Target& target);
std::unique_ptr<Connection> make_http2_connection(runtime::Runtime& runtime, const Target& target);

}  // namespace fairlead::bench
