"""The two scripts of a Flux job: one puts Flux beside the program, the other starts a broker on every node."""

from dataclasses import dataclass

VIEW = "/mnt/flux"
SOFTWARE = "/opt/software"
CURVE = "/curve"
RUN = "/tmp/trainui-flux"  # noqa: S108 (inside a pod of its own)


@dataclass(frozen=True)
class Instance:
    """What a Flux instance is made of.

    hosts: its hosts in Flux's range form. leader: host name of the broker that runs the program. resources: flags of
    `flux R encode`. run: flags of `flux run`. bind, connect: addresses of the brokers. queue_policy: of the scheduler.
    """

    hosts: str
    leader: str
    resources: str
    run: str
    bind: str
    connect: str
    queue_policy: str


def init_script(flux: Instance) -> str:
    """Return the script of the init container, which holds Flux: copy it to the shared volume, write its configuration."""
    return f"""\
#!/bin/bash
# Copies Flux to a volume that the training container mounts, and writes the configuration of this instance.
set -e
mkdir -p {VIEW}/config {VIEW}/view {VIEW}/software
cp -a /opt/view/. {VIEW}/view/
cp -a {SOFTWARE}/. {VIEW}/software/
/opt/view/bin/flux R encode --hosts="{flux.hosts}" {flux.resources} > {VIEW}/config/R
cat > {VIEW}/config/broker.toml <<'END'
[bootstrap]
curve_cert = "{RUN}/curve.cert"
default_port = 8050
default_bind = "{flux.bind}"
default_connect = "{flux.connect}"
hosts = [ {{ host = "{flux.hosts}" }} ]

[resource]
path = "{VIEW}/config/R"

[sched-fluxion-qmanager]
queue-policy = "{flux.queue_policy}"
END
"""


def entrypoint_script(flux: Instance) -> str:
    """Return the script of the training container.

    Its first argument is the program's command line, quoted for a shell; further arguments are added to it as they are.
    """
    return f"""\
#!/bin/bash
# Starts a Flux broker on this node; the leader runs the program on all nodes and passes its exit code on.
set -e
line=$1
[ $# -gt 0 ] && shift
eval "set -- $line \\"\\$@\\""
if [ $# -eq 0 ]; then
  echo "there is no command to run: set spec.trainer.command" >&2
  exit 1
fi
umask 077
mkdir -p {RUN} {SOFTWARE}
cp {CURVE}/curve.cert {RUN}/curve.cert
cp -a {VIEW}/software/. {SOFTWARE}/
export PATH={VIEW}/view/bin:$PATH
for packages in {VIEW}/view/lib/python3*/site-packages; do
  export PYTHONPATH=$packages${{PYTHONPATH:+:$PYTHONPATH}}
done
broker=(flux broker --config-path={VIEW}/config -Stbon.fanout=256 -Srundir={RUN} -Sstatedir={RUN} -Slocal-uri=local://{RUN}/local)
umask 022
if [ "$(hostname)" = "{flux.leader}" ]; then
  exec "${{broker[@]}}" flux run {flux.run} "$@"
fi
# The leader may start later than this node: try again for a while.
for try in $(seq 40); do
  "${{broker[@]}}" && exit 0
  sleep 5
done
echo "no connection to {flux.leader}" >&2
exit 1
"""
