/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coalesces consecutive frames into super-frames (GRO)
 *
 * This is the inverse of segment.h: packet_segments_next() turns a super-frame
 * into the original frames again. Nothing is allocated, and only kinds of
 * packets that the receiver accepts are held.
 */
#ifndef NET_PACKET_COALESCE_H
#define NET_PACKET_COALESCE_H

#include "net/packet/segment.h"

/* Maximum number of flows that are held. */
#define PACKET_COALESCE_FLOWS   4u
/* Maximum length of a frame; virtio-net drivers have space for 65562 octets. */
#define PACKET_COALESCE_MAX     65550u
/* Octets before a held frame, for a header of its receiver. */
#define PACKET_COALESCE_ROOM    32u
/* Maximum number of datagrams in a super-frame, as in Linux. */
#define PACKET_COALESCE_DATAGRAMS_MAX 64u

/* Kinds of super-frames that the receiver accepts. */
enum {
    PACKET_COALESCE_TCP4 = 1 << 0,
    PACKET_COALESCE_TCP6 = 1 << 1,
    PACKET_COALESCE_ECN = 1 << 2,       /* TCP with CWR, with the above */
    PACKET_COALESCE_UDP4 = 1 << 3,
    PACKET_COALESCE_UDP6 = 1 << 4,
};

/*
 * Called for a frame that was held: @len octets at @frame, with
 * PACKET_COALESCE_ROOM writable octets before them. The memory is invalid after
 * the call.
 */
typedef void PacketCoalesced(void *opaque, uint8_t *frame, size_t len,
                             const PacketOffload *offload);

/* Private. */
typedef struct PacketHeld {
    unsigned packets;           /* 0: the entry is unused */
    uint64_t since;             /* age of the entry, for comparison */
    PacketOffload offload;      /* of the first packet */
    bool is_ip4, is_tcp;
    size_t l3, l4, head_len, len;
    size_t size;                /* payload length of the first packet */
    uint8_t buf[PACKET_COALESCE_ROOM + PACKET_COALESCE_MAX];
} PacketHeld;

typedef struct PacketCoalesce {
    PacketCoalesced *emit;
    void *opaque;
    unsigned held;              /* number of flows with held packets */
    uint64_t clock;
    uint64_t coalesced;         /* packets that were emitted with others */
    PacketHeld flow[PACKET_COALESCE_FLOWS];
} PacketCoalesce;

/**
 * packet_coalesce_init: initialize
 * @c: zeroed
 * @emit: called by packet_coalesce_take() and packet_coalesce_flush()
 */
void packet_coalesce_init(PacketCoalesce *c, PacketCoalesced *emit,
                          void *opaque);

/**
 * packet_coalesce_take: process a frame for the receiver
 * @takes: PACKET_COALESCE_..., the kinds that the receiver accepts at present
 *
 * Held frames that must stay in front of this one are emitted first.
 *
 * Returns: true if the frame is held, or was emitted; false if the caller must
 * send it now, unchanged
 */
bool packet_coalesce_take(PacketCoalesce *c, unsigned takes,
                          const struct iovec *iov, int iovcnt,
                          const PacketOffload *offload);

/** packet_coalesce_flush: emit everything that is held, in order of arrival */
void packet_coalesce_flush(PacketCoalesce *c);

/**
 * packet_coalesce_discard: drop everything that is held
 *
 * Returns: number of packets
 */
unsigned packet_coalesce_discard(PacketCoalesce *c);

#endif /* NET_PACKET_COALESCE_H */
