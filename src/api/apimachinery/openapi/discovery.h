// Discovery: what this server serves, as documents. Made once from the catalog; the API server
// hands the texts out.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/catalog.h"

namespace fairlead::apimachinery {

struct ServedSubresource {
  std::string name;  // "status"
  std::string group;
  std::string version;
  std::string kind;
  std::vector<std::string> verbs;
};

struct ServedResource {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  std::string singular;
  bool namespaced = false;
  std::vector<std::string> verbs;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<ServedSubresource> subresources;
};

// Everything the catalog stores, with the verbs and subresources each kind has.
ServedResource served_resource(const resource::Kind& kind);
// Reviews: create only, never stored (selfsubjectaccessreviews, tokenreviews, …).
ServedResource review_resource(std::string group, std::string version, std::string kind,
                               std::string plural, bool namespaced = false);

struct Document {
  std::string body;
  std::string etag;  // with its quotes
};

class Discovery {
 public:
  Discovery(const resource::Catalog& catalog, const std::vector<ServedResource>& extra);

  // Unaggregated. nullptr: not served, 404.
  const Document& groups() const { return groups_; }    // /apis
  const Document* core_versions() const;                // /api; null without a core group
  const Document* group(std::string_view group) const;  // /apis/g
  const Document* resources(std::string_view group, std::string_view version) const;

  // Aggregated, for the Accept variants of accept.h. The v2beta1 form differs in apiVersion only.
  const Document& aggregated_core(bool beta) const { return aggregated_[beta ? 1 : 0]; }    // /api
  const Document& aggregated_groups(bool beta) const { return aggregated_[beta ? 3 : 2]; }  // /apis

  const std::vector<ServedResource>& served() const { return served_; }

 private:
  std::vector<ServedResource> served_;
  Document groups_;
  Document core_versions_;
  std::map<std::string, Document, std::less<>> group_;
  std::map<std::string, Document, std::less<>> resources_;  // by "group/version"
  Document aggregated_[4];
};

// True when If-None-Match names this tag: answer 304.
bool etag_matches(std::string_view if_none_match, std::string_view etag);
// "<SHA-512 in upper-case hex>", quotes included.
std::string make_etag(std::string_view body);

}  // namespace fairlead::apimachinery
