/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver of virtio-vmrpc for qtests, on PCI or on virtio-mmio
 *
 * libqos knows the buses and the virtio configuration; its rings, however, are
 * split only, never reuse a descriptor and know chains of a few descriptors.
 * The rings here are split or packed, with or without indirect tables and
 * event indices, and can be filled with anything, however wrong.
 */
#ifndef TESTS_QTEST_VMRPC_DRIVER_H
#define TESTS_QTEST_VMRPC_DRIVER_H

#include <netinet/in.h>

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/libqos-malloc.h"
#include "tests/qtest/libqos/pci.h"
#include "tests/qtest/libqos/virtio-mmio.h"
#include "tests/qtest/libqos/virtio-pci.h"
#include "vmmnet/vmrpc.h"

#define VMRPC_TEST_HANDLES      64      /* handles whose state is followed */
#define VMRPC_TEST_TIMEOUT_US   (180 * G_USEC_PER_SEC)

/* The machine's memory and buses, as the driver of one device sees them. */
typedef struct VmrpcGuest {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;               /* NULL: a microvm, with virtio-mmio */
} VmrpcGuest;

/* A part of a chain. */
typedef struct VmrpcSegment {
    uint64_t addr;
    uint32_t len;
    bool write;                 /* for the device to write */
} VmrpcSegment;

typedef struct VmrpcRing {
    QVirtQueuePCI pci;          /* for libqos' functions; .vq on any bus */
    VmrpcGuest *guest;
    bool packed;
    bool event_idx;
    uint16_t next;              /* next free descriptor */
    uint16_t avail_idx;         /* split */
    uint16_t added;             /* since the last kick */
    bool avail_wrap;            /* packed */
    bool used_wrap;             /* packed */
    uint16_t used_next;         /* packed: slot, split: index */
    uint16_t *chain_len;        /* packed: slots of the chain with this id */
} VmrpcRing;

/* The driver's state of a socket, like the guest module's. */
typedef struct VmrpcSockState {
    uint32_t ready;
    uint32_t ready_seq;
    uint32_t so_error;
} VmrpcSockState;

typedef struct VmrpcDriver {
    VmrpcGuest *guest;
    QVirtioDevice *vdev;        /* of one of the next two */
    QVirtioPCIDevice *dev;      /* NULL on virtio-mmio */
    QVirtioMMIODevice mmio;
    uint64_t features;          /* negotiated */
    bool indirect;              /* use indirect tables for requests */
    unsigned num_queues;        /* request queues */
    VmrpcRing *ring;            /* by queue number; [0] is for events */
    uint64_t event_buf;         /* one event a descriptor of ring[0] */
    uint32_t event_len;         /* what is posted for one event */
    unsigned ring_size;         /* 0: the device's maximum */
    uint32_t gen;               /* of all sockets */
    unsigned events_seen;
    VmrpcSockState sock[VMRPC_TEST_HANDLES];
} VmrpcDriver;

typedef struct VmrpcArgs {
    unsigned queue;             /* 0: the first request queue */
    uint16_t op;
    uint16_t flags;             /* VMRPC_REQ_* */
    uint32_t sock;
    uint32_t arg[4];
    const struct sockaddr_in *addr;
    uint32_t control_len;       /* of RECVMSG: @in begins with it */
    const void *out;
    size_t out_len;
    void *in;
    size_t in_len;
} VmrpcArgs;

typedef struct VmrpcReply {
    int error;
    uint32_t value;
    uint32_t ready;
    uint32_t so_error;
    uint32_t msg_flags;
    struct sockaddr_in addr;    /* sin_family 0: none */
    uint32_t used_len;
} VmrpcReply;

/* A request under way. */
typedef struct VmrpcPending {
    uint64_t in;
    uint16_t id;
} VmrpcPending;

VmrpcGuest *vmrpc_guest_new(QTestState *qts, bool pci);
void vmrpc_guest_free(VmrpcGuest *guest);

/*
 * Finds the device in PCI @slot, or the one that is number @slot of the
 * devices of this kind on virtio-mmio.  Maps it.  It stays reset.
 */
VmrpcDriver *vmrpc_driver_new(VmrpcGuest *guest, unsigned slot);
void vmrpc_driver_free(VmrpcDriver *d);

/* The guest continues in another QEMU: @qts has its memory and devices. */
void vmrpc_driver_moved(VmrpcDriver *d, QTestState *qts);

/*
 * Resets the device and takes it into service with the features it offers
 * but those in @unwanted.  @events buffers are posted.
 */
void vmrpc_driver_start(VmrpcDriver *d, uint64_t unwanted, unsigned events);

/* The same in two parts: between them nothing has been posted. */
void vmrpc_driver_setup(VmrpcDriver *d, uint64_t unwanted);
void vmrpc_driver_go(VmrpcDriver *d);

/* After a reset of the machine: the firmware's work, then as new. */
void vmrpc_driver_remap(VmrpcDriver *d);

/* Where the device's registers are in the guest's memory. */
uint64_t vmrpc_driver_registers(VmrpcDriver *d);

uint8_t vmrpc_driver_status(VmrpcDriver *d);

/* Waits until the device has reported itself broken. */
void vmrpc_driver_wait_broken(VmrpcDriver *d);

/* Puts a chain on a ring; returns its id.  Nothing is kicked. */
uint16_t vmrpc_ring_add(VmrpcRing *ring, const VmrpcSegment *seg, unsigned num,
                        bool indirect);

/* Kicks, if the device wants to be. */
void vmrpc_ring_kick(VmrpcRing *ring);

/* Takes a used chain; false if there is none. */
bool vmrpc_ring_get(VmrpcRing *ring, uint16_t *id, uint32_t *len);

/* The same, waiting. */
void vmrpc_ring_wait(VmrpcRing *ring, uint16_t *id, uint32_t *len);

void vmrpc_post_events(VmrpcDriver *d, unsigned num);

/* Takes an event, if there is one, and posts its buffer again. */
bool vmrpc_take_event(VmrpcDriver *d, struct vmrpc_event *event);

/* Waits until the socket is ready for one of @mask. */
void vmrpc_wait_ready(VmrpcDriver *d, uint32_t sock, uint32_t mask);

/* Waits for a pending error and takes it. */
uint32_t vmrpc_wait_error(VmrpcDriver *d, uint32_t sock);

/* Fills a header in guest byte order. */
void vmrpc_fill_header(const VmrpcDriver *d, const VmrpcArgs *args,
                       struct vmrpc_req *req);

/* Puts a request on its queue without kicking; then waits for it. */
void vmrpc_submit(VmrpcDriver *d, const VmrpcArgs *args,
                  VmrpcPending *pending);
VmrpcReply vmrpc_finish(VmrpcDriver *d, const VmrpcArgs *args,
                        const VmrpcPending *pending);

/* Submits, kicks, waits. */
VmrpcReply vmrpc_call(VmrpcDriver *d, const VmrpcArgs *args);

VmrpcRing *vmrpc_request_ring(VmrpcDriver *d, unsigned queue);

#endif /* TESTS_QTEST_VMRPC_DRIVER_H */
