// For tests and simulations of virtual networks: the catalog of a server that stands alone.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "api/resource/catalog.h"
#include "api/resource/core/core_kinds.h"
#include "features/networks/kinds/kinds.h"

namespace fairlead::networks {

inline const resource::Catalog& test_catalog() {
  static const resource::Catalog catalog = [] {
    std::vector<resource::Kind> all = resource::core_kinds();
    std::ranges::move(kinds(), std::back_inserter(all));
    return resource::Catalog(std::move(all));
  }();
  return catalog;
}

}  // namespace fairlead::networks
