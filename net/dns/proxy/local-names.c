/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Special-use names that the DNS proxy answers without asking
 *
 * Theory of operation
 *
 * The proxy itself answers names for which every host must get the same answer,
 * whatever its DNS server says, and names that would lead around the proxy:
 *
 *   localhost        A is 127.0.0.1, also for all names below (RFC 6761
 *                    section 6.3).  The connection stays inside the guest.
 *                    AAAA is empty: programs of a guest without IPv6 would
 *                    fail with ::1.
 *   127.in-addr.arpa and ::1 under ip6.arpa: PTR is localhost.
 *   ipv4only.arpa    A is 192.0.0.170 and .171 (RFC 8880), even if a DNS64
 *                    has AAAA for it.  The PTR of both is ipv4only.arpa.  Its
 *                    AAAA is empty: the proxy is no DNS64 for the guest.
 *   resolver.arpa    exists and is empty (RFC 9462): a resolver that the DNS
 *                    server designates would answer without translation.
 *   use-application-dns.net   does not exist: the sign by which a network asks
 *                    browsers not to turn on DNS over HTTPS by themselves.
 *                    Its answers would lead around the proxy, too.
 *   invalid, onion   do not exist (RFC 6761 section 6.4, RFC 7686 section 2).
 *
 * All other names are for the DNS server of the network.  Operators use test,
 * local, home.arpa and internal inside their networks, and the reverse zones of
 * private addresses as well (RFC 6303 is about servers that ask the root).
 *
 * DS of a zone that arpa delegates is in the parent zone, with the proof that
 * the zone is not signed.  So DS is asked for upstream.
 */

#include <arpa/inet.h>
#include <string.h>

#include "net/dns/proxy/local-names.h"

/* A name in wire form; the NUL of the string is the root label. */
#define NAME(count, text) { .labels = count, .len = sizeof(text), .wire = text }

typedef struct Zone {
    DnsName name;
    bool missing;           /* does not exist */
    /* names below have the answers of the zone's apex */
    bool below;
    bool delegated;         /* a signed zone delegates it */
    size_t num_addrs;
    uint32_t addr[DNS_LOCAL_MAX_ADDRESSES];
    const DnsName *target;
} Zone;

static const DnsName localhost = NAME(1, "\11localhost");
static const DnsName ipv4only = NAME(2, "\10ipv4only\4arpa");

#define ZERO4 "\1" "0\1" "0\1" "0\1" "0"

/* The first zone that a name is within applies. */
static const Zone zones[] = {
    {
        .name = NAME(1, "\11localhost"), .below = true,
        .num_addrs = 1, .addr = { 0x7f000001 },
    }, {
        .name = NAME(1, "\7invalid"), .below = true, .missing = true,
    }, {
        .name = NAME(1, "\5onion"), .below = true, .missing = true,
    }, {
        .name = NAME(2, "\10ipv4only\4arpa"), .delegated = true,
        .num_addrs = 2, .addr = { 0xc00000aa, 0xc00000ab },
    }, {
        .name = NAME(2, "\10resolver\4arpa"), .below = true,
        .delegated = true,
    }, {
        .name = NAME(2, "\23use-application-dns\3net"), .below = true,
        .missing = true,
    }, {
        .name = NAME(6, "\1" "1\1" "0\1" "0\3" "127\7in-addr\4arpa"),
        .target = &localhost,
    }, {
        .name = NAME(3, "\3" "127\7in-addr\4arpa"), .below = true,
    }, {
        .name = NAME(34, "\1" "1\1" "0\1" "0\1" "0" ZERO4 ZERO4 ZERO4 ZERO4
                     ZERO4 ZERO4 ZERO4 "\3ip6\4arpa"),
        .target = &localhost,
    }, {
        .name = NAME(6, "\3" "170\1" "0\1" "0\3" "192\7in-addr\4arpa"),
        .target = &ipv4only,
    }, {
        .name = NAME(6, "\3" "171\1" "0\1" "0\3" "192\7in-addr\4arpa"),
        .target = &ipv4only,
    },
};

static const Zone *find_zone(const DnsName *name)
{
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        if (dns_name_within(name, &zones[i].name)) {
            return &zones[i];
        }
    }
    return NULL;
}

static bool is_type(uint16_t asked, DnsType type)
{
    return asked == type || asked == DNS_TYPE_ANY;
}

bool dns_local_answer(const DnsQuestion *question, DnsLocalAnswer *answer)
{
    const Zone *zone = find_zone(&question->name);
    bool is_apex;

    if (!zone) {
        return false;
    }
    is_apex = question->name.len == zone->name.len;
    if (is_apex && zone->delegated && question->type == DNS_TYPE_DS) {
        return false;
    }
    *answer = (DnsLocalAnswer) { .zone = &zone->name };
    if (zone->missing || (!is_apex && !zone->below)) {
        answer->rcode = DNS_RCODE_NXDOMAIN;
        return true;
    }
    answer->rcode = DNS_RCODE_NOERROR;
    if (is_type(question->type, DNS_TYPE_A)) {
        answer->num_addrs = zone->num_addrs;
        for (size_t i = 0; i < zone->num_addrs; i++) {
            answer->addr[i].s_addr = htonl(zone->addr[i]);
        }
    }
    if (is_type(question->type, DNS_TYPE_PTR)) {
        answer->target = zone->target;
    }
    return true;
}

bool dns_local_is_above(const DnsName *name)
{
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        if (!zones[i].missing && zones[i].name.len > name->len &&
            dns_name_within(&zones[i].name, name)) {
            return true;
        }
    }
    return false;
}
