/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a packet ends at a mobile node; each is counted */
#ifndef NET_MIP6_DROP_H
#define NET_MIP6_DROP_H

typedef enum Mip6Drop {
    MIP6_DROP_NONE,             /* it goes on, or was answered */
    /* from the guest */
    MIP6_DROP_MALFORMED,        /* no frame, no IPv6 packet, a cut header */
    MIP6_DROP_SPOOFED_MAC,      /* not from guest-mac */
    MIP6_DROP_FOREIGN_SOURCE,   /* a source address that is not of the guest */
    MIP6_DROP_IP4,              /* IPv4 and ARP: there is no tunnel for them */
    MIP6_DROP_OTHER_PROTOCOL,   /* neither IPv4, ARP nor IPv6 */
    MIP6_DROP_LINK_LOCAL,       /* the home link's neighbours are not here */
    MIP6_DROP_MULTICAST,        /* to a group of the link, or MLD about one */
    MIP6_DROP_UNBOUND,          /* no binding, and no more room to wait */
    MIP6_DROP_TOO_BIG,          /* the guest was told (packet too big) */
    MIP6_DROP_NO_NEXT_HOP,      /* the foreign router is not known */
    /* from the foreign link */
    MIP6_DROP_LATE,             /* the VM runs elsewhere: not forwarded */
    MIP6_DROP_NOT_FOR_US,       /* another MAC or IPv6 address */
    MIP6_DROP_STRANGER,         /* mobility or tunnel, not from the agent */
    MIP6_DROP_UNPROTECTED,      /* ESP was required */
    MIP6_DROP_ESP,              /* wrong key, replayed, cut */
    MIP6_DROP_MH_CHECKSUM,
    MIP6_DROP_MH_MALFORMED,
    MIP6_DROP_MH_UNEXPECTED,    /* an answer to no question of ours */
    MIP6_DROP_ICMP6,            /* about nothing of ours, or nothing to do */
    MIP6_DROP_FRAGMENT,         /* of a packet that did not become whole */
    MIP6_DROP_ECN,              /* congestion, which it could not be told */
    MIP6_DROP_NOT_HOME_ADDRESS, /* tunnelled to somebody else */
    MIP6_DROP_UNKNOWN_PROTOCOL, /* nothing that a mobile node speaks */
    MIP6_DROP_REASONS
} Mip6Drop;

/** mip6_drop_name: for people, and for QMP: "spoofed-mac" */
const char *mip6_drop_name(Mip6Drop drop);

#endif /* NET_MIP6_DROP_H */
