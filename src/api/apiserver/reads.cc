#include "api/apiserver/reads.h"

#include <functional>
#include <limits>
#include <utility>

#include "api/apimachinery/request/continue_token.h"
#include "api/apimachinery/request/list_options.h"
#include "api/apimachinery/table.h"
#include "api/apiserver/list_text.h"
#include "api/apiserver/selection.h"
#include "api/apiserver/write_plan.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::ContinueToken;
using apimachinery::ListMeta;
using apimachinery::ListOptions;
using apimachinery::ReadAt;
using apimachinery::refuse;
using apimachinery::Representation;
using apimachinery::Shape;
using store::Place;
using watchcache::ObjectRef;
using watchcache::Page;
using watchcache::PageRequest;

constexpr std::size_t kPiece = 128 << 10;  // lists longer than this are made while they are sent

// What to read and what the answer says about it.
struct ListPlan {
  watchcache::Selection selection;
  PageRequest page;
  Place shown;  // the list's resourceVersion
};

struct Listed {
  Page page;
  ListMeta meta;
};

// 410 with a token that goes on with today's state from the same key.
Status expired_with_token(const ContinueToken& token) {
  return apimachinery::expired_continue(
      apimachinery::encode_continue({.revision = -1, .start = token.start}));
}

Answer<ListPlan> plan_list(const Request& request, const ListOptions& options, Place newest) {
  ListPlan plan{
      .selection = make_selection(*request.kind, request.info.namespace_name, "", options),
      .page = {},
      .shown = newest};
  plan.page.limit = static_cast<std::size_t>(options.limit);
  const ReadAt at = apimachinery::read_at(options);
  if (at.freshness == ReadAt::Freshness::exact) {
    // A commit is one step: a version inside it shows the whole of it.
    plan.shown = Place::end_of(Place::from_number(at.revision).revision);
    plan.page.at = plan.shown;
  } else if (at.freshness == ReadAt::Freshness::continuation) {
    Answer<ContinueToken> token = apimachinery::decode_continue(options.continue_token);
    if (!token) return refuse(token.error());
    plan.page.after = token->start.substr(0, token->start.find('\0'));
    if (token->revision >= 0) {
      plan.shown = Place::from_number(static_cast<std::uint64_t>(token->revision));
      plan.page.at = plan.shown;
    }
  } else if (at.freshness == ReadAt::Freshness::any) {
    plan.page.limit = 0;
  }
  return plan;
}

Answer<Listed> carry_out(const watchcache::KindCache& objects, const ListOptions& options,
                         const ListPlan& plan) {
  Result<Page> page = objects.list(plan.selection, plan.page);
  if (!page) {
    if (!options.continue_token.empty())
      return refuse(expired_with_token({.revision = -1, .start = plan.page.after + '\0'}));
    return refuse(apimachinery::expired(page.error().message));
  }
  Listed listed{.page = std::move(*page), .meta = {}};
  listed.meta.resource_version = std::to_string(plan.shown.number());
  if (listed.page.more) {
    listed.meta.continue_token =
        apimachinery::encode_continue({.revision = static_cast<std::int64_t>(plan.shown.number()),
                                       .start = listed.page.last_key + '\0'});
    if (options.labels.empty() && options.fields.empty())
      listed.meta.remaining = static_cast<std::int64_t>(listed.page.remaining);
  }
  return listed;
}

// The objects' own bytes between a head and a tail: nothing is encoded again.
std::vector<Bytes> joined_list(const resource::Kind& kind, const Listed& listed) {
  JsonObject head{{"kind", kind.list_kind()},
                  {"apiVersion", kind.api_version()},
                  {"metadata", listed.meta.to_json()}};
  std::string open = wire::encode_json(Json(std::move(head)));
  open.pop_back();
  open.append(",\"items\":[");
  std::vector<Bytes> body;
  body.reserve(2 * listed.page.objects.size() + 2);
  body.emplace_back(std::move(open));
  for (const ObjectRef& object : listed.page.objects) {
    if (body.size() > 1) body.push_back(Bytes::literal(","));
    body.push_back(watchcache::served_bytes(object));
  }
  body.push_back(Bytes::literal("]}\n"));
  return body;
}

// Whether the list goes out as the objects' own bytes, shared by every answer.
bool is_shared(const resource::Kind& kind, const Representation& form) {
  return !kind.view && form.shape == Shape::object && form.format == apimachinery::Format::json &&
         !form.pretty;
}

std::size_t bytes_of(const Page& page) {
  std::size_t bytes = 0;
  for (const ObjectRef& object : page.objects) bytes += object->json.size();
  return bytes;
}

}  // namespace

Task<Result<>> Reads::get(Request& request) {
  const resource::Kind& kind = *request.kind;
  const auto form =
      apimachinery::negotiate(request.header("Accept"), {.table = true, .partial_metadata = true},
                              request.header("User-Agent"), request.query.get_or_empty("pretty"));
  if (!form) co_return co_await send_status(request, form.error());
  const auto wanted = apimachinery::parse_get_options(request.query);
  if (!wanted) co_return co_await send_status(request, wanted.error());

  const Result<> fresh = co_await cache_.fresh();
  if (!fresh) co_return co_await send_status(request, apimachinery::status_of(fresh.error()));
  if (*wanted && Place::from_number(**wanted).revision > cache_.revision())
    co_return co_await send_status(request,
                                   apimachinery::too_large_resource_version(
                                       **wanted, Place::end_of(cache_.revision()).number()));

  const ObjectRef object = cache_.of(kind).find(
      watchcache::object_key(kind, request.info.namespace_name, request.info.name));
  if (!object)
    co_return co_await send_status(
        request, apimachinery::not_found(apimachinery::group_resource(kind), request.info.name));
  co_return co_await send_object(request, 200, watchcache::served_bytes(object), *form,
                                 runtime_.wall_now());
}

Task<Result<>> Reads::list(Request& request) {
  const auto form =
      apimachinery::negotiate(request.header("Accept"), {.table = true, .partial_metadata = true},
                              request.header("User-Agent"), request.query.get_or_empty("pretty"));
  if (!form) co_return co_await send_status(request, form.error());
  const auto options = apimachinery::parse_list_options(request.query, *request.kind);
  if (!options) co_return co_await send_status(request, options.error());

  const ReadAt at = apimachinery::read_at(*options);
  if (at.freshness != ReadAt::Freshness::any) {
    const Result<> fresh = co_await cache_.fresh();
    if (!fresh) co_return co_await send_status(request, apimachinery::status_of(fresh.error()));
  }
  const store::Revision needed = Place::from_number(at.revision).revision;
  if (needed > cache_.revision()) {
    const Result<> reached = co_await cache_.reached(needed, kFutureVersionWait);
    if (!reached)
      co_return co_await send_status(request,
                                     apimachinery::too_large_resource_version(
                                         at.revision, Place::end_of(cache_.revision()).number()));
  }

  const auto plan = plan_list(request, *options, Place::end_of(cache_.revision()));
  if (!plan) co_return co_await send_status(request, plan.error());
  Answer<Listed> listed = carry_out(cache_.of(*request.kind), *options, *plan);
  if (!listed) co_return co_await send_status(request, listed.error());

  const bool is_long = bytes_of(listed->page) > kPiece;
  // What is packed is no longer shared, so a long list is then made like the other forms.
  if (is_shared(*request.kind, *form) && !(is_long && wants_gzip(request)))
    co_return co_await send_bytes(request, 200, kJsonType, joined_list(*request.kind, *listed));
  const auto include =
      apimachinery::parse_include_object(request.query.get_or_empty("includeObject"));
  if (!include && form->shape == Shape::table)
    co_return co_await send_status(request, include.error());
  ListText text(*request.kind, std::move(listed->page.objects), listed->meta, *form,
                {.meta_version = form->meta_version,
                 .include = include.value_or(apimachinery::IncludeObject::metadata),
                 .column_definitions = true,
                 .now = runtime_.wall_now()});
  if (is_long) {
    std::function<std::string()> next = [&text] { return text.next(kPiece); };
    co_return co_await send_pieces(request, long_lists_, form->content_type(), std::move(next));
  }
  std::vector<Bytes> body;
  body.emplace_back(text.next(std::numeric_limits<std::size_t>::max()));
  co_return co_await send_bytes(request, 200, form->content_type(), std::move(body));
}

}  // namespace fairlead::apiserver
