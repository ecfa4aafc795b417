/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of incoming transfers */
#ifndef DNSD_UPDATE_XFR_XFR_IN_INTERNAL_H
#define DNSD_UPDATE_XFR_XFR_IN_INTERNAL_H

#include "dnsd/update/xfr/axfr-image.h"
#include "dnsd/update/xfr/xfr-in.h"

typedef enum XfrInStage {
    FIRST,                      /* expects the first SOA */
    SECOND,                     /* expects the record that tells the kind */
    ZONE,                       /* AXFR */
    GONE,                       /* IXFR: deleted records */
    COME,                       /* IXFR: added records */
    ZONE_ENDS,                  /* ends with this message */
    CHANGES_END,
    DONE,
} XfrInStage;

/* A change set in in->octets */
typedef struct XfrInChange {
    size_t at;
    DnsChanges changes;
} XfrInChange;

struct DnsXfrIn {
    DnsXfrInOptions options;
    uint16_t id;
    XfrInStage stage;
    Tsig tsig;
    bool is_signed;             /* the last message was */
    unsigned messages;
    uint32_t serial;            /* the primary's */
    uint64_t len;               /* octets of records */
    AxfrImage *image;
    DnsBuffer octets;
    size_t count;
    XfrInChange *change;
    DnsXfrReason reason;
    const char *why;
    uint8_t rdata[UINT16_MAX];
};

#endif /* DNSD_UPDATE_XFR_XFR_IN_INTERNAL_H */
