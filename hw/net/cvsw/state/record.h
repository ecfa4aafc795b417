/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a state's records (state.h); only save.c and take.c use it */
#ifndef CVSW_STATE_RECORD_H
#define CVSW_STATE_RECORD_H

/* The type, in the first octet of a record. */
enum {
    RECORD_NIC = 1,
    RECORD_FLOW = 2,
    RECORD_SA = 3,
    RECORD_GROUP = 4,
};

/* RECORD_NIC */
enum {
    NIC_VERSION = 1,            /* 16 bits */
    NIC_MAC = 3,
    NIC_DROP_MISSES = 9,        /* 0, 1 */
    NIC_MTU = 10,               /* 16 bits */
    NIC_FLOWS = 12,             /* 32 bits */
    NIC_SAS = 16,               /* 32 bits */
    NIC_DENIED = 20,            /* 32 bits */
    NIC_LEN = 24,               /* of version 1 */
    NIC_GROUPS = 24,            /* 32 bits */
    NIC_GROUPS_LEN = 28,        /* of version 2 */
};

/* RECORD_GROUP */
enum {
    GROUP_AGE = 1,              /* 64 bits, ms */
    GROUP_PACKETS = 9,          /* 64 bits */
    GROUP_OCTETS = 17,          /* 64 bits */
    GROUP_MOD = 25,             /* OFPT_GROUP_MOD, then counters of buckets */
};

/* Counters of a bucket: packets, octets. */
#define BUCKET_LEN              16u

/* RECORD_FLOW */
enum {
    FLOW_FLAGS = 1,             /* of the bits below */
    FLOW_AGE = 2,               /* 64 bits, ms */
    FLOW_IDLE = 10,             /* 64 bits, ms */
    FLOW_PACKETS = 18,          /* 64 bits */
    FLOW_OCTETS = 26,           /* 64 bits */
    FLOW_MOD = 34,              /* OFPT_FLOW_MOD, up to the record's end */
};

enum {
    FLOW_FLAG_REMOVED = 1 << 0,
    FLOW_FLAG_OPENFLOW10 = 1 << 1,
};

/* RECORD_SA */
enum {
    SA_NUMBER = 1,              /* 32 bits */
    SA_SPI = 5,                 /* 32 bits */
    SA_DIRECTION = 9,           /* 1: outbound, 2: inbound */
    SA_ESN = 10,                /* 0, 1 */
    SA_WINDOW = 11,             /* 16 bits */
    SA_ALGORITHM = 13,          /* SA_ALGORITHM_LEN octets, padded with 0 */
    SA_EPOCH = 37,              /* 32 bits */
    SA_NEXT = 41,               /* 64 bits: outbound, next sequence number */
    SA_TOP = 49,                /* 64 bits: inbound, highest number seen */
    SA_SEEN = 57,               /* ESP_REPLAY_WORDS times 64 bits */
    SA_KEY = 185,               /* up to the record's end */
};

#define SA_ALGORITHM_LEN        24u
#define SA_LEN_MAX              (SA_KEY + ESP_KEY_MAX)

/* Upper bound of ages, in ms: about 4,000 years. */
#define AGE_MAX                 (UINT64_C(1) << 47)

#endif /* CVSW_STATE_RECORD_H */
