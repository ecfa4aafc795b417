/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that put RRsets into a reply */
#ifndef NET_DNS_ANSWER_REPLY_INTERNAL_H
#define NET_DNS_ANSWER_REPLY_INTERNAL_H

#include "net/dns/answer/reply.h"

#define REPLY_POINTER       0xc000
#define REPLY_POINTER_LEN   2
#define REPLY_POINTER_MAX   0x3fff
#define REPLY_RR_HEAD       12      /* owner as a pointer, to RDLENGTH */
#define REPLY_RR_TTL        6
#define REPLY_RR_RDLENGTH   10

/* RDATA of RFC 1035: octets, then names that may be compressed */
typedef struct ReplyLayout {
    uint8_t before;
    uint8_t names;
} ReplyLayout;

/* Records of an RRset or its signatures, and where they are going */
typedef struct ReplyMove {
    Reply *reply;
    ReplyPut *put;
    const ZoneNode *node;
    const ZoneRrset *rrset;     /* as the image has it */
    const uint8_t *from;
    uint32_t len;
    uint16_t records;
    ReplyLayout layout;
    size_t to;                  /* of the first record, in the message */
    uint16_t first;             /* what ends the first one's owner; 0: as */
                                /* the others */
} ReplyMove;

static inline size_t reply_room(const Reply *reply)
{
    return reply->limit - reply->len;
}

/* The records with their names in full; what was put is left to the caller. */
ReplyResult reply_put_in_full(const ReplyMove *m);

#endif /* NET_DNS_ANSWER_REPLY_INTERNAL_H */
