/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announces addresses to the nodes of a link (RFC 4861 section 7.2.6)
 *
 * It runs in GLib's default main context.
 */
#ifndef HOSTD_ANNOUNCE_H
#define HOSTD_ANNOUNCE_H

#include "hostd/core/registry.h"

#define HOSTD_ANNOUNCE_TIMES    3u      /* MAX_NEIGHBOR_ADVERTISEMENT */

typedef struct HostdAnnounce {
    int fd;
    GHashTable *going_on;       /* by address */
} HostdAnnounce;

/** hostd_announce_open: open the socket; needs CAP_NET_RAW */
bool hostd_announce_open(HostdAnnounce *q, GError **errp);
void hostd_announce_close(HostdAnnounce *q);

/**
 * hostd_announce_begin: advertise an address to all nodes of its link: at once
 * and twice more, at intervals of a second
 *
 * Nothing is sent on an interface without Ethernet addresses, such as loopback.
 */
void hostd_announce_begin(HostdAnnounce *q, const HostdAddress *address);

/** hostd_announce_end: stop the announcements of an address */
void hostd_announce_end(HostdAnnounce *q, const HostdAddress *address);

#endif /* HOSTD_ANNOUNCE_H */
