/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Discovery of the NAT64 prefixes of this network, RFC 7050, pure part
 *
 * Theory of operation
 *
 * ipv4only.arpa has the A records 192.0.0.170 and 192.0.0.171 and no AAAA.  A
 * server that answers AAAA for it is a DNS64: it has embedded one of the two
 * addresses in its prefix, in one of the six forms of RFC 6052 section 2.2.
 * Every form that fits an address is a candidate.  A prefix may contain one of
 * the well-known addresses itself, and so look like a shorter prefix.  But then
 * all AAAA records contain the same address at that place, while the true place
 * has .170 in one record and .171 in another.  So the candidate that was seen
 * with both addresses is the prefix.
 *
 * A network with several NAT64s has several prefixes, and resolvers rotate
 * records.  The prefix in use stays as long as it is one of them, because
 * connections use addresses that were made with it.  The other prefixes are
 * returned as well, as there is a translator behind each.
 */

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "net/dns/proxy/nat64-discovery.h"

#define MAX_CANDIDATES 32

enum {
    SEEN_170 = 1,
    SEEN_171 = 2,
    SEEN_BOTH = 3,
};

/* Offsets of the octets of the IPv4 address; octet 8 is skipped. */
static const struct {
    uint8_t prefix_len;
    uint8_t octet[4];
} positions[] = {
    { 96, { 12, 13, 14, 15 } },
    { 64, { 9, 10, 11, 12 } },
    { 56, { 7, 9, 10, 11 } },
    { 48, { 6, 7, 9, 10 } },
    { 40, { 5, 6, 7, 9 } },
    { 32, { 4, 5, 6, 7 } },
};

typedef struct Candidate {
    DnsNat64Prefix prefix;
    unsigned seen;
} Candidate;

typedef struct Candidates {
    Candidate list[MAX_CANDIDATES];
    size_t count;
} Candidates;

static void ipv4only_question(DnsQuestion *question)
{
    dns_name_from_text(&question->name, "ipv4only.arpa");
    question->type = DNS_TYPE_AAAA;
    question->qclass = DNS_CLASS_IN;
}

size_t dns_nat64_query(uint8_t buf[DNS_QUERY_MAX])
{
    DnsQuestion question;

    ipv4only_question(&question);
    return dns_query_build(buf, &question, DNS_FLAG_RD, false);
}

static void add_candidate(Candidates *all, const struct in6_addr *addr,
                          uint8_t prefix_len, uint32_t ttl, unsigned seen)
{
    Candidate new = {
        .prefix = { .len = prefix_len, .ttl = ttl },
        .seen = seen,
    };

    memcpy(&new.prefix.prefix, addr, prefix_len / 8);
    for (size_t i = 0; i < all->count; i++) {
        Candidate *old = &all->list[i];

        if (old->prefix.len == prefix_len &&
            !memcmp(&old->prefix.prefix, &new.prefix.prefix,
                    sizeof(new.prefix.prefix))) {
            old->seen |= seen;
            old->prefix.ttl = MIN(old->prefix.ttl, ttl);
            return;
        }
    }
    if (all->count < MAX_CANDIDATES) {
        all->list[all->count++] = new;
    }
}

static void add_address(Candidates *all, const struct in6_addr *addr,
                        uint32_t ttl)
{
    const uint8_t *octets = addr->s6_addr;

    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++) {
        const uint8_t *at = positions[i].octet;

        if (octets[at[0]] != 192 || octets[at[1]] || octets[at[2]] ||
            (octets[at[3]] != 170 && octets[at[3]] != 171)) {
            continue;
        }
        /*
         * RFC 6052 says that octet 8 is zero.  In a /96 it is part of the
         * prefix, and networks with another value there do work.
         */
        if (positions[i].prefix_len != 96 && octets[8]) {
            continue;
        }
        add_candidate(all, addr, positions[i].prefix_len, ttl,
                      octets[at[3]] == 170 ? SEEN_170 : SEEN_171);
    }
}

/* Check header and question.  Returns 0, -ENOENT, -EAGAIN or -EBADMSG. */
static int check_reply(DnsCursor *cursor, const uint8_t *msg, size_t len)
{
    DnsQuestion expected, question;
    DnsHeader header;

    ipv4only_question(&expected);
    if (dns_header_parse(msg, len, &header) ||
        !(header.flags & DNS_FLAG_QR) ||
        header.flags & (DNS_FLAGS_OPCODE | DNS_FLAG_TC) ||
        header.qdcount != 1 || dns_cursor_init(cursor, msg, len) ||
        dns_cursor_question(cursor, &question) <= 0 ||
        question.type != expected.type ||
        question.qclass != expected.qclass ||
        !dns_name_equal(&question.name, &expected.name)) {
        return -EBADMSG;
    }
    switch (header.flags & DNS_FLAGS_RCODE) {
    case DNS_RCODE_NOERROR:
        return 0;
    case DNS_RCODE_NXDOMAIN:
        return -ENOENT;
    default:
        return -EAGAIN;
    }
}

static int collect(Candidates *all, DnsCursor *cursor)
{
    struct in6_addr addr;
    DnsRr rr;
    int ret;

    while ((ret = dns_cursor_rr(cursor, &rr)) > 0) {
        if (rr.section == DNS_SECTION_ANSWER && rr.type == DNS_TYPE_AAAA &&
            rr.rrclass == DNS_CLASS_IN) {
            if (dns_rdata_aaaa(cursor, &rr, &addr)) {
                return -EBADMSG;
            }
            add_address(all, &addr, rr.ttl);
        }
    }
    return ret;
}

static unsigned rank(const Candidate *candidate, const Nat64Prefix *current)
{
    const DnsNat64Prefix *prefix = &candidate->prefix;
    bool is_current = current && prefix->len == current->len &&
                      IN6_ARE_ADDR_EQUAL(&prefix->prefix, &current->addr);

    return (candidate->seen == SEEN_BOTH) << 1 | is_current;
}

int dns_nat64_discover(const uint8_t *msg, size_t len,
                       const Nat64Prefix *current, DnsNat64Prefix *prefixes,
                       size_t max)
{
    const Candidate *best;
    size_t num = 0;
    Candidates all = { .count = 0 };
    DnsCursor cursor;
    int ret = check_reply(&cursor, msg, len);

    if (ret) {
        return ret;
    }
    if (collect(&all, &cursor)) {
        return -EBADMSG;
    }
    if (!all.count) {
        return -ENOENT;
    }
    best = &all.list[0];
    for (size_t i = 1; i < all.count; i++) {
        if (rank(&all.list[i], current) > rank(best, current)) {
            best = &all.list[i];
        }
    }
    prefixes[num++] = best->prefix;
    for (size_t i = 0; i < all.count && num < max; i++) {
        if (&all.list[i] != best && all.list[i].seen == SEEN_BOTH) {
            prefixes[num++] = all.list[i].prefix;
        }
    }
    return num;
}
