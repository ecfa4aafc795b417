/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a zone image in the layout of the writer */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "net/dns/wire/fields.h"
#include "net/dns/zone/fold.h"
#include "net/dns/zone/records.h"

#define RR_HEAD         12
#define POINTER         0xc000
#define POINTER_LEN     2
/*
 * A pointer has 14 bits and moves with its record.  So names are compressed
 * only against names in the lower half of that range.
 */
#define SUFFIX_AT_MAX   0x2000

int zone_wire_name(const uint8_t *wire, size_t len, DnsName *name)
{
    size_t at = 0;

    name->len = 0;
    name->labels = 0;
    while (at < len) {
        uint8_t head = wire[at];

        if (head > DNS_LABEL_MAX || len - at < 1u + head ||
            at + 1 + head + !!head > DNS_NAME_MAX) {
            return -EINVAL;
        }
        at += 1 + head;
        if (!head) {
            memcpy(name->wire, wire, at);
            name->len = at;
            return 0;
        }
        name->labels++;
    }
    return -EINVAL;
}

int zone_target_of(const ZoneRecord *record)
{
    switch (record->type) {
    case DNS_TYPE_NS:
        return 0;
    case DNS_TYPE_MX:
        return 2;
    case DNS_TYPE_SRV:
        return 6;
    default:
        return -1;
    }
}

/* Remember the suffixes of a name whose first @written octets are at @at. */
static void remember(ZonePacker *packer, const uint8_t *name, unsigned len,
                     unsigned written, unsigned at)
{
    for (unsigned i = 0; i < written && at + i <= SUFFIX_AT_MAX &&
         packer->count < ZONE_SUFFIXES_MAX; i += 1 + name[i]) {
        packer->suffix[packer->count++] =
            (ZoneSuffix) { name + i, at + i, len - i };
    }
}

void zone_packer_begin(ZonePacker *packer, const DnsName *owner)
{
    packer->base = DNS_HEADER_LEN + owner->len + 4;
    packer->count = 0;
    remember(packer, owner->wire, owner->len, owner->len - 1, DNS_HEADER_LEN);
}

/* The case is the same, too: a copy of the zone has the names as written. */
static const ZoneSuffix *known(const ZonePacker *packer, const uint8_t *name,
                               unsigned len)
{
    for (unsigned i = 0; i < packer->count; i++) {
        const ZoneSuffix *suffix = &packer->suffix[i];

        if (suffix->len == len && !memcmp(suffix->name, name, len)) {
            return suffix;
        }
    }
    return NULL;
}

/* Returns: octets that were written. */
static unsigned pack_name(ZonePacker *packer, const uint8_t *name,
                          unsigned len, unsigned at, uint8_t *to)
{
    const ZoneSuffix *suffix = NULL;
    unsigned done = 0;

    while (len - done > 1) {
        suffix = known(packer, name + done, len - done);
        if (suffix) {
            break;
        }
        done += 1 + name[done];
    }
    memcpy(to, name, done);
    if (suffix) {
        put_be16(to + done, POINTER | suffix->at);
    } else {
        to[done] = 0;
    }
    remember(packer, name, len, done, at);
    return done + (suffix ? POINTER_LEN : 1);
}

static bool may_be_compressed(uint16_t type, uint16_t rrclass)
{
    const uint8_t *kind = dns_rrtype(type, rrclass)->fields;

    while (*kind && *kind != DNS_FIELD_NAME_1035) {
        kind++;
    }
    return *kind;
}

static int pack_fields(ZonePacker *packer, const ZoneRecord *record,
                       uint16_t rrclass, unsigned at, uint8_t *to)
{
    DnsFieldCursor cursor;
    DnsField field;
    unsigned out = 0;
    int ret;

    dns_fields(&cursor, record->type, rrclass, record->rdata,
               record->rdlength);
    while ((ret = dns_fields_next(&cursor, &field)) > 0) {
        if (field.kind == DNS_FIELD_NAME_1035) {
            out += pack_name(packer, field.start, field.len, at + out,
                             to + out);
        } else {
            memcpy(to + out, field.start, field.len);
            out += field.len;
        }
    }
    return ret ? -EINVAL : (int)out;
}

int zone_pack(ZonePacker *packer, const ZoneRecord *record, uint16_t rrclass,
              uint32_t at, uint8_t *to)
{
    int len = record->rdlength;

    if (may_be_compressed(record->type, rrclass)) {
        len = pack_fields(packer, record, rrclass,
                          packer->base + at + RR_HEAD, to + RR_HEAD);
        if (len < 0) {
            return len;
        }
    } else {
        memcpy(to + RR_HEAD, record->rdata, len);
    }
    put_be16(to, POINTER | DNS_HEADER_LEN);
    put_be16(to + 2, record->type);
    put_be16(to + 4, rrclass);
    put_be32(to + 6, record->ttl);
    put_be16(to + 10, len);
    return RR_HEAD + len;
}
