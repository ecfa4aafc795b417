# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs expect of IPv4 sockets, told as cases that run in a guest.

The same cases run against a peer in the guest, where Linux itself serves the
sockets, and against one beyond the host.  The modules, apart from this one:

  harness   registers cases and gives them their world
  remote    the peer's hands, as a case uses them
  peer      the peer: echo servers, and hands that do what a case asks
  run       runs every case and prints one line of JSON each
  stress    random traffic from many threads
  ring      io_uring by its system calls

and the cases: data, edges, group, listen, many, options, packets, peers, ping,
poll, process, reuse, segments, tcp, udp, uring.
"""
