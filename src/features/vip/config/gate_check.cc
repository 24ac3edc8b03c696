// The rules of a health gate: `virtualIPs[].health[]`.
#include <fmt/format.h>

#include "features/vip/config/virtual_ip_check.h"

namespace fairlead::vip {
namespace {

// What is not of this kind of gate.
void forbid(bool given, const std::string& path, const char* kind, FieldErrors& errors) {
  if (given) errors.push_back(resource::forbidden(path, fmt::format("only with {}", kind)));
}

void check_tcp(const std::string& path, const std::string& text, GateConfig& gate,
               FieldErrors& errors) {
  gate.kind = GateConfig::Kind::tcp;
  gate.target = text;
  gate.name = "tcp " + text;
  const Result<runtime::Endpoint> endpoint = runtime::Endpoint::parse(text);
  if (!endpoint || endpoint->kind != runtime::Endpoint::Kind::tcp || endpoint->port == 0 ||
      endpoint->host.empty())
    return refuse(errors, path, text, "must be HOST:PORT, such as 127.0.0.1:6443");
  gate.endpoint = *endpoint;
}

void check_http(const std::string& path, const HealthSettings& settings, GateConfig& gate,
                FieldErrors& errors) {
  gate.kind = GateConfig::Kind::http;
  gate.target = settings.http;
  gate.name = "http " + settings.http;
  const Result<WebAddress> address = parse_web_address(settings.http);
  if (!address) return refuse(errors, path + ".http", settings.http, address.error().message);
  gate.endpoint = {.host = address->host, .port = address->port};
  gate.tls = address->tls;
  gate.path = address->path;
  gate.host = settings.host;
  gate.ca_file = settings.ca_file;
  gate.insecure = settings.insecure;
  gate.status.assign(settings.status.begin(), settings.status.end());
  if (settings.host.find_first_of(" \t\r\n/@") != std::string::npos)
    refuse(errors, path + ".host", settings.host, "must be a host name, with a port or without");
  for (std::size_t i = 0; i < settings.status.size(); ++i)
    if (settings.status[i] < 100 || settings.status[i] > 599)
      refuse(errors, item(path + ".status", i), std::to_string(settings.status[i]),
             "must be an HTTP status, 100 to 599");
  forbid(!gate.tls && !gate.ca_file.empty(), path + ".caFile", "an https URL", errors);
  forbid(!gate.tls && gate.insecure, path + ".insecure", "an https URL", errors);
  if (gate.insecure && !gate.ca_file.empty())
    errors.push_back(
        resource::forbidden(path + ".insecure", "caFile says which certificates will do"));
}

void check_program(const std::string& path, const std::vector<std::string>& command,
                   GateConfig& gate, FieldErrors& errors) {
  gate.kind = GateConfig::Kind::command;
  gate.target = fmt::format("{}", fmt::join(command, " "));
  gate.name = "command " + gate.target;
  gate.command = command;
  check_command(path, command, errors);
}

}  // namespace

GateConfig check_gate(const std::string& path, const HealthSettings& settings,
                      FieldErrors& errors) {
  GateConfig gate;
  gate.interval = duration_field(path + ".interval", settings.interval, 50ms, 1h, errors);
  gate.timeout = duration_field(path + ".timeout", settings.timeout, 10ms, 1h, errors);
  gate.rise = settings.rise;
  gate.fall = settings.fall;
  const int kinds = (settings.tcp.empty() ? 0 : 1) + (settings.http.empty() ? 0 : 1) +
                    (settings.command.empty() ? 0 : 1);
  if (kinds != 1) {
    refuse(errors, path, "", "must have exactly one of tcp, http and command");
    return gate;
  }
  if (settings.http.empty()) {
    forbid(!settings.status.empty(), path + ".status", "http", errors);
    forbid(!settings.host.empty(), path + ".host", "http", errors);
    forbid(!settings.ca_file.empty(), path + ".caFile", "http", errors);
    forbid(settings.insecure, path + ".insecure", "http", errors);
  }
  if (!settings.tcp.empty())
    check_tcp(path + ".tcp", settings.tcp, gate, errors);
  else if (!settings.http.empty())
    check_http(path, settings, gate, errors);
  else
    check_program(path + ".command", settings.command, gate, errors);
  return gate;
}

}  // namespace fairlead::vip
