#include "api/apimachinery/openapi/discovery.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "foundation/wire/json.h"

namespace fairlead::apimachinery {
namespace {

JsonArray strings(const std::vector<std::string>& texts) {
  return JsonArray(texts.begin(), texts.end());
}

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

Document make_document(const Json& value) {
  Document document;
  document.body = wire::encode_json(value) + "\n";
  document.etag = make_etag(document.body);
  return document;
}

// Stable versions first, newer before older: v2, v1, v2beta1, v1beta1, v1alpha1, then anything
// else.
std::tuple<int, int, int, std::string> version_preference(const std::string& version) {
  int major = 0;
  int minor = 0;
  std::size_t i = 1;
  const auto number = [&] {
    int value = 0;
    for (; i < version.size() && version[i] >= '0' && version[i] <= '9' && value < 1'000'000; ++i) {
      value = value * 10 + (version[i] - '0');
    }
    return value;
  };
  if (version.empty() || version[0] != 'v') return {3, 0, 0, version};
  major = number();
  if (i == version.size()) return {0, -major, 0, version};
  const std::string_view rest = std::string_view(version).substr(i);
  int stage = 3;
  if (rest.starts_with("beta")) {
    stage = 1;
    i += 4;
  } else if (rest.starts_with("alpha")) {
    stage = 2;
    i += 5;
  }
  minor = number();
  return {stage, -major, -minor, version};
}

// group → its versions, preferred first.
std::map<std::string, std::vector<std::string>> versions_by_group(
    const std::vector<ServedResource>& served) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const ServedResource& resource : served) {
    auto& versions = groups[resource.group];
    if (std::find(versions.begin(), versions.end(), resource.version) == versions.end()) {
      versions.push_back(resource.version);
    }
  }
  for (auto& [group, versions] : groups) {
    std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
      return version_preference(a) < version_preference(b);
    });
  }
  return groups;
}

JsonObject version_json(const std::string& group, const std::string& version) {
  JsonObject object;
  object["groupVersion"] = group_version(group, version);
  object["version"] = version;
  return object;
}

JsonObject group_json(const std::string& group, const std::vector<std::string>& versions) {
  JsonArray list;
  for (const std::string& version : versions) list.push_back(version_json(group, version));
  JsonObject object;
  object["name"] = group;
  object["versions"] = std::move(list);
  object["preferredVersion"] = version_json(group, versions.front());
  return object;
}

JsonObject resource_json(const ServedResource& resource) {
  JsonObject object;
  object["name"] = resource.plural;
  object["singularName"] = resource.singular;
  object["namespaced"] = resource.namespaced;
  object["kind"] = resource.kind;
  object["verbs"] = strings(resource.verbs);
  if (!resource.short_names.empty()) object["shortNames"] = strings(resource.short_names);
  if (!resource.categories.empty()) object["categories"] = strings(resource.categories);
  return object;
}

JsonObject subresource_json(const ServedResource& resource, const ServedSubresource& subresource) {
  JsonObject object;
  object["name"] = resource.plural + "/" + subresource.name;
  object["singularName"] = "";
  object["namespaced"] = resource.namespaced;
  if (subresource.group != resource.group || subresource.version != resource.version) {
    object["group"] = subresource.group;
    object["version"] = subresource.version;
  }
  object["kind"] = subresource.kind;
  object["verbs"] = strings(subresource.verbs);
  return object;
}

Json resource_list(const std::vector<ServedResource>& served, const std::string& group,
                   const std::string& version) {
  JsonArray resources;
  for (const ServedResource& resource : served) {
    if (resource.group != group || resource.version != version) continue;
    resources.push_back(resource_json(resource));
    for (const ServedSubresource& subresource : resource.subresources) {
      resources.push_back(subresource_json(resource, subresource));
    }
  }
  JsonObject list;
  list["kind"] = "APIResourceList";
  list["apiVersion"] = "v1";
  list["groupVersion"] = group_version(group, version);
  list["resources"] = std::move(resources);
  return list;
}

JsonObject response_kind(std::string_view group, std::string_view version, std::string_view kind) {
  JsonObject object;
  object["group"] = group;
  object["version"] = version;
  object["kind"] = kind;
  return object;
}

JsonObject aggregated_resource(const ServedResource& resource) {
  JsonObject object;
  object["resource"] = resource.plural;
  object["responseKind"] = response_kind(resource.group, resource.version, resource.kind);
  object["scope"] = resource.namespaced ? "Namespaced" : "Cluster";
  object["singularResource"] = resource.singular;
  object["verbs"] = strings(resource.verbs);
  if (!resource.short_names.empty()) object["shortNames"] = strings(resource.short_names);
  if (!resource.categories.empty()) object["categories"] = strings(resource.categories);
  if (resource.subresources.empty()) return object;
  JsonArray subresources;
  for (const ServedSubresource& subresource : resource.subresources) {
    JsonObject entry;
    entry["subresource"] = subresource.name;
    entry["responseKind"] = response_kind(subresource.group, subresource.version, subresource.kind);
    entry["verbs"] = strings(subresource.verbs);
    subresources.push_back(std::move(entry));
  }
  object["subresources"] = std::move(subresources);
  return object;
}

JsonObject aggregated_group(const std::vector<ServedResource>& served, const std::string& group,
                            const std::vector<std::string>& versions) {
  JsonArray version_list;
  for (const std::string& version : versions) {
    JsonArray resources;
    for (const ServedResource& resource : served) {
      if (resource.group == group && resource.version == version) {
        resources.push_back(aggregated_resource(resource));
      }
    }
    JsonObject entry;
    entry["version"] = version;
    entry["resources"] = std::move(resources);
    entry["freshness"] = "Current";
    version_list.push_back(std::move(entry));
  }
  JsonObject metadata;
  if (!group.empty()) metadata["name"] = group;
  JsonObject object;
  object["metadata"] = std::move(metadata);
  object["versions"] = std::move(version_list);
  return object;
}

// Either the core group alone (/api) or all others (/apis).
Document aggregated_document(const std::vector<ServedResource>& served, bool core, bool beta) {
  JsonArray items;
  for (const auto& [group, versions] : versions_by_group(served)) {
    if (group.empty() == core) items.push_back(aggregated_group(served, group, versions));
  }
  JsonObject list;
  list["kind"] = "APIGroupDiscoveryList";
  list["apiVersion"] = beta ? "apidiscovery.k8s.io/v2beta1" : "apidiscovery.k8s.io/v2";
  list["metadata"] = JsonObject();
  list["items"] = std::move(items);
  return make_document(list);
}

Document core_versions_document(const std::vector<std::string>& versions) {
  JsonObject object;
  object["kind"] = "APIVersions";
  object["versions"] = strings(versions);
  object["serverAddressByClientCIDRs"] = JsonArray();
  return make_document(object);
}

ServedSubresource own_subresource(const resource::Kind& kind, std::string name,
                                  std::vector<std::string> verbs) {
  return {std::move(name), kind.group, kind.version, kind.kind, std::move(verbs)};
}

}  // namespace

ServedResource served_resource(const resource::Kind& kind) {
  ServedResource resource;
  resource.group = kind.group;
  resource.version = kind.version;
  resource.kind = kind.kind;
  resource.plural = kind.plural;
  resource.singular = kind.singular;
  resource.namespaced = kind.namespaced;
  resource.verbs = {"create", "delete", "deletecollection", "get",
                    "list",   "patch",  "update",           "watch"};
  resource.short_names = kind.short_names;
  resource.categories = kind.categories;
  const bool is_namespace = kind.group.empty() && kind.plural == "namespaces";
  if (is_namespace) {
    // Namespaces are emptied by their own life cycle, one at a time.
    std::erase(resource.verbs, "deletecollection");
    resource.subresources.push_back(own_subresource(kind, "finalize", {"update"}));
  }
  if (kind.has_status) {
    resource.subresources.push_back(own_subresource(kind, "status", {"get", "patch", "update"}));
  }
  return resource;
}

ServedResource review_resource(std::string group, std::string version, std::string kind,
                               std::string plural, bool namespaced) {
  ServedResource resource;
  resource.group = std::move(group);
  resource.version = std::move(version);
  resource.kind = std::move(kind);
  resource.plural = std::move(plural);
  resource.singular = resource.kind;
  for (char& c : resource.singular) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  resource.namespaced = namespaced;
  resource.verbs = {"create"};
  return resource;
}

Discovery::Discovery(const resource::Catalog& catalog, const std::vector<ServedResource>& extra) {
  for (const auto& kind : catalog.kinds()) served_.push_back(served_resource(*kind));
  served_.insert(served_.end(), extra.begin(), extra.end());
  std::sort(served_.begin(), served_.end(), [](const ServedResource& a, const ServedResource& b) {
    return std::tie(a.group, a.version, a.plural) < std::tie(b.group, b.version, b.plural);
  });

  JsonArray groups;
  for (const auto& [group, versions] : versions_by_group(served_)) {
    for (const std::string& version : versions) {
      resources_[group + "/" + version] = make_document(resource_list(served_, group, version));
    }
    if (group.empty()) {
      core_versions_ = core_versions_document(versions);
      continue;
    }
    groups.push_back(group_json(group, versions));
    JsonObject one;
    one["kind"] = "APIGroup";
    one["apiVersion"] = "v1";
    for (auto& member : group_json(group, versions)) one[member.key()] = member.value();
    group_[group] = make_document(one);
  }
  JsonObject list;
  list["kind"] = "APIGroupList";
  list["apiVersion"] = "v1";
  list["groups"] = std::move(groups);
  groups_ = make_document(list);
  for (const bool beta : {false, true}) {
    aggregated_[beta ? 1 : 0] = aggregated_document(served_, true, beta);
    aggregated_[beta ? 3 : 2] = aggregated_document(served_, false, beta);
  }
}

const Document* Discovery::core_versions() const {
  return core_versions_.body.empty() ? nullptr : &core_versions_;
}

const Document* Discovery::group(std::string_view group) const {
  const auto it = group_.find(group);
  return it == group_.end() ? nullptr : &it->second;
}

const Document* Discovery::resources(std::string_view group, std::string_view version) const {
  const auto it = resources_.find(fmt::format("{}/{}", group, version));
  return it == resources_.end() ? nullptr : &it->second;
}

bool etag_matches(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    std::string_view tag = if_none_match.substr(0, if_none_match.find(','));
    if_none_match.remove_prefix(std::min(if_none_match.size(), tag.size() + 1));
    while (tag.starts_with(' ')) tag.remove_prefix(1);
    while (tag.ends_with(' ')) tag.remove_suffix(1);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == "*" || tag == etag) return true;
  }
  return false;
}

std::string make_etag(std::string_view body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_Digest(body.data(), body.size(), digest.data(), &length, EVP_sha512(), nullptr);
  std::string etag = "\"";
  for (unsigned int i = 0; i < length; ++i) etag += fmt::format("{:02X}", digest[i]);
  return etag + "\"";
}

}  // namespace fairlead::apimachinery
