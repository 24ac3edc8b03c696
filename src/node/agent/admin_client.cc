#include "node/agent/admin_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "foundation/http/client.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {
namespace {

constexpr const char* kFolder = "/run/fairlead";
constexpr Duration kAnswerTime = 10s;
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

Result<std::string> choose_admin_socket(runtime::Files& files, const std::string& named) {
  if (!named.empty()) return named;
  FL_TRY(const std::vector<std::string> sockets, default_admin_sockets(files));
  if (sockets.size() == 1) return sockets.front();
  if (sockets.empty())
    return fail(Code::unavailable, std::string("no agent in ") + kFolder +
                                       ": is it running? Name its socket with --admin-socket");
  std::string all;
  for (const std::string& socket : sockets) all += (all.empty() ? "" : ", ") + socket;
  return fail(Code::invalid, "there are several agents: name one with --admin-socket: " + all);
}

Task<Result<std::string>> ask_agent(runtime::Runtime& runtime, std::string socket, std::string path,
                                    std::optional<std::string> body) {
  FL_CO_TRY(const runtime::Endpoint at, runtime::Endpoint::parse("unix:" + socket));
  http::Client client(runtime, {.endpoints = {at}, .response_bytes = kMostBytes});
  http::Request request;
  request.method = body ? "POST" : "GET";
  request.target = std::move(path);
  request.headers.add("Host", "localhost");
  if (body) request.body = std::move(*body);
  Task<Result<http::Response>> sending = client.send(std::move(request));
  const Result<http::Response> response =
      co_await runtime::with_timeout(runtime, kAnswerTime, std::move(sending));
  client.close();
  if (!response) co_return fail(not_answered(response.error(), socket));
  std::string text = response->body_text();
  if (response->status == 200) co_return text;
  while (text.ends_with('\n')) text.pop_back();
  const Code code = response->status == 400   ? Code::invalid
                    : response->status == 404 ? Code::not_found
                                              : Code::unavailable;
  co_return fail(code, std::move(text));
}

Task<Result<Explanation>> ask_why(runtime::Runtime& runtime, std::string socket, std::string kind,
                                  std::string object) {
  FL_CO_TRY(const std::string text,
            co_await ask_agent(runtime, std::move(socket), "/why/" + kind + "/" + object));
  FL_CO_TRY(const wire::ParsedJson parsed, wire::parse_json(text, {.max_bytes = kMostBytes}));
  co_return parse_explanation(parsed.value);
}

}  // namespace fairlead::agent
