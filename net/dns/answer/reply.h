/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reply under construction: RRsets of images, put into a message
 *
 * Records of an image have compression pointers that are right for one offset
 * in a message (docs/dns-image.md, Records).  There they are copied unchanged.
 * At another offset the pointers are adjusted.  If a pointer cannot reach a
 * name, the name is written uncompressed.
 */
#ifndef NET_DNS_ANSWER_REPLY_H
#define NET_DNS_ANSWER_REPLY_H

#include "net/dns/zone/find.h"

typedef struct Reply {
    uint8_t *out;
    size_t len;
    size_t limit;               /* octets of the records, without OPT */
    uint16_t count[3];          /* by DnsSection */
} Reply;

/* An owner name: its offset in the message, and its uncompressed length */
typedef struct ReplyOwner {
    uint16_t at;                /* 0: not in the message yet */
    uint8_t len;
} ReplyOwner;

/*
 * Records to put.  @owner is the name of the node, or the name that a wildcard
 * stands for.  If it is not in the message yet, the node's name is written, and
 * @owner is set to its offset.  @suffix is the offset of the last octets of
 * that name, if they are in the message.
 *
 * @in_full is set if names in the records are not where the image has them.
 */
typedef struct ReplyPut {
    DnsSection section;
    bool with_sigs;
    bool expanded;              /* @owner differs from the node's name */
    bool in_full;
    uint32_t ttl_max;           /* UINT32_MAX: unchanged */
    ReplyOwner owner;
    ReplyOwner suffix;
} ReplyPut;

typedef enum ReplyResult {
    REPLY_OK,
    REPLY_FULL,                 /* nothing was put */
    REPLY_DAMAGED,              /* the image has failed */
} ReplyResult;

/**
 * reply_put: put an RRset, and its signatures if they are wanted
 *
 * Either all of it is put, or nothing.
 */
ReplyResult reply_put(Reply *reply, ReplyPut *put, const ZoneNode *node,
                      const ZoneRrset *rrset);

/** reply_put_sigs: put only the signatures of an RRset */
ReplyResult reply_put_sigs(Reply *reply, ReplyPut *put, const ZoneNode *node,
                           const ZoneRrset *rrset);

/**
 * reply_suffix: the offset at which the name at @at continues behind its first
 * @skip octets
 *
 * Returns: an offset that a pointer can hold, or 0 if there is none.
 */
uint16_t reply_suffix(const Reply *reply, uint16_t at, unsigned skip);

/**
 * reply_put_cname: put a record with a name as its RDATA
 * @suffix: the offset of the last octets of that name, or none
 *
 * Sets @target to the offset of that name.
 */
ReplyResult reply_put_cname(Reply *reply, ReplyOwner owner, uint16_t rrclass,
                            uint32_t ttl, const DnsName *name,
                            ReplyOwner suffix, ReplyOwner *target);

#endif /* NET_DNS_ANSWER_REPLY_H */
