// OwnAttachments: what the node knows of its own attachments, from when each is first seen until
// the fabric has dropped it, and what follows from that: what outdates one, when its hooks are due,
// and what its status should say. Pure; NetworksNode feeds it and carries out the answers.
//
// Invariants
//   1. At most one attachment of a name is not gone: an object of the same name and another uid
//      ends the one before.
//   2. postCreateExec is due when the fabric carries an interface that it made, or one that it
//      adopted and of which no report is known. It is due once for each of those.
//   3. postDeleteExec is due when the fabric has dropped what it carried, once.
//   4. wanted_status() never invents: what is neither carried nor surely absent stays as it is
//   known
//      to be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/networks/node/attachment.h"
#include "features/networks/node/host_status.h"
#include "foundation/base/string_map.h"
#include "foundation/runtime/time.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

class OwnAttachments {
 public:
  struct Own {
    Attachment attachment;  // as seen last
    HostStatus known;       // its status in the API, as last seen or written
    std::uint64_t known_version = 0;
    std::optional<fabric::Station> made;       // what the fabric carries for it
    std::string error;                         // the fabric's last error; empty: it succeeded
    std::optional<WallTime> since;             // when `made` or `error` last changed
    std::shared_ptr<const ExecReport> report;  // of a hook that this process ran
    bool hook_due = false;  // its interface was made, and postCreateExec not yet run for it
    bool gone = false;
  };

  // What the fabric did about one of them.
  struct Outcome {
    const std::string& uid;
    const fabric::Station* station = nullptr;  // what it carries now; null: nothing
    const std::string* error = nullptr;        // null: it succeeded
    bool made_interface = false;               // the interface is new; may be set with an error
    WallTime now{};
  };
  struct DueHook {
    bool created = false;  // postCreateExec; else postDeleteExec
    std::vector<std::string> command;
    fabric::Station station;
  };
  struct Settled {
    std::optional<DueHook> hook;
    bool known = false;      // it is one of this node's
    bool forgotten = false;  // it was gone, and now the fabric has dropped it, too
  };

  // What else a status depends on.
  struct Surroundings {
    std::string host;                   // this node's end of tunnels
    bool desired = false;               // it is to be carried
    bool may_carry = false;             // the fabric carries it or, after a failure, may carry it
    std::vector<std::string> problems;  // why it is not desired
    bool create_hook_allowed = true;    // as the node's owner decided
    bool delete_hook_allowed = true;
  };

  // The attachment as the API has it now. Returns the uid of an earlier one of that name, which is
  // then gone.
  std::optional<std::string> put(const Attachment& attachment);
  // It was deleted; `last` is its last state, which has the current postDeleteExec.
  void deleted(const Attachment& last);
  // It is not there any more. Returns whether it was known.
  bool lose(const std::string& uid);

  // The uid of what this state of an attachment outdates: the one of that name, if VNI, MAC or
  // addresses differ.
  std::optional<std::string> outdated_by(const Attachment& attachment) const;
  // Those that are not in a whole list.
  std::vector<std::string> missing_in(const std::vector<Attachment>& all) const;

  Settled settled(const Outcome& outcome);
  // Returns whether it was known.
  bool hook_ended(const std::string& uid, ExecReport report);
  // A status as it was written.
  void written(const Attachment& answer);

  HostStatus wanted_status(const Own& own, const Surroundings& surroundings) const;

  const Own* find(const std::string& uid) const;
  const Own* find_by_key(std::string_view key) const;
  bool contains(const std::string& uid) const { return own_.contains(uid); }
  const StringMap<Own>& all() const { return own_; }

 private:
  StringMap<Own> own_;                                    // by uid
  std::map<std::string, std::string, std::less<>> uids_;  // by key, of those not gone
};

}  // namespace fairlead::networks
