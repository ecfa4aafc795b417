/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of a zone image, version 1: docs/dns-image.md defines them
 *
 * All integers are little-endian.  Readers and the compiler use offsets and
 * get_le16() and the like, so that a file means the same on every architecture.
 */
#ifndef NET_DNS_ZONE_FORMAT_H
#define NET_DNS_ZONE_FORMAT_H

#include <string.h>

#include "base/octets.h"

#define ZONE_VERSION            1
#define ZONE_PAGE               4096u
#define ZONE_PAGE_SHIFT         12
#define ZONE_MAGIC              "\x89VZI\r\n\x1a\n"
#define ZONE_MAGIC_LEN          8

/* Offsets in the header page */
enum {
    ZONE_H_VERSION = 8,
    ZONE_H_CHECKSUM = 12,
    ZONE_H_FILE_LEN = 16,
    ZONE_H_IDENTITY = 24,
    ZONE_H_MADE = 32,
    ZONE_H_SERIAL = 40,
    ZONE_H_CLASS = 44,
    ZONE_H_LABELS = 46,
    ZONE_H_ORIGIN_LEN = 47,
    ZONE_H_NODES = 48,
    ZONE_H_RRSETS = 56,
    ZONE_H_RECORDS = 64,
    ZONE_H_SEED = 72,
    ZONE_H_APEX = 80,
    ZONE_H_FLAGS = 84,
    ZONE_H_BUCKETS = 88,
    ZONE_H_ORIGIN = 96,
    ZONE_H_SECTIONS = 352,
};

enum {
    ZONE_HAS_NSEC = 1,
    ZONE_HAS_NSEC3 = 2,
    ZONE_IS_DELTA = 4,
};

typedef enum ZoneSection {
    ZONE_NODES,
    ZONE_HASH,
    ZONE_ORDER,
    ZONE_NSEC3,
    ZONE_SUMS,
    ZONE_SECTIONS,
} ZoneSection;

/* Offsets in an entry of the table of sections */
enum {
    ZONE_S_OFFSET = 0,
    ZONE_S_LEN = 8,
    ZONE_S_CHECKSUM = 16,
    ZONE_S_SIZE = 24,
};

/* Offsets in a node, and its flags */
enum {
    ZONE_N_LEN = 0,
    ZONE_N_FLAGS = 4,
    ZONE_N_NAME_LEN = 5,
    ZONE_N_LABELS = 6,
    ZONE_N_RRSETS = 7,
    ZONE_N_NAME = 8,
    ZONE_NODE_ALIGN = 8,        /* of nodes and of their length */
};

enum {
    ZONE_NODE_CUT = 1,
    ZONE_NODE_DNAME = 2,
    ZONE_NODE_WILDCARD = 4,
    ZONE_NODE_NSEC = 8,
    ZONE_NODE_NSEC3 = 16,
    ZONE_NODE_GONE = 32,
};

/* Offsets in an RRset, and sizes of its parts */
enum {
    ZONE_R_TYPE = 0,
    ZONE_R_RECORDS = 2,
    ZONE_R_SIGS = 4,
    ZONE_R_TARGETS = 6,
    ZONE_R_LEN = 8,
    ZONE_R_SIGS_LEN = 12,
    ZONE_R_SIZE = 16,
    ZONE_RRSET_ALIGN = 4,       /* of RRsets within a node */
};

enum {
    ZONE_T_REF = 0,
    ZONE_T_AT = 4,
    ZONE_T_FLAGS = 6,
    ZONE_T_SIZE = 8,
};

enum {
    ZONE_TARGET_GLUE = 1,
};

/* A bucket of the hash, and the reach: how far a name may be from its bucket */
enum {
    ZONE_B_REFS = 0,
    ZONE_B_TAGS = 40,
    ZONE_B_SPILLS = 60,
    ZONE_B_SIZE = 64,
    ZONE_B_WAYS = 10,
    ZONE_B_REACH = 8,
};

/* references are in units of 8 octets */
#define ZONE_REF_SHIFT          3
#define ZONE_ORDER_EVERY        16      /* nodes */

#endif /* NET_DNS_ZONE_FORMAT_H */
