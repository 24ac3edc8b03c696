// Media types with parameters, as in Accept and Content-Type.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::apimachinery {

struct MediaType {
  std::string type;     // lower case; for a coding such as gzip the whole word
  std::string subtype;  // lower case
  std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case

  std::string text() const { return subtype.empty() ? type : type + "/" + subtype; }
  std::string_view parameter(std::string_view name) const;  // empty when absent
  double quality() const;                                   // q, 1 when absent or unreadable
  // True when this type, wildcards included, covers type/subtype.
  bool matches(std::string_view wanted_type, std::string_view wanted_subtype) const;
};

MediaType parse_media_type(std::string_view text);

// The clauses of an Accept header, best first; an absent header accepts everything. Clauses with
// q=0 are left out.
std::vector<MediaType> parse_accept(std::string_view header);

}  // namespace fairlead::apimachinery
