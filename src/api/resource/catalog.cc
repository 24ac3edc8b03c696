#include "api/resource/catalog.h"

#include <algorithm>

#include "foundation/base/check.h"

namespace fairlead::resource {

namespace {

bool is_selectable(const Kind& kind, std::string_view path) {
  return std::ranges::find(kind.selectable, path) != kind.selectable.end();
}

void check_node_access(const Kind& kind) {
  const NodeAccess& node = kind.node;
  const bool placed = node.own == NodeAccess::Own::placed;
  CHECK(placed ? is_selectable(kind, node.node_field) : node.node_field.empty());
  CHECK((node.own == NodeAccess::Own::listed) != node.nodes_field.empty());
  CHECK(node.shared_field.empty() || (placed && is_selectable(kind, node.shared_field)));
  CHECK(!node.liveness || (is_selectable(kind, node.liveness->renewed) &&
                           is_selectable(kind, node.liveness->silent_since)));
  for (const NodeAccess::Rights& rights : node.rights) {
    CHECK(node.own != NodeAccess::Own::none || rights.own == 0);
    CHECK(!node.shared_field.empty() || rights.shared == 0);
    CHECK(((rights.every | rights.shared) & ~kRead) == 0);
  }
}

}  // namespace

Catalog::Catalog(std::vector<Kind> kinds) {
  for (Kind& kind : kinds) {
    check_node_access(kind);
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

}  // namespace fairlead::resource
