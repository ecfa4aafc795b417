/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons to drop a packet at a mobile node; one counter each */
#ifndef NET_MIP6_DROP_H
#define NET_MIP6_DROP_H

typedef enum Mip6Drop {
    MIP6_DROP_NONE,             /* passed on, or answered */
    /* from the guest */
    MIP6_DROP_MALFORMED,        /* invalid frame or IPv6 header */
    MIP6_DROP_SPOOFED_MAC,      /* not from guest-mac */
    MIP6_DROP_FOREIGN_SOURCE,   /* the source is not the guest's */
    MIP6_DROP_IP4,              /* IPv4 and ARP cannot be tunnelled */
    MIP6_DROP_OTHER_PROTOCOL,   /* neither IPv4, ARP nor IPv6 */
    MIP6_DROP_LINK_LOCAL,       /* to a neighbour on the home link */
    MIP6_DROP_MULTICAST,        /* link-scope group, or MLD about one */
    MIP6_DROP_DHCP6,            /* to DHCPv6 servers; it is not relayed */
    MIP6_DROP_UNBOUND,          /* no binding, and the queue is full */
    MIP6_DROP_TOO_BIG,          /* guest got "packet too big" */
    MIP6_DROP_NO_NEXT_HOP,      /* the foreign router is unknown */
    /* from the foreign link */
    MIP6_DROP_LATE,             /* the VM has left; not forwarded */
    MIP6_DROP_NOT_FOR_US,       /* another MAC or IPv6 address */
    MIP6_DROP_STRANGER,         /* mobility or tunnel, not from the agent */
    MIP6_DROP_UNPROTECTED,      /* ESP was required */
    MIP6_DROP_ESP,              /* wrong key, replayed, truncated */
    MIP6_DROP_MH_CHECKSUM,
    MIP6_DROP_MH_MALFORMED,
    MIP6_DROP_MH_UNEXPECTED,    /* answer without a request */
    MIP6_DROP_ICMP6,            /* not relevant for this node */
    MIP6_DROP_FRAGMENT,         /* of a packet that is incomplete */
    MIP6_DROP_ECN,              /* CE mark, but inner packet is Not-ECT */
    MIP6_DROP_NOT_HOME_ADDRESS, /* tunnelled to another address */
    MIP6_DROP_UNKNOWN_PROTOCOL, /* a mobile node does not support it */
    MIP6_DROP_REASONS
} Mip6Drop;

/** mip6_drop_name: name for messages and QMP, e.g. "spoofed-mac" */
const char *mip6_drop_name(Mip6Drop drop);

#endif /* NET_MIP6_DROP_H */
