/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mobility headers, and the extension headers that accompany them (RFC 6275
 * section 6)
 *
 * Numbers are in host byte order; lifetimes and intervals in the units of the
 * wire.
 */
#ifndef NET_MIP6_MH_H
#define NET_MIP6_MH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIP6_MH_HEAD_LEN        6u      /* of each message */
#define MIP6_MH_MAX             2048u   /* (255 + 1) * 8 */
#define MIP6_AUTHENTICATOR_MAX  12u     /* 96 bits */
#define MIP6_LIFETIME_UNIT      4u      /* s; of binding lifetimes */
#define MIP6_REFRESH_UNIT       4u      /* s; of Binding Refresh Advice */

/* MH types (section 6.1). */
enum {
    MIP6_MH_BRR = 0,
    MIP6_MH_HOTI = 1,
    MIP6_MH_COTI = 2,
    MIP6_MH_HOT = 3,
    MIP6_MH_COT = 4,
    MIP6_MH_BU = 5,
    MIP6_MH_BA = 6,
    MIP6_MH_BE = 7,
};

/* Mobility options (section 6.2). */
enum {
    MIP6_OPTION_PAD1 = 0,
    MIP6_OPTION_PADN = 1,
    MIP6_OPTION_REFRESH = 2,            /* Binding Refresh Advice */
    MIP6_OPTION_ALTERNATE_COA = 3,
    MIP6_OPTION_NONCE_INDICES = 4,
    MIP6_OPTION_AUTHORIZATION = 5,      /* Binding Authorization Data */
};

/* Flags of a Binding Update (section 6.1.7), in wire format. */
enum {
    MIP6_BU_ACK = 0x8000,
    MIP6_BU_HOME = 0x4000,
    MIP6_BU_LINK_LOCAL = 0x2000,        /* L: the same interface identifier */
    MIP6_BU_KEY = 0x1000,               /* K: key management mobility */
};

/* The flag of a Binding Acknowledgement (section 6.1.8). */
enum { MIP6_BA_KEY = 0x80 };

/* Status of a Binding Acknowledgement; 128 and above are refusals. */
enum {
    MIP6_BA_ACCEPTED = 0,
    MIP6_BA_PREFIX_DISCOVERY = 1,       /* accepted, prefixes have changed */
    MIP6_BA_UNSPECIFIED = 128,
    MIP6_BA_PROHIBITED = 129,
    MIP6_BA_RESOURCES = 130,
    MIP6_BA_NO_HOME_REGISTRATION = 131,
    MIP6_BA_NOT_HOME_SUBNET = 132,
    MIP6_BA_NOT_HOME_AGENT = 133,
    MIP6_BA_DAD_FAILED = 134,
    MIP6_BA_SEQUENCE = 135,
    MIP6_BA_HOME_NONCE = 136,
    MIP6_BA_CARE_OF_NONCE = 137,
    MIP6_BA_NONCES = 138,
    MIP6_BA_TYPE_CHANGE = 139,
    MIP6_BA_INVALID_COA = 174,
};

/* Status of a Binding Error (section 6.1.9). */
enum {
    MIP6_BE_UNKNOWN_BINDING = 1,
    MIP6_BE_UNKNOWN_MH = 2,
};

typedef struct Mip6Mh {
    uint8_t type;
    /* BU and BA */
    uint16_t sequence;
    uint16_t lifetime;          /* MIP6_LIFETIME_UNIT */
    uint16_t flags;             /* of BU: MIP6_BU_..., of BA: MIP6_BA_KEY */
    uint8_t status;             /* of BA and BE */
    /* HoTI, CoTI, HoT, CoT */
    uint64_t cookie;            /* the init cookie */
    uint64_t token;             /* keygen token; of HoT and CoT */
    uint16_t nonce_index;       /* of HoT and CoT */
    struct in6_addr home;       /* of BE */
    /* Options; unknown ones are ignored. */
    bool has_refresh, has_alternate, has_nonces, has_authenticator;
    uint16_t refresh;           /* MIP6_REFRESH_UNIT */
    struct in6_addr alternate;  /* care-of address */
    uint16_t home_nonce, care_of_nonce;
    uint8_t authenticator_len;
    uint8_t authenticator[MIP6_AUTHENTICATOR_MAX];
} Mip6Mh;

/* The result for a message. */
typedef enum Mip6MhVerdict {
    MIP6_MH_GOOD,
    MIP6_MH_SHORT,              /* truncated, or too short for its type */
    MIP6_MH_PAYLOAD_PROTO,      /* not 59: ICMPv6 parameter problem, code 0 */
    MIP6_MH_CHECKSUM,           /* drop without an answer */
    MIP6_MH_UNKNOWN,            /* unknown type: Binding Error, status 2 */
    MIP6_MH_OPTION,             /* an option is truncated */
} Mip6MhVerdict;

/**
 * mip6_mh_parse: parse and check a message
 * @mh: filled in on success; @mh->type also for MIP6_MH_UNKNOWN
 * @src: source in the pseudo header: the mobile node's home address if it is
 *       the sender, at home or away (section 6.1.1); otherwise the packet's
 *       source
 * @dst: likewise, the home address if the mobile node is the receiver
 * @buf: from "Payload Proto" on
 * @len: octets at @buf; octets after the header's own length are ignored
 */
Mip6MhVerdict mip6_mh_parse(Mip6Mh *mh, const struct in6_addr *src,
                            const struct in6_addr *dst, const void *buf,
                            size_t len);

/**
 * mip6_mh_build: write a message with its options and checksum
 * @room: space at @buf; 128 are enough, except for long authenticators
 * @src, @dst: as for mip6_mh_parse()
 * @mh: its authenticator is written unchanged
 *
 * Options are ordered by type and aligned as in section 6.2.
 *
 * Returns: octets at @buf, a multiple of 8; 0 if there is not enough space or
 * @mh->type is not one of MIP6_MH_...
 */
size_t mip6_mh_build(void *buf, size_t room, const struct in6_addr *src,
                     const struct in6_addr *dst, const Mip6Mh *mh);

/** mip6_ba_accepted: does the status mean that the agent has the binding? */
static inline bool mip6_ba_accepted(uint8_t status)
{
    return status < 128;
}

/**
 * mip6_sequence_is_newer: is @a newer than @b, modulo 2^16 (section 9.5.1)?
 *
 * The 32767 numbers after @b are newer.
 */
static inline bool mip6_sequence_is_newer(uint16_t a, uint16_t b)
{
    uint16_t distance = a - b;

    return distance != 0 && distance < 32768;
}

/* --- accompanying headers ------------------------------------------------- */

/* A destination options header with a Home Address option (section 6.3). */
#define MIP6_HAO_LEN            24u
#define MIP6_OPTION_HAO         0xc9

/**
 * mip6_hao_build: write a destination options header
 * @buf: space for MIP6_HAO_LEN octets
 * @next: number of the next header
 *
 * Returns: MIP6_HAO_LEN
 */
size_t mip6_hao_build(void *buf, uint8_t next, const struct in6_addr *home);

/**
 * mip6_hao_parse: find the Home Address option
 * @header: a complete destination options header
 * @len: length of @header
 *
 * Returns: false if there is none, more than one, or a malformed one
 */
bool mip6_hao_parse(struct in6_addr *home, const void *header, size_t len);

/* The type 2 routing header (section 6.4). */
#define MIP6_RH2_LEN            24u
#define MIP6_RH_TYPE            2

/** mip6_rh2_build: write a type 2 routing header. Returns: MIP6_RH2_LEN */
size_t mip6_rh2_build(void *buf, uint8_t next, const struct in6_addr *home);

/**
 * mip6_rh2_parse: parse a type 2 routing header
 * @header: a complete routing header
 * @len: length of @header
 *
 * Returns: false unless it has type 2, the right length, and one segment left
 */
bool mip6_rh2_parse(struct in6_addr *home, const void *header, size_t len);

#endif /* NET_MIP6_MH_H */
