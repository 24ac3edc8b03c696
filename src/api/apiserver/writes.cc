#include "api/apiserver/writes.h"

#include <utility>

#include "api/apimachinery/request/list_options.h"
#include "api/apiserver/selection.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::PatchType;
using apimachinery::refuse;
using apimachinery::Representation;
using apimachinery::WriteVerb;

Answer<Representation> answer_form(const Request& request) {
  return apimachinery::negotiate(
      request.header("Accept"), {.table = true, .partial_metadata = true},
      request.header("User-Agent"), request.query.get_or_empty("pretty"));
}

// The body as an object of the request's kind, unknown and duplicate fields dealt with.
Answer<Json> decode_object(Request& request, const WriteContext& context) {
  const auto format = apimachinery::body_format(request.header("Content-Type"));
  if (!format) return refuse(format.error());
  Answer<Body> body = decode_body(request.exchange.request().body, *format);
  if (!body) return refuse(body.error());
  if (body->value.is_null()) return refuse(apimachinery::bad_request("the request has no body"));
  if (auto ok = check_strictness(context, body->value, body->duplicates, request.warnings); !ok)
    return refuse(ok.error());
  return std::move(body->value);
}

Answer<Patch> decode_patch(Request& request, const WriteContext& context) {
  const auto type = apimachinery::patch_type(request.header("Content-Type"), *context.kind);
  if (!type) return refuse(type.error());
  const auto format =
      *type == PatchType::apply ? apimachinery::Format::yaml : apimachinery::Format::json;
  Answer<Body> body = decode_body(request.exchange.request().body, format);
  if (!body) return refuse(body.error());
  if (body->value.is_null()) return refuse(apimachinery::bad_request("the patch is empty"));
  if (*type == PatchType::apply) {
    if (auto ok = check_strictness(context, body->value, body->duplicates, request.warnings); !ok)
      return refuse(ok.error());
  }
  return Patch{*type, std::move(body->value)};
}

Answer<apimachinery::DeleteOptions> decode_delete_options(Request& request) {
  Json body;
  if (!request.exchange.request().body.empty()) {
    const auto format = apimachinery::body_format(request.header("Content-Type"));
    if (!format) return refuse(format.error());
    Answer<Body> decoded = decode_body(request.exchange.request().body, *format);
    if (!decoded) return refuse(decoded.error());
    body = std::move(decoded->value);
  }
  return apimachinery::parse_delete_options(request.query, body);
}

}  // namespace

Answer<WriteContext> Writes::context_of(const Request& request, WriteVerb verb) const {
  auto options =
      apimachinery::parse_write_options(request.query, verb, request.header("User-Agent"));
  if (!options) return refuse(options.error());
  return WriteContext{.kind = request.kind,
                      .namespace_name = request.info.namespace_name,
                      .name = request.info.name,
                      .subresource = request.info.subresource,
                      .options = std::move(*options),
                      .tracked = is_tracked(*request.user, *request.kind),
                      .now = runtime_.wall_now(),
                      .random = [this] { return runtime_.random(); }};
}

WriteItem Writes::item_of(const Request& request) const {
  return WriteItem{.kind = &request.kind->storage(),
                   .namespace_name = request.info.namespace_name,
                   .name = request.info.name,
                   .create = false,
                   .plan = nullptr,
                   .attributes = &request.attributes};
}

Task<Answer<bool>> Writes::may_create(const Request& request) {
  const resource::Kind& kind = *request.kind;
  const std::string key =
      watchcache::object_key(kind.storage(), request.info.namespace_name, request.info.name);
  if (cache_.of(kind).find(key)) co_return false;
  identity::Attributes wanted = request.attributes;
  wanted.verb = "create";
  const Answer<> allowed = co_await access_.permit(wanted);
  if (allowed) co_return true;
  // No refusal on stale state: somebody may have created it.
  const Result<> fresh = co_await cache_.fresh();
  if (!fresh) co_return refuse(apimachinery::status_of(fresh.error()));
  if (cache_.of(kind).find(key)) co_return false;
  co_return refuse(allowed.error());
}

namespace {

// It was there when the right to create it was asked for, and is gone: not decided here.
Answer<Change> vanished(const Request& request) {
  return refuse(apimachinery::conflict(apimachinery::group_resource(*request.kind),
                                       request.info.name,
                                       "the object was deleted meanwhile; please try again"));
}

}  // namespace

Task<Result<>> Writes::create(Request& request) {
  const auto form = answer_form(request);
  if (!form) co_return co_await send_status(request, form.error());
  const Answer<WriteContext> context = context_of(request, WriteVerb::create);
  if (!context) co_return co_await send_status(request, context.error());
  const Answer<Json> object = decode_object(request, *context);
  if (!object) co_return co_await send_status(request, object.error());

  WriteItem item = item_of(request);
  item.create = true;
  item.plan = [&](const Json*) { return plan_create(*context, *object); };
  const WriteResult<Written> written =
      co_await writer_.write(std::move(item), context->options.dry_run);
  if (!written) co_return co_await send_status(request, written.error().status());
  co_return co_await send_object(request, 201, written->object, *form, runtime_.wall_now());
}

Task<Result<>> Writes::update(Request& request) {
  const auto form = answer_form(request);
  if (!form) co_return co_await send_status(request, form.error());
  const Answer<WriteContext> context = context_of(request, WriteVerb::update);
  if (!context) co_return co_await send_status(request, context.error());
  const Answer<Json> object = decode_object(request, *context);
  if (!object) co_return co_await send_status(request, object.error());
  const bool can_create = request.kind->create_on_update && context->subresource.empty();
  Answer<bool> creates = false;
  if (can_create) creates = co_await may_create(request);
  if (!creates) co_return co_await send_status(request, creates.error());

  WriteItem item = item_of(request);
  item.plan = [&](const Json* live) {
    if (!live && can_create && !*creates) return vanished(request);
    return plan_update(*context, live, *object);
  };
  const WriteResult<Written> written =
      co_await writer_.write(std::move(item), context->options.dry_run);
  if (!written) co_return co_await send_status(request, written.error().status());
  co_return co_await send_object(request, written->created ? 201 : 200, written->object, *form,
                                 runtime_.wall_now());
}

Task<Result<>> Writes::patch(Request& request) {
  const auto form = answer_form(request);
  if (!form) co_return co_await send_status(request, form.error());
  const auto type = apimachinery::patch_type(request.header("Content-Type"), *request.kind);
  if (!type) co_return co_await send_status(request, type.error());
  const Answer<WriteContext> context =
      context_of(request, *type == PatchType::apply ? WriteVerb::apply : WriteVerb::patch);
  if (!context) co_return co_await send_status(request, context.error());
  const Answer<Patch> patch = decode_patch(request, *context);
  if (!patch) co_return co_await send_status(request, patch.error());
  const bool can_create = *type == PatchType::apply && context->subresource.empty();
  Answer<bool> creates = false;
  if (can_create) creates = co_await may_create(request);
  if (!creates) co_return co_await send_status(request, creates.error());

  WriteItem item = item_of(request);
  item.plan = [&](const Json* live) {
    if (!live && can_create && !*creates) return vanished(request);
    return plan_patch(*context, live, *patch, request.warnings);
  };
  const WriteResult<Written> written =
      co_await writer_.write(std::move(item), context->options.dry_run);
  if (!written) co_return co_await send_status(request, written.error().status());
  co_return co_await send_object(request, written->created ? 201 : 200, written->object, *form,
                                 runtime_.wall_now());
}

namespace {

// Deletes one object by plan_delete; 404 when it is not there.
WriteItem delete_item(const resource::Kind& kind, WriteItem item,
                      const apimachinery::DeleteOptions& options, resource::Moment now) {
  item.plan = [&kind, options, now, name = item.name](const Json* live) -> Answer<Change> {
    if (!live) return refuse(apimachinery::not_found(apimachinery::group_resource(kind), name));
    return plan_delete(kind, *live, options, now);
  };
  return item;
}

}  // namespace

Task<Result<>> Writes::remove(Request& request) {
  const auto form = answer_form(request);
  if (!form) co_return co_await send_status(request, form.error());
  const auto options = decode_delete_options(request);
  if (!options) co_return co_await send_status(request, options.error());

  WriteItem item = delete_item(*request.kind, item_of(request), *options, runtime_.wall_now());
  const WriteResult<Written> written = co_await writer_.write(std::move(item), options->dry_run);
  if (!written) co_return co_await send_status(request, written.error().status());
  if (written->change != Change::Kind::erase)
    co_return co_await send_object(request, 200, written->object, *form, runtime_.wall_now());
  co_return co_await send_status(
      request, apimachinery::deleted(apimachinery::group_resource(*request.kind), written->name,
                                     written->uid));
}

Task<Result<>> Writes::remove_collection(Request& request) {
  const auto options = decode_delete_options(request);
  if (!options) co_return co_await send_status(request, options.error());
  const auto listing = apimachinery::parse_list_options(request.query, *request.kind);
  if (!listing) co_return co_await send_status(request, listing.error());
  const Result<> fresh = co_await cache_.fresh();
  if (!fresh) co_return co_await send_status(request, apimachinery::status_of(fresh.error()));

  const auto page =
      cache_.of(*request.kind)
          .list(make_selection(*request.kind, request.info.namespace_name, "", *listing), {});
  JsonArray items;
  for (const watchcache::ObjectRef& object : page->objects) {
    WriteItem item = item_of(request);
    item.namespace_name = object->namespace_name;
    item.name = object->name;
    apimachinery::DeleteOptions one = *options;
    if (one.uid.empty()) one.uid = object->uid;
    item = delete_item(*request.kind, std::move(item), one, runtime_.wall_now());
    const WriteResult<Written> written = co_await writer_.write(std::move(item), options->dry_run);
    // Gone or replaced meanwhile: deleted all the same.
    if (!written && !written.error().about_another_object())
      co_return co_await send_status(request, written.error().status());
    items.push_back(request.kind->shown(object->decode()));
  }
  const std::string version = std::to_string(store::Place::end_of(cache_.revision()).number());
  co_return co_await send_json(request, 200,
                               JsonObject{{"kind", request.kind->list_kind()},
                                          {"apiVersion", request.kind->api_version()},
                                          {"metadata", JsonObject{{"resourceVersion", version}}},
                                          {"items", std::move(items)}});
}

}  // namespace fairlead::apiserver
