/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outgoing transfers: AXFR (RFC 5936) and IXFR (RFC 1995)
 *
 * A generator: each call makes the next message.  It has its own hold on the
 * zone as it was when it began, so it can take as long as its reader does.
 */
#ifndef NET_DNS_UPDATE_XFR_XFR_OUT_H
#define NET_DNS_UPDATE_XFR_XFR_OUT_H

#include "net/dns/update/store/store.h"
#include "net/dns/update/tsig/tsig.h"

typedef struct DnsXfrOut DnsXfrOut;

typedef enum DnsXfrKind {
    DNS_XFR_AXFR,
    DNS_XFR_IXFR,
    DNS_XFR_AS_AXFR,    /* IXFR was asked, and is answered by the zone */
    DNS_XFR_SOA,        /* the asker is up to date, or is to ask over TCP */
} DnsXfrKind;

/**
 * dns_xfr_out_new: begin to answer a query for AXFR or IXFR
 * @query: verified, without the TSIG record
 * @tsig: NULL, or of the request; it is taken over
 * @is_udp: answer in one message, or with the SOA alone
 *
 * For the control thread, as is dns_xfr_out_free().
 *
 * Returns: NULL, and @rcode is what to answer: FORMERR, NOTAUTH, NOTIMP (AXFR
 * over UDP) or SERVFAIL.  The caller has checked who may ask.
 */
DnsXfrOut *dns_xfr_out_new(DnsStore *store, const uint8_t *query, size_t len,
                           const Tsig *tsig, bool is_udp, uint16_t *rcode);

/**
 * dns_xfr_out_next: the next message, signed
 * @room: DNS_MSG_MAX for TCP; what the asker takes for UDP
 *
 * Any one thread may call this.  An error means: close the connection.
 *
 * Returns: octets; 0 behind the last message; a negative errno.
 */
int dns_xfr_out_next(DnsXfrOut *out, uint8_t *msg, size_t room, uint64_t now);

DnsXfrKind dns_xfr_out_kind(const DnsXfrOut *out);

void dns_xfr_out_free(DnsXfrOut *out);

#endif /* NET_DNS_UPDATE_XFR_XFR_OUT_H */
