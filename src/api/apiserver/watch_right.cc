#include "api/apiserver/watch_right.h"

#include <utility>

namespace fairlead::apiserver {

using apimachinery::Answer;

namespace {

// How long a watch goes on when the host cluster cannot be asked about it: longer than a restart of
// its API takes, so that one does not end every watch here.
constexpr Duration kPatience = 60s;

// Nothing was said about the credentials or the rights: the one to ask could not be asked.
bool is_silence(const apimachinery::Status& status) {
  return status.code != 401 && status.code != 403;
}

}  // namespace

WatchRight::WatchRight(Access& access, const Request& request)
    : access_(access),
      user_(request.user),
      kind_(*request.kind),
      namespace_name_(request.attributes.namespace_),
      name_(request.attributes.name),
      selector_(request.field_selector),
      answered_(access.runtime().now()) {
  for (const auto& term : selector_.terms()) terms_.push_back({term.path, term.value, term.equal});
  for (const auto& [name, value] : request.exchange.request().headers)
    if (access.looks_at(name)) credentials_.add(name, value);
}

identity::Attributes WatchRight::attributes(const identity::User& user) const {
  return {.user = &user,
          .verb = "watch",
          .is_resource = true,
          .group = kind_.group,
          .version = kind_.version,
          .resource = kind_.plural,
          .subresource = {},
          .namespace_ = namespace_name_,
          .name = name_,
          .path = {},
          .field_selector = terms_};
}

bool WatchRight::covers_what_is_there() const {
  return node().empty() || access_.known_permitted(attributes(*user_));
}

Task<bool> WatchRight::holds(const runtime::PeerInfo& peer) {
  const identity::HeaderFields headers(credentials_.begin(), credentials_.end());
  Answer<identity::UserRef> user = co_await access_.identify(peer, headers);
  if (!user) co_return is_silence(user.error()) && patience_left();
  if ((*user)->name != user_->name) co_return false;
  const identity::Attributes wanted = attributes(**user);
  const Answer<> allowed = co_await access_.permit(wanted);
  if (!allowed) co_return is_silence(allowed.error()) && patience_left();
  if (**user != *user_) user_ = std::move(*user);
  answered_ = access_.runtime().now();
  co_return true;
}

bool WatchRight::patience_left() const { return access_.runtime().now() - answered_ < kPatience; }

}  // namespace fairlead::apiserver
