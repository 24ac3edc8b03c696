// POST /apis/fairlead.dev/v1alpha1/transactions: several writes in one commit, all or nothing.
//
//   {"apiVersion": "fairlead.dev/v1alpha1", "kind": "Transaction", "operations": [
//     {"verb": "create",       "object": {…}},
//     {"verb": "update",       "object": {…}},
//     {"verb": "updateStatus", "object": {…}},
//     {"verb": "patchStatus",  "apiVersion": "…", "kind": "…", "namespace": "…", "name": "…",
//                              "patch": {…}},
//     {"verb": "delete",       "apiVersion": "…", "kind": "…", "namespace": "…", "name": "…",
//                              "preconditions": {"uid": "…", "resourceVersion": "…"}} ]}
//
// An update is one of the main endpoint, with metadata.resourceVersion as its precondition; a patch
// is a merge patch.
//
// At most 128 operations and 1 MiB, one per object, only kinds this server stores. Each operation
// is authorised, admitted and validated as its single request would be; a refusal names the
// operation. The answer has one result per operation, in order: the object as written, or as it was
// when deleted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/apiserver/access.h"
#include "api/apiserver/object_writer.h"
#include "api/apiserver/request.h"
#include "api/identity/authorizer.h"
#include "api/resource/catalog.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

inline constexpr std::size_t kMaxTransactionOperations = 128;
inline constexpr std::size_t kMaxTransactionBytes = 1 << 20;

class Transactions {
 public:
  Transactions(runtime::Runtime& runtime, const resource::Catalog& catalog, ObjectWriter& writer,
               Access& access)
      : runtime_(runtime), catalog_(catalog), writer_(writer), access_(access) {}

  static bool serves(const apimachinery::RequestInfo& info);
  Task<Result<>> serve(Request& request);

 private:
  // One operation, decoded. Owns what its attributes view.
  struct Operation {
    std::string verb;  // of the request it stands for
    std::string subresource;
    const resource::Kind* kind = nullptr;
    std::string namespace_name;
    std::string name;
    Json object;
    Patch patch;
    apimachinery::DeleteOptions deletion;
    identity::Attributes attributes;
    WriteContext context;
    // Of an update that makes a missing object: whether it may, which needs the right to create.
    Answer<> may_create;
  };
  using Operations = std::vector<std::unique_ptr<Operation>>;

  Answer<Operations> decode(Request& request) const;
  Answer<std::unique_ptr<Operation>> decode_operation(Request& request, const Json& value) const;
  Task<Answer<>> permit(const Operations& operations);
  static WriteItem item_of(const Operation& operation, resource::Moment now,
                           std::vector<std::string>& warnings);

  runtime::Runtime& runtime_;
  const resource::Catalog& catalog_;
  ObjectWriter& writer_;
  Access& access_;
};

}  // namespace fairlead::apiserver
