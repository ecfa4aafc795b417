/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: a driver for virtio 1.0 over PCI, with split rings
 */
#ifndef GUESTLESS_VIRTIO_H
#define GUESTLESS_VIRTIO_H

#include <linux/virtio_ring.h>

#include "bench/guestless/accel/machine.h"

#define GUESTLESS_RING          256     /* entries of a ring */
#define GUESTLESS_QUEUES        4

typedef struct GuestlessRing {
    struct vring vring;
    uint64_t doorbell;
    uint16_t index;             /* of the queue */
    bool event_idx;
    uint16_t size;
    uint16_t free, free_num;    /* a list of descriptors */
    uint16_t kicked;            /* avail->idx at the last kick */
    uint16_t used;              /* entries taken from the used ring */
    void *cookie[GUESTLESS_RING];   /* of the chain that begins there */
} GuestlessRing;

typedef struct GuestlessDevice {
    unsigned devfn;
    uint64_t common, notify, config;    /* addresses in the guest */
    uint32_t notify_step;
    GuestlessRing ring[GUESTLESS_QUEUES];
} GuestlessDevice;

/* A part of a chain, in the guest's memory */
typedef struct GuestlessPart {
    uint64_t gpa;
    uint32_t len;
    bool in;                    /* the device writes it */
} GuestlessPart;

/*
 * Finds the device with the virtio @id on bus 0 and brings it to DRIVER_OK with
 * those of @features that it offers, and with @queues queues, at most
 * GUESTLESS_QUEUES.  Exits QEMU if there is none.  Returns the features.
 */
uint64_t guestless_device_start(GuestlessDevice *dev, unsigned id,
                                uint64_t features, unsigned queues);

/*
 * Adds a chain of @num parts, those that the device reads first.  @cookie comes
 * back from guestless_ring_take().  Returns false if there is no room.
 */
bool guestless_ring_add(GuestlessRing *ring, const GuestlessPart *part,
                        unsigned num, void *cookie);

/* Rings the doorbell if the device asks for it; returns whether it did. */
bool guestless_ring_kick(GuestlessRing *ring);

/* Takes a chain back; NULL if there is none.  @len: set to octets written */
void *guestless_ring_take(GuestlessRing *ring, uint32_t *len);

/*
 * Asks for an interrupt with the next chain, or for none.  Returns false if
 * there is a chain to take already.
 */
bool guestless_ring_arm(GuestlessRing *ring);
void guestless_ring_disarm(GuestlessRing *ring);

#endif /* GUESTLESS_VIRTIO_H */
