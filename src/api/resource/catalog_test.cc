#include "api/resource/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/resource/test_kind_rules.h"
#include "api/resource/test_kinds.h"

namespace fairlead::resource {
namespace {

const auto& kinds() { return test_catalog().kinds(); }

// Every kind can be found by what a URL says and by what an object says.
TEST(Catalog, KindsAreFound) {
  const Catalog& catalog = test_catalog();
  EXPECT_EQ(core_kinds().size(), 11u);
  EXPECT_EQ(kinds().size(), core_kinds().size() + test_kinds().size());
  for (const auto& kind : kinds()) {
    EXPECT_EQ(catalog.find(kind->group, kind->version, kind->plural), kind.get());
    EXPECT_EQ(catalog.find_kind(kind->api_version(), kind->kind), kind.get());
  }
  EXPECT_EQ(catalog.find("", "v1", "pods"), nullptr);
  EXPECT_EQ(catalog.find("fairlead.dev", "v1", "parcels"), nullptr);
  EXPECT_EQ(catalog.find_kind("v1", "Parcel"), nullptr);
  EXPECT_EQ(catalog.find_kind("fairlead.dev/v1alpha1", "Parcel")->qualified(),
            "parcels.fairlead.dev");
}

// What holds for every kind holds for the core kinds and for those of the tests.
TEST(Catalog, KindsAreSound) { testing::expect_sound_kinds(test_catalog()); }

// A kind whose placement or relevance cannot be looked up is a mistake in the program.
TEST(CatalogDeathTest, NodeAccessIsChecked) {
  const auto with = [](auto change) {
    Kind kind = mooring_kind();
    change(kind.node);
    Catalog catalog({std::move(kind)});
  };
  EXPECT_DEATH(with([](NodeAccess& node) { node.node_field = "spec.other"; }), "is_selectable");
  EXPECT_DEATH(with([](NodeAccess& node) { node.shared_field = "status.other"; }), "shared_field");
  EXPECT_DEATH(with([](NodeAccess& node) { node.rights[0].every = kRead | kDelete; }), "kRead");
  EXPECT_DEATH(with([](NodeAccess& node) { node.rights[0].shared = kUpdate; }), "kRead");
  EXPECT_DEATH(with([](NodeAccess& node) { node.shared_field.clear(); }), "shared");
  EXPECT_DEATH(with([](NodeAccess& node) {
                 node.own = NodeAccess::Own::none;
                 node.node_field.clear();
                 node.shared_field.clear();
               }),
               "own");
  EXPECT_DEATH(with([](NodeAccess& node) { node.liveness.emplace("spec.node", "nothing"); }),
               "liveness");
}

// Nodes may do with core kinds what agents need and no more; what a kind does not say is closed.
TEST(Catalog, NodesUseFewCoreKinds) {
  for (const Kind& kind : core_kinds()) {
    const bool used = kind.kind == "Node" || kind.kind == "Lease";
    EXPECT_EQ(!kind.node.rights.empty(), used) << kind.kind;
    EXPECT_EQ(kind.node.own == NodeAccess::Own::named, used) << kind.kind;
  }
  EXPECT_EQ(node_kind().node.rights_of("")->own, kRead);
  EXPECT_EQ(node_kind().node.rights_of("status")->own, kGet | kModify);
  EXPECT_EQ(node_kind().node.rights_of("finalize"), nullptr);
  EXPECT_EQ(lease_kind().node.rights_of("")->own, kRead | kCreate | kModify | kDelete);
  EXPECT_EQ(lease_kind().node.most_bytes, 16u << 10);
  EXPECT_EQ(node_kind().node.most_bytes, 96u << 10);
}

// `kubectl get all` and `kubectl delete all --all` are about what users make, not about what the
// server and the nodes keep for themselves.
TEST(Catalog, AllIsWhatUsersMake) {
  const std::set<std::string> made_by_users = {"Service", "Parcel", "Mooring"};
  for (const auto& kind : kinds()) {
    const bool listed = std::ranges::find(kind->categories, "all") != kind->categories.end();
    EXPECT_EQ(listed, made_by_users.contains(kind->kind)) << kind->kind;
  }
}

// The flags of updates are those of Kubernetes for its kinds, and strict for ours.
TEST(Catalog, UpdateRules) {
  const std::set<std::string> create_on_update = {"Service", "Endpoints", "Event", "Lease"};
  const std::set<std::string> conditional = {"Lease", "NetworkAttachmentDefinition", "Parcel",
                                             "Mooring", "Logbook"};
  const std::set<std::string> with_status = {"Namespace", "Node", "Service", "Parcel", "Mooring"};
  const std::set<std::string> no_strategic_merge = {"NetworkAttachmentDefinition", "Parcel",
                                                    "Mooring", "Logbook"};
  const std::set<std::string> cluster_wide = {"Namespace", "Node", "Logbook"};
  for (const auto& kind : kinds()) {
    EXPECT_EQ(kind->create_on_update, create_on_update.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->unconditional_update, !conditional.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->has_status, with_status.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->strategic_merge, !no_strategic_merge.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->namespaced, !cluster_wide.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->time_to_live.count(), kind->kind == "Event" ? 3600 : 0) << kind->kind;
  }
}

}  // namespace
}  // namespace fairlead::resource
