// The features that this program is made of: the only place in program/ that knows them
// (scripts/check-layers.py). A new capability is a folder in src/features and its lines in
// features.cc: one for each part that it has.
#pragma once

#include <memory>
#include <vector>

#include "api/controllers/server_feature.h"
#include "api/resource/kind.h"
#include "node/agent/node_feature.h"
#include "node/agent/why_kind.h"

namespace CLI {
class App;
}

namespace fairlead::program {

using ServerFeatures = std::vector<std::unique_ptr<controllers::ServerFeature>>;

// Their kinds.
std::vector<resource::Kind> feature_kinds();

// Their parts in `fairlead server`, in the order in which their admissions are asked.
ServerFeatures make_server_features(const controllers::ServerFeatureParts& parts);

// Their parts in `fairlead agent`.
std::vector<agent::FeatureType> node_features();

// Their subcommands of `fairlead`.
void add_feature_commands(CLI::App& app, int& exit_status);

// Their kinds that `fairlead why` can be asked about.
std::vector<agent::WhyKind> why_kinds();

}  // namespace fairlead::program
