// What a method and a path ask for, in the words of the Kubernetes API. Decides nothing: whether
// the resource exists and the verb is allowed is the router's and the authoriser's business.
#pragma once

#include <string>
#include <string_view>

#include "api/apimachinery/request/query.h"
#include "api/apimachinery/status.h"

namespace fairlead::apimachinery {

struct RequestInfo {
  bool is_resource = false;
  std::string path;  // decoded, without query
  std::string verb;  // get list watch create update patch delete deletecollection; else
                     // the method in lower case
  std::string group;
  std::string version;
  std::string namespace_name;  // "" for cluster scope and for all namespaces
  std::string resource;
  std::string name;
  std::string subresource;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

// `target` is path and query as sent. 404 for paths that cannot be one (dot segments, empty
// segments in a resource path, too long or too deep), 400 for broken escapes.
Answer<RequestInfo> parse_request(std::string_view method, std::string_view target);

// The query of a target, decoded. 400 for broken escapes.
Answer<Query> parse_target_query(std::string_view target);

}  // namespace fairlead::apimachinery
