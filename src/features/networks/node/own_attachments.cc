#include "features/networks/node/own_attachments.h"

#include <set>
#include <utility>

namespace fairlead::networks {

std::optional<std::string> OwnAttachments::put(const Attachment& attachment) {
  std::optional<std::string> replaced;
  std::string& uid = uids_[attachment.key];
  if (!uid.empty() && uid != attachment.uid) {
    replaced = uid;
    own_[uid].gone = true;
  }
  uid = attachment.uid;
  Own& own = own_[attachment.uid];
  own.attachment = attachment;
  own.gone = false;
  if (attachment.version >= own.known_version) {
    own.known = attachment.local->status;
    own.known_version = attachment.version;
  }
  return replaced;
}

void OwnAttachments::deleted(const Attachment& last) {
  if (const auto own = own_.find(last.uid); own != own_.end()) own->second.attachment = last;
}

bool OwnAttachments::lose(const std::string& uid) {
  const auto at = own_.find(uid);
  if (at == own_.end()) return false;
  at->second.gone = true;
  const auto key = uids_.find(at->second.attachment.key);
  if (key != uids_.end() && key->second == uid) uids_.erase(key);
  return true;
}

std::optional<std::string> OwnAttachments::outdated_by(const Attachment& attachment) const {
  const Own* own = find_by_key(attachment.key);
  if (!own) return std::nullopt;
  const Attachment& before = own->attachment;
  const bool same = before.vni == attachment.vni && before.mac == attachment.mac &&
                    before.addresses == attachment.addresses;
  if (same) return std::nullopt;
  return before.uid;
}

std::vector<std::string> OwnAttachments::missing_in(const std::vector<Attachment>& all) const {
  std::set<std::string_view> listed;
  for (const Attachment& attachment : all) listed.insert(attachment.uid);
  std::vector<std::string> missing;
  for (const auto& [uid, own] : own_)
    if (!own.gone && !listed.contains(uid)) missing.push_back(uid);
  return missing;
}

OwnAttachments::Settled OwnAttachments::settled(const Outcome& outcome) {
  const auto at = own_.find(outcome.uid);
  if (at == own_.end()) return {};
  Own& own = at->second;
  Settled settled{.hook = std::nullopt, .known = true, .forgotten = false};
  own.hook_due |= outcome.made_interface;
  const std::string error = outcome.error ? *outcome.error : "";
  if (own.error != error) own.since = outcome.now;
  own.error = error;
  if (outcome.error) return settled;
  const Local& local = *own.attachment.local;
  if (outcome.station) {
    const bool unreported = !own.known.report && !own.report;
    own.hook_due |= !own.made && unreported;  // adopted: nobody knows that it has run
    if (!own.made) own.since = outcome.now;
    own.made = *outcome.station;
    if (std::exchange(own.hook_due, false))
      settled.hook = DueHook{true, local.post_create_exec, *own.made};
  } else if (own.made) {
    settled.hook = DueHook{false, local.post_delete_exec, *own.made};
    own.made.reset();
    own.since = outcome.now;
  }
  if (own.gone && !outcome.station) {
    settled.forgotten = true;
    own_.erase(at);
  }
  return settled;
}

bool OwnAttachments::hook_ended(const std::string& uid, ExecReport report) {
  const auto own = own_.find(uid);
  if (own == own_.end()) return false;
  own->second.report = std::make_shared<const ExecReport>(std::move(report));
  return true;
}

void OwnAttachments::written(const Attachment& answer) {
  const auto own = own_.find(answer.uid);
  if (own == own_.end() || answer.version < own->second.known_version) return;
  own->second.known = answer.local->status;
  own->second.known_version = answer.version;
}

HostStatus OwnAttachments::wanted_status(const Own& own, const Surroundings& surroundings) const {
  HostStatus wanted = own.known;
  if (own.report) wanted.report = own.report;
  if (own.made) {
    wanted.interface = own.made->interface;
    wanted.host = surroundings.host;
  } else if (!surroundings.may_carry || (surroundings.desired && !own.error.empty())) {
    wanted.interface.clear();
    wanted.host.clear();
  }
  wanted.errors = surroundings.problems;
  if (!own.error.empty()) wanted.errors.push_back(own.error);
  const Local& local = *own.attachment.local;
  if (!surroundings.create_hook_allowed)
    wanted.errors.push_back(hook_not_allowed("postCreateExec", local.post_create_exec.front()));
  if (!surroundings.delete_hook_allowed)
    wanted.errors.push_back(hook_not_allowed("postDeleteExec", local.post_delete_exec.front()));
  return wanted;
}

const OwnAttachments::Own* OwnAttachments::find(const std::string& uid) const {
  const auto at = own_.find(uid);
  return at == own_.end() ? nullptr : &at->second;
}

const OwnAttachments::Own* OwnAttachments::find_by_key(std::string_view key) const {
  const auto uid = uids_.find(key);
  return uid == uids_.end() ? nullptr : find(uid->second);
}

}  // namespace fairlead::networks
