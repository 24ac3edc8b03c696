// An HTTP/2 client for the API under load, and requests as its http::Client takes them.
#pragma once

#include <memory>

#include "foundation/http/client.h"
#include "tools/bench/connection.h"

namespace fairlead::bench {

// One connection; never falls back to HTTP/1.1.
std::unique_ptr<http::Client> make_http2_client(runtime::Runtime& runtime, const Target& target);

http::Request make_request(const Target& target, const Call& call);

}  // namespace fairlead::bench
