// Certificates for tests, made on the spot.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::runtime {

struct TestIdentity {
  std::string certificate;  // PEM
  std::string private_key;  // PEM
};

TestIdentity make_test_ca(std::string_view name);
// `alternative_names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1". `valid_seconds` from
// now; negative: expired.
TestIdentity make_test_identity(const TestIdentity& ca, std::string_view name,
                                std::string_view alternative_names, long valid_seconds = 3600);

}  // namespace fairlead::runtime
