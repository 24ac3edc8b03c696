// The kinds of Kubernetes that this server also stores, in their own groups and shapes, so that no
// component needs to know which of the two servers it talks to. Fields this server does not know
// are kept.
#pragma once

#include <vector>

#include "api/resource/kind.h"

namespace fairlead::resource {

// All of them.
std::vector<Kind> core_kinds();

Kind namespace_kind();
Kind node_kind();
Kind config_map_kind();
Kind secret_kind();
Kind service_kind();
Kind endpoints_kind();
Kind endpoint_slice_kind();
Kind lease_kind();
Kind event_kind();
Kind event_view_kind();  // events.k8s.io/v1
Kind network_attachment_definition_kind();

}  // namespace fairlead::resource
