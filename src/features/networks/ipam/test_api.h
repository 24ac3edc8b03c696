// For tests only: a whole API server that has the kinds of virtual networks.
#pragma once

#include "api/apiserver/test_server.h"
#include "features/networks/kinds/test_catalog.h"

namespace fairlead::ipam {

struct TestApi : apiserver::TestServer {
  TestApi() : TestServer(networks::test_catalog()) {}
};

}  // namespace fairlead::ipam
