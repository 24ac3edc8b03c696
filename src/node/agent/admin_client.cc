#include "node/agent/admin_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "foundation/http/client.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {
namespace {

constexpr const char* kFolder = "/run/fairlead";
constexpr Duration kAnswerTime = 5s;
constexpr std::size_t kMostBytes = 1 << 20;

// The HTTP client calls every failure to connect unavailable: what it was is only in its message.
Error not_answered(const Error& error, const std::string& where) {
  if (error.code == Code::forbidden || error.message.ends_with(std::strerror(EACCES)))
    return {Code::forbidden, where + ": permission denied: run as root"};
  return {Code::unavailable, error.context(where).message};
}

}  // namespace

Result<std::vector<std::string>> default_admin_sockets(runtime::Files& files) {
  std::vector<std::string> sockets;
  const Result<std::vector<std::string>> names = files.list(kFolder);
  if (!names && names.error().code == Code::not_found) return sockets;
  if (!names) return fail(not_answered(names.error(), kFolder));
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
  if (!response) co_return fail(not_answered(response.error(), socket));
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
