// ApiVipList: the VirtualIPs of the API, followed by a watch and kept on disk. What was seen last
// counts until the API says something else: an agent that starts without its server has them too.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/client/reflector.h"
#include "features/vip/node/api_vips.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

class ApiVipList final : client::ObjectSink {
 public:
  enum class News { specs, statuses };  // specs: one came, changed or went
  using Changed = std::function<void(News news)>;
  // Reads what the file at `path` has; one that cannot be read is as good as none.
  ApiVipList(runtime::Runtime& runtime, client::RestClient& client, std::string path,
             Changed changed);

  // Until cancelled.
  Task<void> run();

  std::vector<ApiVip> all() const;
  const ApiVip* find(const std::string& name) const;
  // One as it was just written: its watch may say so later.
  void written(const Json& object);

  // True while the API cannot be reached: what is here may be out of date.
  bool failing() const { return reflector_.failing(); }

 private:
  void replace(std::vector<Json> objects, const std::string& version) override;
  void put(const Json& object) override;
  void erase(const Json& last_state) override;

  // Whether its spec is news.
  bool take(const Json& object);
  void read();
  std::string text() const;
  void tell(News news);
  Task<void> keep_on_disk();

  runtime::Runtime& runtime_;
  std::string path_;
  Changed changed_;
  std::map<std::string, ApiVip> vips_;  // by name
  bool stale_ = false;                  // the file
  runtime::Signal to_save_;
  client::Reflector reflector_;
};

}  // namespace fairlead::vip
