/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The LNID table of a host: which MAC address belongs to which tenants.
 *
 * This header defines the complete format, versions 2 to 4. It is compiled
 * into QEMU (net/hostvlan), into the eBPF twin and into tests; control/vmmnet
 * implements the same format in Python.
 *
 * Theory of operation
 * ===================
 *
 * Each host has one file. Only one writer at a time changes it (the command
 * line or the agent; flock on "TABLE.lock" in the same folder). Every QEMU on
 * the host maps it shared and read-only, and reads it without locks. Numbers
 * are little-endian, as all supported hosts are, and naturally aligned.
 *
 *   octets 0 .. 4095       struct hostvlan_header
 *   then                   buckets * struct hostvlan_bucket
 *   then                   words * uint32_t, the record area
 *
 * The file ends there: file_size is the sum of the three.
 *
 * A MAC address is stored as a number of its six octets, the first octet in the
 * most significant place (00:11:22:33:44:55 is 0x001122334455). Only unicast
 * addresses other than zero are in the table. An LNID has 32 bits; 0 is the
 * global LNID, the others belong to tenants.
 *
 * The slot of a MAC address is in the bucket hostvlan_first_bucket(), or in one
 * of the HOSTVLAN_PROBE_MAX - 1 buckets after it (bucket 0 follows the last
 * one): the first slot that was free when the address was added. A key of 0
 * ends a search, because slots are filled in this order. With 60 % of the slots
 * in use, a search among a million addresses reads at most 20 buckets, and one
 * on average; a writer creates a larger file before two thirds are in use.
 *
 * Versions. Version 3 adds two things to the records of version 2: the services
 * that a MAC address may offer, and the other MAC addresses that its port may
 * send with. Version 4 adds prefixes of IP addresses. A writer creates a file
 * of the oldest version that its records allow, which older readers accept.
 * Older readers refuse a file of a newer version and continue to use the last
 * file that they accepted; a record of a newer version in it counts as damaged.
 *
 * Damage. A reader detects every single wrong bit in the octets that decide
 * about a frame, whatever the other octets are: hostvlan_key(),
 * hostvlan_value(), HOSTVLAN_RECORD_HEAD and hostvlan_sum() explain why. Other
 * damage is missed with a probability of 2^-30. A damaged entry is treated as
 * absent. During a search a reader compares keys: a key that differs in a
 * single bit from the key in question cannot be another address's key, so it is
 * this key, damaged.
 *
 * Consistency. Within one file, the key of a slot changes only once, from 0 to
 * a MAC address. So the value in a slot always belongs to that address. A
 * change is one aligned 64-bit store of a value. A record is written before the
 * value that points to it, and never changes. So a reader that loads key and
 * value with acquire semantics gets the old or the new LNIDs and never a
 * mixture. The writer's order is: record, value, key (of a new slot),
 * generation. A MAC address that is removed keeps its key, with the value
 * "none", and gets the same slot when it is added again.
 *
 * Growth. If a file is full of removed keys or old records, or several MAC
 * addresses change at once, the writer creates a new file: in the same folder,
 * synced, and renamed to the path. Then it sets "superseded" to 1 in the old
 * file. A reader that sees this opens the path again. It uses the old file
 * until it has checked all of the new one, and keeps the old file if the new
 * one is invalid. The writer never truncates a file.
 *
 * The header's checksum covers the members that never change in a file.
 * "counted" covers the writer's counters; readers need not check it. A reader
 * checks all slots and records when it opens a file, and checks those that it
 * uses at each use.
 */
#ifndef VMMNET_HOSTVLAN_H
#define VMMNET_HOSTVLAN_H

#if defined(__bpf__)
/* Clang's BPF target has no C library headers. */
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#else
#include <stdint.h>
#endif

#define HOSTVLAN_MAGIC          "VMMNLNID"      /* eight octets, no NUL */
#define HOSTVLAN_VERSION        4u              /* the newest version */
#define HOSTVLAN_VERSION_OLD    2u              /* oldest supported version */
#define HOSTVLAN_HEADER_SIZE    4096u
#define HOSTVLAN_CHECKED_SIZE   32u     /* octets that the checksum covers */

#define HOSTVLAN_BUCKETS_MAX    (1u << 22)      /* 1 .. */
#define HOSTVLAN_WORDS_MAX      (1u << 28)      /* 0 .. */
#define HOSTVLAN_SLOTS          4u      /* a bucket: one cache line */
#define HOSTVLAN_PROBE_MAX      32u     /* buckets read by a search, at most */

#define HOSTVLAN_LNID_GLOBAL    0u
#define HOSTVLAN_LNIDS_MAX      64u     /* for one MAC address; at least 1 */
#define HOSTVLAN_IP4_MAX        16u     /* addresses and prefixes */
#define HOSTVLAN_IP6_MAX        16u
#define HOSTVLAN_ALSO_MAX       31u     /* MAC addresses besides its own */

/* Rights of a MAC address: services that it may offer to other ports. */
#define HOSTVLAN_OFFER_ROUTER   1u      /* router advertisements (RFC 4861) */
#define HOSTVLAN_OFFER_DHCP     2u      /* messages of a DHCP server */

/*
 * The result for a frame, and the reason: section 3.5 of the paper. The tests
 * are made in this order, and the first that applies is the result, so two data
 * paths always agree on the reason.
 *
 *   send (frames of the guest)         receive (frames for the guest)
 *   MALFORMED  shorter than 14 octets  MALFORMED       as for send
 *   NO_TABLE   no table in force       NO_TABLE        as for send
 *   NO_PORT    the port has no MAC     NO_PORT         as for send, or the
 *              address                                 table has no LNID for it
 *   SPOOFED    the source is neither   UNKNOWN_SOURCE  the source is zero,
 *              the port's MAC address                  multicast or not in the
 *              nor one of the others                   table, and the frame is
 *              that the table has for                  not an IGMP or MLD query
 *              the port                                (group.h)
 *   L2_CONTROL to a switch, where this DAMAGED         the entry of the port or
 *              is forbidden (group.h)                  of the source is damaged
 *   QUERY      an IGMP or MLD query,   OTHER_TENANT    neither has the global
 *   MALFORMED  or possibly one, and                    LNID, and they have no
 *              the port does not have                  LNID in common
 *              the global LNID
 *   DAMAGED    where offers or senders
 *              are checked: their entry
 *              is damaged
 *   RA_GUARD, DHCP_GUARD, MALFORMED
 *              where offers are checked
 *              (offers.h)
 *   FORGED_ADDRESS, MALFORMED
 *              where senders are
 *              checked (sender.h,
 *              dhcp.h)
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
    /* These members never change in a file. */
    uint8_t magic[8];           /* HOSTVLAN_MAGIC */
    uint32_t version;           /* HOSTVLAN_VERSION_OLD .. _VERSION */
    uint32_t header_size;       /* HOSTVLAN_HEADER_SIZE */
    uint64_t file_size;         /* octets */
    uint32_t buckets;           /* 1 .. HOSTVLAN_BUCKETS_MAX, any number */
    uint32_t words;             /* 0 .. HOSTVLAN_WORDS_MAX */
    uint32_t checksum;          /* CRC-32 (as in zlib) of the above */
    uint8_t zero[28];

    /* A separate cache line, for the members that change. */
    uint32_t superseded;        /* 1: the path has a newer file; never reset */
    uint32_t macs;              /* MAC addresses with a value; informative */
    uint64_t generation;        /* incremented at the end of each change */
    uint32_t words_used;        /* in the record area; for the writer */
    uint32_t keys_used;         /* slots with a key; for the writer */
    uint32_t counted;           /* CRC-32 of macs to keys_used */
    uint8_t rest[HOSTVLAN_HEADER_SIZE - 92];    /* 0 */
};

struct hostvlan_slot {
    uint64_t key;               /* hostvlan_key(); 0: unused so far */
    uint64_t value;             /* hostvlan_value() */
};

struct hostvlan_bucket {
    struct hostvlan_slot slot[HOSTVLAN_SLOTS];
};

/*
 * A value: the kind in bits 62 and 63, a check in bits 32 to 61, and a number
 * in bits 0 to 31.
 */
#define HOSTVLAN_VALUE_NONE     0u      /* the address was removed; number 0 */
#define HOSTVLAN_VALUE_ONE      1u      /* number: the only LNID */
#define HOSTVLAN_VALUE_RECORD   2u      /* number: word offset of the record */
#define HOSTVLAN_VALUE_DAMAGED  3u      /* never in a file: a reader's result */

/*
 * A record, in words: the head, then the LNIDs (1 .. HOSTVLAN_LNIDS_MAX,
 * ascending, without duplicates), then a check of all that. IP addresses
 * follow, if there are any: first the IPv4 addresses (192.0.2.1 is 0xc0000201),
 * then the IPv6 addresses, four words each, most significant word first, then
 * the numbers of their host bits, if any of them is a prefix, then their check.
 * Other MAC addresses that the port may send with follow, if there
 * are any (1 .. HOSTVLAN_ALSO_MAX, ascending, without duplicates): two words
 * each, most significant word first, then their check. So a verdict never reads
 * IP addresses.
 *
 * The number of host bits is an octet for each address, in their order, four in
 * a word, the first in the least significant octet: 0 for a single address, 8
 * for 192.0.2.0/24, less than all bits. Host bits are 0 in the address. Octets
 * that are left over in the last word are 0.
 *
 * A check is the upper half of hostvlan_sum() over the value that points to the
 * record, the head, the LNIDs, and the words that the check covers.
 *
 * The head has three octets, and their exclusive or in the most significant
 * octet: two heads differ in at least two bits, and a head also differs in at
 * least two bits from 0. From bit 0 on, it contains: the number of LNIDs, plus
 * 64 if there are prefixes (7 bits, so that 64 LNIDs and prefixes are 0; older
 * readers know 1 to 64), HOSTVLAN_OFFER_ROUTER (1); the number of IPv4 addresses (5),
 * HOSTVLAN_OFFER_DHCP (1), the lower bits of the number of other MAC addresses
 * (2); the number of IPv6 addresses (5), the upper bits of the number of other
 * MAC addresses (3).
 */
#define HOSTVLAN_RECORD_LNIDS(head)     ((((head) - 1u) & 0x3fu) + 1u)
#define HOSTVLAN_RECORD_PREFIXES(head)  (((head) - 1u) >> 6 & 1u)
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
     (HOSTVLAN_IP4_MAX + HOSTVLAN_IP6_MAX) / 4u + 1u + \
     2u * HOSTVLAN_ALSO_MAX + 1u)

/**
 * hostvlan_sum: add a number to a checksum
 * @sum: 0, or the sum of the numbers before
 *
 * A wrong bit in a number changes the sum by 2^bit times a power of the factor,
 * whatever the numbers are. None of these products, up to the power
 * HOSTVLAN_RECORD_WORDS_MAX + 1, is closer to 0 than 2^34, modulo 2^64, so the
 * upper 30 bits of the sum change (tests/unit/test-hostvlan-damage.c).
 */
static inline uint64_t hostvlan_sum(uint64_t sum, uint64_t number)
{
    return (sum + number) * 0x9e3779b97f4a7c15ull;
}

/**
 * hostvlan_key: the key in a slot for a MAC address of 48 bits
 *
 * The upper 16 bits are the exclusive or of the three 16-bit parts of the
 * address, so each bit of the address changes one of these bits. So two keys
 * differ in at least two bits, and a key also differs in at least two bits from
 * 0.
 */
static inline uint64_t hostvlan_key(uint64_t mac)
{
    return mac | (mac ^ mac >> 16 ^ mac >> 32) << 48;
}

/** hostvlan_key_mac: the MAC address in a key. */
static inline uint64_t hostvlan_key_mac(uint64_t key)
{
    return key & 0xffffffffffffull;
}

/**
 * hostvlan_differ_in_one: Returns: 1 if two different keys differ in one bit
 * @differs: the exclusive or of the two keys
 */
static inline int hostvlan_differ_in_one(uint64_t differs)
{
    return (differs & (differs - 1)) == 0;
}

/**
 * hostvlan_value: build a value
 * @key: the key in the same slot
 * @kind: HOSTVLAN_VALUE_NONE, _ONE or _RECORD
 * @number: the LNID, or the offset in words
 *
 * The check is the upper 30 bits of the hostvlan_sum() of these three.
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

/** hostvlan_value_valid: does the check fit @key? A record is not checked. */
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
 * hostvlan_value_is_one: is it valid for @key, and HOSTVLAN_VALUE_ONE?
 *
 * The most common value, with the fewest steps that wait for @value.
 */
static inline int hostvlan_value_is_one(uint64_t key, uint64_t value)
{
    uint64_t sum = hostvlan_sum(hostvlan_sum(0, key) +
                                ((uint64_t)HOSTVLAN_VALUE_ONE << 32),
                                (uint32_t)value);

    return (value >> 32 ^ sum >> 34) == HOSTVLAN_VALUE_ONE << 30;
}

/**
 * hostvlan_record_head: build the head of a record
 * @prefixes: 1 if any of the addresses is a prefix, else 0
 * @offers: HOSTVLAN_OFFER_...
 *
 * The numbers must be in their ranges.
 */
static inline uint32_t hostvlan_record_head(uint32_t lnids, uint32_t ip4,
                                            uint32_t ip6, uint32_t prefixes,
                                            uint32_t offers, uint32_t also)
{
    return HOSTVLAN_RECORD_HEAD(((lnids + 64 * prefixes) & 0x7f) |
                                (offers & 1) << 7,
                                ip4 | (offers & 2) << 4 | (also & 3) << 6,
                                ip6 | also >> 2 << 5);
}

/** hostvlan_host_bits_words: words with the addresses' numbers of host bits */
static inline uint32_t hostvlan_host_bits_words(uint32_t head)
{
    uint32_t num = HOSTVLAN_RECORD_IP4(head) + HOSTVLAN_RECORD_IP6(head);

    return HOSTVLAN_RECORD_PREFIXES(head) ? (num + 3) / 4 : 0;
}

/** hostvlan_address_words: words of the IP addresses and their check; or 0 */
static inline uint32_t hostvlan_address_words(uint32_t head)
{
    uint32_t words = HOSTVLAN_RECORD_IP4(head) + 4 * HOSTVLAN_RECORD_IP6(head);

    return words ? words + hostvlan_host_bits_words(head) + 1 : 0;
}

/** hostvlan_within4: is @ip4 in the prefix @own? @host_bits: 0 .. 31 */
static inline int hostvlan_within4(uint32_t ip4, uint32_t own,
                                   uint32_t host_bits)
{
    return host_bits < 32 && (ip4 ^ own) >> host_bits == 0;
}

/**
 * hostvlan_within6: is an address in the prefix @own? @host_bits: 0 .. 127
 *
 * An address has four words, the most significant one first.
 */
static inline int hostvlan_within6(const uint32_t ip6[4], const uint32_t own[4],
                                   uint32_t host_bits)
{
    uint64_t upper = (uint64_t)(ip6[0] ^ own[0]) << 32 | (ip6[1] ^ own[1]);
    uint64_t lower = (uint64_t)(ip6[2] ^ own[2]) << 32 | (ip6[3] ^ own[3]);

    return host_bits < 64 ? (upper | lower >> host_bits) == 0 :
           host_bits < 128 && upper >> (host_bits - 64) == 0;
}

/** hostvlan_record_words: length including the head; 0: the head is invalid */
static inline uint32_t hostvlan_record_words(uint32_t head)
{
    uint32_t lnids = HOSTVLAN_RECORD_LNIDS(head);
    uint32_t also = HOSTVLAN_RECORD_ALSO(head);

    if (head != HOSTVLAN_RECORD_HEAD(head & 0xff, head >> 8 & 0xff,
                                     head >> 16 & 0xff) ||
        HOSTVLAN_RECORD_IP4(head) > HOSTVLAN_IP4_MAX ||
        HOSTVLAN_RECORD_IP6(head) > HOSTVLAN_IP6_MAX ||
        (HOSTVLAN_RECORD_PREFIXES(head) && !hostvlan_address_words(head))) {
        return 0;
    }
    return 1 + lnids + 1 + hostvlan_address_words(head) +
           (also ? 2 * also + 1 : 0);
}

/** hostvlan_mac: convert six octets in wire order to a number */
static inline uint64_t hostvlan_mac(const uint8_t octets[6])
{
    return (uint64_t)octets[0] << 40 | (uint64_t)octets[1] << 32 |
           (uint64_t)octets[2] << 24 | (uint64_t)octets[3] << 16 |
           (uint64_t)octets[4] << 8 | octets[5];
}

/** hostvlan_mac_valid: may it be in the table? Not 0, unicast, 48 bits */
static inline int hostvlan_mac_valid(uint64_t mac)
{
    return mac != 0 && mac >> 48 == 0 && (mac >> 40 & 1) == 0;
}

/** hostvlan_first_bucket: the bucket in which the search for @mac starts */
static inline uint32_t hostvlan_first_bucket(uint64_t mac, uint32_t buckets)
{
    /* The finalizer of MurmurHash3: each bit of @mac affects all bits of x. */
    uint64_t x = mac;

    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return (uint32_t)(((x >> 32) * buckets) >> 32);
}

#endif /* VMMNET_HOSTVLAN_H */
