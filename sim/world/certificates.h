// Certificates checked as a TLS handshake checks them, at a time the caller gives. The verdict of
// the signatures is remembered, because scenarios reconnect often with few certificates.
#pragma once

#include <string>

#include "foundation/base/result.h"
#include "foundation/runtime/stream.h"
#include "foundation/runtime/time.h"

namespace fairlead::sim {

enum class CertificateUse { server, client };

// Does `chain` (PEM, leaf first) lead to one of `anchors` (PEM), for that use, valid at `now`, and,
// when `name` is not empty, for that host name or address? Fails with unauthorized and why.
Result<> check_certificate(const std::string& chain, const std::string& anchors, CertificateUse use,
                           const std::string& name, WallTime now);

// Can a side show these at all: chain parses and the key belongs to it. Fails with invalid.
Result<> check_own_credentials(const runtime::TlsCredentials& credentials);

// The leaf of a chain alone, as PEM.
std::string leaf_certificate(const std::string& chain);

}  // namespace fairlead::sim
