// Where a server listens, and what others are told about it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "program/server_config.h"

namespace fairlead::program {

// The one for people and admin.kubeconfig: the first --advertise, or where it listens.
std::string url_of(const runtime::Endpoint& local, const ServerConfig& config);

// What nodes are told: every --advertise, or the addresses listened on. A wildcard tells them
// nothing; they know the address they joined at.
std::vector<std::string> urls_for_nodes(const std::vector<runtime::Endpoint>& local,
                                        const ServerConfig& config);

// --listen-netns
Result<std::unique_ptr<runtime::Listener>> listen_elsewhere(
    runtime::Runtime& runtime, const ElsewhereEndpoint& at,
    std::shared_ptr<const runtime::TlsSource> tls);

}  // namespace fairlead::program
