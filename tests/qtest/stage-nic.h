/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drivers of two NICs for qtests
 *
 * virtio-net with any virtio-net header and several queues, and e1000, which
 * has neither.  A driver has NIC_SLOTS buffers a ring and uses them round and
 * round; buffers to receive into are posted by the test, so that it can starve
 * the NIC.
 */
#ifndef TESTS_QTEST_STAGE_NIC_H
#define TESTS_QTEST_STAGE_NIC_H

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/libqos-malloc.h"
#include "tests/qtest/libqos/pci.h"

#define NIC_SLOTS       64
#define NIC_SLOT_SIZE   16384
#define NIC_PCI_SLOT    4
#define NIC_VNET_MAX    20
#define NIC_TIMEOUT_US  (180 * G_USEC_PER_SEC)

typedef struct Machine {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
} Machine;

typedef struct Nic Nic;
typedef struct NicKind NicKind;

/* Kinds of NICs for tests. */
struct NicKind {
    const char *name;           /* in the test's path */
    const char *driver;         /* of device_add */
    const char *options;        /* ",hash=on"; for the command line */
    uint64_t features;          /* virtio-net: those to take if offered */
    unsigned vnet_len;          /* the header, if the backend has one */
    Nic *(*start)(Machine *machine, const NicKind *kind);
};

struct Nic {
    Machine *machine;
    unsigned pairs;             /* queues for frames, each way */
    unsigned vnet_len;          /* 0: e1000 */
    uint64_t offered;           /* features of the device; virtio-net */
    uint64_t offered_more;      /* those from 64 on; only of virtio 1.0 */
    uint8_t vnet[NIC_VNET_MAX]; /* header of the frame received last */
    void (*send)(Nic *nic, unsigned queue, const void *vnet, const void *frame,
                 size_t len);
    unsigned (*sent)(Nic *nic, unsigned queue);
    void (*post)(Nic *nic, unsigned queue, unsigned buffers);
    ssize_t (*poll)(Nic *nic, unsigned queue, void *frame, size_t size);
    bool (*link_up)(Nic *nic);
    void (*use_pairs)(Nic *nic, unsigned pairs);
    void (*reset)(Nic *nic);    /* NULL: not needed */
    void (*free)(Nic *nic);
};

/* With a virtio-net header of 10 octets (as before virtio 1.0), 12 and 20. */
extern const NicKind nic_virtio10, nic_virtio12, nic_virtio20;
/* Four queues each way. */
extern const NicKind nic_virtio_mq;
extern const NicKind nic_e1000;

/* Sends a frame; @vnet NULL is a header that asks for nothing. */
void nic_send(Nic *nic, unsigned queue, const void *vnet, const void *frame,
              size_t len);

/* Returns: the number of sent frames that the NIC has processed. */
unsigned nic_sent(Nic *nic, unsigned queue);

/* Gives the NIC buffers to receive into. */
void nic_post(Nic *nic, unsigned queue, unsigned buffers);

/* Takes a frame, if there is one; returns its length, or -1. */
ssize_t nic_poll(Nic *nic, unsigned queue, void *frame, size_t size);

bool nic_link_up(Nic *nic);

/* Tells a NIC with several queues how many are used. */
void nic_use_pairs(Nic *nic, unsigned pairs);

/* Resets the device, as drivers do when it is unplugged, and forgets it. */
void nic_free(Nic *nic);

/* Forgets a device that was removed without a reset. */
void nic_forget(Nic *nic);

#endif /* TESTS_QTEST_STAGE_NIC_H */
