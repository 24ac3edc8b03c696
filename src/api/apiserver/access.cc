#include "api/apiserver/access.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/identity/impersonation.h"

namespace fairlead::apiserver {

using apimachinery::Answer;
using apimachinery::refuse;
using identity::Attributes;
using identity::Decision;
using identity::UserRef;

Task<Answer<UserRef>> Access::identify(const runtime::PeerInfo& peer,
                                       identity::HeaderFields headers, UserRef known) {
  const identity::AuthRequest question{
      .peer = &peer, .headers = headers, .now = runtime_.wall_now()};
  std::optional<Result<UserRef>> found;
  if (known) found = std::move(known);
  if (!found) found = authenticator_.authenticate_now(question);
  if (!found) found = co_await authenticator_.authenticate(question);
  // Whoever could not be asked says nothing about the credentials: not 401.
  if (!*found && found->error().code != Code::unauthorized)
    co_return refuse(apimachinery::status_of(found->error()));
  if (!*found || !**found) co_return refuse(apimachinery::unauthorized());
  const bool speaks_for_another = std::ranges::any_of(
      headers, [](const auto& field) { return identity::is_impersonation_header(field.first); });
  if (speaks_for_another) co_return co_await impersonate(std::move(**found), headers);
  co_return std::move(**found);
}

// kubectl --as: allowed to those who have every right that it takes.
Task<Answer<UserRef>> Access::impersonate(UserRef caller, identity::HeaderFields headers) {
  auto wanted = identity::requested_impersonation(headers);
  if (!wanted) co_return refuse(apimachinery::bad_request(wanted.error().message));
  if (!*wanted) co_return caller;
  for (const identity::ImpersonationRight& right : (*wanted)->rights) {
    const Attributes attributes = right.attributes(*caller);
    Answer<> allowed = co_await permit(attributes);
    if (!allowed) co_return refuse(std::move(allowed).error());
  }
  co_return std::make_shared<const identity::User>(std::move((*wanted)->user));
}

Task<Answer<>> Access::permit(const Attributes& wanted) {
  std::optional<Result<Decision>> decision = authorizer_.authorize_now(wanted);
  if (!decision) decision = co_await authorizer_.authorize(wanted);
  if (!*decision) co_return refuse(apimachinery::status_of(decision->error()));
  if ((*decision)->allowed) co_return Answer<>{};
  if (wanted.user->name == identity::kAnonymousUser) co_return refuse(apimachinery::unauthorized());
  co_return refuse(
      apimachinery::status_of({Code::forbidden, identity::forbidden_message(wanted, **decision)}));
}

bool Access::known_permitted(const Attributes& wanted) {
  const std::optional<Result<Decision>> decision = authorizer_.authorize_now(wanted);
  return decision && *decision && (*decision)->allowed;
}

bool Access::looks_at(std::string_view header) const {
  return identity::is_impersonation_header(header) || authenticator_.looks_at(header);
}

}  // namespace fairlead::apiserver
