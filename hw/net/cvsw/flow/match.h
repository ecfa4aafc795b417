/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches: a frame's fields as a key of 64-bit words, and masks on the key
 *
 * Fields that never occur in the same frame share bits of the key: the ports of
 * TCP, UDP and SCTP, ICMP's type and code, and ARP's operation; the addresses
 * of IPv4 and ARP; ARP's hardware addresses and IPv6's addresses.  A match on
 * one of them also has its prerequisites (OpenFlow 1.3.5 section 7.2.3.6), so a
 * frame with the other field cannot match.
 *
 * The fields used most often are close together: EtherType, tag, protocol and
 * DSCP in one word, switch port and transport ports in one, the IPv4 addresses
 * in one.  So a match on a connection's five-tuple uses three words.
 *
 * A key also has a bit for each header that the frame has completely.  A match
 * on a field requires the bit of its header: a truncated frame or a later
 * fragment does not match, even if the match asks for the value 0 (section
 * 7.3.2.1 there, 5.3.2 of OpenFlow 1.0.1).
 */
#ifndef CVSW_FLOW_MATCH_H
#define CVSW_FLOW_MATCH_H

#include "hw/net/cvsw/flow/field.h"
#include "net/packet/flow.h"

/* Number of 64-bit words in a key. */
#define CVSW_KEY_WORDS          13u

typedef struct CvswKey {
    uint64_t word[CVSW_KEY_WORDS];
} CvswKey;

/*
 * A match: a key matches if it equals @value in all bits of @mask.  The other
 * bits of @value are 0.  Only the functions below write it.
 */
typedef struct CvswMatch {
    CvswKey value, mask;
    uint64_t fields;            /* the fields it has: bits of CvswField */
} CvswMatch;

/**
 * cvsw_key_of: compute the key of a frame
 * @flow: from packet_flow_parse()
 * @in_port: CVSW_PORT_...
 * @tunnel_id: of the tunnel that the frame was decapsulated from; 0: none
 */
void cvsw_key_of(CvswKey *key, const PacketFlow *flow, uint32_t in_port,
                 uint64_t tunnel_id);

typedef enum CvswMatchFault {
    CVSW_MATCH_OK,
    CVSW_MATCH_BAD_VALUE,       /* has bits outside of the field */
    CVSW_MATCH_BAD_MASK,        /* the field cannot have this mask */
    CVSW_MATCH_BAD_WILDCARDS,   /* a bit of the value is outside the mask */
    CVSW_MATCH_DUPLICATE,       /* the match has this field already */
    CVSW_MATCH_BAD_PREREQ,      /* a prerequisite is missing */
} CvswMatchFault;

/**
 * cvsw_match_add: add a field to a match
 * @match: a zeroed match matches every frame
 * @value: padding bits must be 0
 * @mask: NULL: all bits of the field.  Its padding bits are ignored
 *
 * A mask with all bits set is the same as no mask, and a field with a mask of
 * zeros is not added (OpenFlow 1.3.5 section 7.2.3.5); so every field accepts
 * these two masks.  Fields can be added in any order; cvsw_match_check() tests
 * the prerequisites.
 *
 * The mask of CVSW_VLAN_VID must be 0 or include CVSW_VID_PRESENT, because an
 * untagged frame has no VID.
 *
 * Returns: CVSW_MATCH_OK, or the fault; @match is unchanged then
 */
CvswMatchFault cvsw_match_add(CvswMatch *match, CvswField field,
                              const CvswValue *value, const CvswValue *mask);

/**
 * cvsw_match_check: test that all prerequisites are present
 *
 * Returns: CVSW_MATCH_OK, or CVSW_MATCH_BAD_PREREQ.  The functions below need a
 * match that passes this test
 */
CvswMatchFault cvsw_match_check(const CvswMatch *match);

/**
 * cvsw_match_get: get a field's value and mask
 *
 * Returns: false if @match does not have the field
 */
bool cvsw_match_get(const CvswMatch *match, CvswField field,
                    CvswValue *value, CvswValue *mask);

/** cvsw_match_meets: does @key match? */
bool cvsw_match_meets(const CvswMatch *match, const CvswKey *key);

/** cvsw_match_equal: do both have the same fields, values and masks? */
bool cvsw_match_equal(const CvswMatch *a, const CvswMatch *b);

/**
 * cvsw_match_within: is @narrow as specific as @wide, or more specific?
 *
 * The non-strict commands use this relation (section 6.4): @narrow has every
 * bit of the mask of @wide, with the same value.
 */
bool cvsw_match_within(const CvswMatch *narrow, const CvswMatch *wide);

/** cvsw_match_overlaps: can one frame match both? */
bool cvsw_match_overlaps(const CvswMatch *a, const CvswMatch *b);

/** cvsw_match_has: does the match have a field that an action needs? */
static inline bool cvsw_match_has(const CvswMatch *match, CvswField field)
{
    return match->fields & (UINT64_C(1) << field);
}

#endif /* CVSW_FLOW_MATCH_H */
