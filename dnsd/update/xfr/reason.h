/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons why a transfer from a primary failed */
#ifndef DNSD_UPDATE_XFR_REASON_H
#define DNSD_UPDATE_XFR_REASON_H

typedef enum DnsXfrReason {
    DNS_XFR_CONNECT,            /* no connection to it */
    DNS_XFR_TIMEOUT,
    DNS_XFR_CLOSED,             /* it closed the connection too early */
    DNS_XFR_REFUSED,            /* it answered with an error */
    DNS_XFR_SIGNATURE,          /* TSIG: missing, wrong, or refused */
    DNS_XFR_MALFORMED,          /* the answer violates RFC 5936 or 1995 */
    DNS_XFR_NO_ZONE,            /* the records are not a zone */
    DNS_XFR_MISFIT,             /* IXFR's changes do not apply to the zone */
    DNS_XFR_TOO_LARGE,
    DNS_XFR_BEHIND,             /* its serial is older */
    DNS_XFR_LOCAL,              /* local: disk, memory, descriptors */
    DNS_XFR_DROPPED,            /* cancelled by a reload */
    DNS_XFR_REASONS,
} DnsXfrReason;

/** dns_xfr_reason_word: a word for metrics */
const char *dns_xfr_reason_word(DnsXfrReason reason);

#endif /* DNSD_UPDATE_XFR_REASON_H */
