# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of TLS say hello in a guest whose policy wants to hear the name.

Each comes with its defaults, among them key shares that take more than a segment, resumption and a
second connection at the same time.
"""

from __future__ import annotations

import base64
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.guest.guest import Guest
from lab.packages import wheels
from lab.peers import servers as peers
from lab.peers.lab import DNS_ADDRESS, WEB_ADDRESS, Lab, lab

_PROGRAMS = Path(__file__).parent / "programs"
sys.path.insert(0, str(_PROGRAMS.parent))

from programs.machines import outside  # noqa: E402

pytestmark = pytest.mark.long

_PORT = 5353
_RECORDS = (f"www.test. 60 IN AAAA {WEB_ADDRESS}", f"other.test. 60 IN AAAA {WEB_ADDRESS}")
_RULES = "allow www.test tcp 443 tls\ndefault deny\n"
PACKAGES = (
    *("gnutls-bin", "golang-1.19-go", "golang-1.19-src", "libnss3-tools", "nodejs"),
    *("openjdk-17-jdk-headless", "wget"),
)
_GO = """package main
import ("crypto/tls"; "fmt"; "io"; "net/http"; "os")
func main() {
	insecure := &tls.Config{InsecureSkipVerify: true}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: insecure, ForceAttemptHTTP2: true}}
	page, err := client.Get(os.Args[1])
	if err != nil { fmt.Println(err); os.Exit(1) }
	io.Copy(os.Stdout, page.Body)
}
"""
_JAVA = """import java.net.URL; import java.security.cert.X509Certificate; import javax.net.ssl.*;
public class Get { public static void main(String[] arguments) throws Exception {
  TrustManager[] all = { new X509TrustManager() {
    public void checkClientTrusted(X509Certificate[] c, String a) {}
    public void checkServerTrusted(X509Certificate[] c, String a) {}
    public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; } } };
  SSLContext context = SSLContext.getInstance("TLS");
  context.init(null, all, null);
  HttpsURLConnection c = (HttpsURLConnection) new URL(arguments[0]).openConnection();
  c.setSSLSocketFactory(context.getSocketFactory());
  c.setHostnameVerifier((name, session) -> true);
  c.getInputStream().transferTo(System.out); } }
"""
_NODE = (
    "require('https').get(process.argv[1], {rejectUnauthorized: false}, (a) => a.pipe(process."
    "stdout)).on('error', (e) => { console.log(e.code); process.exitCode = 1; })"
)
_PYTHON = (
    "import ssl, sys, urllib.request as r\n"
    "print(r.urlopen(sys.argv[1], context=ssl._create_unverified_context()).read().decode())"
)
_REQUEST = "printf 'GET / HTTP/1.0\\r\\nHost: www.test\\r\\n\\r\\n'; sleep 2"
#: Library -> a line of shell that gets https://www.test/.
CLIENTS = {
    "openssl-curl": "curl -ksS https://www.test/",
    "openssl-python": f'python3 -c "{_PYTHON}" https://www.test/',
    "gnutls-wget": "wget -qO- --no-check-certificate https://www.test/",
    "gnutls-cli": f"({_REQUEST}) | gnutls-cli --insecure www.test",
    "go": "/root/get https://www.test/",
    "java": "cd /root && java Get.java https://www.test/",
    "node": f'node -e "{_NODE}" https://www.test/',
    # It does not end with the stream.
    "nss": f"({_REQUEST}) | timeout 30 tstclnt -D -o -h www.test -p 443 -V tls1.2:tls1.3 2>&1",
    # It finds no package, but has said hello to learn that.
    "rustls": "/root/uv pip install --target /tmp/uv --no-cache --allow-insecure-host www.test"
    " --index-url https://www.test/simple nothing 2>&1",
}


@dataclass
class World:
    """A guest with every client, and a server that tells which name it heard."""

    lab: Lab
    guest: Guest
    log: Path

    def refused(self) -> int:
        """How many streams were ended because of what they said."""
        return self.lab.counters(self.guest)["refused_hello"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("clients")
    (folder / "vm.policy").write_text(_RULES)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    where = ["-subj", "/CN=www.test", "-keyout", key, "-out", certificate]
    tools.run(["openssl", "req", "-x509", *new, *where])
    told = 'location / { return 200 "heard $ssl_server_name $ssl_protocol\\n"; }\n'
    told += "location /simple { return 404; }\nssl_protocols TLSv1.2 TLSv1.3;\n"
    names = functools.partial(peers.dns, port=_PORT)
    with lab() as built, names(built.peer, _RECORDS, DNS_ADDRESS):
        with outside(built.peer, PACKAGES) as builder:
            builder.put(_GO, "/root/get.go")
            build = "CGO_ENABLED=0 HOME=/root /usr/lib/go-1.19/bin/go build -o get get.go"
            program = base64.b64decode(builder.run(f"cd /root && {build} && base64 get"))
        device = built.device(dns=f"{DNS_ADDRESS}@{_PORT}", policy=folder / "vm.policy")
        web = peers.web(built.peer, folder, port=443, server=told, certificate=(certificate, key))
        with (
            web as log,
            built.guest(device=device, ipv6=False, packages=PACKAGES, memory="1G") as guest,
        ):
            guest.put(program, "/root/get", 0o755)
            guest.put(_JAVA.encode(), "/root/Get.java")
            uv = wheels.installed(_PROGRAMS / "clients.txt") / "bin" / "uv"
            guest.put(uv.read_bytes(), "/root/uv", 0o755)
            yield World(built, guest, log)


@pytest.mark.parametrize("client", CLIENTS)
def test_client(world: World, client: str) -> None:
    """What it says passes, unchanged."""
    before, asked = world.refused(), world.log.read_text().count("/simple")
    done = world.guest.run(CLIENTS[client], check=False, timeout=2 * wait.PATIENCE)
    if client == "rustls":
        assert world.log.read_text().count("/simple") > asked, done.stdout
    else:
        assert "heard www.test TLSv1." in done.stdout, done.stdout + done.stderr
    assert world.refused() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_client_is_refused(world: World, client: str) -> None:
    """The same client, by another name of the same address, which is in the guest's hosts."""
    world.guest.run("getent ahosts www.test")
    address = world.guest.run("getent ahostsv4 www.test").stdout.split()[0]
    world.guest.run(f"echo {address} other.test >>/etc/hosts")
    before, asked = world.refused(), world.log.read_text().count("\n")
    try:
        line = CLIENTS[client].replace("www.test", "other.test")
        done = world.guest.run(line, check=False, timeout=2 * wait.PATIENCE)
    finally:
        world.guest.run("sed -i /other.test/d /etc/hosts")
    assert "heard" not in done.stdout
    assert world.refused() > before
    assert world.log.read_text().count("\n") == asked
