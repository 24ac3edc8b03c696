// Whose certificate it is: the rules by which the agents of an election know each other. A
// certificate must come from the election's CA, be valid now, serve for the use at hand, and have
// the node's name among its DNS names, as it is written in the members' list; no wildcards.
#pragma once

#include <string>

#include "api/identity/certificate.h"
#include "features/vip/config/vip_plan.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

// Reads the three files. Fails naming field and file: one that cannot be read or is broken, a key
// that does not belong to the certificate, a certificate without this node's name.
Result<runtime::TlsCredentials> read_tls(runtime::Files& files, const TlsFiles& tls,
                                         const std::string& node);

// Fails with unauthorized and the reason. REQUIRES: the handshake is done.
Result<> check_certificate(const runtime::PeerInfo& peer, const std::string& node,
                           identity::Purpose purpose, const std::string& ca, WallTime now);

}  // namespace fairlead::vip
