#include "api/identity/authority.h"
#include "foundation/http/client.h"
#include "tools/bench/connection.h"
#include "tools/bench/http2_client.h"

namespace fairlead::bench {

std::unique_ptr<http::Client> make_http2_client(runtime::Runtime& runtime, const Target& target) {
  http::ClientOptions options{.endpoints = {target.endpoint}};
  if (const auto credentials = target.credentials("h2")) {
    options.tls = std::make_shared<identity::SwappableTls>(*credentials);
  } else {
    options.http2_prior_knowledge = true;
  }
  return std::make_unique<http::Client>(runtime, std::move(options));
}

http::Request make_request(const Target& target, const Call& call) {
  http::Request request{
      .method = std::string(call.method),
      .target = target.base_path + call.target,
      .authority = target.authority,
      .headers = {{"User-Agent", "fairlead-bench"}, {"Accept", "application/json"}},
      .body = call.body};
  if (!target.authorization.empty()) request.headers.add("Authorization", target.authorization);
  if (!call.body.empty()) request.headers.add("Content-Type", std::string(call.content_type));
  return request;
}

namespace {

class Http2Connection final : public Connection {
 public:
  Http2Connection(runtime::Runtime& runtime, const Target& target)
      : target_(target), client_(make_http2_client(runtime, target)) {}

  Task<Result<Answer>> exchange(const Call& call) override {
    FL_CO_TRY(const http::Response response, co_await client_->send(make_request(target_, call)));
    Answer answer{.status = response.status, .bytes = response.body_size()};
    if (call.want_body || response.status >= 400) answer.body = response.body_text();
    co_return answer;
  }

  void close() override { client_->close(); }

 private:
  const Target& target_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace

std::unique_ptr<Connection> make_http2_connection(runtime::Runtime& runtime, const Target& target) {
  return std::make_unique<Http2Connection>(runtime, target);
}

}  // namespace fairlead::bench
