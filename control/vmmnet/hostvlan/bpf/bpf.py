# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of libbpf that the eBPF twin uses: objects, maps, links, tc.

The library is in the Debian package libbpf1, which iproute2 needs as well.  Functions
raise OSError with the kernel's errno.  The caller closes the file descriptors that it
gets.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

_LIBRARY = "libbpf.so.1"

# From linux/bpf.h.
MAP_ARRAY = 2
_MAP_DEVMAP = 14
_INDEX = struct.Struct("=I")
_MAP_PERCPU_ARRAY = 6
F_MMAPABLE = 1 << 10
F_INNER_MAP = 1 << 12
_ATTACH_XDP = 37
_ATTACH_TCX_INGRESS, _ATTACH_TCX_EGRESS = 46, 47
_F_BEFORE = 1 << 3
# From linux/if_link.h: XDP in the network stack, without support by the driver.
XDP_GENERIC = 1 << 1

# From linux/bpf_mprog.h: the kernel's limit of programs at a point.
_TCX_MAX = 64

# From bpf/libbpf.h.
INGRESS, EGRESS = 1, 2
_TC_REPLACE = 1


class _CreateOptions(ctypes.Structure):
    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("btf_fd", ctypes.c_uint32),
        ("btf_key_type_id", ctypes.c_uint32),
        ("btf_value_type_id", ctypes.c_uint32),
        ("btf_vmlinux_value_type_id", ctypes.c_uint32),
        ("inner_map_fd", ctypes.c_uint32),
        ("map_flags", ctypes.c_uint32),
    )


class _LinkOptions(ctypes.Structure):
    _fields_ = (("sz", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("pad", ctypes.c_uint32))


class _QueryOptions(ctypes.Structure):
    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("query_flags", ctypes.c_uint32),
        ("attach_flags", ctypes.c_uint32),
        ("prog_ids", ctypes.POINTER(ctypes.c_uint32)),
        ("prog_cnt", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    )


class _TcHook(ctypes.Structure):
    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("ifindex", ctypes.c_int),
        ("attach_point", ctypes.c_int),
        ("parent", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    )


class _TcOptions(ctypes.Structure):
    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("prog_fd", ctypes.c_int),
        ("flags", ctypes.c_uint32),
        ("prog_id", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
        ("priority", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    )


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_LIBRARY, use_errno=True)
    except OSError as error:
        text = f"{_LIBRARY} is not installed: it is in the Debian package libbpf1"
        raise OSError(errno.ELIBACC, text) from error
    pointers = ("bpf_object__open_file", "bpf_object__find_map_by_name")
    for name in (*pointers, "bpf_object__find_program_by_name"):
        getattr(library, name).restype = ctypes.c_void_p
    library.bpf_object__close.restype = None
    library.libbpf_set_print.restype = ctypes.c_void_p
    # The exceptions have the errors; libbpf would also print them.
    library.libbpf_set_print(None)
    return library


def _checked(status: int) -> int:
    """Return a result of libbpf, or raise OSError if it is a negative errno."""
    if status < 0:
        raise OSError(-status, os.strerror(-status))
    return status


def _sized(kind: type[ctypes.Structure], **fields: int) -> ctypes.Structure:
    return kind(sz=ctypes.sizeof(kind), **fields)


@contextmanager
def closing(fd: int) -> Iterator[int]:
    """Close a file descriptor at the end of a ``with`` block."""
    try:
        yield fd
    finally:
        os.close(fd)


# Maps.


def array_create(name: str, value_size: int, entries: int, flags: int = 0) -> int:
    """Make an array."""
    return _map_create(MAP_ARRAY, name, value_size, entries, flags)


def interface_create(name: str, ifindex: int) -> int:
    """Make a map that has an interface of this network namespace as its element 0.

    The kernel removes the element when the interface is deleted, or moves to another
    network namespace.
    """
    fd = _map_create(_MAP_DEVMAP, name, _INDEX.size, 1)
    try:
        update(fd, 0, _INDEX.pack(ifindex))
    except OSError:
        os.close(fd)
        raise
    return fd


def has_interface(fd: int) -> bool:
    """Whether the interface of ``interface_create()`` still is where it was."""
    return lookup(fd, 0, _INDEX.size) is not None


def _map_create(kind: int, name: str, value_size: int, entries: int, flags: int = 0) -> int:
    options = _sized(_CreateOptions, map_flags=flags)
    call = _library().bpf_map_create
    key = ctypes.sizeof(ctypes.c_uint32)
    words = (kind, name.encode(), key, value_size, entries, ctypes.byref(options))
    return _checked(call(*words))


def lookup(fd: int, key: int, size: int) -> bytes | None:
    """Read an element of an array: ``size`` octets, of all CPUs if the map is per-CPU."""
    if size != element_size(fd):
        # The kernel writes the whole element, whatever the size of the buffer.
        raise OSError(
            errno.EPROTO,
            "a map was made by another version of vmmnet: 'vmmnet hostvlan detach' its"
            " interfaces, then 'attach' them again",
        )
    value = ctypes.create_string_buffer(size)
    found = ctypes.c_uint32(key)
    status = _library().bpf_map_lookup_elem(fd, ctypes.byref(found), value)
    if status == -errno.ENOENT:
        return None
    _checked(status)
    return value.raw


def element_size(fd: int) -> int:
    """The size of an element for lookup(), in octets."""
    kind, size = struct.unpack_from("=I8xI", _info(fd))
    return -(-size // 8) * 8 * possible_cpus() if kind == _MAP_PERCPU_ARRAY else int(size)


def update(fd: int, key: int, value: bytes) -> None:
    """Set an element of an array; for an array of maps, to a map's file descriptor.

    For an array of maps, it returns when no running program uses the old map.
    """
    number = ctypes.c_uint32(key)
    _checked(_library().bpf_map_update_elem(fd, ctypes.byref(number), value, 0))


def map_by_id(number: int) -> int:
    """Open a map by its ID; the elements of an array of maps are IDs.  Needs CAP_SYS_ADMIN."""
    return _checked(_library().bpf_map_get_fd_by_id(number))


def map_id(fd: int) -> int:
    """The ID of a map."""
    (number,) = struct.unpack_from("=4xI", _info(fd))
    return int(number)


def value_size(fd: int) -> int:
    """The size of an element, in octets; for one CPU if the map is per-CPU."""
    (size,) = struct.unpack_from("=12xI", _info(fd))
    return int(size)


def maps_called(name: str) -> Iterator[int]:
    """Open the maps with this name, pinned or not, one after another."""
    number = ctypes.c_uint32(0)
    while not _library().bpf_map_get_next_id(number, ctypes.byref(number)):
        try:
            fd = map_by_id(number.value)
        except FileNotFoundError:
            # It was removed meanwhile.
            continue
        with closing(fd):
            (found,) = struct.unpack_from("=24x16s", _info(fd))
            if found.split(b"\0")[0].decode() == name:
                yield fd


def possible_cpus() -> int:
    """The number of values in an element of a per-CPU array."""
    return _checked(_library().libbpf_num_possible_cpus())


# Pins.


def pin(fd: int, path: Path) -> None:
    """Give a map, a program or a link a name in bpffs."""
    _checked(_library().bpf_obj_pin(fd, os.fsencode(path)))


def pinned(path: Path) -> int:
    """Open a map, a program or a link by its name in bpffs."""
    return _checked(_library().bpf_obj_get(os.fsencode(path)))


def _info(fd: int) -> bytes:
    info = ctypes.create_string_buffer(256)
    size = ctypes.c_uint32(len(info))
    _checked(_library().bpf_obj_get_info_by_fd(fd, info, ctypes.byref(size)))
    return info.raw


def program_id(fd: int) -> int:
    """The ID of a program."""
    (number,) = struct.unpack_from("=4xI", _info(fd))
    return int(number)


# Links.


def link_create_xdp(program: int, ifindex: int, flags: int) -> int:
    """Attach a program to an interface for as long as the link lives."""
    options = _sized(_LinkOptions, flags=flags)
    call = _library().bpf_link_create
    return _checked(call(program, ifindex, _ATTACH_XDP, ctypes.byref(options)))


def _tcx(point: int) -> int:
    return _ATTACH_TCX_INGRESS if point == INGRESS else _ATTACH_TCX_EGRESS


def link_create_tcx(program: int, ifindex: int, point: int, *, before: bool = True) -> int:
    """Attach a program to tc, before or behind all others, for as long as the link lives."""
    options = _sized(_LinkOptions, flags=_F_BEFORE if before else 0)
    call = _library().bpf_link_create
    return _checked(call(program, ifindex, _tcx(point), ctypes.byref(options)))


def tcx_programs(ifindex: int, point: int) -> list[int] | None:
    """The IDs of the programs in links at a point of tc, the first first.

    None: the kernel has no such links; it is older than Linux 6.6.
    """
    numbers = (ctypes.c_uint32 * _TCX_MAX)()
    options = _QueryOptions(prog_ids=numbers, prog_cnt=len(numbers))
    options.sz = ctypes.sizeof(options)
    status = _library().bpf_prog_query_opts(ifindex, _tcx(point), ctypes.byref(options))
    if status == -errno.EINVAL:
        return None
    if status == -errno.ENOENT:
        return []
    _checked(status)
    return list(numbers[: options.prog_cnt])


def is_link(fd: int) -> bool:
    """Whether a file descriptor of eBPF is a link, not a program or a map."""
    # "anon_inode:bpf-link" or "bpf_link".
    return str(Path(f"/proc/self/fd/{fd}").readlink()).endswith("link")


def link_update(link: int, program: int) -> None:
    """Replace the program of a link; each frame sees the old or the new one."""
    _checked(_library().bpf_link_update(link, program, None))


def link_detach(link: int) -> None:
    """Detach a link's program from its interface, now."""
    _checked(_library().bpf_link_detach(link))


def link_program(link: int) -> int:
    """The ID of a link's program."""
    (number,) = struct.unpack_from("=8xI", _info(link))
    return int(number)


def link_ifindex(link: int) -> int:
    """The interface of a link; 0: it no longer exists, or the link was detached."""
    (ifindex,) = struct.unpack_from("=16xI", _info(link))
    return int(ifindex)


# tc.


def _hook(ifindex: int, point: int) -> ctypes.Structure:
    return _sized(_TcHook, ifindex=ifindex, attach_point=point)


def clsact_create(ifindex: int) -> bool:
    """Make the qdisc with both hooks; returns False if it existed."""
    hook = _hook(ifindex, INGRESS | EGRESS)
    status = _library().bpf_tc_hook_create(ctypes.byref(hook))
    if status == -errno.EEXIST:
        return False
    _checked(status)
    return True


def clsact_destroy(ifindex: int) -> None:
    """Remove the qdisc and all of its filters."""
    hook = _hook(ifindex, INGRESS | EGRESS)
    _checked(_library().bpf_tc_hook_destroy(ctypes.byref(hook)))


def tc_attach(ifindex: int, point: int, program: int, priority: int, handle: int) -> None:
    """Add a filter, or replace the program of an existing one."""
    options = _sized(
        _TcOptions, prog_fd=program, flags=_TC_REPLACE, handle=handle, priority=priority
    )
    hook = _hook(ifindex, point)
    _checked(_library().bpf_tc_attach(ctypes.byref(hook), ctypes.byref(options)))


def tc_detach(ifindex: int, point: int, priority: int, handle: int) -> None:
    """Remove a filter."""
    options, hook = _sized(_TcOptions, handle=handle, priority=priority), _hook(ifindex, point)
    _checked(_library().bpf_tc_detach(ctypes.byref(hook), ctypes.byref(options)))


def tc_program(ifindex: int, point: int, priority: int, handle: int) -> int | None:
    """The ID of the program in a filter; None: there is no filter."""
    options, hook = _TcOptions(handle=handle, priority=priority), _hook(ifindex, point)
    options.sz = ctypes.sizeof(options)
    status = _library().bpf_tc_query(ctypes.byref(hook), ctypes.byref(options))
    if status in (-errno.ENOENT, -errno.EINVAL, -errno.ENODEV):
        return None
    _checked(status)
    return int(options.prog_id)


# Objects: ELF files from clang.


class Object:
    """The programs and maps of an ELF file.  A context manager."""

    def __init__(self, file: Path) -> None:
        self._object = self._found(_library().bpf_object__open_file(os.fsencode(file), None))

    @staticmethod
    def _found(pointer: int | None) -> ctypes.c_void_p:
        if not pointer:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return ctypes.c_void_p(pointer)

    def _map(self, name: str) -> ctypes.c_void_p:
        library = _library()
        return self._found(library.bpf_object__find_map_by_name(self._object, name.encode()))

    def reuse(self, name: str, fd: int) -> None:
        """Before load(): use an existing map in place of one of the file."""
        _checked(_library().bpf_map__reuse_fd(self._map(name), fd))

    def leave_out(self, name: str) -> None:
        """Before load(): do not load a program."""
        find = _library().bpf_object__find_program_by_name
        program = self._found(find(self._object, name.encode()))
        _checked(_library().bpf_program__set_autoload(program, False))

    def load(self) -> None:
        """Make the maps and load the programs into the kernel."""
        _checked(_library().bpf_object__load(self._object))

    def map(self, name: str) -> int:
        """The file descriptor of a map; the object closes it."""
        return _checked(_library().bpf_map__fd(self._map(name)))

    def program(self, name: str) -> int:
        """The file descriptor of a program; the object closes it."""
        find = _library().bpf_object__find_program_by_name
        return _checked(_library().bpf_program__fd(self._found(find(self._object, name.encode()))))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _library().bpf_object__close(self._object)
