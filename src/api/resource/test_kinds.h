// For tests only: kinds that stand for those of features, and a catalog that has them beside the
// core kinds.
//
//   Parcel   a plain kind with a status; nodes may read all of them
//   Mooring  placed on a node (spec.node) and shared by channel (status.channel); a node tells the
//            status of its own
//   Logbook  one for each node, named after it, by which the server knows whether its agent is
//   alive
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/resource/catalog.h"
#include "api/resource/columns.h"
#include "api/resource/core/core_kinds.h"
#include "api/resource/fairlead_group.h"
#include "api/resource/fairlead_kind.h"

namespace fairlead::resource {

struct Parcel {
  struct Spec {
    std::uint32_t number = 0;
    std::string text;
    template <class V>
    static void describe(V& v) {
      v.field("number", &Spec::number)
          .required()
          .immutable()
          .minimum(1)
          .maximum(1000)
          .description("A number.");
      v.field("text", &Spec::text).immutable().description("A text.");
    }
  };
  struct Status {
    bool checked = false;
    template <class V>
    static void describe(V& v) {
      v.field("checked", &Status::checked).description("Whether it was looked at.");
    }
  };
  ObjectMeta metadata;
  ExtendedMetadata extended_metadata;
  Spec spec;
  Status status;
  template <class V>
  static void describe(V& v) {
    v.type_meta(kFairleadApiVersion, "Parcel");
    v.field("metadata", &Parcel::metadata).description("Standard metadata.");
    v.field("extendedMetadata", &Parcel::extended_metadata).description("Times of writes.");
    v.field("spec", &Parcel::spec).required().description("What it is to be.");
    v.field("status", &Parcel::status).description("What was found out about it.");
  }
};

inline Kind parcel_kind() {
  Schema schema = schema_of<Parcel>();
  schema.description = "A Parcel is a plain object.";
  Kind kind = fairlead_kind("Parcel", "parcels", "parcel", "pc", std::move(schema),
                            {{"spec", {"spec"}}, {"status", {"status"}}});
  kind.selectable = {"spec.number"};
  kind.columns = {name_column(), age_column("date")};
  kind.node.rights = {{.every = kRead}};
  return kind;
}

struct Mooring {
  struct Spec {
    std::string node;
    template <class V>
    static void describe(V& v) {
      v.field("node", &Spec::node).required().immutable().description("The node it is on.");
    }
  };
  struct Status {
    std::uint32_t channel = 0;
    std::string line;
    template <class V>
    static void describe(V& v) {
      v.field("channel", &Status::channel).description("The channel it is in.");
      v.field("line", &Status::line).description("What its node says about it.");
    }
  };
  ObjectMeta metadata;
  ExtendedMetadata extended_metadata;
  Spec spec;
  Status status;
  template <class V>
  static void describe(V& v) {
    v.type_meta(kFairleadApiVersion, "Mooring");
    v.field("metadata", &Mooring::metadata).description("Standard metadata.");
    v.field("extendedMetadata", &Mooring::extended_metadata).description("Times of writes.");
    v.field("spec", &Mooring::spec).required().description("Where it is.");
    v.field("status", &Mooring::status).description("What became of it.");
  }
};

inline Kind mooring_kind() {
  Schema schema = schema_of<Mooring>();
  schema.description = "A Mooring is an object on a node.";
  Kind kind = fairlead_kind("Mooring", "moorings", "mooring", "mo", std::move(schema),
                            {{"spec", {"spec"}}, {"status", {"status"}}});
  kind.selectable = {"spec.node", "status.line", "status.channel"};
  kind.columns = {name_column(), age_column("date")};
  NodeAccess& node = kind.node;
  node.own = NodeAccess::Own::placed;
  node.node_field = "spec.node";
  node.shared_field = "status.channel";
  node.rights = {{.own = kRead, .shared = kRead}, {.subresource = "status", .own = kGet | kModify}};
  node.noun = "mooring";
  node.shared_noun = "channel";
  node.most_bytes = 64 << 10;
  node.pace = {.burst = 32 << 20, .per_second = 1 << 20};
  node.written_often = true;
  return kind;
}

struct Logbook {
  ObjectMeta metadata;
  ExtendedMetadata extended_metadata;
  std::optional<MicroTime> renew_time;
  std::optional<Time> silent_since;
  template <class V>
  static void describe(V& v) {
    v.type_meta(kFairleadApiVersion, "Logbook");
    v.field("metadata", &Logbook::metadata).description("Standard metadata.");
    v.field("extendedMetadata", &Logbook::extended_metadata).description("Times of writes.");
    v.field("renewTime", &Logbook::renew_time).description("When the agent was alive.");
    v.field("silentSince", &Logbook::silent_since).description("Since when it is silent.");
  }
};

inline Kind logbook_kind() {
  Schema schema = schema_of<Logbook>();
  schema.description = "A Logbook is the object of one node.";
  Kind kind = fairlead_kind("Logbook", "logbooks", "logbook", "lb", std::move(schema),
                            {{"renewTime", {"renewTime"}}});
  kind.namespaced = false;
  kind.categories = {"fairlead"};
  kind.selectable = {"silentSince", "renewTime"};
  kind.columns = {name_column(), age_column("date")};
  kind.node.own = NodeAccess::Own::named;
  kind.node.rights = {{.own = kGet | kCreate | kModify}};
  kind.node.written_often = true;
  kind.node.liveness = {.renewed = "renewTime", .silent_since = "silentSince"};
  return kind;
}

inline std::vector<Kind> test_kinds() { return {parcel_kind(), mooring_kind(), logbook_kind()}; }

inline const Catalog& test_catalog() {
  static const Catalog catalog = [] {
    std::vector<Kind> kinds = core_kinds();
    for (const Kind& kind : test_kinds()) kinds.push_back(kind);
    return Catalog(std::move(kinds));
  }();
  return catalog;
}

}  // namespace fairlead::resource
