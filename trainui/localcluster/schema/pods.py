"""Pods and their templates, with and without the defaults that Kubernetes' own API server fills in."""

from trainui.localcluster.schema.types import (
    ANY,
    BOOL,
    CONDITIONS,
    INT,
    INT32,
    INT_OR_STRING,
    LABEL_SELECTOR,
    LOCAL_REFERENCE,
    MISSING,
    OPEN,
    QUANTITIES,
    QUANTITY,
    STR,
    STRINGS,
    TEMPLATE_METADATA,
    TIME,
    Schema,
    each,
    list_of,
    map_list,
    one_of,
    struct,
    top,
)

RESOURCES = struct(
    {
        "limits": QUANTITIES,
        "requests": QUANTITIES,
        "claims": map_list(struct({"name": STR, "request": STR}, "name"), "name"),
    }
)
_KEY_REFERENCE = struct({"name": STR.having(default=""), "key": STR, "optional": BOOL}, "key", atomic=True)
TOLERATION = struct(each("key operator value effect", STR) | {"tolerationSeconds": INT})
VOLUME_MOUNT = struct(
    each("name mountPath subPath subPathExpr mountPropagation recursiveReadOnly", STR) | {"readOnly": BOOL},
    "name mountPath",
)
LOCAL_REFERENCES = map_list(struct({"name": STR.having(default="")}, atomic=True), "name")
CONTAINER_SECURITY = struct(
    each("allowPrivilegeEscalation privileged readOnlyRootFilesystem runAsNonRoot", BOOL)
    | each("runAsUser runAsGroup", INT)
    | {
        "procMount": STR,
        "capabilities": struct({"add": list_of(STR), "drop": list_of(STR)}),
        **each("appArmorProfile seLinuxOptions seccompProfile windowsOptions", OPEN),
    }
)
POD_SECURITY = struct(
    each("runAsNonRoot", BOOL)
    | each("runAsUser runAsGroup fsGroup", INT)
    | each("fsGroupChangePolicy supplementalGroupsPolicy seLinuxChangePolicy", STR)
    | {
        "supplementalGroups": list_of(INT),
        "sysctls": list_of(struct({"name": STR, "value": STR}, "name value")),
        **each("appArmorProfile seLinuxOptions seccompProfile windowsOptions", OPEN),
    }
)
_PROBE = struct(
    each("failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds", INT32)
    | {"terminationGracePeriodSeconds": INT, "exec": struct({"command": list_of(STR)})}
    | each("grpc httpGet tcpSocket", OPEN)
)


class _Shapes:
    """The parts of a pod spec; `defaults` tells whether the API server's own defaults are filled in."""

    def __init__(self, defaults: bool) -> None:
        self.defaults = defaults

    def _or(self, schema: Schema, default: object) -> Schema:
        return schema.having(default=default) if self.defaults else schema

    def env(self) -> Schema:
        source = struct(
            {
                "fieldRef": struct({"apiVersion": self._or(STR, "v1"), "fieldPath": STR}, "fieldPath", atomic=True),
                "resourceFieldRef": struct(
                    {"containerName": STR, "resource": STR, "divisor": QUANTITY}, "resource", atomic=True
                ),
                "configMapKeyRef": _KEY_REFERENCE,
                "secretKeyRef": _KEY_REFERENCE,
                "fileKeyRef": OPEN.having(atomic=True),
            }
        )
        return map_list(struct({"name": STR, "value": STR, "valueFrom": source}, "name"), "name")

    def container(self) -> Schema:
        named = struct({"name": STR.having(default=""), "optional": BOOL})
        port = struct(
            {
                "containerPort": INT32,
                "hostPort": INT32,
                "hostIP": STR,
                "name": STR,
                "protocol": STR.having(default="TCP"),
            },
            "containerPort",
        )
        return struct(
            {
                **each("image workingDir restartPolicy imagePullPolicy", STR),
                "name": STR,
                **each("command args", list_of(STR)),
                "env": self.env(),
                "envFrom": list_of(struct({"prefix": STR, "configMapRef": named, "secretRef": named})),
                "ports": map_list(port, "containerPort", "protocol"),
                "resources": self._or(RESOURCES, {}),
                "volumeMounts": map_list(VOLUME_MOUNT, "mountPath"),
                "volumeDevices": map_list(struct(each("name devicePath", STR), "name devicePath"), "devicePath"),
                "securityContext": CONTAINER_SECURITY,
                **each("livenessProbe readinessProbe startupProbe", _PROBE),
                "lifecycle": OPEN,
                **each("stdin stdinOnce tty", BOOL),
                "terminationMessagePath": self._or(STR, "/dev/termination-log"),
                "terminationMessagePolicy": self._or(STR, "File"),
                "resizePolicy": list_of(OPEN),
                "restartPolicyRules": list_of(OPEN),
                "targetContainerName": STR,
            },
            "name",
        )

    def volume(self) -> Schema:
        items = list_of(struct({"key": STR, "path": STR, "mode": INT32}, "key path"))
        mode = self._or(INT32, 420)
        projection = struct({"name": STR.having(default=""), "items": items, "optional": BOOL})
        return struct(
            {
                "name": STR,
                "configMap": struct(
                    {"name": STR.having(default=""), "items": items, "optional": BOOL, "defaultMode": mode}
                ),
                "secret": struct({"secretName": STR, "items": items, "optional": BOOL, "defaultMode": mode}),
                "emptyDir": struct({"medium": STR, "sizeLimit": QUANTITY}),
                "hostPath": struct({"path": STR, "type": STR}, "path"),
                "persistentVolumeClaim": struct({"claimName": STR, "readOnly": BOOL}, "claimName"),
                "downwardAPI": struct({"items": list_of(OPEN), "defaultMode": mode}),
                "projected": struct(
                    {
                        "defaultMode": mode,
                        "sources": list_of(
                            struct(
                                {
                                    **each("configMap secret", projection),
                                    **each("downwardAPI serviceAccountToken clusterTrustBundle podCertificate", OPEN),
                                }
                            )
                        ),
                    }
                ),
                **each(
                    "awsElasticBlockStore azureDisk azureFile cephfs cinder csi ephemeral fc flexVolume flocker gitRepo"
                    " gcePersistentDisk glusterfs image iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos"
                    " vsphereVolume",
                    OPEN,
                ),
            },
            "name",
        )

    def spec(self) -> Schema:
        container = self.container()
        return struct(
            {
                "containers": map_list(container, "name"),
                "initContainers": map_list(container, "name"),
                "ephemeralContainers": map_list(container, "name"),
                "volumes": map_list(self.volume(), "name"),
                "nodeSelector": STRINGS.having(atomic=True),
                "affinity": struct(each("nodeAffinity podAffinity podAntiAffinity", ANY)),
                "tolerations": list_of(TOLERATION),
                "schedulingGates": map_list(struct({"name": STR}, "name"), "name"),
                "schedulingGroup": struct({"podGroupName": STR}),
                "topologySpreadConstraints": map_list(
                    struct(
                        {
                            **each("maxSkew minDomains", INT32),
                            **each("topologyKey whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy", STR),
                            "labelSelector": LABEL_SELECTOR,
                            "matchLabelKeys": list_of(STR),
                        }
                    ),
                    "topologyKey",
                    "whenUnsatisfiable",
                ),
                "imagePullSecrets": LOCAL_REFERENCES,
                "hostAliases": map_list(struct({"ip": STR, "hostnames": list_of(STR)}, "ip"), "ip"),
                "readinessGates": list_of(OPEN),
                "resourceClaims": map_list(
                    struct(each("name resourceClaimName resourceClaimTemplateName podGroupResourceClaim", STR), "name"),
                    "name",
                ),
                "resources": RESOURCES,
                "overhead": QUANTITIES,
                "dnsConfig": OPEN,
                "os": OPEN,
                "securityContext": self._or(POD_SECURITY, {}),
                "restartPolicy": Schema(
                    "string", enum=("Always", "OnFailure", "Never"), default="Always" if self.defaults else MISSING
                ),
                "dnsPolicy": self._or(STR, "ClusterFirst"),
                "schedulerName": self._or(STR, "default-scheduler"),
                "terminationGracePeriodSeconds": self._or(INT, 30),
                "activeDeadlineSeconds": INT.having(minimum=1),
                "priority": INT32,
                **each(
                    "nodeName hostname hostnameOverride subdomain priorityClassName preemptionPolicy runtimeClassName serviceAccount"
                    " serviceAccountName",
                    STR,
                ),
                **each(
                    "automountServiceAccountToken enableServiceLinks hostIPC hostNetwork hostPID hostUsers setHostnameAsFQDN"
                    " shareProcessNamespace",
                    BOOL,
                ),
            },
            "containers",
        )

    def template(self) -> Schema:
        return struct({"metadata": TEMPLATE_METADATA, "spec": self.spec()})


_BUILT_IN = _Shapes(defaults=True)
_CUSTOM = _Shapes(defaults=False)

POD_TEMPLATE = _BUILT_IN.template()
"""The pod template of a Job."""

CUSTOM_POD_TEMPLATE = _CUSTOM.template()
"""A pod template inside a custom resource: only the defaults that its CRD has."""

CUSTOM_ENV = _CUSTOM.env()
CUSTOM_VOLUMES = map_list(_CUSTOM.volume(), "name")

_STATE = struct(
    {
        "waiting": struct(each("reason message", STR)),
        "running": struct({"startedAt": TIME}),
        "terminated": struct(
            each("exitCode signal", INT32)
            | each("reason message containerID", STR)
            | each("startedAt finishedAt", TIME)
        ),
    }
)
_CONTAINER_STATUS = struct(
    each("name image imageID containerID stopSignal", STR)
    | each("ready started", BOOL)
    | {
        "restartCount": INT32,
        "state": _STATE,
        "lastState": _STATE,
        "allocatedResources": QUANTITIES,
        "resources": RESOURCES,
        **each("volumeMounts allocatedResourcesStatus user", ANY),
    },
    "name",
)
_POD_STATUS = struct(
    each("phase reason message hostIP podIP qosClass nominatedNodeName resize", STR)
    | {
        "conditions": CONDITIONS,
        "startTime": TIME,
        "observedGeneration": INT,
        "podIPs": map_list(struct({"ip": STR}, "ip"), "ip"),
        "hostIPs": list_of(struct({"ip": STR}, "ip")),
        **each("containerStatuses initContainerStatuses ephemeralContainerStatuses", list_of(_CONTAINER_STATUS)),
        **each("resourceClaimStatuses extendedResourceClaimStatus resources", ANY),
        "allocatedResources": QUANTITIES,
    }
)
POD = top({"spec": _BUILT_IN.spec(), "status": _POD_STATUS}, "spec")

SERVICE_PORT = struct(
    {
        **each("name appProtocol", STR),
        "protocol": one_of("TCP", "UDP", "SCTP", default="TCP"),
        **each("port nodePort", INT32),
        "targetPort": INT_OR_STRING,
    },
    "port",
)
SERVICE = top(
    {
        "spec": struct(
            {
                **each(
                    "clusterIP externalName externalTrafficPolicy internalTrafficPolicy ipFamilyPolicy loadBalancerClass"
                    " loadBalancerIP trafficDistribution",
                    STR,
                ),
                **each("allocateLoadBalancerNodePorts publishNotReadyAddresses", BOOL),
                **each("clusterIPs externalIPs ipFamilies loadBalancerSourceRanges", list_of(STR)),
                "healthCheckNodePort": INT32,
                "type": STR.having(default="ClusterIP"),
                "sessionAffinity": STR.having(default="None"),
                "sessionAffinityConfig": OPEN,
                "selector": STRINGS.having(atomic=True),
                "ports": map_list(SERVICE_PORT, "port", "protocol"),
            }
        ),
        "status": struct({"loadBalancer": OPEN, "conditions": CONDITIONS}),
    }
)
SERVICE_ACCOUNT = top(
    {
        "automountServiceAccountToken": BOOL,
        "imagePullSecrets": list_of(LOCAL_REFERENCE),
        "secrets": map_list(struct(each("name namespace kind", STR)), "name"),
    }
)
