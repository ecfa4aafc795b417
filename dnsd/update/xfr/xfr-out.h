/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outgoing transfers: AXFR (RFC 5936) and IXFR (RFC 1995)
 *
 * A generator: each call makes the next message.  It holds the version of the
 * zone at its beginning, so a slow reader does no harm.
 */
#ifndef DNSD_UPDATE_XFR_XFR_OUT_H
#define DNSD_UPDATE_XFR_XFR_OUT_H

#include "dnsd/update/store/store.h"
#include "dnsd/update/tsig/tsig.h"

typedef struct DnsXfrOut DnsXfrOut;

typedef enum DnsXfrKind {
    DNS_XFR_AXFR,
    DNS_XFR_IXFR,
    DNS_XFR_AS_AXFR,    /* answer to IXFR with the whole zone */
    DNS_XFR_SOA,        /* the client is current, or must use TCP */
} DnsXfrKind;

/**
 * dns_xfr_out_new: begin to answer a query for AXFR or IXFR
 * @query: verified, without the TSIG record
 * @tsig: NULL, or that of the request; the function takes it over
 * @is_udp: answer in one message, or with the SOA alone
 *
 * For the control thread, like dns_xfr_out_free().  The caller has checked that
 * the client may ask.
 *
 * Returns: NULL, and @rcode is the answer: FORMERR, NOTAUTH, NOTIMP (AXFR over
 * UDP) or SERVFAIL.
 */
DnsXfrOut *dns_xfr_out_new(DnsStore *store, const uint8_t *query, size_t len,
                           const Tsig *tsig, bool is_udp, uint16_t *rcode);

/**
 * dns_xfr_out_next: make the next message, with its signature
 * @room: DNS_MSG_MAX for TCP; the client's limit for UDP
 *
 * Any thread may call this.  On error close the connection.
 *
 * Returns: octets; 0 behind the last message; a negative errno.
 */
int dns_xfr_out_next(DnsXfrOut *out, uint8_t *msg, size_t room, uint64_t now);

DnsXfrKind dns_xfr_out_kind(const DnsXfrOut *out);

/** dns_xfr_out_serial: that the client gets; of the records, those made so far */
uint32_t dns_xfr_out_serial(const DnsXfrOut *out);
uint64_t dns_xfr_out_records(const DnsXfrOut *out);

void dns_xfr_out_free(DnsXfrOut *out);

#endif /* DNSD_UPDATE_XFR_XFR_OUT_H */
