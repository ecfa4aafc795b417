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

#include <stdatomic.h>

#include "net/dns/update/store/store.h"
#include "net/dns/update/tsig/tsig.h"
#include "net/dns/update/xfr/reason.h"

typedef enum DnsXfrAsk {
    DNS_XFR_ASK_SOA,    /* only which serial the primary has */
    DNS_XFR_ASK_IXFR,
    DNS_XFR_ASK_AXFR,
} DnsXfrAsk;

typedef enum DnsXfrState {
    DNS_XFR_MORE,       /* wait for the next message */
    DNS_XFR_CURRENT,    /* the primary has the serial that we have */
    DNS_XFR_OLDER,      /* it is behind (RFC 1982) */
    DNS_XFR_NEWER,      /* it has a newer one; to ASK_SOA only */
    DNS_XFR_CHANGES,    /* IXFR is whole: dns_xfr_in_apply() */
    DNS_XFR_CHANGED,    /* edits are in the store: commit */
    DNS_XFR_IMAGE,      /* AXFR: the image at @path is whole */
    DNS_XFR_AGAIN,      /* IXFR is of no use: begin anew with AXFR */
    DNS_XFR_FAILED,     /* dns_xfr_in_why() */
} DnsXfrState;

/* An IXFR with more octets of records is left for AXFR: it is kept in memory */
#define DNS_XFR_CHANGES_MAX (8u << 20)

typedef struct DnsXfrInOptions {
    DnsName zone;
    uint16_t rrclass;
    DnsXfrAsk ask;
    uint32_t serial;            /* that we have; not for ASK_AXFR */
    const TsigKey *key;         /* or NULL */
    const char *path;           /* where the image of AXFR is made */
    uint64_t len_max;           /* octets of records that are taken; 0: any */
    const atomic_bool *stop;    /* or NULL; true: give up the image */
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
 * Any one thread may call this: it knows of no store.  A state that is not
 * MORE ends the answer.  The last message of AXFR takes as long as it takes to
 * sort and to write the zone.
 */
DnsXfrState dns_xfr_in_message(DnsXfrIn *in, uint8_t *msg, size_t len,
                               uint64_t now);

/**
 * dns_xfr_in_apply: after CHANGES: do them, in the control thread, between
 * edits
 *
 * Returns: CHANGED, or AGAIN, and the store is as it was.
 */
DnsXfrState dns_xfr_in_apply(DnsXfrIn *in, DnsStore *store);

/** dns_xfr_in_serial: the primary's, after its first message */
uint32_t dns_xfr_in_serial(const DnsXfrIn *in);

/** dns_xfr_in_len: octets of records that came */
uint64_t dns_xfr_in_len(const DnsXfrIn *in);

/** dns_xfr_in_reason: after FAILED and AGAIN, for counting */
DnsXfrReason dns_xfr_in_reason(const DnsXfrIn *in);

/** dns_xfr_in_why: a sentence, after FAILED and AGAIN */
const char *dns_xfr_in_why(const DnsXfrIn *in);

/** dns_xfr_in_free: an image that is whole stays. */
void dns_xfr_in_free(DnsXfrIn *in);

#endif /* NET_DNS_UPDATE_XFR_XFR_IN_H */
