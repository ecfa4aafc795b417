/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incoming transfers: AXFR (RFC 5936) and IXFR (RFC 1995)
 *
 * A state machine: it makes the query, takes the messages of the answer, and
 * ends with a new image (AXFR) or with edits of the store (IXFR).  Sockets and
 * timeouts are left to the daemon.
 */
#ifndef DNSD_UPDATE_XFR_XFR_IN_H
#define DNSD_UPDATE_XFR_XFR_IN_H

#include <stdatomic.h>

#include "dnsd/update/store/store.h"
#include "dnsd/update/tsig/tsig.h"

/* Why a transfer from a primary failed */
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

typedef enum DnsXfrAsk {
    DNS_XFR_ASK_SOA,    /* only ask for the primary's serial */
    DNS_XFR_ASK_IXFR,
    DNS_XFR_ASK_AXFR,
} DnsXfrAsk;

typedef enum DnsXfrState {
    DNS_XFR_MORE,       /* expects the next message */
    DNS_XFR_CURRENT,    /* the primary has our serial */
    DNS_XFR_OLDER,      /* the primary's is older (RFC 1982) */
    DNS_XFR_NEWER,      /* the primary's is newer; only for ASK_SOA */
    DNS_XFR_CHANGES,    /* IXFR is complete: dns_xfr_in_apply() */
    DNS_XFR_CHANGED,    /* the store has the edits: commit */
    DNS_XFR_IMAGE,      /* AXFR: the image at @path is complete */
    DNS_XFR_AGAIN,      /* IXFR has failed: start again with AXFR */
    DNS_XFR_FAILED,     /* see dns_xfr_in_why() */
} DnsXfrState;

/* The octets of records that IXFR may keep in memory; beyond them use AXFR. */
#define DNS_XFR_CHANGES_MAX (8u << 20)

typedef struct DnsXfrInOptions {
    DnsName zone;
    uint16_t rrclass;
    DnsXfrAsk ask;
    uint32_t serial;            /* ours; unused for ASK_AXFR */
    const TsigKey *key;         /* or NULL */
    const char *path;           /* the image that AXFR makes */
    uint64_t len_max;           /* limit of the octets of records; 0: none */
    const atomic_bool *stop;    /* or NULL; becomes true: stop the image */
} DnsXfrInOptions;

typedef struct DnsXfrIn DnsXfrIn;

/**
 * dns_xfr_in_new: NULL without memory; what @options points to must outlive it
 */
DnsXfrIn *dns_xfr_in_new(const DnsXfrInOptions *options, uint16_t id);

/**
 * dns_xfr_in_query: make the query to send
 *
 * Returns: octets, or a negative errno.
 */
int dns_xfr_in_query(DnsXfrIn *in, uint8_t *msg, size_t room, uint64_t now);

/**
 * dns_xfr_in_message: take the next message of the answer, and modify it
 *
 * Any thread may call this, as it does not use the store.  Every state but MORE
 * ends the answer.  The last message of AXFR takes the time to sort and write
 * the zone.
 */
DnsXfrState dns_xfr_in_message(DnsXfrIn *in, uint8_t *msg, size_t len,
                               uint64_t now);

/**
 * dns_xfr_in_is_begun: has an answer to IXFR begun?
 *
 * If it is cut, AXFR may succeed: some primaries send their SOA alone.
 */
bool dns_xfr_in_is_begun(const DnsXfrIn *in);

/**
 * dns_xfr_in_apply: apply the changes after CHANGES
 *
 * Call it in the control thread while no edit is open.
 *
 * Returns: CHANGED; or AGAIN, and the store is unchanged.
 */
DnsXfrState dns_xfr_in_apply(DnsXfrIn *in, DnsStore *store);

/** dns_xfr_in_serial: the primary's serial, after its first message */
uint32_t dns_xfr_in_serial(const DnsXfrIn *in);

/** dns_xfr_in_dropped: after IMAGE: signatures of no RRset, not in the image */
uint64_t dns_xfr_in_dropped(const DnsXfrIn *in);

/** dns_xfr_in_records, dns_xfr_in_len: received, and their octets */
uint64_t dns_xfr_in_records(const DnsXfrIn *in);
uint64_t dns_xfr_in_len(const DnsXfrIn *in);

/** dns_xfr_in_reason: the reason for FAILED or AGAIN, for counters */
DnsXfrReason dns_xfr_in_reason(const DnsXfrIn *in);

/** dns_xfr_in_why: the reason for FAILED or AGAIN as a sentence */
const char *dns_xfr_in_why(const DnsXfrIn *in);

/** dns_xfr_in_free: a complete image stays */
void dns_xfr_in_free(DnsXfrIn *in);

/** dns_xfr_reason_word: a word for metrics */
const char *dns_xfr_reason_word(DnsXfrReason reason);

#endif /* DNSD_UPDATE_XFR_XFR_IN_H */
