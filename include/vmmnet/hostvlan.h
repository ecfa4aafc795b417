/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The LNID table of a host: which MAC address belongs to which tenants.
 *
 * This header is the whole format, versions 2 and 3. It is compiled into QEMU
 * (net/hostvlan), into the eBPF twin and into tests; control/vmmnet writes
 * the same in Python.
 *
 * Theory of operation
 * ===================
 *
 * One file a host. One writer at a time changes it (the command line or the
 * agent; flock on "TABLE.lock" beside it); every QEMU of the host maps it
 * shared and read-only and reads it without locks. Numbers are little-endian,
 * as all hosts that we run on are, and naturally aligned.
 *
 *   octets 0 .. 4095       struct hostvlan_header
 *   then                   buckets * struct hostvlan_bucket
 *   then                   words * uint32_t, the record area
 *
 * and nothing after that: file_size says the same as the three together.
 *
 * A MAC address is a number: its six octets, the first in the highest place
 * (00:11:22:33:44:55 is 0x001122334455). Only unicast addresses, and not
 * zero, are in the table. An LNID is 32 bits; 0 is the global one, the others
 * are tenants'.
 *
 * Where a MAC address is: in the bucket that hostvlan_first_bucket() says, or
 * in one of the HOSTVLAN_PROBE_MAX - 1 after it (the first follows the last),
 * in the first of their slots that was free when it came. A key of 0 ends a
 * search: nothing was ever put there or behind. With six slots in ten filled,
 * a million addresses need no more than 20 buckets, and one on the average; a
 * writer makes a bigger file before two in three are.
 *
 * Versions. Version 3 is version 2 and two things more that a record can say:
 * what its MAC address may offer, and with which others its port may send. A
 * writer makes a file of version 3 if a record says such a thing, and else one
 * of version 2, which older readers know. They refuse the other one, and what
 * they have read stays in force; to them a head that says more is damaged.
 *
 * Damage. Of the octets that a frame is judged by, any single bit that is wrong
 * is found by who uses them, whatever the others are: hostvlan_key(),
 * hostvlan_value(), HOSTVLAN_RECORD_HEAD and hostvlan_sum() say why. Other
 * damage is missed once in 2^30. What is damaged counts as not in the table.
 * A reader compares keys as he searches. One that differs from the key that is
 * looked for in a single bit is nobody's: it is that key, damaged.
 *
 * What a reader sees. In one file a slot's key goes from 0 to a MAC address
 * once and never changes again, so that the value beside it is that address's,
 * whenever it is read. A change is one aligned 64-bit store of the value. What
 * a value points to, its record, is written before the value and never again.
 * So a reader that loads key and value with acquire semantics has the old or
 * the new LNIDs and never a mixture. The writer's order is: record, value,
 * key (of a new slot), generation. A MAC address that is taken out keeps its
 * key, with a value that says so, and gets the same slot when it comes back.
 *
 * Growth. A file that is full of dead keys or old records, and a change of
 * several MAC addresses at once, is a new file: built beside, synced, renamed
 * over the path; then "superseded" is set to 1 in the old one. A reader that
 * sees that opens the path again. The old file stays in force until the new
 * one has been checked as a whole, and for good if it is wrong. The writer
 * never shortens a file.
 *
 * The header's checksum covers what never changes in a file, "counted" what
 * the writer counts; readers need not look at that. A reader checks all slots
 * and records when it opens the file, and those that it uses again at each use.
 */
#ifndef VMMNET_HOSTVLAN_H
#define VMMNET_HOSTVLAN_H

#if defined(__bpf__)
/* The C library's headers do not know this target. */
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#else
#include <stdint.h>
#endif

#define HOSTVLAN_MAGIC          "VMMNLNID"      /* eight octets, no NUL */
#define HOSTVLAN_VERSION        3u              /* the newest */
#define HOSTVLAN_VERSION_OLD    2u              /* the oldest that is read */
#define HOSTVLAN_HEADER_SIZE    4096u
#define HOSTVLAN_CHECKED_SIZE   32u     /* octets that the checksum covers */

#define HOSTVLAN_BUCKETS_MAX    (1u << 22)      /* 1 .. */
#define HOSTVLAN_WORDS_MAX      (1u << 28)      /* 0 .. */
#define HOSTVLAN_SLOTS          4u      /* a bucket: one cache line */
#define HOSTVLAN_PROBE_MAX      32u     /* buckets that one search looks at */

#define HOSTVLAN_LNID_GLOBAL    0u
#define HOSTVLAN_LNIDS_MAX      64u     /* of one MAC address; at least 1 */
#define HOSTVLAN_IP4_MAX        16u
#define HOSTVLAN_IP6_MAX        16u
#define HOSTVLAN_ALSO_MAX       31u     /* MAC addresses beside its own */

/* Rights of a MAC address: services that it may offer to others. */
#define HOSTVLAN_OFFER_ROUTER   1u      /* router advertisements (RFC 4861) */
#define HOSTVLAN_OFFER_DHCP     2u      /* messages of a DHCP server */

/*
 * What happens to a frame, and why: the paper's section 3.5. The first that
 * applies, in this order, so that two data paths agree on the reason as well:
 *
 *   send (what the guest sends)        receive (what goes to the guest)
 *   MALFORMED  shorter than 14 octets  MALFORMED       the same
 *   NO_TABLE   none in force           NO_TABLE        the same
 *   NO_PORT    the port has no MAC     NO_PORT         the same, or the table
 *              address                                 has no LNIDs for it
 *   SPOOFED    the source is not the   UNKNOWN_SOURCE  zero, multicast or not
 *              port's MAC address, nor                 in the table
 *              one of the others that
 *              the table has for it
 *   L2_CONTROL to a switch, where that is              but no IGMP or MLD
 *              not allowed (group.h)                   query (group.h)
 *   QUERY      an IGMP or MLD query,   DAMAGED         what the table has
 *   MALFORMED  or what could be one,                   for the port or the
 *              and the port has not                    source is damaged
 *              the global LNID         OTHER_TENANT    neither has the global
 *   DAMAGED    where offers are                        LNID, and they have
 *              guarded or senders                      none in common
 *              checked: what the
 *              table has for them is
 *              damaged
 *   RA_GUARD, DHCP_GUARD, MALFORMED
 *              where they are guarded
 *              (offers.h)
 *   FORGED_ADDRESS, MALFORMED
 *              where senders are
 *              checked (sender.h)
 *   PASSED                             PASSED
 */
enum hostvlan_reason {
    HOSTVLAN_PASSED,
    HOSTVLAN_SPOOFED,
    HOSTVLAN_UNKNOWN_SOURCE,
    HOSTVLAN_OTHER_TENANT,
    HOSTVLAN_FORGED_ADDRESS,
    HOSTVLAN_MALFORMED,
    HOSTVLAN_NO_TABLE,
    HOSTVLAN_NO_PORT,
    HOSTVLAN_DAMAGED,
    HOSTVLAN_L2_CONTROL,
    HOSTVLAN_QUERY,
    HOSTVLAN_RA_GUARD,
    HOSTVLAN_DHCP_GUARD,
    HOSTVLAN_REASONS
};

struct hostvlan_header {
    /* Never changes in one file. */
    uint8_t magic[8];           /* HOSTVLAN_MAGIC */
    uint32_t version;           /* HOSTVLAN_VERSION_OLD .. _VERSION */
    uint32_t header_size;       /* HOSTVLAN_HEADER_SIZE */
    uint64_t file_size;         /* octets */
    uint32_t buckets;           /* 1 .. HOSTVLAN_BUCKETS_MAX, any number */
    uint32_t words;             /* 0 .. HOSTVLAN_WORDS_MAX */
    uint32_t checksum;          /* CRC-32 (zlib's) of what is above */
    uint8_t zero[28];

    /* A cache line of its own: what changes. */
    uint32_t superseded;        /* 1: a newer file is at the path; once */
    uint32_t macs;              /* with a value; for information */
    uint64_t generation;        /* + 1 at the end of each change */
    uint32_t words_used;        /* of the record area; for the writer */
    uint32_t keys_used;         /* slots with a key; for the writer */
    uint32_t counted;           /* CRC-32 of macs to keys_used; the writer's */
    uint8_t rest[HOSTVLAN_HEADER_SIZE - 92];    /* 0 */
};

struct hostvlan_slot {
    uint64_t key;               /* hostvlan_key(); 0: never used */
    uint64_t value;             /* hostvlan_value() */
};

struct hostvlan_bucket {
    struct hostvlan_slot slot[HOSTVLAN_SLOTS];
};

/*
 * A value: the kind in bits 62 and 63, a check in bits 32 to 61, a number in
 * bits 0 to 31.
 */
#define HOSTVLAN_VALUE_NONE     0u      /* the MAC address was taken out; 0 */
#define HOSTVLAN_VALUE_ONE      1u      /* number: its only LNID */
#define HOSTVLAN_VALUE_RECORD   2u      /* number: word offset of a record */
#define HOSTVLAN_VALUE_DAMAGED  3u      /* in no file: what a reader found */

/*
 * A record, in words: the head, then the LNIDs (1 .. HOSTVLAN_LNIDS_MAX,
 * ascending, each once), then the check of all that. If there are IP addresses,
 * they follow: the IPv4 addresses (192.0.2.1 is 0xc0000201), the IPv6
 * addresses, four words each, the first the highest, then their check. If its
 * port may send with other MAC addresses, these follow (1 .. HOSTVLAN_ALSO_MAX,
 * ascending, each once), two words each, the first the highest, then their
 * check. So a verdict reads no addresses.
 *
 * A check is the upper half of the hostvlan_sum() of the value that leads to
 * the record, of the head, of the LNIDs, and then of what it is the check of.
 *
 * The head has three octets, and in the highest their exclusive or: heads
 * differ in two bits at least, and from 0. From bit 0 on: the number of LNIDs
 * (7 bits), HOSTVLAN_OFFER_ROUTER (1); that of IPv4 addresses (5),
 * HOSTVLAN_OFFER_DHCP (1), the lower bits of the number of other MAC addresses
 * (2); the number of IPv6 addresses (5), the upper bits of that one (3).
 */
#define HOSTVLAN_RECORD_LNIDS(head)     ((head) & 0x7fu)
#define HOSTVLAN_RECORD_IP4(head)       ((head) >> 8 & 0x1fu)
#define HOSTVLAN_RECORD_IP6(head)       ((head) >> 16 & 0x1fu)
#define HOSTVLAN_RECORD_OFFERS(head) \
    (((head) >> 7 & 1u) | ((head) >> 12 & 2u))
#define HOSTVLAN_RECORD_ALSO(head) \
    (((head) >> 14 & 3u) | ((head) >> 19 & 0x1cu))
#define HOSTVLAN_RECORD_HEAD(first, second, third) \
    ((uint32_t)(first) | (uint32_t)(second) << 8 | (uint32_t)(third) << 16 | \
     ((uint32_t)(first) ^ (uint32_t)(second) ^ (uint32_t)(third)) << 24)
#define HOSTVLAN_RECORD_WORDS_MAX \
    (1u + HOSTVLAN_LNIDS_MAX + 1u + HOSTVLAN_IP4_MAX + 4u * HOSTVLAN_IP6_MAX + \
     1u + 2u * HOSTVLAN_ALSO_MAX + 1u)

/**
 * hostvlan_sum: one number more in a check sum
 * @sum: 0, or of the numbers before
 *
 * A bit of a number that is wrong changes the sum by 2^bit times a power of the
 * factor, whatever the numbers are. None of these, up to the power
 * HOSTVLAN_RECORD_WORDS_MAX + 1, is nearer to 0 than 2^34, modulo 2^64, so that
 * the upper 30 bits of the sum change (tests/unit/test-hostvlan-damage.c).
 */
static inline uint64_t hostvlan_sum(uint64_t sum, uint64_t number)
{
    return (sum + number) * 0x9e3779b97f4a7c15ull;
}

/**
 * hostvlan_key: what a slot has as key of a MAC address of 48 bits
 *
 * Above the address is the exclusive or of its three parts of 16 bits: a bit of
 * the address is in one bit of that. So keys differ in two bits at least, and
 * from 0.
 */
static inline uint64_t hostvlan_key(uint64_t mac)
{
    return mac | (mac ^ mac >> 16 ^ mac >> 32) << 48;
}

/** hostvlan_key_mac: the MAC address of a key. */
static inline uint64_t hostvlan_key_mac(uint64_t key)
{
    return key & 0xffffffffffffull;
}

/**
 * hostvlan_differ_in_one: do two keys that are not the same differ in one bit?
 * @differs: one exclusive or the other
 */
static inline int hostvlan_differ_in_one(uint64_t differs)
{
    return (differs & (differs - 1)) == 0;
}

/**
 * hostvlan_value: a value out of its parts
 * @key: of the same slot
 * @kind: HOSTVLAN_VALUE_NONE, _ONE or _RECORD
 * @number: the LNID or the offset in words
 *
 * The check is the upper 30 bits of the sum of the others.
 */
static inline uint64_t hostvlan_value(uint64_t key, uint32_t kind,
                                      uint32_t number)
{
    uint64_t sum = hostvlan_sum(hostvlan_sum(0, key),
                                (uint64_t)kind << 32 | number);

    return (uint64_t)kind << 62 | sum >> 34 << 32 | number;
}

/** hostvlan_value_kind: HOSTVLAN_VALUE_... */
static inline uint32_t hostvlan_value_kind(uint64_t value)
{
    return (uint32_t)(value >> 62);
}

/** hostvlan_value_number: the LNID, or the record's offset in words. */
static inline uint32_t hostvlan_value_number(uint64_t value)
{
    return (uint32_t)value;
}

/** hostvlan_value_valid: is it one of this key? Says nothing about a record. */
static inline int hostvlan_value_valid(uint64_t key, uint64_t value)
{
    uint64_t kind_and_number = (value >> 30 & 3ull << 32) | (uint32_t)value;
    uint64_t sum = hostvlan_sum(hostvlan_sum(0, key), kind_and_number);
    uint32_t kind = hostvlan_value_kind(value);

    if ((value ^ sum >> 2) & 0x3fffffff00000000ull) {
        return 0;
    }
    return kind == HOSTVLAN_VALUE_ONE || kind == HOSTVLAN_VALUE_RECORD ||
           kind_and_number == 0;
}

/**
 * hostvlan_record_head: the head of a record
 * @offers: HOSTVLAN_OFFER_...
 *
 * The numbers are in their ranges.
 */
static inline uint32_t hostvlan_record_head(uint32_t lnids, uint32_t ip4,
                                            uint32_t ip6, uint32_t offers,
                                            uint32_t also)
{
    return HOSTVLAN_RECORD_HEAD(lnids | (offers & 1) << 7,
                                ip4 | (offers & 2) << 4 | (also & 3) << 6,
                                ip6 | also >> 2 << 5);
}

/** hostvlan_address_words: words of IP addresses and their check; 0: none. */
static inline uint32_t hostvlan_address_words(uint32_t head)
{
    uint32_t words = HOSTVLAN_RECORD_IP4(head) + 4 * HOSTVLAN_RECORD_IP6(head);

    return words ? words + 1 : 0;
}

/** hostvlan_record_words: length with the head; 0: no record starts so. */
static inline uint32_t hostvlan_record_words(uint32_t head)
{
    uint32_t lnids = HOSTVLAN_RECORD_LNIDS(head);
    uint32_t also = HOSTVLAN_RECORD_ALSO(head);

    if (head != HOSTVLAN_RECORD_HEAD(head & 0xff, head >> 8 & 0xff,
                                     head >> 16 & 0xff) ||
        lnids == 0 || lnids > HOSTVLAN_LNIDS_MAX ||
        HOSTVLAN_RECORD_IP4(head) > HOSTVLAN_IP4_MAX ||
        HOSTVLAN_RECORD_IP6(head) > HOSTVLAN_IP6_MAX) {
        return 0;
    }
    return 1 + lnids + 1 + hostvlan_address_words(head) +
           (also ? 2 * also + 1 : 0);
}

/** hostvlan_mac: the number of six octets as they are in a frame. */
static inline uint64_t hostvlan_mac(const uint8_t octets[6])
{
    return (uint64_t)octets[0] << 40 | (uint64_t)octets[1] << 32 |
           (uint64_t)octets[2] << 24 | (uint64_t)octets[3] << 16 |
           (uint64_t)octets[4] << 8 | octets[5];
}

/** hostvlan_mac_valid: can the table have it? Not zero, unicast, 48 bits. */
static inline int hostvlan_mac_valid(uint64_t mac)
{
    return mac != 0 && mac >> 48 == 0 && (mac >> 40 & 1) == 0;
}

/** hostvlan_first_bucket: where the search for @mac begins. */
static inline uint32_t hostvlan_first_bucket(uint64_t mac, uint32_t buckets)
{
    /* MurmurHash3's finalizer: every bit of @mac is in every bit of x. */
    uint64_t x = mac;

    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return (uint32_t)(((x >> 32) * buckets) >> 32);
}

#endif /* VMMNET_HOSTVLAN_H */
