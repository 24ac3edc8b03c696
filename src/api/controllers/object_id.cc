#include "api/controllers/object_id.h"

namespace fairlead::controllers {

using apimachinery::refuse;
using apiserver::Answer;
using apiserver::Change;
using apiserver::WriteItem;
using apiserver::WriteResult;
using apiserver::Written;

namespace {

WriteItem item_for(const ObjectId& id) {
  return {.kind = id.kind, .namespace_name = id.namespace_name, .name = id.name};
}

// Gone, or another object by now: nothing is left to do.
Result<> settled(const WriteResult<Written>& written) {
  if (written || written.error().about_another_object()) return {};
  return fail(written.error());
}

}  // namespace

Task<Result<>> delete_object(apiserver::ObjectWriter& writer, ObjectId id, std::string uid,
                             apimachinery::Propagation propagation, resource::Moment now) {
  WriteItem item = item_for(id);
  const apimachinery::DeleteOptions options{.propagation = propagation, .uid = std::move(uid)};
  item.plan = [&](const Json* live) -> Answer<Change> {
    if (!live)
      return refuse(apimachinery::not_found(apimachinery::group_resource(*id.kind), id.name));
    return apiserver::plan_delete(*id.kind, *live, options, now);
  };
  const WriteResult<Written> written = co_await writer.write(std::move(item));
  co_return settled(written);
}

Task<Result<>> edit_object(apiserver::ObjectWriter& writer, ObjectId id, std::string uid,
                           std::string subresource, resource::Moment now,
                           std::function<bool(Json& object)> edit) {
  const apiserver::WriteContext context{.kind = id.kind,
                                        .namespace_name = id.namespace_name,
                                        .name = id.name,
                                        .subresource = std::move(subresource),
                                        .options = {.field_manager = "fairlead"},
                                        .now = now};
  WriteItem item = item_for(id);
  item.plan = [&](const Json* live) -> Answer<Change> {
    if (!live || wire::find_string(*live, "metadata.uid") != uid)
      return refuse(apimachinery::not_found(apimachinery::group_resource(*id.kind), id.name));
    Json object = wire::copy_beside(*live);
    if (!edit(object)) return Change{.kind = Change::Kind::none};
    return apiserver::plan_update(context, live, std::move(object));
  };
  const WriteResult<Written> written = co_await writer.write(std::move(item));
  co_return settled(written);
}

}  // namespace fairlead::controllers
