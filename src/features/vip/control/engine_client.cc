#include "features/vip/control/engine_client.h"

#include <utility>

#include "features/vip/control/engine_service.h"

namespace fairlead::vip {
namespace {

constexpr Duration kAnswerTime = 15s;  // longer than the engine lets a wish wait
constexpr Duration kReportTime = 3s;   // longer than it lets a report wait

template <class T>
std::string text_of(const T& value) {
  return wire::encode_json(resource::encode(value));
}

}  // namespace

EngineClient::EngineClient(runtime::Runtime& runtime, const std::string& state)
    : runtime_(runtime),
      http_(runtime,
            {.endpoints = {engine_socket(state)}, .tls = {}, .response_bytes = kMostControlBytes}) {
}

Task<Result<std::string>> EngineClient::ask(std::string method, std::string target,
                                            std::string body, Duration patience) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.add("Host", "localhost");
  request.body = std::move(body);
  Task<Result<http::Response>> sending = http_.send(std::move(request));
  Result<http::Response> response =
      co_await runtime::with_timeout(runtime_, patience, std::move(sending));
  if (!response) {
    if (response.error().code == Code::cancelled) co_return fail(std::move(response).error());
    co_return fail(Code::unavailable, "the engine does not answer: " + response.error().message);
  }
  std::string text = response->body_text();
  while (text.ends_with('\n')) text.pop_back();
  if (response->status == 200) co_return text;
  co_return fail(response->status == 503 ? Code::unavailable : Code::invalid, std::move(text));
}

Task<Result<>> EngineClient::order(const Order& order) {
  FL_CO_TRY(const std::string answer, co_await ask("PUT", "/order", text_of(order), kAnswerTime));
  co_return Result<>{};
}

Task<Result<Report>> EngineClient::report(std::int64_t after) {
  FL_CO_TRY(const std::string text,
            co_await ask("GET", "/report?after=" + std::to_string(after), "", kReportTime));
  co_return parse_control<Report>(text);
}

Task<Result<>> EngineClient::wish(const WishOrder& wish) {
  FL_CO_TRY(const std::string answer, co_await ask("POST", "/wish", text_of(wish), kAnswerTime));
  co_return Result<>{};
}

Task<Result<std::string>> EngineClient::measure() {
  co_return co_await ask("POST", "/measure", "", kAnswerTime);
}

}  // namespace fairlead::vip
