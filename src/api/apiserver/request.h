// Request: one API request on its way through the server: what was asked, by whom, and how to
// answer.
//
// Made by ApiServer once the caller is known and allowed; handed to the verbs. Answers go through
// the functions here so that status, warnings and negotiated form are the same everywhere.
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
  identity::Attributes attributes;               // views into the members above
  std::vector<identity::FieldTerm> field_terms;  // what attributes.field_selector looks at
  const resource::Kind* kind = nullptr;          // null: not a stored resource
  std::string audit_id;
  std::string kept_body;         // for the audit log, if it wants it
  std::size_t omitted_body = 0;  // the size of one that is too large for it
  Seat seat;                     // among the requests under way
  std::vector<std::string> warnings;
  int answered = 0;  // status code sent, 0: none yet

  std::string_view header(std::string_view name) const {
    return exchange.request().headers.get(name);
  }
};

inline constexpr std::string_view kJsonType = "application/json";

// Whole answers. Each sends Audit-Id, Cache-Control and the request's warnings.
Task<Result<>> send_bytes(Request& request, int status, std::string_view content_type,
                          std::vector<Bytes> body);
// gzip is applied when asked for and worth it.
bool wants_gzip(const Request& request);
Task<Result<>> send_json(Request& request, int status, const Json& value,
                         const apimachinery::Representation& form = {});
Task<Result<>> send_status(Request& request, apimachinery::Status status);
Task<Result<>> send_text(Request& request, int status, std::string text);
// A document with an ETag: 304 when the client has it already.
Task<Result<>> send_document(Request& request, std::string_view content_type,
                             const std::string& body, const std::string& etag);

// An object as it is stored, in the form the client asked for: that of the request's kind, Table,
// PartialObjectMetadata, YAML.
Task<Result<>> send_object(Request& request, int status, Bytes object,
                           const apimachinery::Representation& form, resource::Moment now);

// A long answer, made while it is sent: `next` gives piece after piece until an empty one.
Task<Result<>> send_pieces(Request& request, Turns& turns, std::string_view content_type,
                           std::function<std::string()> next);

// The head of a streaming answer.
http::ResponseHead stream_head(Request& request, std::string_view content_type);

}  // namespace fairlead::apiserver
