/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a journal in memory */
#include "dnsd/update/store/record.h"
#include "net/dns/zone/fold.h"
#include "net/packet/crc32c.h"

#define LEN_MAX         (1u << 30)

static uint32_t checksum(const uint8_t *at, size_t len, unsigned where)
{
    static const uint8_t zeros[4];
    uint32_t crc = packet_crc32c(0, at, where);

    crc = packet_crc32c(crc, zeros, sizeof(zeros));
    return packet_crc32c(crc, at + where + 4, len - where - 4);
}

/* --- read ----------------------------------------------------------------- */

bool journal_record_head(const uint8_t at[JOURNAL_R_OCTETS],
                         JournalRecord *record)
{
    *record = (JournalRecord) {
        .kind = get_le32(at + JOURNAL_R_KIND),
        .len = get_le32(at + JOURNAL_R_LEN),
        .position = get_le64(at + JOURNAL_R_POSITION),
        .durable = get_le64(at + JOURNAL_R_DURABLE),
    };
    if (get_le32(at + JOURNAL_R_MARK) != JOURNAL_MARK ||
        record->len < JOURNAL_R_OCTETS || record->len > LEN_MAX ||
        record->len % JOURNAL_ALIGN) {
        return false;
    }
    if (record->kind == JOURNAL_BASE) {
        record->identity = get_le64(at + JOURNAL_R_IDENTITY);
        record->serial = get_le32(at + JOURNAL_R_SERIAL);
        return true;
    }
    record->changes = (DnsChanges) {
        .from = get_le32(at + JOURNAL_R_FROM),
        .to = get_le32(at + JOURNAL_R_TO),
        .gone = get_le32(at + JOURNAL_R_GONE),
        .come = get_le32(at + JOURNAL_R_COME),
        .len = record->len - JOURNAL_R_OCTETS,
    };
    return record->kind == JOURNAL_CHANGE;
}

int journal_record_read(const uint8_t *at, size_t len, JournalRecord *record)
{
    if (len < JOURNAL_R_OCTETS || !journal_record_head(at, record) ||
        record->len > len ||
        checksum(at, record->len, JOURNAL_R_CHECKSUM) !=
        get_le32(at + JOURNAL_R_CHECKSUM)) {
        return -ENODATA;
    }
    record->changes.octets = at + JOURNAL_R_OCTETS;
    return 0;
}

/* --- write ---------------------------------------------------------------- */

int journal_record_begin(DnsBuffer *to)
{
    static const uint8_t zeros[JOURNAL_R_OCTETS];

    return dns_buffer_add(to, zeros, sizeof(zeros));
}

int journal_record_end(DnsBuffer *to, size_t begin,
                       const JournalRecord *record)
{
    static const uint8_t zeros[JOURNAL_ALIGN];
    size_t len = to->len - begin;
    size_t filling = -len % JOURNAL_ALIGN;
    int ret = dns_buffer_add(to, zeros, filling);
    uint8_t *at = to->octets + begin;

    if (ret || len + filling > LEN_MAX) {
        return ret ? ret : -EFBIG;
    }
    put_le32(at + JOURNAL_R_MARK, JOURNAL_MARK);
    put_le32(at + JOURNAL_R_LEN, len + filling);
    put_le32(at + JOURNAL_R_KIND, JOURNAL_CHANGE);
    put_le64(at + JOURNAL_R_POSITION, record->position);
    put_le32(at + JOURNAL_R_FROM, record->changes.from);
    put_le32(at + JOURNAL_R_TO, record->changes.to);
    put_le32(at + JOURNAL_R_GONE, record->changes.gone);
    put_le32(at + JOURNAL_R_COME, record->changes.come);
    return 0;
}

void journal_record_seal(uint8_t *at, uint64_t durable)
{
    put_le64(at + JOURNAL_R_DURABLE, durable);
    put_le32(at + JOURNAL_R_CHECKSUM,
             checksum(at, get_le32(at + JOURNAL_R_LEN),
                      JOURNAL_R_CHECKSUM));
}

void journal_record_base(uint8_t at[JOURNAL_R_OCTETS], uint64_t identity,
                         uint64_t position)
{
    memset(at, 0, JOURNAL_R_OCTETS);
    put_le32(at + JOURNAL_R_MARK, JOURNAL_MARK);
    put_le32(at + JOURNAL_R_LEN, JOURNAL_R_OCTETS);
    put_le32(at + JOURNAL_R_KIND, JOURNAL_BASE);
    put_le64(at + JOURNAL_R_POSITION, position);
    put_le64(at + JOURNAL_R_IDENTITY, identity);
    put_le32(at + JOURNAL_R_SERIAL, position);
}

/* --- the file's header ---------------------------------------------------- */

void journal_header_put(uint8_t at[JOURNAL_HEADER], const DnsName *origin,
                        uint16_t rrclass)
{
    memset(at, 0, JOURNAL_HEADER);
    memcpy(at, JOURNAL_MAGIC, ZONE_MAGIC_LEN);
    put_le32(at + JOURNAL_H_VERSION, JOURNAL_VERSION);
    put_le16(at + JOURNAL_H_CLASS, rrclass);
    at[JOURNAL_H_ORIGIN_LEN] = origin->len;
    zone_fold(at + JOURNAL_H_ORIGIN, origin->wire, origin->len);
    put_le32(at + JOURNAL_H_CHECKSUM,
             checksum(at, JOURNAL_HEADER, JOURNAL_H_CHECKSUM));
}

bool journal_header_is(const uint8_t at[JOURNAL_HEADER], const DnsName *origin,
                       uint16_t rrclass)
{
    uint8_t want[JOURNAL_HEADER];

    journal_header_put(want, origin, rrclass);
    return !memcmp(at, want, sizeof(want));
}
