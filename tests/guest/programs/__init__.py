# SPDX-License-Identifier: GPL-2.0-or-later
"""Two machines with the same programs, for tests of real programs.

    guest, IPv4 only, no NIC       vmrpc       a root file system in the namespace
    sees the other as peer.test  -------->     of the peer, IPv6 only
                                 <--------     sees the guest as vm.test

Both run Debian's packages from one image, so that nothing is installed on the
host.  The host mounts the image for the time of the test, in a mount namespace
of its own.

  machines   what a test does with either of them
  tree.py    makes a tree of files, the same everywhere
  web.js     a client and a server for node
"""
