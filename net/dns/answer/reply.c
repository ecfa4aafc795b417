/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RRsets of images, put into a reply
 *
 * Theory of operation
 *
 * The records of an RRset are copied as one block.  Then one pass checks that
 * the block consists of records, so that the reply can be parsed.  If the owner
 * is not the name of the question, the pass writes a pointer to the owner.  If
 * the owner is not in the message yet, it is written in the first record, and
 * ends in a pointer to its longest known suffix.
 *
 * RDATA of the types that RFC 1035 compresses (layout_of()) may contain
 * pointers.  A pointer leads into the owner name or into the records before it,
 * so it is adjusted by the distance that its target has moved.
 *
 * Two cases remain: a name in RDATA of a wildcard that begins with the "*"
 * which the owner does not have any more, and a target beyond the reach of a
 * pointer.  For these the RRset is written again with uncompressed names.
 */
#include "net/dns/answer/reply.h"
#include "base/octets.h"

#define REPLY_POINTER       0xc000
#define REPLY_POINTER_LEN   2
#define REPLY_POINTER_MAX   0x3fff
#define REPLY_RR_HEAD       12      /* owner as a pointer, up to RDLENGTH */
#define REPLY_RR_TTL        6
#define REPLY_RR_RDLENGTH   10

/* RDATA of RFC 1035: octets, then compressible names */
typedef struct ReplyLayout {
    uint8_t before;
    uint8_t names;
} ReplyLayout;

/* Records of an RRset or its signatures, and their destination */
typedef struct ReplyMove {
    Reply *reply;
    ReplyPut *put;
    const ZoneNode *node;
    const ZoneRrset *rrset;     /* in the image */
    const uint8_t *from;
    uint32_t len;
    uint16_t records;
    ReplyLayout layout;
    size_t to;                  /* offset of the first record in the message */
    uint16_t first;             /* pointer of the first owner; 0: the same */
                                /* as the others */
} ReplyMove;

static size_t reply_room(const Reply *reply)
{
    return reply->limit - reply->len;
}

/* Obsolete types of RFC 1035 that zones may still have */
enum {
    MD = 3,
    MF = 4,
    MB = 7,
    MG = 8,
    MR = 9,
    MINFO = 14,
};

typedef enum Moved {
    MOVED,
    MOVED_NOT,                  /* a name must be written uncompressed */
    MOVED_DAMAGE,
} Moved;

static ReplyLayout layout_of(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_NS:
    case DNS_TYPE_CNAME:
    case DNS_TYPE_PTR:
    case MD:
    case MF:
    case MB:
    case MG:
    case MR:
        return (ReplyLayout) { 0, 1 };
    case DNS_TYPE_SOA:
    case MINFO:
        return (ReplyLayout) { 0, 2 };
    case DNS_TYPE_MX:
        return (ReplyLayout) { 2, 1 };
    default:
        return (ReplyLayout) { 0, 0 };
    }
}

/* --- uncompressed names --------------------------------------------------- */

/* The octets of a name in RDATA, up to its pointer or the root */
static uint32_t written_len(const uint8_t *name, uint32_t room)
{
    uint32_t at = 0;

    while (at < room && name[at] && name[at] < 0xc0) {
        at += 1 + name[at];
    }
    return at < room ? at + (name[at] ? REPLY_POINTER_LEN : 1) : room + 1;
}

static ReplyResult append(Reply *reply, const void *octets, size_t len)
{
    if (reply_room(reply) < len) {
        return REPLY_FULL;
    }
    memcpy(reply->out + reply->len, octets, len);
    reply->len += len;
    return REPLY_OK;
}

static ReplyResult write_owner(const ReplyMove *m)
{
    uint8_t pointer[REPLY_POINTER_LEN];

    if (m->put->owner.at) {
        put_be16(pointer, REPLY_POINTER | m->put->owner.at);
        return append(m->reply, pointer, sizeof(pointer));
    }
    return append(m->reply, m->node->name, m->node->name_len);
}

/*
 * Write RDATA from offset @in of the records; its length is written afterwards.
 */
static ReplyResult write_rdata(const ReplyMove *m, uint32_t in,
                               uint16_t rdlength)
{
    uint32_t end = in + rdlength;
    ReplyResult result = REPLY_OK;

    for (unsigned i = 0; i < m->layout.names && result == REPLY_OK; i++) {
        uint32_t before = i ? 0 : m->layout.before;
        uint32_t len;
        DnsName name;

        if (end - in < before) {
            return REPLY_DAMAGED;
        }
        result = append(m->reply, m->from + in, before);
        in += before;
        len = written_len(m->from + in, end - in);
        if (len > end - in ||
            !zone_rrset_name(m->node, m->rrset, in, &name)) {
            return REPLY_DAMAGED;
        }
        result = result ? result : append(m->reply, name.wire, name.len);
        in += len;
    }
    return result ? result : append(m->reply, m->from + in, end - in);
}

static ReplyResult write_record(const ReplyMove *m, uint32_t in,
                                uint16_t rdlength)
{
    Reply *reply = m->reply;
    ReplyResult result = write_owner(m);
    size_t tail = reply->len;

    result = result ? result : append(reply, m->from + in + 2,
                                      REPLY_RR_HEAD - 2);
    result = result ? result : write_rdata(m, in + REPLY_RR_HEAD, rdlength);
    if (result == REPLY_OK) {
        uint8_t *at = reply->out + tail;

        put_be16(at + REPLY_RR_RDLENGTH - 2,
                 reply->len - tail - (REPLY_RR_HEAD - 2));
        if (get_be32(at + REPLY_RR_TTL - 2) > m->put->ttl_max) {
            put_be32(at + REPLY_RR_TTL - 2, m->put->ttl_max);
        }
    }
    return result;
}

/* Put the records with uncompressed names, after the caller removed any. */
static ReplyResult reply_put_in_full(const ReplyMove *m)
{
    ReplyResult result = REPLY_OK;
    uint32_t in = 0;

    m->put->in_full = true;
    for (unsigned i = 0; i < m->records && result == REPLY_OK; i++) {
        uint16_t rdlength;

        if (m->len - in < REPLY_RR_HEAD) {
            return REPLY_DAMAGED;
        }
        rdlength = get_be16(m->from + in + REPLY_RR_RDLENGTH);
        if (m->len - in - REPLY_RR_HEAD < rdlength) {
            return REPLY_DAMAGED;
        }
        result = write_record(m, in, rdlength);
        in += REPLY_RR_HEAD + rdlength;
    }
    return result;
}

/* --- compressed names ----------------------------------------------------- */

static ReplyResult damaged(const ZoneNode *node)
{
    zone_image_fail(node->image);
    return REPLY_DAMAGED;
}

uint16_t reply_suffix(const Reply *reply, uint16_t at, unsigned skip)
{
    for (unsigned steps = 0; steps <= 2 * DNS_LABELS_MAX; steps++) {
        uint8_t head = reply->out[at];

        if (head >= 0xc0) {
            at = get_be16(reply->out + at) & REPLY_POINTER_MAX;
        } else if (!skip) {
            return at <= REPLY_POINTER_MAX ? at : 0;
        } else if (!head || head >= skip) {
            return 0;
        } else {
            skip -= 1 + head;
            at += 1 + head;
        }
    }
    return 0;
}

/* --- pointers ------------------------------------------------------------- */

/* The new offset of the target of the image's pointer @to; 0: none */
static size_t moved_pointer(const ReplyMove *m, unsigned to)
{
    unsigned base = zone_rrset_base(m->node);
    int skip;

    if (to >= base) {
        return m->to + (to - base);
    }
    skip = (int)to - DNS_HEADER_LEN;
    if (m->put->expanded) {
        /* A wildcard: "*" is gone, and the rest follows other labels. */
        skip = skip < 2 ? -1 : skip + m->put->owner.len - m->node->name_len;
    }
    return skip < 0 ? 0 : reply_suffix(m->reply, m->put->owner.at, skip);
}

/* Move the name at *at of RDATA, which ends at @end; *at is then behind it. */
static Moved move_name(const ReplyMove *m, size_t *at, size_t end)
{
    uint8_t *out = m->reply->out;

    while (*at < end) {
        uint8_t head = out[*at];
        size_t to;

        if (head < 0xc0) {
            *at += 1 + head;
            if (!head) {
                return MOVED;
            }
            continue;
        }
        if (end - *at < REPLY_POINTER_LEN) {
            return MOVED_DAMAGE;
        }
        to = get_be16(out + *at) & REPLY_POINTER_MAX;
        if (to < DNS_HEADER_LEN) {
            return MOVED_DAMAGE;
        }
        to = moved_pointer(m, to);
        if (to >= *at) {
            return MOVED_DAMAGE;
        }
        if (!to || to > REPLY_POINTER_MAX) {
            return MOVED_NOT;
        }
        put_be16(out + *at, REPLY_POINTER | to);
        *at += REPLY_POINTER_LEN;
        return MOVED;
    }
    return MOVED_DAMAGE;
}

static Moved move_names(const ReplyMove *m, size_t rdata, uint16_t rdlength)
{
    size_t at = rdata + m->layout.before;
    Moved moved = MOVED;

    for (unsigned i = 0; i < m->layout.names && moved == MOVED; i++) {
        moved = move_name(m, &at, rdata + rdlength);
    }
    return moved;
}

/* Convert the records, which were copied, to those of the reply. */
static Moved move_records(const ReplyMove *m)
{
    uint8_t *out = m->reply->out;
    bool stays = m->to == zone_rrset_base(m->node) &&
                 m->put->owner.at == DNS_HEADER_LEN && !m->put->expanded;
    size_t at = m->to, end = m->to + m->len;

    for (unsigned i = 0; i < m->records; i++) {
        uint16_t rdlength;

        if (end - at < REPLY_RR_HEAD ||
            get_be16(out + at) != (REPLY_POINTER | DNS_HEADER_LEN)) {
            return MOVED_DAMAGE;
        }
        rdlength = get_be16(out + at + REPLY_RR_RDLENGTH);
        if (end - at - REPLY_RR_HEAD < rdlength) {
            return MOVED_DAMAGE;
        }
        put_be16(out + at, i == 0 && m->first ? m->first :
                 REPLY_POINTER | m->put->owner.at);
        if (get_be32(out + at + REPLY_RR_TTL) > m->put->ttl_max) {
            put_be32(out + at + REPLY_RR_TTL, m->put->ttl_max);
        }
        if (m->layout.names && !stays) {
            Moved moved = move_names(m, at + REPLY_RR_HEAD, rdlength);

            if (moved != MOVED) {
                return moved;
            }
        }
        at += REPLY_RR_HEAD + rdlength;
    }
    return at == end ? MOVED : MOVED_DAMAGE;
}

/* --- RRsets --------------------------------------------------------------- */

/* Write the owner as labels and a pointer, where the first record begins. */
static ReplyResult put_owner(ReplyMove *m)
{
    Reply *reply = m->reply;
    const ReplyOwner *suffix = &m->put->suffix;
    unsigned labels = m->node->name_len - suffix->len;

    if (reply_room(reply) < labels + REPLY_POINTER_LEN) {
        return REPLY_FULL;
    }
    memcpy(reply->out + reply->len, m->node->name, labels);
    m->put->owner = (ReplyOwner) { reply->len, m->node->name_len };
    m->first = REPLY_POINTER | suffix->at;
    m->to = reply->len + labels;
    return REPLY_OK;
}

static ReplyResult put_records(ReplyMove *m)
{
    Reply *reply = m->reply;
    Moved moved;

    m->to = reply->len;
    m->first = 0;
    if (!m->put->owner.at) {
        ReplyResult result;

        if (!m->put->suffix.at || reply->len > REPLY_POINTER_MAX) {
            return reply_put_in_full(m);
        }
        result = put_owner(m);
        if (result != REPLY_OK) {
            return result;
        }
    }
    if (reply->limit - m->to < m->len) {
        return REPLY_FULL;
    }
    memcpy(reply->out + m->to, m->from, m->len);
    moved = move_records(m);
    if (moved == MOVED_NOT) {
        m->put->owner.at = m->first ? 0 : m->put->owner.at;
        return reply_put_in_full(m);
    }
    reply->len = m->to + m->len;
    return moved == MOVED ? REPLY_OK : REPLY_DAMAGED;
}

static ReplyResult put_sigs(ReplyMove *m)
{
    m->from = m->rrset->sigs_at;
    m->len = m->rrset->sigs_len;
    m->records = m->rrset->sigs;
    m->layout = (ReplyLayout) { 0, 0 };
    return m->records ? put_records(m) : REPLY_OK;
}

static ReplyResult end_put(ReplyMove *m, ReplyResult result, size_t len,
                           unsigned records)
{
    uint16_t *count = &m->reply->count[m->put->section];

    if (result == REPLY_OK && records <= (unsigned)UINT16_MAX - *count) {
        *count += records;
        return REPLY_OK;
    }
    m->reply->len = len;
    return result == REPLY_DAMAGED ? damaged(m->node) : REPLY_FULL;
}

ReplyResult reply_put(Reply *reply, ReplyPut *put, const ZoneNode *node,
                      const ZoneRrset *rrset)
{
    ReplyMove m = {
        .reply = reply,
        .put = put,
        .node = node,
        .rrset = rrset,
        .from = rrset->at,
        .len = rrset->len,
        .records = rrset->records,
        .layout = layout_of(rrset->type),
    };
    size_t len = reply->len;
    unsigned records = rrset->records;
    ReplyResult result = put_records(&m);

    if (result == REPLY_OK && put->with_sigs) {
        result = put_sigs(&m);
        records += rrset->sigs;
    }
    return end_put(&m, result, len, records);
}

ReplyResult reply_put_sigs(Reply *reply, ReplyPut *put, const ZoneNode *node,
                           const ZoneRrset *rrset)
{
    ReplyMove m = {
        .reply = reply, .put = put, .node = node, .rrset = rrset,
    };
    size_t len = reply->len;

    return end_put(&m, put_sigs(&m), len, rrset->sigs);
}

/* --- records of our own --------------------------------------------------- */

ReplyResult reply_put_cname(Reply *reply, ReplyOwner owner, uint16_t rrclass,
                            uint32_t ttl, const DnsName *name,
                            ReplyOwner suffix, ReplyOwner *target)
{
    uint8_t *to = reply->out + reply->len;
    bool is_short = suffix.at && suffix.at <= REPLY_POINTER_MAX &&
                    suffix.len > REPLY_POINTER_LEN;
    unsigned full = name->len - (is_short ? suffix.len : 0);
    unsigned rdlength = full + (is_short ? REPLY_POINTER_LEN : 0);

    if (!owner.at || reply_room(reply) < (size_t)REPLY_RR_HEAD + rdlength) {
        return REPLY_FULL;
    }
    put_be16(to, REPLY_POINTER | owner.at);
    put_be16(to + 2, DNS_TYPE_CNAME);
    put_be16(to + 4, rrclass);
    put_be32(to + REPLY_RR_TTL, ttl);
    put_be16(to + REPLY_RR_RDLENGTH, rdlength);
    memcpy(to + REPLY_RR_HEAD, name->wire, full);
    if (is_short) {
        put_be16(to + REPLY_RR_HEAD + full, REPLY_POINTER | suffix.at);
    }
    target->at = reply->len + REPLY_RR_HEAD;
    target->len = name->len;
    reply->len += REPLY_RR_HEAD + rdlength;
    reply->count[DNS_SECTION_ANSWER]++;
    return REPLY_OK;
}
