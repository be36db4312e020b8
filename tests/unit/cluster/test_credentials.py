"""Where credentials come from, how they change while we run, and what is said when they are no good."""

import base64
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import incluster_config

from tests.unit.cluster.proxy import Proxy
from tests.unit.cluster.server import Answer, Asked, Authority, answer, pod, refusal, serving, write_kubeconfig
from trainui.cluster import credentials, transport
from trainui.cluster.client import Cluster
from trainui.cluster.errors import Unauthorized, Unavailable, Unconfigured
from trainui.cluster.kinds import POD

FINE = answer(200, pod("a", 5))
UNKNOWN = refusal(401, "Unauthorized", "Unauthorized")


def knows(*tokens: str) -> Any:
    """Return a script that answers those who show one of the tokens."""

    def script(asked: Asked) -> Answer:
        return (
            FINE
            if asked.headers.get("authorization", "").removeprefix("Bearer ").removeprefix("bearer ") in tokens
            else UNKNOWN
        )

    return script


def read(cluster: Cluster) -> Any:
    return cluster.get(POD, "ns", "a")


def tokens_of(asked: list[Asked]) -> list[str]:
    return [a.headers.get("authorization", "").split(" ")[-1] for a in asked]


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Any]:
    """Return a function that makes a credential plugin which notes its runs and gives the token of the file `token`."""
    file, runs = tmp_path / "plugin", tmp_path / "runs"
    runs.touch()

    def make(body: str) -> tuple[dict[str, Any], Path]:
        head = f"#!{sys.executable}\nimport json, sys, time\nopen({str(runs)!r}, 'a').write('x')\n"
        file.write_text(
            head
            + f"def give(**status): print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential', 'status': status}}))\n"
            + body
        )
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return {"exec": {"apiVersion": V1, "command": str(file), "interactiveMode": "Never"}}, runs

    return make


V1 = "client.authentication.k8s.io/v1"


def test_a_token_in_the_kubeconfig_is_sent(tmp_path: Path) -> None:
    with serving(knows("t1")) as server:
        assert read(Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, {"token": "t1"}))) == pod(
            "a", 5
        )


def test_name_and_password_are_sent(tmp_path: Path) -> None:
    user = {"username": "u", "password": "p"}
    with serving(lambda asked: FINE) as server:
        read(Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, user)))
        assert server.asked[0].headers["authorization"] == "Basic " + base64.b64encode(b"u:p").decode()


def test_a_token_file_that_changes_is_read_again(tmp_path: Path) -> None:
    """Pitfall 26: the official client reads it once; bound tokens change every hour."""
    token = tmp_path / "token"
    token.write_text("t1\n")
    with serving(lambda asked: FINE) as server:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, {"tokenFile": "token"}))
        read(cluster)
        fresh = tmp_path / "fresh"
        fresh.write_text("t2\n")
        os.replace(fresh, token)  # as kubelet turns the link of a mounted volume
        read(cluster)
        assert tokens_of(server.asked) == ["t1", "t2"]


def test_a_kubeconfig_that_changes_is_read_again(tmp_path: Path) -> None:
    with serving(knows("t1")) as one, serving(knows("t2")) as other:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", one.url, {"token": "t1"}))
        read(cluster)
        write_kubeconfig(tmp_path / "k", other.url, {"token": "t2-is-longer"})
        with pytest.raises(Unauthorized):
            read(cluster)
        (tmp_path / "k").unlink()
        with pytest.raises(Unconfigured):
            read(cluster)
        write_kubeconfig(tmp_path / "k", other.url, {"token": "t2"})
        read(cluster)
        assert one.count() == 1


def test_after_a_401_credentials_are_read_again_once_and_then_it_is_told(tmp_path: Path, plugin: Any) -> None:
    """Pitfall 26: on 401 rebuild the client once, then surface."""
    (tmp_path / "token").write_text("t1")
    user, runs = plugin(f"give(token=open({str(tmp_path / 'token')!r}).read())")
    with serving(knows("t2")) as server:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, user))
        (tmp_path / "token").write_text("t2")  # the first is revoked before its time
        assert read(cluster) == pod("a", 5)
        assert tokens_of(server.asked) == ["t1", "t2"]
        assert runs.read_text() == "xx"
        server.script = knows("t3")
        for _ in range(20):
            with pytest.raises(Unauthorized, match="does not accept it"):
                read(cluster)
        assert runs.read_text() == "xx", "a plugin must not run for every call that is refused"


def test_many_calls_that_are_refused_together_read_credentials_once(tmp_path: Path, plugin: Any) -> None:
    (tmp_path / "token").write_text("t1")
    user, runs = plugin(f"give(token=open({str(tmp_path / 'token')!r}).read())")
    together = threading.Barrier(8)

    def script(asked: Asked) -> Answer:
        if tokens_of([asked]) == ["t1"]:
            together.wait(20)
            return UNKNOWN
        return FINE

    with serving(script) as server:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, user))
        (tmp_path / "token").write_text("t2")
        found: list[Any] = []
        threads = [threading.Thread(target=lambda: found.append(read(cluster))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert found == [pod("a", 5)] * 8
        assert runs.read_text() == "xx"


def test_a_stream_reads_credentials_again_too(tmp_path: Path, plugin: Any) -> None:
    (tmp_path / "token").write_text("t1")
    user, _ = plugin(f"give(token=open({str(tmp_path / 'token')!r}).read())")

    def script(asked: Asked) -> Answer:
        return Answer(steps=[b"a line\n"]) if tokens_of([asked]) == ["t2"] else UNKNOWN

    with serving(script) as server:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, user))
        (tmp_path / "token").write_text("t2")
        assert b"".join(cluster.logs("ns", "a", "main")) == b"a line\n"


def test_a_plugin_runs_again_when_its_token_has_expired(
    tmp_path: Path, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "HEADER_SECONDS", 0.0)
    user, runs = plugin(
        f"give(token='t' + str(len(open({str(tmp_path / 'runs')!r}).read())), expirationTimestamp='2020-01-01T00:00:00Z')"
    )
    with serving(lambda asked: FINE) as server:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, user))
        read(cluster)
        read(cluster)
        first, second = tokens_of(server.asked)
        assert first != second
        assert runs.read_text() == "xxx"


def test_a_plugin_that_hangs_later_holds_no_call_for_ever(
    tmp_path: Path, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "HEADER_SECONDS", 0.0)
    user, _ = plugin("give(token='t', expirationTimestamp='2020-01-01T00:00:00Z')")
    with serving(lambda asked: FINE) as server:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, user))
        read(cluster)
        plugin("time.sleep(60)")
        monkeypatch.setattr(credentials, "PLUGIN_SECONDS", 0.3)
        with pytest.raises(Unconfigured, match="does not answer within"):
            read(cluster)


BAD_PLUGINS = {
    "sys.exit('log in first')": "gave no credentials",
    "print('hello')": "gave no credentials",
    "give()": "gave no credentials",
    "time.sleep(60)": "does not answer within",
}


@pytest.mark.parametrize(("body", "said"), BAD_PLUGINS.items())
def test_a_plugin_that_is_no_good_is_named(
    body: str, said: str, tmp_path: Path, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitfall 27: 37 goes on without credentials, and the user reads 403 of system:anonymous."""
    monkeypatch.setattr(credentials, "PLUGIN_SECONDS", 20.0 if "sleep" not in body else 0.3)
    user, _ = plugin(body)
    path = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:9", user)
    with pytest.raises(Unconfigured, match=said) as told:
        Cluster.from_kubeconfig(path)
    assert "plugin" in str(told.value)
    if "sleep" in body:
        with pytest.raises(Unconfigured, match="has not answered yet"):
            Cluster.from_kubeconfig(path)


def test_a_plugin_may_give_a_certificate(tmp_path: Path, plugin: Any) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("by-plugin")
    user, _ = plugin(f"give(clientCertificateData=open({cert!r}).read(), clientKeyData=open({key!r}).read())")
    with serving(lambda asked: FINE, authority.context(clients=authority)) as server:
        read(
            Cluster.from_kubeconfig(
                write_kubeconfig(tmp_path / "k", server.url, user, **{"certificate-authority": str(authority.file)})
            )
        )
        assert server.asked[0].peer == "by-plugin"


def test_in_the_pod_the_token_is_read_again_when_kubelet_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, token = Authority(tmp_path), tmp_path / "token"
    token.write_text("t1")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority.file))
    with pytest.raises(Unconfigured, match=r"credentials of this pod.*host/port is not set"):
        Cluster.from_kubeconfig("in-cluster")
    with serving(lambda asked: FINE, authority.context()) as server:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        cluster = Cluster.from_kubeconfig("in-cluster")
        read(cluster)
        token.write_text("t2-longer")
        read(cluster)
        assert tokens_of(server.asked) == ["t1", "t2-longer"]


def test_client_certificates_are_shown_and_read_again(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("first")
    user = {"client-certificate": cert, "client-key": key}
    with serving(lambda asked: FINE, authority.context(clients=authority)) as server:
        cluster = Cluster.from_kubeconfig(
            write_kubeconfig(tmp_path / "k", server.url, user, **{"certificate-authority": str(authority.file)})
        )
        read(cluster)
        for old, new in zip((cert, key), authority.issue("second"), strict=True):
            os.replace(new, old)
        read(cluster)
        assert [a.peer for a in server.asked] == ["first", "second"]


def test_a_server_of_another_authority_is_not_trusted_and_it_is_said(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    with serving(lambda asked: FINE, theirs.context()) as server:
        path = write_kubeconfig(tmp_path / "k", server.url, **{"certificate-authority": str(ours.file)})
        with pytest.raises(Unavailable, match=r"cannot be trusted \(.*\): the kubeconfig's certificate-authority"):
            read(Cluster.from_kubeconfig(path))
        assert not server.asked


BAD_AUTHORITIES = [
    ({"certificate-authority": "missing.crt"}, "File does not exist: .*missing.crt"),
    ({"certificate-authority-data": "bm8gY2VydA=="}, "cannot be trusted"),
    ({"certificate-authority-data": "%%%"}, "no kubeconfig|cannot be trusted"),
]


@pytest.mark.parametrize(("cluster", "said"), BAD_AUTHORITIES)
def test_an_authority_that_is_no_certificate_is_said(cluster: dict[str, str], said: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with serving(lambda asked: FINE, authority.context()) as server, pytest.raises(Unavailable, match=said):
        read(Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, **cluster)))


NO_KUBECONFIGS = [
    "", "a: [", "[]", "just words", "apiVersion: v1", "current-context: x\ncontexts: []", "users: x\ncontexts: {}", "\x00",
    "clusters: [1]\nusers: [2]\ncontexts: [3]\ncurrent-context: a",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_KUBECONFIGS)
def test_what_is_no_kubeconfig_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(Unconfigured, match="configuration cannot be used"):
        Cluster.from_kubeconfig(str(tmp_path / "k"))
    with pytest.raises(Unconfigured, match="configuration cannot be used"):
        Cluster.from_kubeconfig(str(tmp_path / "absent"))


@pytest.fixture
def https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, dict[str, str]]]:
    for name in (
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "NO_PROXY",
        "no_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    authority = Authority(tmp_path)
    with serving(lambda asked: FINE, authority.context()) as server:
        yield server, {"certificate-authority": str(authority.file)}


@pytest.mark.parametrize("said_by", ["environment", "kubeconfig"])
def test_calls_go_through_the_proxy(said_by: str, https: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, cluster = https
    proxy = Proxy()
    if said_by == "environment":
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    else:
        cluster["proxy-url"] = proxy.url
    read(Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, **cluster)))
    assert proxy.connected == [f"127.0.0.1:{server.port}"]
    proxy.close()


@pytest.mark.parametrize("spared", ["127.0.0.1", "127.0.0.0/8", "*"])
def test_hosts_of_no_proxy_are_asked_directly(
    spared: str, https: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, cluster = https
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", f"example.com,{spared}")
    read(Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "k", server.url, **cluster)))
    assert server.count() == 1


def test_a_proxy_that_refuses_is_said_without_its_password(https: Any, tmp_path: Path) -> None:
    server, cluster = https
    proxy = Proxy(refuse=True)
    path = write_kubeconfig(tmp_path / "k", server.url, **cluster, **{"proxy-url": proxy.url})
    with pytest.raises(
        Unavailable, match=f"the proxy to the API server 127.0.0.1:{server.port} does not answer.*403"
    ) as told:
        read(Cluster.from_kubeconfig(path))
    assert "geheim" not in str(told.value)
    assert not server.asked
    proxy.close()
