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
 * room built on a stage only decides what happens to each frame.  stage.c
 * explains how a stage works, docs/stage.md what users see of it.
 *
 * How a room is written
 * =====================
 *
 * 1. A name, a struct and a branch for -netdev: a hook for qapi/net.json, the
 *    table of net/net.c and net/clients.h, as
 *    qemu/patches/hooks/netdev-stage.patch does it for the type "stage".  This
 *    makes NET_CLIENT_DRIVER_TALLY and NetdevTallyOptions.
 * 2. A room net/tally in qemu/weave; its cores, if it has any, in a meson.build
 *    and in the list of rooms of ours, its face in qemu/faces/meson.build.
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
 *            if (!net_stage_new(&tally_room, name, backend, peer, t, errp)) {
 *                g_free(t);
 *                return -1;
 *            }
 *            return 0;
 *        }
 *
 * All functions must be called with the BQL held, in the main loop or a vCPU
 * thread.  The room's functions are called in the same way.
 */

#ifndef VMMNET_NET_STAGE_H
#define VMMNET_NET_STAGE_H

#include "net/net.h"
#include "qemu/iov.h"

/*
 * Upper bound of frames that wait on one side of one queue: one frame that was
 * passed on, and the frames of net_stage_send().  Further frames of
 * net_stage_send() are refused and counted.
 */
#define NET_STAGE_WAITING_MAX 256

/* Maximum length of a frame with its virtio-net header, in octets. */
#define NET_STAGE_FRAME_MAX NET_BUFSIZE

/*
 * A NIC that has taken no frame for this time, in ms, is stuck; the detection
 * takes up to twice that time.  A stuck NIC has no driver, or a driver that
 * provides no buffers.  A guest that is only slow takes a frame sooner.
 */
#define NET_STAGE_STUCK_MS 250

/* Upper bound of iovcnt for a frame that net_stage_send() adds a header to. */
#define NET_STAGE_PARTS_MAX 64

typedef struct NetStage NetStage;

/* The two sides of a stage: the source or the destination of a frame. */
typedef enum NetStageSide {
    NET_STAGE_NIC,
    NET_STAGE_BACKEND,
    NET_STAGE_SIDES,
} NetStageSide;

typedef enum NetStageVerdict {
    /*
     * Send the frame to the other side, with the contents that the
     * NetStageFrame has at return: a room may replace the frame by setting @iov
     * and @iovcnt to other memory.  That memory must stay valid until the
     * function is called again.
     */
    NET_STAGE_PASS,
    /* Discard the frame.  The sender sees it as sent. */
    NET_STAGE_DROP,
    /*
     * Keep the frame in the sender's queue, and make the sender stop.  After
     * net_stage_release() the room gets the same frame again; it may also get
     * it again earlier.  QEMU drops held frames when the machine stops or the
     * NIC is reset, as it does with frames that any other netdev has not
     * accepted.
     */
    NET_STAGE_HOLD,
} NetStageVerdict;

/* A frame in transit.  The memory at @iov belongs to the sender. */
typedef struct NetStageFrame {
    /*
     * @vnet_len octets of virtio-net header, then the Ethernet frame without
     * FCS.  Parts may end anywhere, also inside a header, and may be empty.  A
     * frame from the NIC is in guest memory, and the guest may change it at any
     * time: copy the octets that you check (net_stage_peek()), and use the
     * copy.
     */
    const struct iovec *iov;
    int iovcnt;
    /*
     * Length of the virtio-net header before the frame: 0, 10, 12 or 20, or 24
     * from a backend with tunnel offloads.  0 means that NIC and backend use no
     * header.  The header's fields have the guest's byte order.
     */
    unsigned vnet_len;
    unsigned queue;             /* 0..net_stage_queues() - 1 */
    /*
     * Input for the room: the NIC is stuck (@hears_past_nic).  The verdicts
     * NET_STAGE_PASS and NET_STAGE_HOLD then act as NET_STAGE_DROP.
     */
    bool nic_is_stuck;
} NetStageFrame;

typedef NetStageVerdict NetStageFunc(NetStage *stage, NetStageFrame *frame);

/* The room's part of a stage.  It must exist as long as QEMU runs. */
typedef struct NetStageRoom {
    NetClientDriver type;       /* the room's own */
    /*
     * Called for each frame from the NIC or from the backend; NULL passes all
     * frames.  A frame has at least one octet after its virtio-net header.
     * Announcements that QEMU itself sends for the NIC arrive as frames from
     * the NIC.
     *
     * A function may call net_stage_send() and net_stage_release().  It must
     * not wait, and must not create or delete netdevs.  The stage does not call
     * these functions while one of them or net_stage_send() runs: an answer
     * that the backend sends at once is queued.
     */
    NetStageFunc *from_nic;
    NetStageFunc *from_backend;
    /*
     * Frames between the room and the backend also pass while the machine is
     * stopped or waits for a migration.  The NIC gets none during that time: a
     * frame for the NIC is queued and stops the frames after it.
     */
    bool while_stopped;
    /*
     * The room is a station of its own on the wire: it receives and sends also
     * while the NIC's link is down or the NIC is stuck.  Frames that the NIC
     * does not take then stop the backend for NET_STAGE_STUCK_MS at most;
     * afterwards the room decides what happens to each frame.
     */
    bool hears_past_nic;
    /*
     * Called when the NIC was plugged or unplugged, the backend was deleted, or
     * a link state changed; may be NULL.  The call comes from the main loop
     * soon after the change, once for several changes.  net_stage_present() and
     * net_stage_link_up() return the new state.
     */
    void (*changed)(NetStage *stage);
    /*
     * The room ends: frees @opaque of net_stage_new(); may be NULL.  netdev_del
     * calls it before it returns, so that another netdev can have the ID and
     * all that belongs to it (a section of the migration stream, keys).
     */
    void (*free)(void *opaque);
} NetStageRoom;

/* Counters of one side of a stage, sums over all queues. */
typedef struct NetStageStats {
    uint64_t passed;            /* frames from this side that were passed on */
    uint64_t dropped;           /* frames from this side with verdict DROP */
    uint64_t held;              /* how often the verdict was HOLD */
    uint64_t malformed;         /* nothing after the header, or too long */
    uint64_t nobody;            /* no peer on the other side */
    uint64_t down;              /* the other side's link was down */
    /*
     * Frames, also of net_stage_send(), that the backend could not send: its
     * tap is down, for example.  Of the NIC's side.
     */
    uint64_t failed;
    uint64_t sent;              /* frames of net_stage_send() to this side */
    uint64_t refused;           /* frames that net_stage_send() refused */
    /*
     * Dropped by QEMU before the room saw them: QEMU queues up to 10,000 frames
     * of a netdev that cannot wait ("user", "vde").
     */
    uint64_t overflow;
} NetStageStats;

/**
 * net_stage_new: put a stage in front of a netdev
 * @room: the room's functions
 * @id: the ID of the new netdev, as net_init_*() gets it
 * @backend: the ID of the netdev to wrap, all of its queues
 * @peer: the argument of net_init_*(); not NULL with -net, which is refused
 * @opaque: the room's data, returned by net_stage_opaque(); the stage owns it
 *          and frees it with @room->free; the caller keeps it if this function
 *          fails
 * @errp: names the netdev that is missing, in use (and its user), or unsuitable
 *
 * A netdev whose frames do not pass through QEMU (vhost) is refused.  The room
 * exists until netdev_del; if a NIC uses the stage, the stage exists without it
 * until the NIC is deleted, and drops all frames.
 *
 * Returns: the stage, or NULL with @errp set
 */
NetStage *net_stage_new(const NetStageRoom *room, const char *id,
                        const char *backend, NetClientState *peer,
                        void *opaque, Error **errp);

/**
 * net_stage_delete: delete a stage that no NIC uses any more
 *
 * For a NIC that creates its own stage; netdev_del deletes the others.
 */
void net_stage_delete(NetStage *stage);

/**
 * net_stage_queue: the client that a NIC's queue must have as its peer
 * @queue: 0..net_stage_queues() - 1
 */
NetClientState *net_stage_queue(NetStage *stage, unsigned queue);

/* Returns: @opaque of net_stage_new() */
void *net_stage_opaque(NetStage *stage);

/* Returns: the ID of the stage, valid as long as the stage exists */
const char *net_stage_id(NetStage *stage);

/* Returns: number of queues of the backend at net_stage_new(), 1..1024 */
unsigned net_stage_queues(NetStage *stage);

/**
 * net_stage_find: the stage with an ID
 * @id: as in -netdev
 * @room: only stages of this room; NULL: of any
 *
 * Returns: the stage, or NULL if no such stage exists
 */
NetStage *net_stage_find(const char *id, const NetStageRoom *room);

/**
 * net_stage_foreach: call a function for each stage
 * @room: only stages of this room; NULL: of any
 * @func: called for the stages in the order of their creation; must not delete
 *        a netdev
 * @data: argument of @func
 */
void net_stage_foreach(const NetStageRoom *room,
                       void (*func)(NetStage *stage, void *data), void *data);

/**
 * net_stage_nic_mac: the address the NIC was configured with
 * @stage: there may be other stages between it and the NIC
 * @mac: filled in, in network byte order
 *
 * This is the property "mac" of the device; the guest may use another address.
 *
 * Returns: false if there is no NIC
 */
bool net_stage_nic_mac(NetStage *stage, uint8_t mac[6]);

/* Returns: the netdev at the end of the chain of stages; NULL if it is gone */
NetClientState *net_stage_backend(NetStage *stage);

/* Returns: true if @side has a peer: a plugged NIC, or the backend */
bool net_stage_present(NetStage *stage, NetStageSide side);

/* Returns: false if @side has no peer, or the peer's link is down */
bool net_stage_link_up(NetStage *stage, NetStageSide side);

/**
 * net_stage_vnet_len: the length of the virtio-net header in frames of @queue
 * @side: source or destination of the frames
 *
 * Returns: 0, 10, 12 or 20; 24 for a backend with tunnel offloads
 */
unsigned net_stage_vnet_len(NetStage *stage, NetStageSide side, unsigned queue);

/**
 * net_stage_use_tunnels: enable tunnel offloads if the backend has them
 *
 * Call it before the stage has a NIC.  After it, the room may send super-frames
 * in UDP tunnels to the backend (PacketOffload has a tunnel).  The room
 * receives none before net_stage_take_tunnels(), and must never pass one to the
 * NIC, which does not know them.
 *
 * Returns: false, and nothing is changed, if the backend does not take them
 */
bool net_stage_use_tunnels(NetStage *stage);

/**
 * net_stage_take_tunnels: let the backend send super-frames in UDP tunnels
 *
 * The backend sends the kinds that the NIC accepts without a tunnel
 * (net_stage_offloads()).  Without this call, or without
 * net_stage_use_tunnels(), the backend segments them.
 */
void net_stage_take_tunnels(NetStage *stage);

/**
 * net_stage_offloads: the offloads in effect: what the NIC has asked for,
 * except for what net_stage_deny() denies
 *
 * Returns: bits of NetStageOffload; 0 until the guest asks for some
 */
unsigned net_stage_offloads(NetStage *stage);

/**
 * net_stage_asked: the offloads that the NIC has asked for, also denied ones
 *
 * Returns: bits of NetStageOffload
 */
unsigned net_stage_asked(NetStage *stage);

/**
 * net_stage_deny: keep the backend from using some of the NIC's offloads
 * @offloads: bits of NetStageOffload; replaces those of the previous call
 *
 * The NIC is not informed.  It receives frames that need fewer offloads.
 */
void net_stage_deny(NetStage *stage, unsigned offloads);

/* The NIC accepts these frames from the backend: */
typedef enum NetStageOffload {
    NET_STAGE_CSUM = 1 << 0,    /* without a complete checksum */
    NET_STAGE_TSO4 = 1 << 1,    /* TCP super-frames */
    NET_STAGE_TSO6 = 1 << 2,
    NET_STAGE_ECN = 1 << 3,     /* TCP super-frames with CWR set */
    NET_STAGE_UFO = 1 << 4,     /* UDP datagrams to be fragmented */
    NET_STAGE_USO4 = 1 << 5,    /* UDP super-frames */
    NET_STAGE_USO6 = 1 << 6,
} NetStageOffload;

/* Returns: the counters of @side since net_stage_new() */
NetStageStats net_stage_stats(NetStage *stage, NetStageSide side);

/**
 * net_stage_peek: copy octets of a frame
 * @frame: the frame that the room's function got
 * @offset: from the first octet of the destination address
 * @buf: filled in
 * @len: octets to copy
 *
 * Returns: octets copied; less than @len at the frame's end
 */
static inline size_t net_stage_peek(const NetStageFrame *frame, size_t offset,
                                    void *buf, size_t len)
{
    return iov_to_buf(frame->iov, frame->iovcnt, frame->vnet_len + offset,
                      buf, len);
}

/* Returns: the length of a frame without its virtio-net header */
static inline size_t net_stage_frame_size(const NetStageFrame *frame)
{
    return iov_size(frame->iov, frame->iovcnt) - frame->vnet_len;
}

/**
 * net_stage_send: send a frame that the room has made
 * @stage: its room does not see the frame; the netdevs' filters do
 * @to: the destination
 * @frame: either with a virtio-net header of the length that the destination
 *         uses (net_stage_vnet_len()), or with @vnet_len 0: then a header
 *         without any request is added if the destination uses headers.  A NIC
 *         always reads queue 0, and the others only if the guest uses them.
 *         The memory may be reused after the call.
 *
 * If @to cannot receive at present, the frame is queued after the frames that
 * wait there.
 *
 * Returns: false if the frame was dropped and counted (@refused): @to has no
 * peer; @frame is empty or longer than NET_STAGE_FRAME_MAX; its header has
 * another length; it has no header and more than NET_STAGE_PARTS_MAX parts; or
 * NET_STAGE_WAITING_MAX frames wait.  A frame to a link that is down counts as
 * sent.
 */
bool net_stage_send(NetStage *stage, NetStageSide to,
                    const NetStageFrame *frame);

/**
 * net_stage_release: make the stage offer held frames again
 * @stage: its room has returned NET_STAGE_HOLD, for either side, in any queue
 *
 * The main loop offers the frames soon after the call.
 */
void net_stage_release(NetStage *stage);

/* --- for the hooks in QEMU ------------------------------------------------ */

/**
 * net_stage_refuse_failover: refuse failover=on for a NIC with a stage
 * @netdev: the NIC's peer, or NULL
 * @errp: names the stage
 *
 * The guest of a NIC with failover=on sends through another device, the
 * primary, while it has one.  Its frames would bypass the stage without any
 * notice.
 *
 * Returns: true, with @errp set, if @netdev is a stage
 */
bool net_stage_refuse_failover(NetClientState *netdev, Error **errp);

/**
 * net_stage_below: find the client whose peer is the real backend
 * @nc: a client whose peer may be a stage, or a NIC
 *
 * Returns: the client of the last stage towards the backend; @nc if its peer is
 * not a stage.  The peer of the result may be NULL.
 */
NetClientState *net_stage_below(NetClientState *nc);

/**
 * net_stage_print: print the chain behind a netdev, for "info network"
 * @mon: the monitor
 * @nc: a netdev; if it is not a stage, nothing is printed
 */
void net_stage_print(Monitor *mon, NetClientState *nc);

#endif /* VMMNET_NET_STAGE_H */
