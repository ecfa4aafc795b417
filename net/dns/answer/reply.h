/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reply that is being made: RRsets of images, put where they are needed
 *
 * Records of an image have compression pointers for one place in a message
 * (docs/dns-image.md, Records).  There they are copied; elsewhere they are
 * copied and their pointers are moved; where a name cannot be reached by a
 * pointer it is written in full.
 */
#ifndef NET_DNS_ANSWER_REPLY_H
#define NET_DNS_ANSWER_REPLY_H

#include "net/dns/zone/find.h"

typedef struct Reply {
    uint8_t *out;
    size_t len;
    size_t limit;               /* of the records, without OPT */
    uint16_t count[3];          /* by DnsSection */
} Reply;

/* An owner name: where it stands in the message, and how long it is in full */
typedef struct ReplyOwner {
    uint16_t at;                /* 0: nowhere yet */
    uint8_t len;
} ReplyOwner;

/*
 * Records to put.  @owner is for the node's own name or, from a wildcard, the
 * name that it stands for.  If it is nowhere yet, the node's name is written
 * and @owner is set to that place; @suffix is then where its last octets
 * stand already, if they do anywhere.
 *
 * @in_full is set: names of the records are not where the image has them.
 */
typedef struct ReplyPut {
    DnsSection section;
    bool with_sigs;
    bool expanded;              /* @owner is not the node's own name */
    bool in_full;
    uint32_t ttl_max;           /* UINT32_MAX: as they are */
    ReplyOwner owner;
    ReplyOwner suffix;
} ReplyPut;

typedef enum ReplyResult {
    REPLY_OK,
    REPLY_FULL,                 /* nothing was put */
    REPLY_DAMAGED,              /* the image has failed */
} ReplyResult;

/**
 * reply_put: an RRset, with its signatures if they are wanted
 *
 * All of it is put or nothing.
 */
ReplyResult reply_put(Reply *reply, ReplyPut *put, const ZoneNode *node,
                      const ZoneRrset *rrset);

/** reply_put_sigs: the signatures of an RRset without it. */
ReplyResult reply_put_sigs(Reply *reply, ReplyPut *put, const ZoneNode *node,
                           const ZoneRrset *rrset);

/**
 * reply_suffix: where the name at @at goes on behind its first @skip octets
 *
 * Returns: an offset that a pointer can hold, or 0 if there is none.
 */
uint16_t reply_suffix(const Reply *reply, uint16_t at, unsigned skip);

/**
 * reply_put_cname: a record with a name as its RDATA
 * @suffix: where the last octets of that name stand, or nowhere
 *
 * Sets @target to where that name is.
 */
ReplyResult reply_put_cname(Reply *reply, ReplyOwner owner, uint16_t rrclass,
                            uint32_t ttl, const DnsName *name,
                            ReplyOwner suffix, ReplyOwner *target);

#endif /* NET_DNS_ANSWER_REPLY_H */
