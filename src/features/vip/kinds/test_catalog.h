// For tests of virtual IPs: the catalog of a server that stands alone.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "api/resource/catalog.h"
#include "api/resource/core/core_kinds.h"
#include "features/vip/kinds/virtual_ip.h"

namespace fairlead::vip {

inline const resource::Catalog& test_catalog() {
  static const resource::Catalog catalog = [] {
    std::vector<resource::Kind> all = resource::core_kinds();
    std::ranges::move(kinds(), std::back_inserter(all));
    return resource::Catalog(std::move(all));
  }();
  return catalog;
}

}  // namespace fairlead::vip
