/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The TSIG record on the wire, RFC 8945 section 4.2 */
#ifndef DNSD_UPDATE_TSIG_RECORD_H
#define DNSD_UPDATE_TSIG_RECORD_H

#include "net/dns/wire/wire.h"

typedef struct TsigRecord {
    DnsName name;
    DnsName algorithm;
    uint64_t when;              /* seconds since 1970, 48 bits */
    uint16_t fudge;
    uint16_t mac_len;
    const uint8_t *mac;
    uint16_t id;
    uint16_t error;
    uint16_t other_len;
    const uint8_t *other;
    size_t start;               /* offset in the message */
} TsigRecord;

/**
 * tsig_record_find: parse the record of a message
 *
 * Returns: 1; 0 if there is none; -EBADMSG if the message or the record is
 * malformed, or the record is not the last one.
 */
int tsig_record_find(const uint8_t *msg, size_t len, TsigRecord *record);

/** tsig_record_strip: remove the record.  Returns: the length of the message */
size_t tsig_record_strip(uint8_t *msg, const TsigRecord *record);

/** tsig_record_put: append the record; 0 or -EMSGSIZE */
int tsig_record_put(uint8_t *msg, size_t *len, size_t room,
                    const TsigRecord *record);

#endif /* DNSD_UPDATE_TSIG_RECORD_H */
