/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EDNS options: NSID (RFC 5001), COOKIE (RFC 7873), keepalive (RFC 7828) */
#include "net/dns/answer/edns.h"
#include "dnsd/server/serve/options.h"

#define TENTHS  10

static void read_cookie(DnsdOptions *o, const DnsdServing *serving,
                        const DnsdClient *client, const DnsOption *option)
{
    const uint8_t *addr = client->addr.octets;
    bool is4 = dnsd_addr_is4(&client->addr);

    /* RFC 7873 section 5.3: of several options, use the first. */
    if (!serving->config->cookies || o->cookie != DNSD_COOKIE_NONE) {
        return;
    }
    o->cookie = dnsd_cookie_judge(&serving->secrets, option->data, option->len,
                                  is4 ? addr + 12 : addr, is4 ? 4 : 16,
                                  client->now, o->cookie_reply);
    o->wrong |= o->cookie == DNSD_COOKIE_MALFORMED;
}

static void read_option(DnsdOptions *o, const DnsdServing *serving,
                        const DnsdClient *client, const DnsOption *option)
{
    switch (option->code) {
    case DNS_OPTION_COOKIE:
        read_cookie(o, serving, client, option);
        break;
    case DNS_OPTION_NSID:
        o->nsid = serving->config->nsid.len;
        break;
    case DNS_OPTION_KEEPALIVE:
        /* RFC 7828 section 3.2.1: over UDP it is ignored. */
        if (client->is_stream) {
            o->keepalive = true;
            o->wrong |= !dns_edns_keepalive_is_right(option);
        }
        break;
    default:
        break;
    }
}

static size_t reserve_for(const DnsdOptions *o, const DnsdServing *serving)
{
    size_t len = 0;

    if (o->cookie > DNSD_COOKIE_MALFORMED) {
        len += DNS_OPTION_HEAD + DNSD_COOKIE_LEN;
    }
    if (o->nsid) {
        len += DNS_OPTION_HEAD + serving->config->nsid.len;
    }
    return o->keepalive ? len + DNS_OPTION_KEEPALIVE_LEN : len;
}

void dnsd_options_read(DnsdOptions *o, const DnsdServing *serving,
                       const DnsdClient *client, DnsQuery *query)
{
    DnsOptions list = { query->options, query->options_len };
    DnsOption option;

    *o = (DnsdOptions) { .cookie = DNSD_COOKIE_NONE };
    query->reserve = client->reserve;
    if (!query->has_edns || query->kind == DNS_QUERY_WRONG) {
        return;
    }
    while (dns_edns_next(&list, &option) == 1) {
        read_option(o, serving, client, &option);
    }
    if (o->wrong) {
        o->nsid = o->keepalive = false;
    } else {
        query->reserve += reserve_for(o, serving);
    }
}

size_t dnsd_options_append(const DnsdOptions *o, const DnsdServing *serving,
                           uint8_t *out, size_t len, size_t room,
                           size_t opt_at)
{
    const DnsdConfig *c = serving->config;

    if (o->nsid) {
        len = dns_edns_append(out, len, room, opt_at, DNS_OPTION_NSID,
                              c->nsid.octets, c->nsid.len);
    }
    if (o->cookie > DNSD_COOKIE_MALFORMED) {
        len = dns_edns_append(out, len, room, opt_at, DNS_OPTION_COOKIE,
                              o->cookie_reply, DNSD_COOKIE_LEN);
    }
    if (o->keepalive) {
        len = dns_edns_append_keepalive(out, len, room, opt_at,
                                        c->tcp.idle_s * TENTHS);
    }
    return len;
}
