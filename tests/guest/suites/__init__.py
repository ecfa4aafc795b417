# SPDX-License-Identifier: GPL-2.0-or-later
"""Other people's tests of sockets, native and outsourced.

CPython's and Go's own tests run twice in one guest, as Debian ships them: on
Linux's sockets, and with the module loaded and 127.0.0.1 made an address of the
outside.  Then whoever is at both ends of a connection finds it by way of the
host, and the suite does not know:

    guest                                      host
    test, client  127.0.0.1 -> detour -> vmrpc  address6 -> reflector's address
                                                    nftables turns packets round
    test, server  127.0.0.1 <- detour <- vmrpc  address6 <- reflector's address

On the host:
  image      the disk with the suites
  catalogue  which suites there are, and how each is run
  known      what is known of single tests: known.toml
  report     what a run has found: build/suites/*.md

In the guest:
  detour/    the kernel module that translates 127.0.0.1
  cpython    runs one module of CPython's tests
  golang     runs the tests of one package of Go
  campaign   runs all tests of a suite, though some hang or crash
  watch      a process that may hang
  outcome    what became of a test
"""
