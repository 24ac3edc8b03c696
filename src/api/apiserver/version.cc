#include "api/apiserver/version.h"

#include <string>

namespace fairlead::apiserver {

Json version_document() {
  return JsonObject{{"major", "1"},
                    {"minor", "32"},
                    {"gitVersion", "v1.32.0+fairlead-" + std::string(kVersion)},
                    {"gitCommit", ""},
                    {"gitTreeState", "clean"},
                    {"buildDate", "1970-01-01T00:00:00Z"},
                    {"goVersion", "none"},
                    {"compiler", "clang"},
                    {"platform", "linux/amd64"}};
}

}  // namespace fairlead::apiserver
