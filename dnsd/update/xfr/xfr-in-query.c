/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incoming transfers: the query, and the data that is kept */
#include <errno.h>
#include <stdlib.h>

#include "base/octets.h"
#include "dnsd/update/xfr/xfr-in-internal.h"

/* --- the query ------------------------------------------------------------ */

DnsXfrIn *dns_xfr_in_new(const DnsXfrInOptions *options, uint16_t id)
{
    DnsXfrIn *in = calloc(1, sizeof(*in));

    if (in) {
        in->options = *options;
        in->id = id;
        in->why = "";
    }
    return in;
}

/* Of the SOA in a query only the serial matters. */
static int put_our_soa(DnsBuilder *b, const DnsXfrIn *in)
{
    uint8_t rdata[2 + 20] = { 0 };

    put_be32(rdata + 2, in->options.serial);
    return dns_builder_raw(b, DNS_SECTION_AUTHORITY, &in->options.zone,
                           DNS_TYPE_SOA, in->options.rrclass, 0, rdata,
                           sizeof(rdata));
}

int dns_xfr_in_query(DnsXfrIn *in, uint8_t *msg, size_t room, uint64_t now)
{
    static const uint16_t type[] = {
        [DNS_XFR_ASK_SOA] = DNS_TYPE_SOA,
        [DNS_XFR_ASK_IXFR] = DNS_TYPE_IXFR,
        [DNS_XFR_ASK_AXFR] = DNS_TYPE_AXFR,
    };
    DnsQuestion question = {
        in->options.zone, type[in->options.ask], in->options.rrclass,
    };
    bool is_ixfr = in->options.ask == DNS_XFR_ASK_IXFR;
    DnsBuilder builder;
    size_t len;
    int ret;

    if (room < DNS_HEADER_LEN) {
        return -EMSGSIZE;
    }
    dns_builder_init(&builder, msg, room > DNS_MSG_MAX ? DNS_MSG_MAX : room,
                     in->id, 0);
    ret = dns_builder_question(&builder, &question);
    ret = ret || !is_ixfr ? ret : put_our_soa(&builder, in);
    len = builder.len;
    if (!ret && in->options.key) {
        ret = tsig_sign_request(&in->tsig, in->options.key, msg, &len, room,
                                now);
    }
    return ret ? ret : (int)len;
}

uint32_t dns_xfr_in_serial(const DnsXfrIn *in)
{
    return in->serial;
}

uint64_t dns_xfr_in_dropped(const DnsXfrIn *in)
{
    return in->image ? axfr_image_dropped(in->image) : 0;
}

uint64_t dns_xfr_in_len(const DnsXfrIn *in)
{
    return in->len;
}

DnsXfrReason dns_xfr_in_reason(const DnsXfrIn *in)
{
    return in->reason;
}

const char *dns_xfr_in_why(const DnsXfrIn *in)
{
    return in->why;
}

void dns_xfr_in_free(DnsXfrIn *in)
{
    if (in) {
        axfr_image_free(in->image);
        tsig_free(&in->tsig);
        dns_buffer_free(&in->octets);
        free(in->change);
        free(in);
    }
}
