/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CVSW's control frames: between the switch in a NIC and its controller
 *
 * This header is the whole format, version 1. It is compiled into QEMU
 * (hw/net/cvsw); control/vmmnet writes the same in Python.
 *
 * Theory of operation
 * ===================
 *
 * A NIC has no address and no connection of its own: its control messages are
 * Ethernet frames of the type CVSW_ETHERTYPE, which the virtual switch hands to
 * the controller as OpenFlow's PACKET_IN, and takes from it as PACKET_OUT (the
 * paper's section 4.1). One message is one frame:
 *
 *     Ethernet header   to the NIC, or from the NIC to CVSW_CONTROLLER_MAC
 *     struct cvsw_head
 *     payload           @length octets, at most CVSW_PAYLOAD_MAX
 *     tag               CVSW_TAG_LEN octets
 *
 * Padding behind the tag is ignored. Numbers are in network order, as in the
 * OpenFlow messages that payloads hold.
 *
 * NIC and controller share a key (32 octets or more, of the VM's own). Nothing
 * is believed that comes from the guest's side of the NIC, or whose tag is
 * wrong. The tag is the first half of HMAC-SHA-256 over Ethernet addresses,
 * type, head and payload, with a key that depends on the direction and on the
 * session:
 *
 *     base      HMAC(key, "vmmnet-cvsw-1" | mac)
 *     session   HMAC(base, "session" | nonce of the NIC | nonce of the
 *               controller)
 *     direction HMAC(base or session, "nic" or "controller"), by who sends
 *     secrets   HMAC(session, "secrets"), for AES-256-GCM in SET_SA
 *
 * They meet so:
 *
 *     controller                      NIC
 *     HELLO (its tag is 0: it says only that a controller is there) ->
 *                          <- REGISTER, under the base key: nonce of the NIC
 *     ACCEPT, under the session's key: both nonces ->
 *                                     from now on the session is open
 *     commands, @sequence 1, 2, 3, ... ->
 *                          <- ACK with the same @sequence, or ERROR
 *
 * A NIC registers when its link comes up, when it comes from another host, and
 * when a HELLO comes; again and again with growing intervals until a controller
 * accepts. Each REGISTER has a new nonce, so an ACCEPT of old is worth nothing;
 * the session that was open stays so until the new one is.
 *
 * Commands are carried out in the order of their numbers, each once. At most
 * CVSW_WINDOW of them are without an answer. One that comes again is answered
 * again and not carried out. One that comes too early is not answered: the
 * controller repeats what has no answer. A NIC keeps its
 * entries, keys and counters when sessions end: who accepts it reads them
 * (LIST_ENTRIES, LIST_GROUPS) and changes what should be otherwise. So it does
 * when it comes from another host.
 *
 * In a session a NIC tells of its own accord, in EVENTs that have numbers of
 * their own: OFPT_FLOW_REMOVED of flows that were made with
 * OFPFF_SEND_FLOW_REM, OFPT_PACKET_IN of frames that a flow outputs to the
 * controller. Nobody answers them; they may be lost.
 */
#ifndef VMMNET_CVSW_H
#define VMMNET_CVSW_H

#include <stdint.h>

/* IEEE 802's first local experimental EtherType. */
#define CVSW_ETHERTYPE          0x88b5
#define CVSW_MAGIC              0x43565357u     /* "CVSW" */
#define CVSW_VERSION            1

/* A NIC's frames go to this group address, 03:56:53:57:00:01. */
#define CVSW_CONTROLLER_MAC     { 0x03, 0x56, 0x53, 0x57, 0x00, 0x01 }
/* HELLO goes to this group address, 03:56:53:57:00:02, or to one NIC. */
#define CVSW_NICS_MAC           { 0x03, 0x56, 0x53, 0x57, 0x00, 0x02 }

#define CVSW_WINDOW             8
#define CVSW_TAG_LEN            16
#define CVSW_NONCE_LEN          16
#define CVSW_KEY_LEN_MIN        32
/* A frame of 1,500 octets behind its Ethernet header, at most. */
#define CVSW_PAYLOAD_MAX        (1500 - 32 - CVSW_TAG_LEN)

/* The paper's table 3, and behind it what we add. */
enum cvsw_type {
    CVSW_HELLO = 1,             /* to a NIC: no payload */
    CVSW_REGISTER = 2,          /* of a NIC: struct cvsw_register */
    /* To a NIC: OFPT_FLOW_MODs, and OFPT_GROUP_MODs, back to back. */
    CVSW_SET_ENTRY = 3,
    CVSW_DELETE_ENTRY = 4,      /* the same */
    CVSW_LIST_ENTRIES = 5,      /* to a NIC: struct cvsw_list */
    CVSW_SET_MTU = 6,           /* to a NIC: struct cvsw_set_mtu */
    CVSW_SET_OFFLOAD = 7,       /* to a NIC: struct cvsw_set_offload */
    CVSW_ACCEPT = 8,            /* to a NIC: struct cvsw_accept */
    CVSW_ACK = 9,               /* of a NIC: struct cvsw_ack, and an answer */
    CVSW_ERROR = 10,            /* of a NIC: struct cvsw_error, OFPT_ERROR */
    CVSW_EVENT = 11,            /* of a NIC: an OpenFlow message */
    CVSW_SET_SA = 12,           /* to a NIC: struct cvsw_set_sa */
    CVSW_DELETE_SA = 13,        /* to a NIC: struct cvsw_delete_sa */
    CVSW_LIST_GROUPS = 14,      /* to a NIC: struct cvsw_list */
};

struct cvsw_head {
    uint32_t magic;             /* CVSW_MAGIC */
    uint8_t version;            /* CVSW_VERSION */
    uint8_t type;               /* enum cvsw_type */
    uint16_t length;            /* octets of payload */
    uint64_t sequence;          /* of a command and its answer, of an EVENT */
    uint8_t mac[6];             /* the NIC's, as configured; 0 in HELLO */
    uint8_t reserved[10];       /* 0 */
} __attribute__((packed));

struct cvsw_register {
    uint8_t nonce[CVSW_NONCE_LEN];      /* new in each REGISTER */
    uint32_t entries_max;       /* flows that there is room for */
    uint32_t masks_max;
    uint32_t entries;           /* flows that are there */
    uint16_t mtu;               /* of the guest's packets; 0: nobody set one */
    /*
     * Groups that there is room for, with 16 buckets each in the mean. 0: it
     * can have none: LIST_GROUPS is UNKNOWN, OFPT_GROUP_MOD is OFPBRC_BAD_TYPE.
     */
    uint16_t groups_max;
} __attribute__((packed));

struct cvsw_accept {
    uint8_t nic[CVSW_NONCE_LEN];        /* of the last REGISTER */
    uint8_t controller[CVSW_NONCE_LEN];
} __attribute__((packed));

/*
 * Entries or groups. A group is told as the OFPT_GROUP_MOD that adds it, and
 * one that goes on to others behind those.
 */
struct cvsw_list {
    /* The first answer to want, from 0 on: entries as cvsw_ack counts them. */
    uint32_t from;
    uint8_t openflow;           /* version of the messages: 1 or 4; groups: 4 */
    uint8_t reserved[3];
} __attribute__((packed));

/* Told to the guest; it holds for what the guest sends by the wire. */
struct cvsw_set_mtu {
    uint16_t mtu;               /* octets of an IP packet, 68..65535 */
    uint16_t reserved;
} __attribute__((packed));

/*
 * What the guest takes from its network. On can be only what its driver has
 * asked for: UNABLE, and nothing is changed. What it may send is not touched.
 */
struct cvsw_set_offload {
    uint32_t on;                /* bits of CVSW_OFFLOAD_... that are to be on */
    uint32_t mask;              /* those to change */
} __attribute__((packed));

enum {
    CVSW_OFFLOAD_CSUM = 1 << 0,
    CVSW_OFFLOAD_TSO4 = 1 << 1,
    CVSW_OFFLOAD_TSO6 = 1 << 2,
    CVSW_OFFLOAD_ECN = 1 << 3,
    CVSW_OFFLOAD_UFO = 1 << 4,
    CVSW_OFFLOAD_USO4 = 1 << 5,
    CVSW_OFFLOAD_USO6 = 1 << 6,
};

/* Of SET_ENTRY and DELETE_ENTRY: how many messages were carried out. */
struct cvsw_ack {
    uint32_t done;              /* of LIST_...: those in this answer */
    uint32_t total;             /* of LIST_GROUPS: groups; else: entries */
} __attribute__((packed));

/* The fault of a command. */
enum cvsw_status {
    CVSW_STATUS_UNKNOWN = 1,    /* a type that this NIC does not have */
    CVSW_STATUS_LENGTH = 2,     /* a payload of another length */
    CVSW_STATUS_OPENFLOW = 3,   /* an OFPT_ERROR follows */
    CVSW_STATUS_VALUE = 4,      /* a value that cannot be */
    CVSW_STATUS_UNABLE = 5,     /* this NIC, or its guest, cannot do that */
    CVSW_STATUS_SECRET = 6,     /* the key's ciphertext is damaged */
    CVSW_STATUS_FULL = 7,       /* no room for one more */
};

struct cvsw_error {
    uint16_t status;            /* enum cvsw_status */
    uint16_t reserved;
    uint32_t done;              /* messages that were carried out before */
} __attribute__((packed));

#define CVSW_SA_KEY_MAX         64
#define CVSW_SA_SEALED_MAX      (CVSW_SA_KEY_MAX + 16)

/* A security association of ESP, or what it is replaced by. */
struct cvsw_set_sa {
    uint32_t sa;                /* the number that flows name it by, not 0 */
    uint32_t spi;
    uint8_t direction;          /* 1: what leaves, 2: what comes */
    uint8_t esn;                /* 0 or 1 */
    uint16_t window;            /* of what comes, packets */
    uint8_t algorithm[24];      /* "aes-gcm-128", ..., padded with zeros */
    uint8_t iv[12];             /* of what follows; never used twice */
    uint16_t sealed_len;
    uint16_t reserved;
    /*
     * The keying material under AES-256-GCM, its tag of 16 octets last. All
     * before it in this struct is authenticated with it.
     */
    uint8_t sealed[];
} __attribute__((packed));

struct cvsw_delete_sa {
    uint32_t sa;
} __attribute__((packed));

#endif /* VMMNET_CVSW_H */
