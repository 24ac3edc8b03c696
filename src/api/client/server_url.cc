#include "api/client/server_url.h"

namespace fairlead::client {

Result<ServerUrl> parse_server_url(std::string_view text) {
  ServerUrl url;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
    url.tls = false;
  } else {
    return fail(Code::invalid, "server \"" + std::string(text) + "\": must begin with https://");
  }
  const std::size_t slash = text.find('/');
  url.authority = text.substr(0, slash);
  if (slash != std::string_view::npos) url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  const std::size_t bracket = url.authority.rfind(']');
  const bool has_port =
      url.authority.find(':', bracket == std::string::npos ? 0 : bracket) != std::string::npos;
  FL_TRY(url.endpoint, runtime::Endpoint::parse(
                           has_port ? url.authority : url.authority + (url.tls ? ":443" : ":80")));
  return url;
}

}  // namespace fairlead::client
