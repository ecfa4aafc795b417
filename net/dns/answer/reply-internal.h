/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that put RRsets into a reply */
#ifndef NET_DNS_ANSWER_REPLY_INTERNAL_H
#define NET_DNS_ANSWER_REPLY_INTERNAL_H

#include "net/dns/answer/reply.h"

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

static inline size_t reply_room(const Reply *reply)
{
    return reply->limit - reply->len;
}

/*
 * Put the records with uncompressed names; the caller removes earlier octets.
 */
ReplyResult reply_put_in_full(const ReplyMove *m);

#endif /* NET_DNS_ANSWER_REPLY_INTERNAL_H */
