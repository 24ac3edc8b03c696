// NodeAccess: how a node (its agent's user) relates to the objects of a kind, as part of the kind's
// description. Everything that treats nodes apart follows it, and so names no kind:
//
//   api/identity/node_role          what a node may read and write
//   api/apiserver/node_index        which objects are on which node, and which concern it
//   api/apiserver/admission         how large a node's objects are, and how fast it may write them
//   api/controllers/node_lifecycle  which object says that the agent is alive
//
// A kind that says nothing is closed to nodes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/verbs.h"

namespace fairlead::resource {

struct NodeAccess {
  // Which objects are a node's own. A node writes no others; it can neither take over an object of
  // another node nor give one away, and it binds them only to its own Node: no finalizers, no other
  // owners.
  enum class Own {
    none,
    named,   // the object that has the node's name
    placed,  // the objects whose field `node_field` has the node's name
    listed,  // the objects whose list `nodes_field` has it; without items it is every node's
  };

  // The verbs of one endpoint. What is not named is not allowed.
  struct Rights {
    std::string subresource;  // "": the objects themselves
    Verbs every = 0;          // for all objects; reads only
    Verbs own = 0;            // for the node's own
    Verbs shared = 0;         // also for those that share `shared_field` with one of its own; reads
  };

  // A token bucket in bytes, per node.
  struct Pace {
    double burst;
    double per_second;
  };

  // Members of the object, both selectable, by which the server knows whether the agent is alive.
  // For kinds of which an agent has one object, named after its node.
  struct Liveness {
    std::string renewed;       // the agent writes the time, where it has no Lease for that
    std::string silent_since;  // the server writes it while the agent is silent
  };

  const Rights* rights_of(std::string_view subresource) const {
    for (const Rights& one : rights)
      if (one.subresource == subresource) return &one;
    return nullptr;
  }

  Own own = Own::none;
  std::string node_field;    // placed: a selectable field
  std::string nodes_field;   // listed: a list of names of nodes
  std::string shared_field;  // placed: a selectable field with a positive whole number; "": none
  std::vector<std::string> namespaces;  // named: own only in these; empty: in any
  std::vector<Rights> rights;

  // What refusals call an object, and a value of `shared_field`.
  std::string noun = "object";
  std::string shared_noun;

  std::size_t most_bytes = 96 << 10;  // size of an object that a node writes
  std::optional<Pace> pace;           // of its own; otherwise shared with all such kinds
  bool written_often = false;         // a node's writes then leave no trace in managedFields

  std::optional<Liveness> liveness;
};

}  // namespace fairlead::resource
