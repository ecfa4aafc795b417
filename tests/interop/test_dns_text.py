# SPDX-License-Identifier: GPL-2.0-or-later
"""Master files that BIND and dnspython read as well: each record is the same to the octet."""

from __future__ import annotations

import base64
import io
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import dns.name
import dns.rdata
import dns.rdatatype
import pytest
from lab.base import tools
from lab.packages import programs

ORIGIN = "example."
#: Zones are made anew in each run; a failure names the seed of its zone.
SEEDS = 12
RECORDS = 400

Make = Callable[[random.Random], str]


def _name(rng: random.Random) -> str:
    """A domain name: relative or not, with escapes at times."""
    labels = ["".join(rng.choices("abcXYZ019-_", k=rng.randint(1, 9))) for _ in range(2)]
    if not rng.randrange(6):
        labels[0] += rng.choice(
            ["\\.", "\\;", "\\(", "\\\\", "\\000", "\\255", "\\@", "\\$", '\\"']
        )
    name = ".".join(labels[: rng.randint(1, 2)])
    return rng.choice([name, f"{name}.{ORIGIN}", f"{name}.other.test.", "@", "."])


def _number(bits: int) -> Make:
    return lambda rng: str(rng.choice([0, 1, 2**bits - 1, rng.getrandbits(bits)]))


def _string(rng: random.Random) -> str:
    """A string in quotes, or a word."""
    if rng.randrange(2):
        return "".join(rng.choices("abc019-=/", k=rng.randint(1, 12)))
    parts = ["a", " ", ";", "(", ")", "$", "@", '\\"', "\\\\", "\\000", "\\200", "\\x", "''"]
    return '"' + "".join(rng.choices(parts, k=rng.randint(0, 20))) + '"'


def _strings(rng: random.Random) -> str:
    return " ".join(_string(rng) for _ in range(rng.randint(1, 4)))


def _cut(rng: random.Random, digits: str, multiple: int) -> str:
    """Digits in words."""
    at = multiple * rng.randint(1, max(1, len(digits) // multiple - 1))
    return f"{digits[:at]} {digits[at:]}" if rng.randrange(2) else digits


def _hex(octets: int) -> Make:
    return lambda rng: _cut(rng, rng.randbytes(octets or rng.randint(1, 40)).hex(), 2)


def _base64(rng: random.Random) -> str:
    return _cut(rng, base64.b64encode(rng.randbytes(rng.randint(8, 90))).decode(), 4)


def _ipv4(rng: random.Random) -> str:
    return ".".join(str(rng.choice([0, 9, 10, 99, 100, 255])) for _ in range(4))


def _ipv6(rng: random.Random) -> str:
    groups = [f"{rng.choice([0, 0, 1, rng.getrandbits(16)]):x}" for _ in range(8)]
    if rng.randrange(3):
        at, gap = rng.randint(0, 6), rng.randint(1, 7)
        return ":".join(groups[:at]) + "::" + ":".join(groups[at + gap :])
    return ":".join(groups)


def _ttl(rng: random.Random) -> str:
    return rng.choice(["0", "300", "1h30m", "1W", "2d3H", "2147483647", "59s"])


def _time(rng: random.Random) -> str:
    year, month, day = rng.randint(1970, 2099), rng.randint(1, 12), rng.randint(1, 28)
    return f"{year}{month:02}{day:02}{rng.randint(0, 23):02}{rng.randint(0, 59):02}30"


def _types(rng: random.Random) -> str:
    known = ["A", "NS", "SOA", "MX", "TXT", "AAAA", "RRSIG", "NSEC", "CAA", "TYPE1234", "TYPE65280"]
    return " ".join(rng.sample(known, rng.randint(1, 6)))


def _algorithm(rng: random.Random) -> str:
    return rng.choice(["5", "8", "13", "15", "RSASHA256", "ECDSAP256SHA256", "ED25519"])


def _loc(rng: random.Random) -> str:
    north = rng.choice(
        ["42 N", "42 21 S", f"{rng.randint(0, 89)} 0 {rng.randint(0, 59999) / 1000} N"]
    )
    east = rng.choice(["180 E", "71 6 W", f"{rng.randint(0, 179)} 59 {rng.randint(0, 59)} W"])
    rest = rng.choice(["0m", "-24m 30m", "12.34m 1m 200m", "100 0.5m 90000000m 10m"])
    return f"{north} {east} {rest}"


def _apl(rng: random.Random) -> str:
    items = [f"1:{_ipv4(rng)}/{rng.randint(0, 32)}", f"!2:{_ipv6(rng)}/{rng.randint(0, 128)}"]
    return " ".join(rng.sample(items, rng.randint(1, 2)))


def _svcb(rng: random.Random) -> str:
    params = [
        rng.choice(["alpn=h2", 'alpn="h2,h3"', "alpn=f\\\\\\092oo\\092,bar,h2"]),
        f"port={rng.getrandbits(16)}",
        f"ipv4hint={_ipv4(rng)},{_ipv4(rng)}",
        f"ipv6hint={_ipv6(rng)}",
        rng.choice(["key667=hello", 'key667="a b\\210"', "key667"]),
    ]
    chosen = rng.sample(params, rng.randint(1, 5))
    return f"{rng.randint(1, 65535)} {rng.choice(['.', 'svc.other.test.'])} {' '.join(chosen)}"


def _ipseckey(rng: random.Random) -> str:
    kind, gateway = rng.choice([(0, "."), (1, _ipv4(rng)), (2, _ipv6(rng)), (3, "gw.other.test.")])
    return f"10 {kind} 2 {gateway} {_base64(rng)}"


def _ds(rng: random.Random) -> str:
    kind, octets = rng.choice([(1, 20), (2, 32), (4, 48)])
    return f"{rng.getrandbits(16)} {_algorithm(rng)} {kind} {_hex(octets)(rng)}"


def _unknown(rng: random.Random) -> str:
    octets = rng.randbytes(rng.randint(0, 30))
    return f"\\# {len(octets)} {octets.hex()}"


U8, U16, U32 = _number(8), _number(16), _number(32)
# BIND refuses fewer labels than the signer has, which validation would as well.
COVERED = (lambda rng: rng.choice(["A", "NS", "MX", "TYPE1234"]), _algorithm, "100", U32)
FIELDS: dict[str, tuple[Make | str, ...]] = {
    "A": (_ipv4,),
    "AAAA": (_ipv6,),
    "NS": (_name,),
    "PTR": (_name,),
    "MX": (U16, _name),
    "TXT": (_strings,),
    "SPF": (_strings,),
    "HINFO": (_string, _string),
    "RP": (_name, _name),
    "AFSDB": (U16, _name),
    "X25": ("311061700956",),
    "ISDN": (_string, _string),
    "RT": (U16, _name),
    "NSAP": ("0x47.0005.80.005a00.0000.0001.e133.ffffff000161.00",),
    "KEY": ("256", "3", _algorithm, _base64),
    "PX": (U16, _name, _name),
    "GPOS": ("-32.6882", "116.8652", "10.0"),
    "LOC": (_loc,),
    "SRV": (U16, U16, U16, _name),
    "NAPTR": (U16, U16, _string, _string, '""', _name),
    "KX": (U16, _name),
    "CERT": (lambda rng: rng.choice(["1", "PKIX", "PGP"]), U16, _algorithm, _base64),
    "APL": (_apl,),
    "DS": (_ds,),
    "CDS": (_ds,),
    "SSHFP": ("4", "2", _hex(32)),
    "IPSECKEY": (_ipseckey,),
    "RRSIG": (*COVERED, _time, _time, U16, _name, _base64),
    "NSEC": (_name, _types),
    "DNSKEY": ("257", "3", _algorithm, _base64),
    "CDNSKEY": ("257", "3", _algorithm, _base64),
    "DHCID": (_base64,),
    "NSEC3": ("1", "1", U16, "aabbccdd", "2t7b4g4vsa5smi47k61mv5bv1a22bojr", _types),
    "NSEC3PARAM": ("1", "0", U16, lambda rng: rng.choice(["-", "aabb"])),
    "TLSA": ("3", "1", "1", _hex(32)),
    "SMIMEA": ("3", "1", "1", _hex(0)),
    "HIP": ("2", "200100107B1A74DF365639CC39F1D578", "AwEAAbdxyhNuSutc", "rvs.other.test."),
    "OPENPGPKEY": (_base64,),
    "CSYNC": (U32, "3", _types),
    "ZONEMD": (U32, "1", "1", _hex(48)),
    "SVCB": (_svcb,),
    "HTTPS": (_svcb,),
    "NID": (U16, "0014:4fff:ff20:ee64"),
    "L32": (U16, _ipv4),
    "L64": (U16, "2001:0DB8:1140:1000"),
    "LP": (U16, _name),
    "EUI48": ("00-00-5e-00-53-2a",),
    "EUI64": ("00-00-5e-ef-10-00-00-2a",),
    "URI": (U16, U16, '"ftp://ftp1.example.com/public"'),
    "CAA": (U8, lambda rng: rng.choice(["issue", "iodef", "tbs"]), '"ca.test; a=b"'),
    "SINK": ("64", "0", "1", _base64),
    "DOA": (U32, U32, U8, '"text/plain"', lambda rng: rng.choice(["-", "AQID"])),
    "RKEY": ("0", "3", _algorithm, _base64),
    "NINFO": (_strings,),
    "AVC": (_strings,),
    "RESINFO": (_strings,),
    "WALLET": (_strings,),
    "TALINK": (_name, _name),
    "MINFO": (_name, _name),
    "MB": (_name,),
    "MG": (_name,),
    "MR": (_name,),
    "NSAP-PTR": (_name,),
    "EID": (_hex(0),),
    "NIMLOC": (_hex(0),),
    "A6": ("64", "::1234:5678:9abc:def0", _name),
    "WKS": (_ipv4, "TCP", "25 80"),
    "NXT": (_name, "A MX SIG NXT"),
    "SIG": (*COVERED, _time, _time, U16, _name, _base64),
    "AMTRELAY": ("10", "1", "2", _ipv6),
    "TA": (_ds,),
    "DLV": (_ds,),
    "TYPE65281": (_unknown,),
    "TYPE731": (_unknown,),
}


def _folded(rng: random.Random, words: str) -> str:
    """A record over several lines at times."""
    at = words.find(" ")
    if at < 0 or '"' in words or rng.randrange(3):
        return words
    return f"{words[:at]} ( ; a ( comment )\n\t{words[at:]}\n )"


def zone(rng: random.Random) -> str:
    """A zone file with what a file can have: each owner is new, so that nothing conflicts."""
    lines = ["$TTL 1h30m", f"@ IN SOA ns host.master ( {rng.getrandbits(32)}", " 1h 15m 1w 1d )"]
    lines += ["\tNS ns", "ns A 192.0.2.1"]
    for number in range(RECORDS):
        kind = rng.choice(list(FIELDS))
        owner = rng.choice(["n", "N", "a.b", "_x._tcp", "e\\.f", "g\\103"]) + str(number)
        words = rng.choice([f"IN {_ttl(rng)}", f"{_ttl(rng)} IN", "IN", _ttl(rng), ""])
        data = " ".join(field if isinstance(field, str) else field(rng) for field in FIELDS[kind])
        lines.append(f"{owner} {words} {kind} {_folded(rng, data)}")
        if not rng.randrange(40):
            lines.append(f"$ORIGIN {rng.choice([f'sub{number}', f'sub{number}.{ORIGIN}'])}")
        if not rng.randrange(40):
            lines.append(f"$TTL {_ttl(rng)}")
        if not rng.randrange(20):
            first = rng.randint(0, 300)
            form = rng.choice(
                ["$", "${1}", "${0,3}", "${0,3,x}", "${0,3,n}", "${0,5,N}", "${2,0,o}"]
            )
            step = rng.choice(["", "/2", "/7"])
            lines.append(f"$GENERATE {first}-{first + 9}{step} g{number}-$ CNAME {form}.x")
    return "\n".join(lines) + "\n"


def ours(what: str, path: Path) -> list[str]:
    """The records as our program reads them, without regard to their order."""
    done = subprocess.run(
        [programs.built("dns-text-peer"), what, path, ORIGIN], capture_output=True, text=True
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return sorted(done.stdout.splitlines())


def _records(path: Path) -> list[str]:
    """The lines of a file of BIND without its remarks, which depend on the time of day."""
    return [line for line in path.read_text().splitlines() if not line.startswith(";")]


@pytest.mark.parametrize("part", range(SEEDS))
def test_bind(part: int, tmp_path: Path) -> None:
    """Records as named-compilezone reads and prints them are ours."""
    seed = random.SystemRandom().getrandbits(32)
    path, compiled = tmp_path / f"zone-{seed}", tmp_path / "compiled"
    path.write_text(zone(random.Random(seed)))
    checks = ["-i", "none", "-k", "ignore", "-m", "ignore", "-M", "ignore", "-n", "ignore"]
    checks += ["-r", "ignore", "-S", "ignore", "-T", "ignore", "-W", "ignore"]
    tools.run(["named-compilezone", *checks, "-o", compiled, ORIGIN, path])
    assert ours("wire", path) == ours("wire", compiled), f"seed {seed}"
    # What we print is what BIND reads, too.
    printed = tmp_path / "printed"
    lines = ours("print", path)
    lines.sort(key=lambda line: " SOA " not in line)
    printed.write_text("\n".join(lines) + "\n")
    again = tmp_path / "again"
    tools.run(["named-compilezone", *checks, "-o", again, ORIGIN, printed])
    assert _records(again) == _records(compiled), f"seed {seed}"


#: What dnspython 2.3 has no class for, or reads in another way than its RFC and BIND.
NOT_DNSPYTHON = {
    *("SVCB", "HTTPS", "KEY", "ZONEMD", "SINK", "DOA", "RKEY", "RESINFO", "WALLET", "TALINK"),
    *("MINFO", "MB", "MG", "MR", "EID", "NIMLOC", "A6", "NXT", "SIG", "TA", "DLV"),
}


def test_dnspython() -> None:
    """RDATA of each type, in the wire form of dnspython, prints as what that reads as the same."""
    seed = random.SystemRandom().getrandbits(32)
    rng = random.Random(seed)
    origin = dns.name.from_text(ORIGIN)
    wanted = []
    for kind, fields in FIELDS.items():
        for _ in range(20):
            text = " ".join(field if isinstance(field, str) else field(rng) for field in fields)
            # dnspython 2.3 takes \\200 for a character, and makes UTF-8 of it, but in TXT.
            if kind in NOT_DNSPYTHON or ("\\200" in text and kind not in ("TXT", "SPF")):
                continue
            kind_number = dns.rdatatype.from_text(kind)
            rdata = dns.rdata.from_text("IN", kind, text, origin=origin, relativize=False)
            wanted.append((kind_number, rdata))
    lines = [f"{int(kind)} {_wire(rdata)}" for kind, rdata in wanted]
    done = subprocess.run(
        [programs.built("dns-text-peer"), "rdata"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    for (kind, rdata), text in zip(wanted, done.stdout.splitlines(), strict=True):
        back = dns.rdata.from_text("IN", kind, text, origin=dns.name.root, relativize=False)
        assert _wire(back) == _wire(rdata), f"seed {seed}: {kind} {text}"


def _wire(rdata: dns.rdata.Rdata) -> str:
    buffer = io.BytesIO()
    rdata.to_wire(buffer)
    return buffer.getvalue().hex()
