/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers from one store into another */
#ifndef DNS_XFR_FIXTURE_H
#define DNS_XFR_FIXTURE_H

#include "dns-store-fixture.h"
#include "net/dns/update/xfr/xfr-in.h"
#include "net/dns/update/xfr/xfr-out.h"

typedef struct XfrPair {
    StoreBed primary;
    StoreBed secondary;
    TsigKeys *keys;
    const TsigKey *key;         /* NULL: unsigned */
    size_t room;                /* of a message */
    bool is_udp;
    bool force_axfr;
    unsigned messages;          /* of the last transfer */
    DnsXfrKind kind;
    uint16_t rcode;
    char *path;
    /* Modify a message before it arrives. */
    void (*spoil)(unsigned number, uint8_t *msg, size_t *len);
    uint64_t len_max;           /* octets of records; 0: any */
    DnsXfrReason reason;
    char *why;
} XfrPair;

void xfr_pair_make(XfrPair *p);
void xfr_pair_free(XfrPair *p);

/* TXT records of the names hN, an update each, one commit */
void xfr_add_hosts(StoreBed *bed, unsigned from, unsigned to);

/* All of one transfer */
DnsXfrState xfr_transfer(XfrPair *p);

/* Replace the secondary's zone by the image that was received. */
void xfr_replace(XfrPair *p);

/* Are both zones the same, record by record? */
bool xfr_is_same(const XfrPair *p);

#endif /* DNS_XFR_FIXTURE_H */
