# SPDX-License-Identifier: GPL-2.0-or-later
"""Show vmmnet at work: ``make run``.

An IPv6-only network with a web server whose name has only an AAAA record; a
guest without a NIC and with IPv4 only; both directions of the paper's section
3; then a shell in the guest.

    python3 -m lab.run [--machine q35|microvm] [--kernel 6.1|6.12|7.3] [--accel kvm|tcg]
                       [--no-shell]
    python3 -m lab.run --disk image.qcow2
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab import own_disk, terminal
from lab.base.net import Namespace, Network
from lab.guest import accelerator, image, machine, qemu
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.packages.conclude import conclude
from lab.peers import servers as peers
from lab.story import Story

WEB_NAME = "www.example.test"
WEB_ADDRESS = "2001:db8:80::80"
DNS_ADDRESS = "2001:db8:80::53"
ROUTER_HOST, ROUTER_PEER = "2001:db8:1::1", "2001:db8:1::2"
VM_ADDRESS = "2001:db8:1::c0de"

PAGE = """\
<title>An IPv6-only page</title>
You are reading this over IPv6, from a server that has no IPv4 address.
"""
GUEST_PAGE = """\
<title>An IPv4 server</title>
This page comes from an IPv4 nginx in a guest that has no network card.
"""
GUEST_NGINX = """\
daemon off; user root; pid /run/nginx.pid; error_log stderr;
events { }
http { access_log off; server { listen 0.0.0.0:80; root /srv; } }
"""


@contextlib.contextmanager
def network(story: Story) -> Iterator[tuple[Namespace, Namespace]]:
    """The host of the VM and, one wire away, a host with web and DNS servers."""
    with contextlib.ExitStack() as stack:
        with story.step("Make an IPv6-only network with a web server and a DNS server"):
            wires = stack.enter_context(Network())
            host, peer = wires.namespace("host"), wires.namespace("peer")
            wires.connect(
                host,
                peer,
                [f"{ROUTER_HOST}/64", f"{VM_ADDRESS}/128"],
                [f"{ROUTER_PEER}/64", f"{WEB_ADDRESS}/128", f"{DNS_ADDRESS}/128"],
            )
            host.route("2001:db8:80::/64", ROUTER_PEER)
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmmnet-run-")))
            root.chmod(0o755)
            (root / "index.html").write_text(PAGE)
            stack.enter_context(peers.web(peer, root, WEB_ADDRESS))
            records = [f"{WEB_NAME}. 60 IN AAAA {WEB_ADDRESS}"]
            stack.enter_context(peers.dns(peer, records, DNS_ADDRESS))
            print(f"    {WEB_NAME} has one record: AAAA {WEB_ADDRESS}")
        yield host, peer


def device() -> str:
    """The guest's only network device."""
    return f"virtio-vmrpc-pci,id=vmrpc0,address6={VM_ADDRESS},dns={DNS_ADDRESS}"


def fetch_outwards(story: Story, guest: Guest) -> None:
    """The guest's IPv4 client reads a page from the IPv6-only server."""
    with story.step("An unmodified IPv4 curl in the guest fetches an IPv6-only page by name"):
        for command in ("ip -brief address", f"getent ahostsv4 {WEB_NAME}"):
            story.show("guest$", command, guest.run(command).stdout)
        command = f"curl -4 -sS http://{WEB_NAME}/"
        page = guest.run(command).stdout
        story.show("guest$", command, page)
        if page != PAGE:
            raise RuntimeError("unexpected page")


def fetch_inwards(story: Story, guest: Guest, peer: Namespace) -> None:
    """An IPv6 client outside reads a page from the guest's IPv4 server."""
    with story.step("An IPv6 curl outside fetches a page from an IPv4 nginx in the guest"):
        guest.put(GUEST_PAGE.encode(), "/srv/index.html")
        guest.put(GUEST_NGINX.encode(), "/run/nginx.conf")
        guest.spawn("exec nginx -c /run/nginx.conf")
        guest.wait_for("curl -s http://127.0.0.1/ >/dev/null")
        story.show("guest$", "ss -4lnt", guest.run("ss -4lnt").stdout)
        command = ["curl", "-6", "-sS", f"http://[{VM_ADDRESS}]/"]
        page = peer.run(command).stdout
        story.show("peer$", " ".join(command), page)
        if page != GUEST_PAGE:
            raise RuntimeError("unexpected page")


def accelerate(options: argparse.Namespace) -> str:
    """The accelerator that the user wants, else KVM where guests start on it."""
    if options.accel:
        return str(options.accel)
    choice = accelerator.choose(options.kernel)
    print(f"    {choice.reason}", flush=True)
    return choice.accel


def shell(guest: Guest) -> None:
    """A shell in the guest, until it ends or the user presses Ctrl-]."""
    print(
        f"\nA shell in the guest (Ctrl-] or 'exit' ends it). Try: curl http://{WEB_NAME}/\n",
        flush=True,
    )
    job = guest.start_shell(*terminal.size())
    terminal.attach(guest.shell_path, lambda: job.running)


def demonstrate(options: argparse.Namespace, story: Story) -> None:
    """The whole demonstration with our own small guest."""
    with story.step(f"Get Debian's stock kernel {options.kernel} and build the guest module"):
        module = kernel.build_module(options.kernel)
        print(f"    {module.name} for {kernel.get(options.kernel).release}")
    with story.step("Get a small Debian as the guest's root file system"):
        print(f"    {image.root().name}")
    with contextlib.ExitStack() as stack:
        host, peer = stack.enter_context(network(story))
        with story.step("Boot the guest: no NIC, one virtio-vmrpc device"):
            accel = accelerate(options)
            on_it = machine.of(options.machine, accel).on(device())
            print(f"    -machine {options.machine} -device {on_it}")
            guest = Guest(
                netns=host,
                machine=options.machine,
                kernel=options.kernel,
                devices=[on_it],
                module=module,
                shell=True,
                accel=accel,
            )
            stack.enter_context(guest)
        fetch_outwards(story, guest)
        fetch_inwards(story, guest, peer)
        story.end()
        if options.shell and sys.stdin.isatty() and sys.stdout.isatty():
            shell(guest)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="make run", description=__doc__)
    parser.add_argument(
        "--kernel", choices=kernel.ORIGINS, default=kernel.OLDEST, help="guest kernel"
    )
    parser.add_argument(
        "--machine", choices=machine.TYPES, default=machine.DEFAULT, help="QEMU's machine type"
    )
    parser.add_argument(
        "--accel", help="QEMU's -accel, such as tcg; else kvm, where guests start on it"
    )
    parser.add_argument(
        "--no-shell", dest="shell", action="store_false", help="end after the pages"
    )
    parser.add_argument("--disk", type=Path, help="boot this image of yours instead")
    options = parser.parse_args(arguments)
    if options.disk and options.machine != machine.DEFAULT:
        parser.error(f"--machine {options.machine}: --disk boots on {machine.DEFAULT}")
    if options.disk and not options.disk.is_file():
        parser.error(f"--disk {options.disk}: there is no such file")
    return options


def main() -> int:
    """Entry point."""
    options = parse()
    story = Story()

    def show() -> None:
        if options.disk:
            with network(story) as (host, _):
                own_disk.boot(options.disk, host, device(), accelerate(options))
        else:
            demonstrate(options, story)

    try:
        return conclude("make run", show)
    except qemu.QemuFailed as error:
        print(f"\n{error}", file=sys.stderr)
        if options.accel and options.accel != qemu.TCG:
            print(
                f"make run: --accel {options.accel}: QEMU cannot run the guest so on this host."
                f"  Leave --accel out, or take {qemu.TCG}, which runs it on every host.",
                file=sys.stderr,
            )
        return 1


if __name__ == "__main__":
    sys.exit(main())
