#include "api/resource/catalog.h"

#include <algorithm>

#include "api/resource/core/core_kinds.h"
#include "api/resource/networks/ip_lock.h"
#include "api/resource/networks/network_attachment.h"
#include "api/resource/networks/node_report.h"
#include "api/resource/networks/subnet.h"
#include "foundation/base/check.h"

namespace fairlead::resource {

Catalog::Catalog(std::vector<Kind> kinds) {
  for (Kind& kind : kinds) {
    CHECK(!find(kind.group, kind.version, kind.plural));
    CHECK(!find_kind(kind.api_version(), kind.kind));
    if (kind.view) {
      kind.view->stored = find_kind(kind.view->of, kind.kind);
      CHECK(kind.view->stored && !kind.view->stored->view);  // comes before its views
    }
    kinds_.push_back(std::make_unique<const Kind>(std::move(kind)));
    if (!kinds_.back()->view) stored_.push_back(kinds_.back().get());
  }
}

const Kind* Catalog::find(std::string_view group, std::string_view version,
                          std::string_view plural) const {
  const auto found = std::ranges::find_if(kinds_, [&](const auto& kind) {
    return kind->plural == plural && kind->group == group && kind->version == version;
  });
  return found == kinds_.end() ? nullptr : found->get();
}

const Kind* Catalog::find_kind(std::string_view api_version, std::string_view name) const {
  const std::size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  const std::string_view group = core ? std::string_view() : api_version.substr(0, slash);
  const std::string_view version = core ? api_version : api_version.substr(slash + 1);
  const auto found = std::ranges::find_if(kinds_, [&](const auto& kind) {
    return kind->kind == name && kind->group == group && kind->version == version;
  });
  return found == kinds_.end() ? nullptr : found->get();
}

namespace {

void add_fairlead_kinds(std::vector<Kind>& kinds) {
  kinds.push_back(subnet_kind());
  kinds.push_back(network_attachment_kind());
  kinds.push_back(ip_lock_kind());
  kinds.push_back(node_report_kind());
}

}  // namespace

const Catalog& fairlead_catalog() {
  static const Catalog catalog = [] {
    std::vector<Kind> kinds;
    add_fairlead_kinds(kinds);
    return Catalog(std::move(kinds));
  }();
  return catalog;
}

const Catalog& builtin_catalog() {
  static const Catalog catalog = [] {
    std::vector<Kind> kinds;
    kinds.push_back(namespace_kind());
    kinds.push_back(node_kind());
    kinds.push_back(config_map_kind());
    kinds.push_back(secret_kind());
    kinds.push_back(service_kind());
    kinds.push_back(endpoints_kind());
    kinds.push_back(event_kind());
    kinds.push_back(event_view_kind());
    kinds.push_back(endpoint_slice_kind());
    kinds.push_back(lease_kind());
    kinds.push_back(network_attachment_definition_kind());
    add_fairlead_kinds(kinds);
    return Catalog(std::move(kinds));
  }();
  return catalog;
}

}  // namespace fairlead::resource
