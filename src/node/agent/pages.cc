#include "node/agent/pages.h"

#include "foundation/base/check.h"

namespace fairlead::agent {

void Pages::add(std::string path, Make make) {
  CHECK(pages_.emplace(std::move(path), std::move(make)).second);
}

void Pages::add_text(std::string path, std::function<std::string()> body) {
  add(std::move(path), [body = std::move(body)](std::string_view) { return Page{.body = body()}; });
}

void Pages::add_action(std::string path, Act act) {
  CHECK(actions_.emplace(std::move(path), std::move(act)).second);
}

const Pages::Make* Pages::find(std::string_view path, std::string_view& rest) const {
  for (const auto& [known, make] : pages_) {
    const bool below = known.ends_with('/') && path.starts_with(known);
    if (!below && path != known) continue;
    rest = path.substr(known.size());
    return &make;
  }
  return more_ ? more_->find(path, rest) : nullptr;
}

std::string Pages::paths() const {
  std::string all = more_ ? more_->paths() : "";
  for (const auto& [path, make] : pages_) all += (all.empty() ? "" : ", ") + path;
  return all;
}

Pages::Page Pages::page(std::string_view target) const {
  std::string_view rest;
  const Make* make = find(target.substr(0, target.find('?')), rest);
  if (!make) return {.status = 404, .body = paths() + "\n"};
  return (*make)(rest);
}

Task<void> Pages::serve(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  const bool reading = request.method == "GET" || request.method == "HEAD";
  const auto action = actions_.find(request.target);
  Page page{.status = 405, .body = "not a page that can be asked so\n"};
  if (reading) {
    page = this->page(request.target);
  } else if (request.method == "POST" && action != actions_.end()) {
    page = co_await action->second(request.body);
  }
  http::Response response;
  response.status = page.status;
  response.headers.add("Content-Type", page.type);
  response.body.push_back(Bytes(std::move(page.body)));
  (void)co_await exchange.respond(std::move(response));
}

}  // namespace fairlead::agent
