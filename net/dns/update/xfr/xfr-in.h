/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incoming transfers: AXFR (RFC 5936) and IXFR (RFC 1995)
 *
 * A state machine: it makes the query, takes the messages of the answer, and
 * ends with a new image (AXFR) or with edits of the store (IXFR).  Sockets and
 * time-outs are the daemon's.
 */
#ifndef NET_DNS_UPDATE_XFR_XFR_IN_H
#define NET_DNS_UPDATE_XFR_XFR_IN_H

#include "net/dns/update/store/store.h"
#include "net/dns/update/tsig/tsig.h"

typedef enum DnsXfrState {
    DNS_XFR_MORE,       /* wait for the next message */
    DNS_XFR_CURRENT,    /* the primary has nothing newer */
    DNS_XFR_CHANGED,    /* IXFR: edits are in the store: commit */
    DNS_XFR_IMAGE,      /* AXFR: the image at @path is whole */
    DNS_XFR_AGAIN,      /* begin anew with AXFR, over TCP */
    DNS_XFR_FAILED,     /* dns_xfr_in_why() */
} DnsXfrState;

typedef struct DnsXfrInOptions {
    DnsName zone;
    uint16_t rrclass;
    DnsStore *store;            /* NULL: there is no zone yet, so AXFR */
    bool force_axfr;
    const TsigKey *key;         /* or NULL */
    const char *path;           /* where the image of AXFR is made */
    uint64_t len_max;           /* octets of records that are taken; 0: any */
} DnsXfrInOptions;

typedef struct DnsXfrIn DnsXfrIn;

/** dns_xfr_in_new: NULL without memory; @options' pointers must outlive it. */
DnsXfrIn *dns_xfr_in_new(const DnsXfrInOptions *options, uint16_t id);

/**
 * dns_xfr_in_query: the query to send
 *
 * Returns: octets, or a negative errno.
 */
int dns_xfr_in_query(DnsXfrIn *in, uint8_t *msg, size_t room, uint64_t now);

/**
 * dns_xfr_in_message: the next message of the answer, which is changed
 *
 * For the control thread, between edits: a state that is not MORE ends the
 * transfer, and nothing but CHANGED leaves anything in the store.
 */
DnsXfrState dns_xfr_in_message(DnsXfrIn *in, uint8_t *msg, size_t len,
                               uint64_t now);

/** dns_xfr_in_why: a sentence, after FAILED and AGAIN */
const char *dns_xfr_in_why(const DnsXfrIn *in);

/** dns_xfr_in_free: an image that is whole stays. */
void dns_xfr_in_free(DnsXfrIn *in);

#endif /* NET_DNS_UPDATE_XFR_XFR_IN_H */
