#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {

std::vector<Kind> core_kinds() {
  return {namespace_kind(),
          node_kind(),
          config_map_kind(),
          secret_kind(),
          service_kind(),
          endpoints_kind(),
          event_kind(),
          event_view_kind(),
          endpoint_slice_kind(),
          lease_kind(),
          network_attachment_definition_kind()};
}

}  // namespace fairlead::resource
