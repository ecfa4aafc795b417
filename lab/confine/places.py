# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and addresses of the demonstration; those of examples/sandbox/sandbox.policy among them."""

from __future__ import annotations

from lab.base import paths
from lab.peers.lab import DNS_ADDRESS, HOST_ADDRESS, WEB2_ADDRESS, WEB_ADDRESS

_PROFILE = paths.ROOT / "examples" / "sandbox"
POLICY, INBOUND = _PROFILE / "sandbox.policy", _PROFILE / "inbound.nft"

DEVICE_DNS = "192.0.0.1"
DNS = DNS_ADDRESS
HOST = HOST_ADDRESS

#: The API is at an address of many names, behind an alias.
API, API_NAME, EDGE_NAME = WEB_ADDRESS, "api.example", "edge.example"
#: As long as the API's.
NOT_API_NAME = "bad.example"
MIRROR = WEB2_ADDRESS
MIRROR_NAME, PYTHON_NAME, FILES_SUFFIX = "debian.example", "python.example", "files.example"
FILES_NAME = f"cdn.{FILES_SUFFIX}"
GIT, GIT_OTHER, GIT_NAME = "2001:db8:80::90", "2001:db8:80::91", "git.example"
PROXY, PROXY_PORT = "2001:db8:80::3128", 3128

#: Where nothing may arrive.
EVIL, EVIL4 = "2001:db8:80::66", "203.0.113.66"
NAT64_PREFIX = "64:ff9b::/96"
EVIL_NAT64, EVIL_6TO4 = "64:ff9b::cb00:7142", "2002:cb00:7142::1"
METADATA4, METADATA6, METADATA_NAT64 = "169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"

#: What the policy allows an hour.
SENT_BUDGET = 1 << 20
NAMES_BUDGET = 20

#: Addresses of the servers' host, beside those of the bed.
OF_PEER = (GIT, GIT_OTHER, PROXY, EVIL, EVIL_NAT64, EVIL_6TO4, METADATA6, METADATA_NAT64)
#: Destinations that a guest may reach.
ALLOWED = {
    *(("tcp", API, 443), ("tcp", MIRROR, 443), ("tcp", MIRROR, 80), ("tcp", PROXY, PROXY_PORT)),
    *(("udp", API, 443), ("udp", DNS, 53), ("tcp", DNS, 53)),
}

RECORDS = (
    f"{API_NAME}. 60 IN CNAME {EDGE_NAME}.",
    f"{EDGE_NAME}. 60 IN AAAA {API}",
    f"{NOT_API_NAME}. 60 IN AAAA {API}",
    f"{MIRROR_NAME}. 60 IN AAAA {MIRROR}",
    f"{PYTHON_NAME}. 60 IN AAAA {MIRROR}",
    f"*.{FILES_SUFFIX}. 60 IN AAAA {MIRROR}",
    f"{GIT_NAME}. 60 IN AAAA {GIT}",
    f"*.evil.example. 60 IN AAAA {EVIL}",
    f"host.{FILES_SUFFIX}. 60 IN AAAA {HOST}",
    f"loop.{FILES_SUFFIX}. 60 IN AAAA ::1",
    f"meta.{FILES_SUFFIX}. 60 IN A {METADATA4}",
    f"inside.{FILES_SUFFIX}. 60 IN AAAA fd00::1",
)
#: Names of the web servers' certificate.
CERTIFIED = (API_NAME, MIRROR_NAME, PYTHON_NAME, FILES_NAME, GIT_NAME)
