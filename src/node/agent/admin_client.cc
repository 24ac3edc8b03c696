#include "node/agent/admin_client.h"

#include <algorithm>

#include "foundation/http/client.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {
namespace {

constexpr const char* kFolder = "/run/fairlead";
constexpr Duration kAnswerTime = 5s;
constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

std::vector<std::string> default_admin_sockets(runtime::Files& files) {
  std::vector<std::string> sockets;
  const Result<std::vector<std::string>> names = files.list(kFolder);
  if (!names) return sockets;
  for (const std::string& name : *names)
    if (name.starts_with("agent") && name.ends_with(".sock"))
      sockets.push_back(std::string(kFolder) + "/" + name);
  std::ranges::sort(sockets);
  return sockets;
}

Task<Result<Explanation>> ask_why(runtime::Runtime& runtime, std::string socket, std::string kind,
                                  std::string object) {
  FL_CO_TRY(const runtime::Endpoint at, runtime::Endpoint::parse("unix:" + socket));
  http::Client client(runtime, {.endpoints = {at}, .response_bytes = kMostBytes});
  http::Request request;
  request.method = "GET";
  request.target = "/why/" + kind + "/" + object;
  request.headers.add("Host", "localhost");
  Task<Result<http::Response>> sending = client.send(std::move(request));
  const Result<http::Response> response =
      co_await runtime::with_timeout(runtime, kAnswerTime, std::move(sending));
  client.close();
  if (!response) co_return fail(response.error().context(socket));
  std::string body;
  for (const Bytes& piece : response->body) body += piece.view();
  if (response->status != 200) {
    while (body.ends_with('\n')) body.pop_back();
    const Code code = response->status == 400   ? Code::invalid
                      : response->status == 404 ? Code::not_found
                                                : Code::unavailable;
    co_return fail(code, std::move(body));
  }
  FL_CO_TRY(const wire::ParsedJson parsed, wire::parse_json(body, {.max_bytes = kMostBytes}));
  co_return parse_explanation(parsed.value);
}

}  // namespace fairlead::agent
