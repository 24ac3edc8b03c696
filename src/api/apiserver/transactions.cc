#include "api/apiserver/transactions.h"

#include <set>
#include <utility>

#include "api/resource/fairlead_group.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::bad_request;
using apimachinery::refuse;

Status at_operation(std::size_t index, Status status) {
  status.message = "operations[" + std::to_string(index) + "]: " + status.message;
  return status;
}

std::string text_at(const Json& value, std::string_view path) {
  return std::string(wire::find_string(value, path));
}

}  // namespace

bool Transactions::serves(const apimachinery::RequestInfo& info) {
  return info.group == resource::kFairleadGroup && info.version == "v1alpha1" &&
         info.resource == "transactions" && info.name.empty();
}

Answer<std::unique_ptr<Transactions::Operation>> Transactions::decode_operation(
    Request& request, const Json& value) const {
  if (!value.is_object()) return refuse(bad_request("must be an object"));
  auto operation = std::make_unique<Operation>();
  const std::string verb = text_at(value, "verb");
  const Json* object = wire::find(value, "object");
  if (verb == "delete") {
    operation->verb = "delete";
  } else if (verb == "create" || verb == "update" || verb == "updateStatus") {
    operation->verb = verb == "create" ? "create" : "update";
    if (verb == "updateStatus") operation->subresource = "status";
    if (!object || !object->is_object()) return refuse(bad_request("object must be given"));
    operation->object = *object;
  } else if (verb == "patchStatus") {
    operation->verb = "patch";
    operation->subresource = "status";
    const Json* patch = wire::find(value, "patch");
    if (!patch || !patch->is_object()) return refuse(bad_request("patch must be given"));
    operation->patch = {apimachinery::PatchType::merge_patch, *patch};
  } else {
    return refuse(bad_request(
        "verb must be create, update, updateStatus, patchStatus or delete, not \"" + verb + "\""));
  }
  const Json& named = operation->object.is_object() ? operation->object : value;
  const std::string api_version = text_at(named, "apiVersion");
  const std::string kind = text_at(named, "kind");
  operation->kind = catalog_.find_kind(api_version, kind);
  if (!operation->kind || operation->kind->view)
    return refuse(
        bad_request("no kind \"" + kind + "\" in version \"" + api_version + "\" is stored here"));
  if (operation->subresource == "status" && !operation->kind->has_status)
    return refuse(bad_request(operation->kind->kind + " has no status"));

  const bool from_object = operation->object.is_object();
  operation->namespace_name =
      text_at(value, from_object ? "object.metadata.namespace" : "namespace");
  operation->name = text_at(value, from_object ? "object.metadata.name" : "name");
  if (operation->kind->namespaced && operation->namespace_name.empty())
    return refuse(bad_request("a namespace must be given"));
  if (operation->name.empty() && operation->verb != "create")
    return refuse(bad_request("a name must be given"));
  operation->deletion.uid = text_at(value, "preconditions.uid");
  operation->deletion.resource_version = text_at(value, "preconditions.resourceVersion");

  using apimachinery::WriteVerb;
  const WriteVerb write_verb = operation->verb == "create"  ? WriteVerb::create
                               : operation->verb == "patch" ? WriteVerb::patch
                                                            : WriteVerb::update;
  auto options =
      apimachinery::parse_write_options(request.query, write_verb, request.header("User-Agent"));
  if (!options) return refuse(options.error());
  operation->context = {.kind = operation->kind,
                        .namespace_name = operation->namespace_name,
                        .name = operation->name,
                        .subresource = operation->subresource,
                        .options = std::move(*options),
                        .tracked = is_tracked(*request.user, *operation->kind),
                        .now = runtime_.wall_now(),
                        .random = [this] { return runtime_.random(); }};
  operation->attributes = {.user = request.user.get(),
                           .verb = operation->verb,
                           .is_resource = true,
                           .group = operation->kind->group,
                           .version = operation->kind->version,
                           .resource = operation->kind->plural,
                           .subresource = operation->subresource,
                           .namespace_ = operation->namespace_name,
                           .name = operation->name,
                           .path = {},
                           .field_selector = {}};
  if (from_object) {
    if (auto ok = check_strictness(operation->context, operation->object, {}, request.warnings);
        !ok)
      return refuse(ok.error());
  }
  return operation;
}

Answer<Transactions::Operations> Transactions::decode(Request& request) const {
  const std::string& text = request.exchange.request().body;
  if (text.size() > kMaxTransactionBytes)
    return refuse(apimachinery::request_entity_too_large(std::to_string(kMaxTransactionBytes)));
  const auto format = apimachinery::body_format(request.header("Content-Type"));
  if (!format) return refuse(format.error());
  Answer<Body> body = decode_body(text, *format);
  if (!body) return refuse(body.error());
  const Json* list = wire::find(body->value, "operations");
  if (!list || !list->is_array() || list->get_array().empty())
    return refuse(bad_request("operations must be a list with at least one operation"));
  if (list->get_array().size() > kMaxTransactionOperations)
    return refuse(bad_request("operations: at most " + std::to_string(kMaxTransactionOperations) +
                              " are allowed"));
  Operations operations;
  std::set<std::pair<const resource::Kind*, std::string>> seen;
  for (const Json& value : list->get_array()) {
    auto operation = decode_operation(request, value);
    if (!operation) return refuse(at_operation(operations.size(), operation.error()));
    const Operation& one = **operation;
    if (!one.name.empty() && !seen.emplace(one.kind, one.namespace_name + "/" + one.name).second)
      return refuse(at_operation(operations.size(),
                                 bad_request("another operation is about the same object")));
    operations.push_back(std::move(*operation));
  }
  return operations;
}

Task<Answer<>> Transactions::permit(const Operations& operations) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Operation& operation = *operations[i];
    Answer<> allowed = co_await access_.permit(operation.attributes);
    if (!allowed) co_return refuse(at_operation(i, std::move(allowed).error()));
    if (operation.verb != "update" || !operation.kind->create_on_update) continue;
    identity::Attributes creation = operation.attributes;
    creation.verb = "create";
    operation.may_create = co_await access_.permit(creation);
  }
  co_return Answer<>{};
}

WriteItem Transactions::item_of(const Operation& operation, resource::Moment now,
                                std::vector<std::string>& warnings) {
  WriteItem item{.kind = operation.kind,
                 .namespace_name = operation.namespace_name,
                 .name = operation.name,
                 .create = operation.verb == "create",
                 .plan = nullptr,
                 .attributes = &operation.attributes};
  if (operation.verb == "create") {
    item.plan = [&operation](const Json*) {
      return plan_create(operation.context, operation.object);
    };
  } else if (operation.verb == "update") {
    item.plan = [&operation](const Json* live) -> Answer<Change> {
      if (!live && !operation.may_create) return refuse(operation.may_create.error());
      return plan_update(operation.context, live, operation.object);
    };
  } else if (operation.verb == "patch") {
    item.plan = [&operation, &warnings](const Json* live) {
      return plan_patch(operation.context, live, operation.patch, warnings);
    };
  } else {
    item.plan = [&operation, now](const Json* live) -> Answer<Change> {
      if (!live)
        return refuse(
            apimachinery::not_found(apimachinery::group_resource(*operation.kind), operation.name));
      return plan_delete(*operation.kind, *live, operation.deletion, now);
    };
  }
  return item;
}

Task<Result<>> Transactions::serve(Request& request) {
  if (request.info.verb != "create")
    co_return co_await send_status(
        request, apimachinery::method_not_allowed(
                     {std::string(resource::kFairleadGroup), "transactions"}, request.info.verb));
  const Answer<Operations> operations = decode(request);
  if (!operations) co_return co_await send_status(request, operations.error());
  const Answer<> permitted = co_await permit(*operations);
  if (!permitted) co_return co_await send_status(request, permitted.error());

  std::vector<WriteItem> items;
  for (const auto& operation : *operations)
    items.push_back(item_of(*operation, runtime_.wall_now(), request.warnings));
  const bool dry_run = operations->front()->context.options.dry_run;
  const WriteResult<std::vector<Written>> written =
      co_await writer_.write_all(std::move(items), dry_run);
  if (!written) co_return co_await send_status(request, written.error().status());

  std::vector<Bytes> body;
  body.push_back(
      Bytes::literal("{\"kind\":\"TransactionResult\",\"apiVersion\":"
                     "\"fairlead.dev/v1alpha1\",\"results\":["));
  for (std::size_t i = 0; i < written->size(); ++i) {
    if (i > 0) body.push_back(Bytes::literal(","));
    body.push_back((*written)[i].object);
  }
  body.push_back(Bytes::literal("]}\n"));
  co_return co_await send_bytes(request, 201, kJsonType, std::move(body));
}

}  // namespace fairlead::apiserver
