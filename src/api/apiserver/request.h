// Request: one API request on its way through the server, and the functions that answer it.
//
// ApiServer makes it as soon as a request arrives and fills it step by step (path, user, query,
// seat, kind), so a refused request may lack the later members. The verbs get it once the caller is
// authenticated and authorised. All answers go through the functions here, so that Audit-Id,
// warnings and the negotiated form are the same everywhere; a watch sends its own body after
// stream_head().
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/request/query.h"
#include "api/apimachinery/request/request_info.h"
#include "api/apimachinery/selector/selector.h"
#include "api/apimachinery/status.h"
#include "api/apiserver/seats.h"
#include "api/apiserver/turns.h"
#include "api/identity/authorizer.h"
#include "api/identity/user.h"
#include "api/resource/kind.h"
#include "foundation/http/server.h"
#include "foundation/wire/json.h"

namespace fairlead::apiserver {

struct Request {
  http::Exchange& exchange;
  apimachinery::RequestInfo info;
  apimachinery::Query query;
  identity::UserRef user;
  apimachinery::FieldSelector field_selector;
  identity::Attributes attributes;               // views into info, user and field_selector
  std::vector<identity::FieldTerm> field_terms;  // what attributes.field_selector views
  const resource::Kind* kind = nullptr;  // null: a document, review, transaction or unknown path
  std::string audit_id;
  std::string kept_body;         // for the audit log, at level Request and above
  std::size_t omitted_body = 0;  // size of a body that is too large for the audit log
  Seat seat;                     // held until the request ends; empty on paths open to all
  std::vector<std::string> warnings;
  int answered = 0;  // status code sent, 0: none yet

  std::string_view header(std::string_view name) const {
    return exchange.request().headers.get(name);
  }
};

inline constexpr std::string_view kJsonType = "application/json";

// Whole answers, with Audit-Id, Cache-Control and the request's warnings; bodies over 128 KiB are
// compressed when the client accepts gzip.
Task<Result<>> send_bytes(Request& request, int status, std::string_view content_type,
                          std::vector<Bytes> body);
// Whether the client accepts gzip.
bool wants_gzip(const Request& request);
Task<Result<>> send_json(Request& request, int status, const Json& value,
                         const apimachinery::Representation& form = {});
Task<Result<>> send_status(Request& request, apimachinery::Status status);
Task<Result<>> send_text(Request& request, int status, std::string text);
// A cacheable document with an ETag; 304 when the client has it already. REQUIRES: `body` lives as
// long as the server.
Task<Result<>> send_document(Request& request, std::string_view content_type,
                             const std::string& body, const std::string& etag);

// A served object (JSON) in the form that the client asked for: JSON or YAML, as it is, as a Table
// or as PartialObjectMetadata. REQUIRES: request.kind; when that is a view of another kind, the
// object is shown as the view.
Task<Result<>> send_object(Request& request, int status, Bytes object,
                           const apimachinery::Representation& form, resource::Moment now);

// A long answer, made while it is sent: `next` returns piece after piece and an empty one at the
// end. Pieces are made in turns (turns.h), and compressed when the client accepts gzip.
Task<Result<>> send_pieces(Request& request, Turns& turns, std::string_view content_type,
                           std::function<std::string()> next);

// The head of a streaming answer, status 200.
http::ResponseHead stream_head(Request& request, std::string_view content_type);

}  // namespace fairlead::apiserver
