/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of an answer, shared by the files that make it */
#ifndef NET_DNS_ANSWER_ANSWERING_H
#define NET_DNS_ANSWER_ANSWERING_H

#include "net/dns/answer/answerer.h"
#include "net/dns/answer/reply.h"

/* Aliases in one answer; the resolver follows further ones itself. */
#define ALIASES_MAX     16

/* A name that a wildcard answered, which needs a proof: RFC 4035 3.1.3.3 */
typedef struct Expansion {
    uint16_t name_at;           /* in the message */
    uint8_t encloser_labels;
} Expansion;

/* A DNAME record in the answer section; other names may be below it, too */
typedef struct Renaming {
    const uint8_t *node;
    size_t target_at;           /* in the message; 0: not known */
} Renaming;

/* An RRset of the reply, to whose targets addresses may be added */
typedef struct Referring {
    bool is_there;
    size_t at;                  /* offset of its records in the message; */
                                /* 0: they differ from the image */
    ZoneNode node;
    ZoneRrset rrset;
} Referring;

/* The result of the last look-up */
typedef enum AnswerEnd {
    END_RECORDS,
    END_NODATA,
    END_NXDOMAIN,
    END_REFERRAL,
    END_ELSEWHERE,              /* an alias leads out of the zone */
    END_YXDOMAIN,               /* RFC 6672 section 2.2 */
    END_REFUSED,
    END_NOT_READY,
    END_NOT_PROVABLE,           /* no NSEC that proves it, or NSEC3 with */
                                /* too many iterations */
    END_FULL,                   /* no room: TC */
    END_FAILED,                 /* an image is damaged */
    END_NOT,                    /* an alias: continue */
} AnswerEnd;

typedef struct Answering {
    const DnsAnswerer *answerer;
    const DnsQuery *query;
    DnsAnswerInfo *info;
    Reply reply;
    bool dnssec;                /* the client wants signatures */
    bool truncated;
    bool is_authoritative;
    bool is_expanded;           /* a wildcard answers the name */
    /*
     * The name that is looked up: the query's first, then the targets of
     * aliases
     */
    const ZoneKey *name;
    uint16_t name_at;           /* in the message */
    const DnsServedZone *zone;  /* the caller sets it; NULL: none */
    const ZoneView *view;       /* of the zone; constant during the query */
    unsigned aliases;
    unsigned renamings;
    unsigned expansions;
    unsigned denials;
    Referring referring;
    ZoneFound found;
    /* names that were looked up before */
    uint16_t alias_at[ALIASES_MAX];
    Renaming renaming[ALIASES_MAX + 1];
    Expansion expansion[ALIASES_MAX + 1];
    /* nodes whose NSEC is in the reply */
    const uint8_t *denial[ALIASES_MAX + 4];
    ZoneKey alias;
} Answering;

/** answer_zone: the zone that has @name, as dns_answer_zone() */
const DnsServedZone *answer_zone(const DnsAnswerer *answerer,
                                 const DnsQuery *query, const ZoneKey *name);

/** answer_name: make the answer section; returns how it ended */
AnswerEnd answer_name(Answering *a);

/**
 * answer_authority: make the authority section for this end
 *
 * Returns: @end, or END_FULL, END_FAILED, END_NOT_PROVABLE.
 */
AnswerEnd answer_authority(Answering *a, AnswerEnd end);

/** answer_additional: add addresses; may set a->truncated */
void answer_additional(Answering *a, AnswerEnd end);

/** answer_owner: the place of the last @labels labels of a->name */
static inline ReplyOwner answer_owner(const Answering *a, unsigned labels)
{
    unsigned skip = a->name->start[a->name->labels - labels];

    return (ReplyOwner) {
        reply_suffix(&a->reply, a->name_at, skip), a->name->len - skip,
    };
}

/** answer_end_of: the end that follows from putting a required record */
static inline AnswerEnd answer_end_of(ReplyResult result, AnswerEnd end)
{
    return result == REPLY_OK ? end :
           result == REPLY_FULL ? END_FULL : END_FAILED;
}

#endif /* NET_DNS_ANSWER_ANSWERING_H */
