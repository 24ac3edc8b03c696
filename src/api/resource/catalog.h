// The catalog: every kind this server serves, described once. A program puts it together: the kinds
// of Kubernetes (core/core_kinds.h) if it stands alone, and those of its features.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/resource/kind.h"

namespace fairlead::resource {

class Catalog {
 public:
  explicit Catalog(std::vector<Kind> kinds);

  const Kind* find(std::string_view group, std::string_view version, std::string_view plural) const;
  const Kind* find_kind(std::string_view api_version, std::string_view kind) const;
  const std::vector<std::unique_ptr<const Kind>>& kinds() const { return kinds_; }
  // Those that have objects of their own: all but views.
  const std::vector<const Kind*>& stored_kinds() const { return stored_; }

 private:
  std::vector<std::unique_ptr<const Kind>> kinds_;
  std::vector<const Kind*> stored_;
};

}  // namespace fairlead::resource
