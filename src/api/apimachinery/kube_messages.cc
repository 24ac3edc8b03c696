#include "api/apimachinery/kube_messages.h"

#include <algorithm>

namespace fairlead::apimachinery {
namespace {

using enum KubeType;

constexpr KubeField kObjectMeta[] = {
    {1, "name"},
    {2, "generateName"},
    {3, "namespace"},
    {4, "selfLink"},
    {5, "uid"},
    {6, "resourceVersion"},
    {7, "generation", integer},
    {8, "creationTimestamp", time},
    {9, "deletionTimestamp", time},
    {10, "deletionGracePeriodSeconds", integer, {}, false, true},
    {11, "labels", text_map},
    {12, "annotations", text_map},
    {13, "ownerReferences", message, "OwnerReference", true},
    {14, "finalizers", text, {}, true},
    {17, "managedFields", message, "ManagedFieldsEntry", true},
};
constexpr KubeField kOwnerReference[] = {
    {1, "kind"},
    {3, "name"},
    {4, "uid"},
    {5, "apiVersion"},
    {6, "controller", boolean, {}, false, true},
    {7, "blockOwnerDeletion", boolean, {}, false, true},
};
constexpr KubeField kManagedFieldsEntry[] = {
    {1, "manager"},    {2, "operation"},          {3, "apiVersion"},  {4, "time", time},
    {6, "fieldsType"}, {7, "fieldsV1", raw_json}, {8, "subresource"},
};
constexpr KubeField kObjectReference[] = {
    {1, "kind"},       {2, "namespace"},       {3, "name"},      {4, "uid"},
    {5, "apiVersion"}, {6, "resourceVersion"}, {7, "fieldPath"},
};
constexpr KubeField kCondition[] = {
    {1, "type"},
    {2, "status"},
    {3, "observedGeneration", integer},
    {4, "lastTransitionTime", time},
    {5, "reason"},
    {6, "message"},
};
constexpr KubeField kDeleteOptions[] = {
    {1, "gracePeriodSeconds", integer, {}, false, true},
    {2, "preconditions", message, "Preconditions"},
    {3, "orphanDependents", boolean, {}, false, true},
    {4, "propagationPolicy"},
    {5, "dryRun", text, {}, true},
};
constexpr KubeField kPreconditions[] = {
    {1, "uid"},
    {2, "resourceVersion"},
};
constexpr KubeField kConfigMap[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "data", text_map},
    {3, "binaryData", bytes_map},
    {4, "immutable", boolean, {}, false, true},
};
constexpr KubeField kSecret[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "data", bytes_map},
    {3, "type"},
    {4, "stringData", text_map},
    {5, "immutable", boolean, {}, false, true},
};
constexpr KubeField kNamespace[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "NamespaceSpec"},
    {3, "status", message, "NamespaceStatus"},
};
constexpr KubeField kNamespaceSpec[] = {
    {1, "finalizers", text, {}, true},
};
constexpr KubeField kNamespaceStatus[] = {
    {1, "phase"},
    {2, "conditions", message, "NamespaceCondition", true},
};
constexpr KubeField kNamespaceCondition[] = {
    {1, "type"}, {2, "status"}, {4, "lastTransitionTime", time}, {5, "reason"}, {6, "message"},
};
constexpr KubeField kService[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "ServiceSpec"},
    {3, "status", message, "ServiceStatus"},
};
constexpr KubeField kServiceSpec[] = {
    {1, "ports", message, "ServicePort", true},
    {2, "selector", text_map},
    {3, "clusterIP"},
    {4, "type"},
    {5, "externalIPs", text, {}, true},
    {7, "sessionAffinity"},
    {8, "loadBalancerIP"},
    {9, "loadBalancerSourceRanges", text, {}, true},
    {10, "externalName"},
    {11, "externalTrafficPolicy"},
    {12, "healthCheckNodePort", integer},
    {13, "publishNotReadyAddresses", boolean},
    {14, "sessionAffinityConfig", message, "SessionAffinityConfig"},
    {17, "ipFamilyPolicy"},
    {18, "clusterIPs", text, {}, true},
    {19, "ipFamilies", text, {}, true},
    {20, "allocateLoadBalancerNodePorts", boolean, {}, false, true},
    {21, "loadBalancerClass"},
    {22, "internalTrafficPolicy"},
    {23, "trafficDistribution"},
};
constexpr KubeField kServicePort[] = {
    {1, "name"},
    {2, "protocol"},
    {3, "port", integer},
    {4, "targetPort", int_or_string},
    {5, "nodePort", integer},
    {6, "appProtocol"},
};
constexpr KubeField kSessionAffinityConfig[] = {
    {1, "clientIP", message, "ClientIPConfig"},
};
constexpr KubeField kClientIPConfig[] = {
    {1, "timeoutSeconds", integer, {}, false, true},
};
constexpr KubeField kServiceStatus[] = {
    {1, "loadBalancer", message, "LoadBalancerStatus"},
    {2, "conditions", message, "Condition", true},
};
constexpr KubeField kLoadBalancerStatus[] = {
    {1, "ingress", message, "LoadBalancerIngress", true},
};
constexpr KubeField kLoadBalancerIngress[] = {
    {1, "ip"},
    {2, "hostname"},
    {3, "ipMode"},
    {4, "ports", message, "PortStatus", true},
};
constexpr KubeField kPortStatus[] = {
    {1, "port", integer},
    {2, "protocol"},
    {3, "error"},
};
constexpr KubeField kNode[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "NodeSpec"},
    {3, "status", message, "NodeStatus"},
};
constexpr KubeField kNodeSpec[] = {
    {1, "podCIDR"},
    {2, "externalID"},
    {3, "providerID"},
    {4, "unschedulable", boolean},
    {5, "taints", message, "Taint", true},
    {7, "podCIDRs", text, {}, true},
};
constexpr KubeField kTaint[] = {
    {1, "key"},
    {2, "value"},
    {3, "effect"},
    {4, "timeAdded", time},
};
constexpr KubeField kNodeStatus[] = {
    {1, "capacity", quantity_map},
    {2, "allocatable", quantity_map},
    {3, "phase"},
    {4, "conditions", message, "NodeCondition", true},
    {5, "addresses", message, "NodeAddress", true},
    {6, "daemonEndpoints", message, "NodeDaemonEndpoints"},
    {7, "nodeInfo", message, "NodeSystemInfo"},
    {8, "images", message, "ContainerImage", true},
    {9, "volumesInUse", text, {}, true},
    {10, "volumesAttached", message, "AttachedVolume", true},
};
constexpr KubeField kNodeCondition[] = {
    {1, "type"},   {2, "status"},  {3, "lastHeartbeatTime", time}, {4, "lastTransitionTime", time},
    {5, "reason"}, {6, "message"},
};
constexpr KubeField kNodeAddress[] = {
    {1, "type"},
    {2, "address"},
};
constexpr KubeField kNodeDaemonEndpoints[] = {
    {1, "kubeletEndpoint", message, "DaemonEndpoint"},
};
constexpr KubeField kDaemonEndpoint[] = {
    {1, "Port", integer},
};
constexpr KubeField kNodeSystemInfo[] = {
    {1, "machineID"},      {2, "systemUUID"},       {3, "bootID"},
    {4, "kernelVersion"},  {5, "osImage"},          {6, "containerRuntimeVersion"},
    {7, "kubeletVersion"}, {8, "kubeProxyVersion"}, {9, "operatingSystem"},
    {10, "architecture"},
};
constexpr KubeField kContainerImage[] = {
    {1, "names", text, {}, true},
    {2, "sizeBytes", integer},
};
constexpr KubeField kAttachedVolume[] = {
    {1, "name"},
    {2, "devicePath"},
};
constexpr KubeField kEndpoints[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "subsets", message, "EndpointSubset", true},
};
constexpr KubeField kEndpointSubset[] = {
    {1, "addresses", message, "EndpointAddress", true},
    {2, "notReadyAddresses", message, "EndpointAddress", true},
    {3, "ports", message, "EndpointPort", true},
};
constexpr KubeField kEndpointAddress[] = {
    {1, "ip"},
    {2, "targetRef", message, "ObjectReference"},
    {3, "hostname"},
    {4, "nodeName"},
};
constexpr KubeField kEndpointPort[] = {
    {1, "name"},
    {2, "port", integer},
    {3, "protocol"},
    {4, "appProtocol"},
};
constexpr KubeField kEvent[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "involvedObject", message, "ObjectReference"},
    {3, "reason"},
    {4, "message"},
    {5, "source", message, "EventSource"},
    {6, "firstTimestamp", time},
    {7, "lastTimestamp", time},
    {8, "count", integer},
    {9, "type"},
    {10, "eventTime", micro_time},
    {11, "series", message, "EventSeries"},
    {12, "action"},
    {13, "related", message, "ObjectReference"},
    {14, "reportingComponent"},
    {15, "reportingInstance"},
};
constexpr KubeField kEventView[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "eventTime", micro_time},
    {3, "series", message, "EventSeries"},
    {4, "reportingController"},
    {5, "reportingInstance"},
    {6, "action"},
    {7, "reason"},
    {8, "regarding", message, "ObjectReference"},
    {9, "related", message, "ObjectReference"},
    {10, "note"},
    {11, "type"},
    {12, "deprecatedSource", message, "EventSource"},
    {13, "deprecatedFirstTimestamp", time},
    {14, "deprecatedLastTimestamp", time},
    {15, "deprecatedCount", integer},
};
constexpr KubeField kEventSource[] = {
    {1, "component"},
    {2, "host"},
};
constexpr KubeField kEventSeries[] = {
    {1, "count", integer},
    {2, "lastObservedTime", micro_time},
};
constexpr KubeField kLease[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "LeaseSpec"},
};
constexpr KubeField kLeaseSpec[] = {
    {1, "holderIdentity"},
    {2, "leaseDurationSeconds", integer, {}, false, true},
    {3, "acquireTime", micro_time},
    {4, "renewTime", micro_time},
    {5, "leaseTransitions", integer, {}, false, true},
    {6, "strategy"},
    {7, "preferredHolder"},
};
constexpr KubeField kEndpointSlice[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "endpoints", message, "SliceEndpoint", true},
    {3, "ports", message, "SlicePort", true},
    {4, "addressType"},
};
constexpr KubeField kSliceEndpoint[] = {
    {1, "addresses", text, {}, true},
    {2, "conditions", message, "EndpointConditions"},
    {3, "hostname"},
    {4, "targetRef", message, "ObjectReference"},
    {5, "deprecatedTopology", text_map},
    {6, "nodeName"},
    {7, "zone"},
    {8, "hints", message, "EndpointHints"},
};
constexpr KubeField kEndpointConditions[] = {
    {1, "ready", boolean, {}, false, true},
    {2, "serving", boolean, {}, false, true},
    {3, "terminating", boolean, {}, false, true},
};
constexpr KubeField kEndpointHints[] = {
    {1, "forZones", message, "NamedHint", true},
    {2, "forNodes", message, "NamedHint", true},
};
constexpr KubeField kNamedHint[] = {
    {1, "name"},
};
constexpr KubeField kSlicePort[] = {
    {1, "name"},
    {2, "protocol"},
    {3, "port", integer, {}, false, true},
    {4, "appProtocol"},
};
constexpr KubeField kSelfSubjectAccessReview[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "SubjectAccessReviewSpec"},
};
constexpr KubeField kSubjectAccessReview[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "SubjectAccessReviewSpec"},
};
constexpr KubeField kLocalSubjectAccessReview[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "SubjectAccessReviewSpec"},
};
constexpr KubeField kSubjectAccessReviewSpec[] = {
    {1, "resourceAttributes", message, "ResourceAttributes"},
    {2, "nonResourceAttributes", message, "NonResourceAttributes"},
    {3, "user"},
    {4, "groups", text, {}, true},
    {6, "uid"},
};
constexpr KubeField kResourceAttributes[] = {
    {1, "namespace"}, {2, "verb"},        {3, "group"}, {4, "version"},
    {5, "resource"},  {6, "subresource"}, {7, "name"},
};
constexpr KubeField kNonResourceAttributes[] = {
    {1, "path"},
    {2, "verb"},
};
constexpr KubeField kSelfSubjectRulesReview[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "SelfSubjectRulesReviewSpec"},
};
constexpr KubeField kSelfSubjectRulesReviewSpec[] = {
    {1, "namespace"},
};
constexpr KubeField kTokenReview[] = {
    {1, "metadata", message, "ObjectMeta"},
    {2, "spec", message, "TokenReviewSpec"},
};
constexpr KubeField kTokenReviewSpec[] = {
    {1, "token"},
    {2, "audiences", text, {}, true},
};
constexpr KubeField kSelfSubjectReview[] = {
    {1, "metadata", message, "ObjectMeta"},
};

constexpr KubeMessage kMessages[] = {
    {"ObjectMeta", kObjectMeta},
    {"OwnerReference", kOwnerReference},
    {"ManagedFieldsEntry", kManagedFieldsEntry},
    {"ObjectReference", kObjectReference},
    {"Condition", kCondition},
    {"DeleteOptions", kDeleteOptions},
    {"Preconditions", kPreconditions},
    {"v1 ConfigMap", kConfigMap},
    {"v1 Secret", kSecret},
    {"v1 Namespace", kNamespace},
    {"NamespaceSpec", kNamespaceSpec},
    {"NamespaceStatus", kNamespaceStatus},
    {"NamespaceCondition", kNamespaceCondition},
    {"v1 Service", kService},
    {"ServiceSpec", kServiceSpec},
    {"ServicePort", kServicePort},
    {"SessionAffinityConfig", kSessionAffinityConfig},
    {"ClientIPConfig", kClientIPConfig},
    {"ServiceStatus", kServiceStatus},
    {"LoadBalancerStatus", kLoadBalancerStatus},
    {"LoadBalancerIngress", kLoadBalancerIngress},
    {"PortStatus", kPortStatus},
    {"v1 Node", kNode},
    {"NodeSpec", kNodeSpec},
    {"Taint", kTaint},
    {"NodeStatus", kNodeStatus},
    {"NodeCondition", kNodeCondition},
    {"NodeAddress", kNodeAddress},
    {"NodeDaemonEndpoints", kNodeDaemonEndpoints},
    {"DaemonEndpoint", kDaemonEndpoint},
    {"NodeSystemInfo", kNodeSystemInfo},
    {"ContainerImage", kContainerImage},
    {"AttachedVolume", kAttachedVolume},
    {"v1 Endpoints", kEndpoints},
    {"EndpointSubset", kEndpointSubset},
    {"EndpointAddress", kEndpointAddress},
    {"EndpointPort", kEndpointPort},
    {"v1 Event", kEvent},
    {"events.k8s.io/v1 Event", kEventView},
    {"EventSource", kEventSource},
    {"EventSeries", kEventSeries},
    {"coordination.k8s.io/v1 Lease", kLease},
    {"LeaseSpec", kLeaseSpec},
    {"discovery.k8s.io/v1 EndpointSlice", kEndpointSlice},
    {"SliceEndpoint", kSliceEndpoint},
    {"EndpointConditions", kEndpointConditions},
    {"EndpointHints", kEndpointHints},
    {"NamedHint", kNamedHint},
    {"SlicePort", kSlicePort},
    {"authorization.k8s.io/v1 SelfSubjectAccessReview", kSelfSubjectAccessReview},
    {"authorization.k8s.io/v1 SubjectAccessReview", kSubjectAccessReview},
    {"authorization.k8s.io/v1 LocalSubjectAccessReview", kLocalSubjectAccessReview},
    {"SubjectAccessReviewSpec", kSubjectAccessReviewSpec},
    {"ResourceAttributes", kResourceAttributes},
    {"NonResourceAttributes", kNonResourceAttributes},
    {"authorization.k8s.io/v1 SelfSubjectRulesReview", kSelfSubjectRulesReview},
    {"SelfSubjectRulesReviewSpec", kSelfSubjectRulesReviewSpec},
    {"authentication.k8s.io/v1 TokenReview", kTokenReview},
    {"TokenReviewSpec", kTokenReviewSpec},
    {"authentication.k8s.io/v1 SelfSubjectReview", kSelfSubjectReview},
};

}  // namespace

const KubeMessage* find_kube_message(std::string_view name) {
  const auto at = std::ranges::find(kMessages, name, &KubeMessage::name);
  return at == std::end(kMessages) ? nullptr : at;
}

}  // namespace fairlead::apimachinery
