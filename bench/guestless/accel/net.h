/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: a NIC whose guest is a network namespace
 */
#ifndef GUESTLESS_NET_H
#define GUESTLESS_NET_H

/*
 * Carries frames between virtio-net and @tap, a tap(4) with a vnet header of 12
 * octets, until standard input ends.  Exits QEMU if there is no such device.
 */
void guestless_net(int tap);

#endif /* GUESTLESS_NET_H */
