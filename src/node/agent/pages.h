// Pages: what the agent shows over HTTP, in plain text, to whoever may reach --metrics-listen, and
// on the admin socket; there also what it can be asked to do. The agent adds its own, features add
// theirs.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "foundation/http/server.h"

namespace fairlead::agent {

class Pages final : public http::Handler {
 public:
  // `more`, if not null, has the pages that are not here; it outlives this.
  explicit Pages(const Pages* more = nullptr) : more_(more) {}

  struct Page {
    int status = 200;
    std::string body;
    std::string type = "text/plain; version=0.0.4; charset=utf-8";
  };
  // Called for each request, with what follows the page's path.
  using Make = std::function<Page(std::string_view rest)>;
  // Called for each POST, with its body.
  using Act = std::function<Task<Page>(std::string body)>;

  // A path that ends with a slash stands for all that begin with it. REQUIRES: no page has that
  // path yet.
  void add(std::string path, Make make);
  void add_text(std::string path, std::function<std::string()> body);

  // Something to be done, by POST. REQUIRES: no action has that path yet.
  void add_action(std::string path, Act act);

  // Answers with the page of that path, or names those that there are.
  Page page(std::string_view target) const;
  Task<void> serve(http::Exchange& exchange) override;

 private:
  const Make* find(std::string_view path, std::string_view& rest) const;
  std::string paths() const;

  const Pages* more_;
  std::map<std::string, Make, std::less<>> pages_;
  std::map<std::string, Act, std::less<>> actions_;
};

}  // namespace fairlead::agent
