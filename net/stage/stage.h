/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netdev in the middle: it wraps another netdev and sees each frame
 *
 *        NIC <---> stage <---> backend (tap, socket, user, a stage, ...)
 *
 *     -netdev tap,id=net0,...  -netdev TYPE,id=st0,netdev=net0
 *     -device virtio-net-pci,netdev=st0
 *
 * A stage passes on everything that a NIC and its backend tell each other:
 * frames, virtio-net headers, offloads, back-pressure, link state, queues.  A
 * room that stands on it says what becomes of a frame, and no more.  stage.c
 * says how that works, docs/stage.md what a user sees of it.
 *
 * How a room is written
 * =====================
 *
 * 1. A name, a struct and a branch for -netdev: a hook for qapi/net.json, the
 *    table of net/net.c and net/clients.h, as
 *    qemu/patches/hooks/netdev-stage.patch does it for the type "stage".  This
 *    makes NET_CLIENT_DRIVER_TALLY and NetdevTallyOptions.
 * 2. A room net/tally, with meson.build, in qemu/weave and in
 *    qemu/patches/hooks/build-net-rooms.patch, behind "stage" there.
 * 3. Its face, net/tally/tally-netdev.c.  This one drops what the guest
 *    sends to a group, and counts it:
 *
 *        #include "qemu/osdep.h"
 *        #include "net/clients.h"
 *        #include "net/stage/stage.h"
 *
 *        typedef struct Tally {
 *            uint64_t to_group;
 *        } Tally;
 *
 *        static NetStageVerdict tally_from_nic(NetStage *stage,
 *                                              NetStageFrame *frame)
 *        {
 *            Tally *t = net_stage_opaque(stage);
 *            uint8_t dst[6];
 *
 *            if (net_stage_peek(frame, 0, dst, sizeof(dst)) < sizeof(dst) ||
 *                (dst[0] & 1)) {
 *                t->to_group++;
 *                return NET_STAGE_DROP;
 *            }
 *            return NET_STAGE_PASS;
 *        }
 *
 *        static const NetStageRoom tally_room = {
 *            .type = NET_CLIENT_DRIVER_TALLY,
 *            .from_nic = tally_from_nic,
 *            .free = g_free,
 *        };
 *
 *        int net_init_tally(const Netdev *netdev, const char *name,
 *                           NetClientState *peer, Error **errp)
 *        {
 *            const char *backend = netdev->u.tally.netdev;
 *            Tally *t = g_new0(Tally, 1);
 *
 *            return net_stage_new(&tally_room, name, backend, peer, t, errp) ?
 *                   0 : -1;
 *        }
 *
 * All functions are called with the BQL held, in the main loop or a vCPU's
 * thread, and the room's functions are called so.
 */

#ifndef VMMNET_NET_STAGE_H
#define VMMNET_NET_STAGE_H

#include "net/net.h"
#include "qemu/iov.h"

/*
 * Frames that may wait on one side of one queue: one that was passed on and
 * what net_stage_send() adds.  More are refused and counted.
 */
#define NET_STAGE_WAITING_MAX 256

/* The most a frame may be, its virtio-net header included, in octets. */
#define NET_STAGE_FRAME_MAX NET_BUFSIZE

/*
 * A NIC that takes no frame for so long is stuck, ms, or up to twice that: it
 * has no driver, or one that gives it no buffers.  A guest that is merely slow
 * is faster.
 */
#define NET_STAGE_STUCK_MS 250

/* Parts (iovcnt) of a frame that net_stage_send() puts a header before. */
#define NET_STAGE_PARTS_MAX 64

typedef struct NetStage NetStage;

/* The two sides of a stage, and whom a frame comes from or goes to. */
typedef enum NetStageSide {
    NET_STAGE_NIC,
    NET_STAGE_BACKEND,
    NET_STAGE_SIDES,
} NetStageSide;

typedef enum NetStageVerdict {
    /*
     * The frame goes on to the other side.  What goes on is what the
     * NetStageFrame has then: a room that sets @iov and @iovcnt to other
     * memory replaces the frame.  That memory must stay until the function
     * is called again.
     */
    NET_STAGE_PASS,
    /* The frame ends here, and its sender goes on as if it had gone. */
    NET_STAGE_DROP,
    /*
     * Not now: the frame stays in its sender's queue, and the sender is told
     * to stop.  After net_stage_release() the same frame is offered again; it
     * may be offered again before.  QEMU throws held frames away when the
     * machine stops or the NIC is reset, as it does with those that any
     * netdev has not taken.
     */
    NET_STAGE_HOLD,
} NetStageVerdict;

/* A frame on its way.  What @iov points to belongs to the sender. */
typedef struct NetStageFrame {
    /*
     * @vnet_len octets of virtio-net header, then the Ethernet frame
     * without FCS.  It is cut anywhere, also inside a header, and parts may be
     * empty.  Frames from the NIC are the guest's memory: it may change them
     * while they are read, so copy what you check (net_stage_peek()) and use
     * the copy.
     */
    const struct iovec *iov;
    int iovcnt;
    /*
     * 0, 10, 12 or 20, or 24 from a backend that has tunnels: the length of the
     * virtio-net header before the frame.  0 means that NIC and backend use
     * none.  Its fields are in the order of octets that the guest uses.
     */
    unsigned vnet_len;
    unsigned queue;             /* 0..net_stage_queues() - 1 */
    /*
     * For the room: the NIC is stuck (@hears_past_nic).  NET_STAGE_PASS and
     * NET_STAGE_HOLD do what NET_STAGE_DROP does then.
     */
    bool nic_is_stuck;
} NetStageFrame;

typedef NetStageVerdict NetStageFunc(NetStage *stage, NetStageFrame *frame);

/* What a room gives to the stage.  It must stay as long as QEMU runs. */
typedef struct NetStageRoom {
    NetClientDriver type;       /* the room's own */
    /*
     * A frame from the NIC or from the backend; NULL passes all.  It has at
     * least one octet behind its virtio-net header.  Announcements that QEMU
     * itself sends for the NIC come as frames from the NIC.
     * A function may call net_stage_send() and net_stage_release(); it must
     * not wait, and must not make or end netdevs.  None of the two is called
     * while one is, or net_stage_send(): a backend that answers at once waits.
     */
    NetStageFunc *from_nic;
    NetStageFunc *from_backend;
    /*
     * Frames between the room and the backend go also while the machine is
     * stopped, or waits for a migration.  The NIC gets none then: a frame for
     * it waits, and stops the others.
     */
    bool while_stopped;
    /*
     * The room is a station of its own on the wire: it hears and sends also
     * while the NIC's link is down, or the NIC is stuck.  Frames that the NIC
     * does not take stop the backend no longer than NET_STAGE_STUCK_MS then;
     * the room says what becomes of those that follow.
     */
    bool hears_past_nic;
    /*
     * May be NULL: the NIC was unplugged or plugged, the backend was deleted,
     * or a link changed.  Called from the main loop soon after it, once for
     * several changes; net_stage_present() and net_stage_link_up() have the
     * state.
     */
    void (*changed)(NetStage *stage);
    /* May be NULL: the stage ends; frees what net_stage_new() was given. */
    void (*free)(void *opaque);
} NetStageRoom;

/* What one side of a stage has seen, all queues together. */
typedef struct NetStageStats {
    uint64_t passed;            /* frames from here that went on */
    uint64_t dropped;           /* those for which the room said so */
    uint64_t held;              /* how often it said NET_STAGE_HOLD */
    uint64_t malformed;         /* nothing behind the header, or too long */
    uint64_t nobody;            /* nobody on the other side */
    uint64_t down;              /* somebody, whose link is down */
    uint64_t sent;              /* net_stage_send() to here */
    uint64_t refused;           /* those that were not sent */
    /*
     * Thrown away by QEMU, which keeps 10,000 of a netdev that does not wait
     * ("user", "vde"); the room has not seen them.
     */
    uint64_t overflow;
} NetStageStats;

/**
 * net_stage_new: put a stage in front of a netdev
 * @room: what decides about frames
 * @id: the ID of the new netdev, as net_init_*() gets it
 * @backend: the ID of the netdev to wrap, all of its queues
 * @peer: as net_init_*() gets it; not NULL with -net, which is refused
 * @opaque: the room's own, for net_stage_opaque(); from now on the stage's,
 *          which frees it by @room->free, also when this function fails
 * @errp: says which netdev is missing, is used by whom, or cannot be wrapped
 *
 * A netdev whose frames do not come through QEMU (vhost) is refused.  The stage
 * lives until netdev_del and, where a NIC uses it, until that is gone too.
 *
 * Returns: the stage, or NULL with @errp set
 */
NetStage *net_stage_new(const NetStageRoom *room, const char *id,
                        const char *backend, NetClientState *peer,
                        void *opaque, Error **errp);

/**
 * net_stage_delete: end a stage that no NIC uses any more
 *
 * For a NIC that has a stage of its own; others end by netdev_del.
 */
void net_stage_delete(NetStage *stage);

/**
 * net_stage_queue: what a NIC has to have as its peer
 * @queue: 0..net_stage_queues() - 1
 */
NetClientState *net_stage_queue(NetStage *stage, unsigned queue);

/* Returns: what the room gave to net_stage_new() */
void *net_stage_opaque(NetStage *stage);

/* Returns: the ID of the stage, as long as that lives */
const char *net_stage_id(NetStage *stage);

/* Returns: how many queues the backend had when the stage was made, 1..1024 */
unsigned net_stage_queues(NetStage *stage);

/**
 * net_stage_find: the stage with an ID
 * @id: as in -netdev
 * @room: the room it must be of, or NULL for any
 *
 * Returns: the stage, or NULL if there is none of that room
 */
NetStage *net_stage_find(const char *id, const NetStageRoom *room);

/**
 * net_stage_foreach: call a function for each stage
 * @room: the room they must be of, or NULL for any
 * @func: called in the order in which they were made; it must end no netdev
 * @data: handed to @func
 */
void net_stage_foreach(const NetStageRoom *room,
                       void (*func)(NetStage *stage, void *data), void *data);

/**
 * net_stage_nic_mac: the address the NIC was configured with
 * @stage: another stage may stand between it and the NIC
 * @mac: filled in, in the order of the wire
 *
 * The guest may use another one; this is the property "mac" of the device.
 *
 * Returns: false if there is no NIC
 */
bool net_stage_nic_mac(NetStage *stage, uint8_t mac[6]);

/* Returns: the netdev behind @stage that is no stage, or NULL if it is gone */
NetClientState *net_stage_backend(NetStage *stage);

/* Returns: whether somebody is on @side: a NIC is plugged, a backend there */
bool net_stage_present(NetStage *stage, NetStageSide side);

/* Returns: false if nobody is on @side, or its link is down */
bool net_stage_link_up(NetStage *stage, NetStageSide side);

/**
 * net_stage_vnet_len: the virtio-net header that frames of @queue have
 * @side: where they come from, or go to
 *
 * Returns: 0, 10, 12 or 20; 24 at the side of a backend that has tunnels
 */
unsigned net_stage_vnet_len(NetStage *stage, NetStageSide side, unsigned queue);

/**
 * net_stage_use_tunnels: have super-frames of UDP tunnels, if the backend can
 *
 * To be called before the stage has a NIC. From then on the room may send such
 * frames to the backend (PacketOffload has a tunnel). It gets none before
 * net_stage_take_tunnels(), and must never pass one on: the NIC knows none.
 *
 * Returns: false if the backend takes none: nothing has changed then
 */
bool net_stage_use_tunnels(NetStage *stage);

/**
 * net_stage_take_tunnels: let the backend send super-frames of UDP tunnels
 *
 * They are of the kinds that the NIC takes without a tunnel
 * (net_stage_offloads()). Without it, or net_stage_use_tunnels(), the backend
 * cuts them.
 */
void net_stage_take_tunnels(NetStage *stage);

/**
 * net_stage_offloads: what the NIC takes
 * @stage: its offloads are those that the NIC asked the backend for, without
 *         those that net_stage_deny() has taken away
 *
 * Returns: bits of NetStageOffload; 0 before the guest has asked for any
 */
unsigned net_stage_offloads(NetStage *stage);

/**
 * net_stage_asked: what the NIC has asked for, whatever is denied to it
 *
 * Returns: bits of NetStageOffload
 */
unsigned net_stage_asked(NetStage *stage);

/**
 * net_stage_deny: let the backend do without some of what the NIC takes
 * @offloads: bits of NetStageOffload; those of the last call count no more
 *
 * The NIC is not told: it gets frames that ask less of it.
 */
void net_stage_deny(NetStage *stage, unsigned offloads);

/* The NIC takes frames from the backend that ... */
typedef enum NetStageOffload {
    NET_STAGE_CSUM = 1 << 0,    /* have no checksum yet */
    NET_STAGE_TSO4 = 1 << 1,    /* are TCP segments for several packets */
    NET_STAGE_TSO6 = 1 << 2,
    NET_STAGE_ECN = 1 << 3,     /* such ones with CWR set */
    NET_STAGE_UFO = 1 << 4,     /* are UDP datagrams to be fragmented */
    NET_STAGE_USO4 = 1 << 5,    /* are UDP datagrams for several packets */
    NET_STAGE_USO6 = 1 << 6,
} NetStageOffload;

/* Returns: the counters of @side since the stage was made */
NetStageStats net_stage_stats(NetStage *stage, NetStageSide side);

/**
 * net_stage_peek: copy octets of a frame
 * @frame: as the room got it
 * @offset: from the first octet of the destination address
 * @buf: filled in
 * @len: how many
 *
 * Returns: how many there were, less than @len at the frame's end
 */
static inline size_t net_stage_peek(const NetStageFrame *frame, size_t offset,
                                    void *buf, size_t len)
{
    return iov_to_buf(frame->iov, frame->iovcnt, frame->vnet_len + offset,
                      buf, len);
}

/* Returns: the octets of a frame behind its virtio-net header */
static inline size_t net_stage_frame_size(const NetStageFrame *frame)
{
    return iov_size(frame->iov, frame->iovcnt) - frame->vnet_len;
}

/**
 * net_stage_send: send a frame of the room's own
 * @stage: its room is not asked about the frame, filters of the netdevs are
 * @to: whom to
 * @frame: with the virtio-net header of both (net_stage_vnet_len()), or
 *         with @vnet_len 0: then a header that asks for nothing is added where
 *         one is in use.  Queue 0 is always taken from; others only if the
 *         guest uses them.  The memory may be reused after the call.
 *
 * If @to can take no more now, the frame waits, behind what waits already.
 *
 * Returns: false if it was dropped and counted (@refused): nobody is there,
 * @frame is empty or longer than NET_STAGE_FRAME_MAX, has a header of another
 * length, or none and more than NET_STAGE_PARTS_MAX parts, or
 * NET_STAGE_WAITING_MAX frames wait.  What a link that is down swallows has
 * been sent.
 */
bool net_stage_send(NetStage *stage, NetStageSide to,
                    const NetStageFrame *frame);

/**
 * net_stage_release: take held frames again
 * @stage: its room has said NET_STAGE_HOLD, to either side, in any queue
 *
 * The frames are offered soon after, from the main loop.
 */
void net_stage_release(NetStage *stage);

/* --- for the hooks in QEMU ------------------------------------------------ */

/**
 * net_stage_refuse_failover: keep a NIC behind a stage from being a standby
 * @netdev: what the NIC uses, or NULL
 * @errp: says whose netdev it is
 *
 * The guest of a NIC with failover=on sends by another device, a primary, as
 * long as it has one: no frame would pass the stage, and nobody would know.
 *
 * Returns: true, with @errp set, if @netdev is a stage
 */
bool net_stage_refuse_failover(NetClientState *netdev, Error **errp);

/**
 * net_stage_below: the client whose peer is the real backend
 * @nc: a client whose peer may be a stage, or a NIC
 *
 * Returns: the last stage's client towards the backend; @nc if its peer is no
 * stage.  Its peer may be NULL.
 */
NetClientState *net_stage_below(NetClientState *nc);

/**
 * net_stage_print: what stands behind a netdev, for "info network"
 * @mon: where to
 * @nc: a netdev; nothing is printed if it is no stage
 */
void net_stage_print(Monitor *mon, NetClientState *nc);

#endif /* VMMNET_NET_STAGE_H */
