/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announcements of addresses to the nodes of a link (RFC 4861 section 7.2.6)
 *
 * In the default main context of GLib.
 */
#ifndef HOSTD_ANNOUNCE_H
#define HOSTD_ANNOUNCE_H

#include "hostd/core/registry.h"

#define HOSTD_ANNOUNCE_TIMES    3u      /* MAX_NEIGHBOR_ADVERTISEMENT */

typedef struct HostdAnnounce {
    int fd;
    GHashTable *going_on;       /* by address */
} HostdAnnounce;

/** hostd_announce_open: needs CAP_NET_RAW */
bool hostd_announce_open(HostdAnnounce *q, GError **errp);
void hostd_announce_close(HostdAnnounce *q);

/**
 * hostd_announce_begin: tell all nodes of its link, now and twice more, a
 * second apart, that the address is here
 *
 * Not on an interface without Ethernet addresses, as the loopback is.
 */
void hostd_announce_begin(HostdAnnounce *q, const HostdAddress *address);

/** hostd_announce_end: not again */
void hostd_announce_end(HostdAnnounce *q, const HostdAddress *address);

#endif /* HOSTD_ANNOUNCE_H */
