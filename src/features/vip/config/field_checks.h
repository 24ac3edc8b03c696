// Small checks of single fields that both forms of the file share. Each adds what is wrong to the
// errors, under the path of the field.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/schema/field_error.h"
#include "features/vip/config/vip_plan.h"

namespace fairlead::vip {

using resource::FieldErrors;

void refuse(FieldErrors& errors, const std::string& path, std::string_view value,
            std::string problem);
std::string item(const std::string& list, std::size_t index);  // "list[2]"

// Within the bounds; the lower bound if it is wrong.
Duration duration_field(const std::string& path, const std::string& text, Duration least,
                        Duration most, FieldErrors& errors);

// "60s", "1.5s", "250ms".
std::string text_of(Duration duration);

// Where a member is reached: a unicast address, no name, and a port. `anywhere`: also 0.0.0.0 or
// [::].
std::optional<runtime::Endpoint> member_address(const std::string& path, const std::string& text,
                                                bool anywhere, FieldErrors& errors);
// An address that can be a virtual one.
std::optional<Ip> vip_address(const std::string& path, const std::string& text,
                              FieldErrors& errors);
enum class Loopback { refused, allowed };
void check_interface(const std::string& path, const std::string& name, Loopback loopback,
                     FieldErrors& errors);
// A program by absolute path, with arguments.
void check_command(const std::string& path, const std::vector<std::string>& command,
                   FieldErrors& errors);
// All three, or none.
TlsFiles tls_files(const std::string& path, std::string ca, std::string certificate,
                   std::string key, FieldErrors& errors);

// A URL, taken apart.
struct WebAddress {
  bool tls = false;
  std::string host;
  std::uint16_t port = 0;  // as given, else that of the scheme
  bool port_given = false;
  std::string path;  // with the query, at least "/"
};
Result<WebAddress> parse_web_address(std::string_view text);

// The members of an election by name and by address, while they are being checked.
class MemberList {
 public:
  // Refuses a name or an address that is there already. `name_path` and `address_path` are where
  // they stand in the file.
  void add(const std::string& name, const std::string& name_path, const runtime::Endpoint& address,
           const std::string& address_path, FieldErrors& errors);
  std::vector<Member> members() const;  // ordered by name
  // The path of the member that has this address, on any port.
  const std::string* holder_of(const Ip& ip) const;
  bool has(const std::string& name) const { return by_name_.contains(name); }
  std::size_t size() const { return by_name_.size(); }

 private:
  struct Known {
    std::string address;
    std::string path;
  };
  std::map<std::string, Known> by_name_;
  std::map<std::string, std::string> by_address_;  // → path
  std::map<Ip, std::string> by_ip_;
};

}  // namespace fairlead::vip
