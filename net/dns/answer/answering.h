/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer in the making, shared by the files that make it */
#ifndef NET_DNS_ANSWER_ANSWERING_H
#define NET_DNS_ANSWER_ANSWERING_H

#include "net/dns/answer/answer.h"
#include "net/dns/answer/reply.h"

/* Aliases of one answer; more are left to the resolver. */
#define ALIASES_MAX     16

/* A name that was answered from a wildcard, to be proved: RFC 4035 3.1.3.3 */
typedef struct Expansion {
    uint16_t name_at;           /* in the message */
    uint8_t encloser_labels;
} Expansion;

/* An RRset of the reply, for whose targets there may be addresses */
typedef struct Referring {
    bool is_there;
    size_t at;                  /* of its records, in the message; */
                                /* 0: they are not as in the image */
    ZoneNode node;
    ZoneRrset rrset;
} Referring;

/* How the last of the names that were looked up has ended */
typedef enum AnswerEnd {
    END_RECORDS,
    END_NODATA,
    END_NXDOMAIN,
    END_REFERRAL,
    END_ELSEWHERE,              /* an alias leads out of the zone */
    END_YXDOMAIN,               /* RFC 6672 section 2.2 */
    END_REFUSED,
    END_NOT_READY,
    END_NOT_PROVABLE,           /* the zone has no such NSEC, or NSEC3 with */
                                /* too many iterations */
    END_FULL,                   /* no room: TC */
    END_FAILED,                 /* an image is damaged */
    END_NOT,                    /* an alias: go on */
} AnswerEnd;

typedef struct Answering {
    const DnsAnswerer *answerer;
    const DnsQuery *query;
    DnsAnswerInfo *info;
    Reply reply;
    bool dnssec;                /* the client wants signatures */
    bool truncated;
    bool is_authoritative;
    bool is_expanded;           /* the name, from a wildcard */
    /* The name that is looked up: the query's, then what it is an alias of */
    const ZoneKey *name;
    uint16_t name_at;           /* in the message */
    const DnsServedZone *zone;
    const ZoneView *view;       /* of it, all the time */
    unsigned aliases;
    unsigned expansions;
    unsigned denials;
    Referring referring;
    ZoneFound found;
    uint16_t alias_at[ALIASES_MAX];         /* names looked up before */
    Expansion expansion[ALIASES_MAX + 1];
    const uint8_t *denial[ALIASES_MAX + 4]; /* nodes whose NSEC is there */
    ZoneKey alias;
} Answering;

/** answer_name: the answer section; how it has ended. */
AnswerEnd answer_name(Answering *a);

/**
 * answer_authority: what goes with such an end
 *
 * Returns: @end, or END_FULL, END_FAILED, END_NOT_PROVABLE.
 */
AnswerEnd answer_authority(Answering *a, AnswerEnd end);

/** answer_additional: addresses; may set a->truncated. */
void answer_additional(Answering *a, AnswerEnd end);

/** answer_owner: the place of the last @labels labels of a->name. */
static inline ReplyOwner answer_owner(const Answering *a, unsigned labels)
{
    unsigned skip = a->name->start[a->name->labels - labels];

    return (ReplyOwner) {
        reply_suffix(&a->reply, a->name_at, skip), a->name->len - skip,
    };
}

/** answer_end_of: what the result of putting a record that must be is. */
static inline AnswerEnd answer_end_of(ReplyResult result, AnswerEnd end)
{
    return result == REPLY_OK ? end :
           result == REPLY_FULL ? END_FULL : END_FAILED;
}

#endif /* NET_DNS_ANSWER_ANSWERING_H */
