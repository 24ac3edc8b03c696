// The file that audit records are appended to.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::apiserver {

class AuditFile {
 public:
  // "-" is standard output.
  static Result<std::unique_ptr<AuditFile>> open(const std::string& path);
  ~AuditFile();
  // One write per record. The first record of a row that cannot be written is reported in the log.
  void append(std::string_view line);

 private:
  AuditFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
  bool complained_ = false;
};

}  // namespace fairlead::apiserver
