/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RRsets of images, put into a reply with uncompressed names */
#include "base/octets.h"
#include "net/dns/answer/reply-internal.h"

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

ReplyResult reply_put_in_full(const ReplyMove *m)
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
