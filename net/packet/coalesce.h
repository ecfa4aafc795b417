/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Make super-frames of frames that come one after the other (GRO)
 *
 * The inverse of segment.h: packet_segments_next() makes of a super-frame the
 * frames that it was made of. Nothing is allocated, and nothing is held but
 * what the receiver takes.
 */
#ifndef NET_PACKET_COALESCE_H
#define NET_PACKET_COALESCE_H

#include "net/packet/segment.h"

/* Flows that are held at the same time. */
#define PACKET_COALESCE_FLOWS   4u
/* The longest frame: what a virtio-net driver has room for (65562 octets). */
#define PACKET_COALESCE_MAX     65550u
/* Octets before a held frame where its receiver may put a header. */
#define PACKET_COALESCE_ROOM    32u
/* Datagrams in a super-frame, as Linux has it. */
#define PACKET_COALESCE_DATAGRAMS_MAX 64u

/* Kinds of super-frames that the receiver takes. */
enum {
    PACKET_COALESCE_TCP4 = 1 << 0,
    PACKET_COALESCE_TCP6 = 1 << 1,
    PACKET_COALESCE_ECN = 1 << 2,       /* TCP with CWR, if that */
    PACKET_COALESCE_UDP4 = 1 << 3,
    PACKET_COALESCE_UDP6 = 1 << 4,
};

/*
 * A frame that was held: @len octets at @frame, with PACKET_COALESCE_ROOM
 * octets before it that may be written. It is gone after the call.
 */
typedef void PacketCoalesced(void *opaque, uint8_t *frame, size_t len,
                             const PacketOffload *offload);

/* Private. */
typedef struct PacketHeld {
    unsigned packets;           /* 0: the entry is free */
    uint64_t since;             /* which is older */
    PacketOffload offload;      /* of the first packet */
    bool is_ip4, is_tcp;
    size_t l3, l4, head_len, len;
    size_t size;                /* of the first packet's payload */
    uint8_t buf[PACKET_COALESCE_ROOM + PACKET_COALESCE_MAX];
} PacketHeld;

typedef struct PacketCoalesce {
    PacketCoalesced *emit;
    void *opaque;
    unsigned held;              /* flows of which something is held */
    uint64_t clock;
    uint64_t coalesced;         /* packets that were emitted with others */
    PacketHeld flow[PACKET_COALESCE_FLOWS];
} PacketCoalesce;

/**
 * packet_coalesce_init: begin with nothing
 * @c: of zeros
 * @emit: called by packet_coalesce_take() and packet_coalesce_flush()
 */
void packet_coalesce_init(PacketCoalesce *c, PacketCoalesced *emit,
                          void *opaque);

/**
 * packet_coalesce_take: a frame on its way to the receiver
 * @takes: PACKET_COALESCE_..., what the receiver takes now
 *
 * Frames that it must not overtake are emitted first.
 *
 * Returns: true if the frame is held, or was emitted; false if the caller has
 * to send it now, as it is
 */
bool packet_coalesce_take(PacketCoalesce *c, unsigned takes,
                          const struct iovec *iov, int iovcnt,
                          const PacketOffload *offload);

/** packet_coalesce_flush: emit all that is held, what came first first */
void packet_coalesce_flush(PacketCoalesce *c);

/**
 * packet_coalesce_discard: forget all that is held
 *
 * Returns: how many packets that was
 */
unsigned packet_coalesce_discard(PacketCoalesce *c);

#endif /* NET_PACKET_COALESCE_H */
