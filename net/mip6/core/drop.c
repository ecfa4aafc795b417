/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/mip6/core/drop.h"

const char *mip6_drop_name(Mip6Drop drop)
{
    static const char *const names[] = {
        [MIP6_DROP_NONE] = "none",
        [MIP6_DROP_MALFORMED] = "malformed",
        [MIP6_DROP_SPOOFED_MAC] = "spoofed-mac",
        [MIP6_DROP_FOREIGN_SOURCE] = "foreign-source",
        [MIP6_DROP_IP4] = "ipv4",
        [MIP6_DROP_OTHER_PROTOCOL] = "other-protocol",
        [MIP6_DROP_LINK_LOCAL] = "link-local",
        [MIP6_DROP_MULTICAST] = "multicast",
        [MIP6_DROP_DHCP6] = "dhcpv6",
        [MIP6_DROP_UNBOUND] = "unbound",
        [MIP6_DROP_TOO_BIG] = "too-big",
        [MIP6_DROP_NO_NEXT_HOP] = "no-next-hop",
        [MIP6_DROP_LATE] = "late",
        [MIP6_DROP_NOT_FOR_US] = "not-for-us",
        [MIP6_DROP_STRANGER] = "stranger",
        [MIP6_DROP_UNPROTECTED] = "unprotected",
        [MIP6_DROP_ESP] = "esp",
        [MIP6_DROP_MH_CHECKSUM] = "mh-checksum",
        [MIP6_DROP_MH_MALFORMED] = "mh-malformed",
        [MIP6_DROP_MH_UNEXPECTED] = "mh-unexpected",
        [MIP6_DROP_ICMP6] = "icmpv6",
        [MIP6_DROP_FRAGMENT] = "fragment",
        [MIP6_DROP_ECN] = "ecn",
        [MIP6_DROP_NOT_HOME_ADDRESS] = "not-home-address",
        [MIP6_DROP_UNKNOWN_PROTOCOL] = "unknown-protocol",
    };

    return names[drop];
}
