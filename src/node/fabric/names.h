// Names of the Linux interfaces that fabrics make. Both ends of an attachment's interface are named
// after its UID, so that whoever finds one knows whose it is, also after a restart, and no two
// attachments get the same in practice (52 bits).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlead::fabric {

// "fl" and 13 hexadecimal digits: what the guest gets. 15 characters, the most that Linux allows.
std::string guest_interface_name(std::string_view uid);

// "fh" and the same digits: the end that stays on the host, where a fabric needs one.
std::string host_interface_name(std::string_view guest_interface);

// The guest's name that belongs to a host end's; nullopt: not one of ours.
std::optional<std::string> guest_of_host_interface(std::string_view host_interface);

}  // namespace fairlead::fabric
