#include "features/vip/gates/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/vip/config/field_checks.h"
#include "foundation/http/client.h"
#include "foundation/wire/utf8.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kOutputKept = 512;

class OneTls final : public runtime::TlsSource {
 public:
  explicit OneTls(std::shared_ptr<const runtime::TlsCredentials> credentials)
      : credentials_(std::move(credentials)) {}
  std::shared_ptr<const runtime::TlsCredentials> current() const override { return credentials_; }

 private:
  std::shared_ptr<const runtime::TlsCredentials> credentials_;
};

// "host:80" → "host", "[::1]:80" → "::1".
std::string without_port(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  return host.substr(0, host.find(':'));
}

bool is_good(const GateConfig& gate, int status) {
  if (gate.status.empty()) return status >= 200 && status <= 399;
  return std::ranges::find(gate.status, status) != gate.status.end();
}

http::Request request_of(const GateConfig& gate) {
  http::Request request;
  request.target = gate.path;
  const bool usual_port = gate.endpoint.port == (gate.tls ? 443 : 80);
  std::string authority = gate.endpoint.to_string();
  if (usual_port) authority.erase(authority.rfind(':'));
  request.authority = gate.host.empty() ? authority : gate.host;
  request.headers.add("user-agent", "fairlead-health");
  request.headers.add("accept", "*/*");
  return request;
}

}  // namespace

std::string shown_output(std::string_view output, std::size_t limit) {
  output = output.substr(0, limit);
  while (output.ends_with('\n')) output.remove_suffix(1);
  std::string text(output);
  if (!wire::is_utf8(text))
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) > 0x7e; }, '?');
  return text;
}

Task<Result<>> Probe::ask() {
  if (gate_.kind == GateConfig::Kind::command) co_return co_await run_command();
  Task<Result<>> question = gate_.kind == GateConfig::Kind::tcp ? connect() : get();
  Result<> answer = co_await runtime::with_timeout(runtime_, gate_.timeout, std::move(question));
  if (!answer && answer.error().code == Code::timeout)
    co_return fail(Code::timeout, "no answer within " + text_of(gate_.timeout));
  co_return answer;
}

Task<Result<>> Probe::connect() {
  FL_CO_TRY(const std::unique_ptr<runtime::Stream> stream,
            co_await runtime_.connect(gate_.endpoint, nullptr));
  stream->close();
  co_return Result<>{};
}

Task<Result<>> Probe::get() {
  http::ClientOptions options{.endpoints = {gate_.endpoint}, .connect_time = gate_.timeout};
  if (gate_.tls) {
    FL_CO_TRY(std::shared_ptr<const runtime::TlsCredentials> tls, credentials());
    options.tls = std::make_shared<OneTls>(std::move(tls));
  }
  http::Client client(runtime_, std::move(options));
  FL_CO_TRY(const std::unique_ptr<http::ClientStream> stream,
            co_await client.open(request_of(gate_)));
  // The body does not matter, and may be long.
  FL_CO_TRY(const http::ResponseHead head, co_await stream->head());
  if (!is_good(gate_, head.status))
    co_return fail(Code::unavailable, fmt::format("HTTP status {}", head.status));
  co_return Result<>{};
}

Result<std::shared_ptr<const runtime::TlsCredentials>> Probe::credentials() {
  std::string authority;
  if (!gate_.ca_file.empty()) {
    FL_TRY(authority, runtime_.files().read(gate_.ca_file));
  }
  if (tls_ && tls_->trusted_ca == authority) return tls_;
  runtime::TlsCredentials credentials;
  credentials.trusted_ca = std::move(authority);
  credentials.server_name = without_port(gate_.host);
  credentials.skip_verify = gate_.insecure;
  credentials.alpn = {"h2", "http/1.1"};
  tls_ = std::make_shared<const runtime::TlsCredentials>(std::move(credentials));
  return tls_;
}

Task<Result<>> Probe::run_command() {
  if (!processes_) co_return fail(Code::unsupported, "programs cannot be run here");
  runtime::Command command{
      .arguments = gate_.command, .time_limit = gate_.timeout, .output_limit = kOutputKept};
  FL_CO_TRY(const runtime::ProcessEnd end, co_await processes_->run(std::move(command)));
  if (end.kind == runtime::ProcessEnd::Kind::timed_out)
    co_return fail(Code::timeout, "killed after " + text_of(gate_.timeout));
  if (end.kind == runtime::ProcessEnd::Kind::exited && end.status == 0) co_return Result<>{};
  const std::string how = end.kind == runtime::ProcessEnd::Kind::exited ? "exit status" : "signal";
  const std::string said = shown_output(end.errors.empty() ? end.output : end.errors, kOutputKept);
  co_return fail(Code::unavailable,
                 fmt::format("{} {}{}{}", how, end.status, said.empty() ? "" : ": ", said));
}

}  // namespace fairlead::vip
