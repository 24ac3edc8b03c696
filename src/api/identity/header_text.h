// How header names compare and how values are taken out of them. Shared by the authenticators.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fairlead::identity {

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

inline bool same_header(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

inline bool header_begins(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && same_header(name.substr(0, prefix.size()), prefix);
}

// The key of X-Remote-Extra-<key>: percent-decoded where that is possible, in lower case.
std::string extra_key(std::string_view text);

}  // namespace fairlead::identity
