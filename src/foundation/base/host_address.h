// Which addresses can be those of a host that others send packets to: what nodes say of themselves
// is believed by all others, so it is asked wherever such an address comes in (the API, the agent's
// flags, the fabrics).
#pragma once

#include <string_view>

#include "foundation/base/ip.h"

namespace fairlead {

// What is wrong with it, as the end of a sentence ("must …"); empty: nothing. Unicast and the same
// host from everywhere: not loopback, not a link-local IPv6 address, no IPv4 one in IPv6's form.
std::string_view host_address_problem(const Ip& ip);

}  // namespace fairlead
