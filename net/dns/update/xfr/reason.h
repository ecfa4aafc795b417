/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons for which a primary has not given a zone */
#ifndef NET_DNS_UPDATE_XFR_REASON_H
#define NET_DNS_UPDATE_XFR_REASON_H

typedef enum DnsXfrReason {
    DNS_XFR_CONNECT,            /* it takes no connection */
    DNS_XFR_TIMEOUT,
    DNS_XFR_CLOSED,             /* it closed the connection too early */
    DNS_XFR_REFUSED,            /* it answers with an error */
    DNS_XFR_SIGNATURE,          /* TSIG: missing, wrong, or refused */
    DNS_XFR_MALFORMED,          /* no answer as RFC 5936 or 1995 has it */
    DNS_XFR_NO_ZONE,            /* the records are no zone */
    DNS_XFR_MISFIT,             /* IXFR's changes do not fit the zone */
    DNS_XFR_TOO_LARGE,
    DNS_XFR_BEHIND,             /* it has an older serial */
    DNS_XFR_LOCAL,              /* disk, memory, descriptors here */
    DNS_XFR_DROPPED,            /* nobody wants it any more: a reload */
    DNS_XFR_REASONS,
} DnsXfrReason;

/** dns_xfr_reason_word: for metrics */
const char *dns_xfr_reason_word(DnsXfrReason reason);

#endif /* NET_DNS_UPDATE_XFR_REASON_H */
