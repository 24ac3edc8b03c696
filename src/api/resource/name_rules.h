// The shapes of names, with Kubernetes' words for what is wrong. Hand-written scanners: they run on
// every write.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::resource {

// Each answers "" for a good text, else the problem in words.
std::string dns_subdomain_problem(std::string_view text);
std::string dns_label_problem(std::string_view text);
std::string dns_1035_label_problem(std::string_view text);
std::string qualified_name_problem(std::string_view text);
std::string label_value_problem(std::string_view text);
std::string config_map_key_problem(std::string_view text);
// IANA service names, as ports use them: "http", "my-port-2".
std::string port_name_problem(std::string_view text);

}  // namespace fairlead::resource
