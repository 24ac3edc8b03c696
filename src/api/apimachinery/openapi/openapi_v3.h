// OpenAPI v3: the root index and one document per group version.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/apimachinery/openapi/discovery.h"
#include "api/resource/catalog.h"

namespace fairlead::apimachinery {

class OpenApiV3 {
 public:
  explicit OpenApiV3(const std::vector<const resource::Kind*>& kinds);

  const Document& root() const { return root_; }  // /openapi/v3
  // `path` as after /openapi/v3/: "api/v1", "apis/fairlead.dev/v1alpha1". nullptr: 404.
  const Document* document(std::string_view path) const;
  // The relative URL with the right hash, for the redirect that a wrong ?hash= is answered with.
  std::string url(std::string_view path) const;
  // The value of ?hash=: the document's ETag without quotes.
  std::string hash(std::string_view path) const;

 private:
  Document root_;
  std::map<std::string, Document, std::less<>> documents_;
};

}  // namespace fairlead::apimachinery
