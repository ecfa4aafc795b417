/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The matches of flows: a frame's fields as a key of words, and masks over it
 *
 * Fields that no frame has at the same time share bits of the key: the ports
 * of TCP, UDP and SCTP, ICMP's type and code, ARP's operation; IPv4's addresses
 * and ARP's; ARP's hardware addresses and IPv6's addresses.  A match that names
 * one of them names also the fields that it stands on (its prerequisites,
 * OpenFlow 1.3.5 section 7.2.3.6), so that it cannot be met by the other.
 *
 * What most flows name is together: EtherType, tag, protocol, DSCP in one word,
 * the ports of switch and transport in one, IPv4's addresses in one, so that
 * the usual five fields of a connection cost three words.
 *
 * A key also says which headers the frame has whole.  A match that names a
 * field of one asks for it, too: it is not met by a frame that ends before, or
 * is a later fragment, even if it names the value 0 (section 7.3.2.1 there,
 * 5.3.2 of OpenFlow 1.0.1).
 */
#ifndef CVSW_FLOW_MATCH_H
#define CVSW_FLOW_MATCH_H

#include "hw/net/cvsw/flow/field.h"
#include "net/packet/flow.h"

/* 64-bit words in a key. */
#define CVSW_KEY_WORDS          13u

typedef struct CvswKey {
    uint64_t word[CVSW_KEY_WORDS];
} CvswKey;

/*
 * What a match is: @mask's bits of a key are to be those of @value, which has 0
 * elsewhere.  Only the functions here write it.
 */
typedef struct CvswMatch {
    CvswKey value, mask;
    uint64_t fields;            /* which are named: bits of CvswField */
} CvswMatch;

/**
 * cvsw_key_of: the key of a frame
 * @flow: as packet_flow_parse() filled it in
 * @in_port: CVSW_PORT_...
 * @tunnel_id: of the tunnel that the frame came out of; 0: none
 */
void cvsw_key_of(CvswKey *key, const PacketFlow *flow, uint32_t in_port,
                 uint64_t tunnel_id);

typedef enum CvswMatchFault {
    CVSW_MATCH_OK,
    CVSW_MATCH_BAD_VALUE,       /* has bits that the field does not have */
    CVSW_MATCH_BAD_MASK,        /* the field takes none, or not this one */
    CVSW_MATCH_BAD_WILDCARDS,   /* a bit of the value is outside its mask */
    CVSW_MATCH_DUPLICATE,       /* the field is named already */
    CVSW_MATCH_BAD_PREREQ,      /* a field that it stands on is not there */
} CvswMatchFault;

/**
 * cvsw_match_add: name one more field
 * @match: of zeros, every frame meets it
 * @value: padding bits must be 0
 * @mask: NULL: all bits of the field count.  Its padding bits do not matter
 *
 * A mask of ones only is none, and with one of zeros only the field is not
 * named at all, as if it had not been added (OpenFlow 1.3.5 section 7.2.3.5);
 * so every field takes these two.  Fields come in any order; cvsw_match_check()
 * sees that none is missing.
 *
 * A CVSW_VLAN_VID whose mask has CVSW_VID_PRESENT is 0, or has that bit too: an
 * untagged frame has no VID.
 *
 * Returns: CVSW_MATCH_OK, or why @match is as it was
 */
CvswMatchFault cvsw_match_add(CvswMatch *match, CvswField field,
                              const CvswValue *value, const CvswValue *mask);

/**
 * cvsw_match_check: is each field there that another one stands on?
 *
 * Returns: CVSW_MATCH_OK, or CVSW_MATCH_BAD_PREREQ.  The functions below are
 * for matches that pass
 */
CvswMatchFault cvsw_match_check(const CvswMatch *match);

/**
 * cvsw_match_get: read a field back
 *
 * Returns: false if @match does not name it
 */
bool cvsw_match_get(const CvswMatch *match, CvswField field,
                    CvswValue *value, CvswValue *mask);

/** cvsw_match_meets: is @key one that @match describes? */
bool cvsw_match_meets(const CvswMatch *match, const CvswKey *key);

/** cvsw_match_equal: do both have the same fields, values and masks? */
bool cvsw_match_equal(const CvswMatch *a, const CvswMatch *b);

/**
 * cvsw_match_within: is @narrow as specific as @wide, or more?
 *
 * It is what the commands that are not strict go by (section 6.4): every bit
 * that @wide asks for, @narrow asks for with the same value.
 */
bool cvsw_match_within(const CvswMatch *narrow, const CvswMatch *wide);

/** cvsw_match_overlaps: may one frame meet both? */
bool cvsw_match_overlaps(const CvswMatch *a, const CvswMatch *b);

/** cvsw_match_has: does it name a field, as a prerequisite of an action? */
static inline bool cvsw_match_has(const CvswMatch *match, CvswField field)
{
    return match->fields & (UINT64_C(1) << field);
}

#endif /* CVSW_FLOW_MATCH_H */
