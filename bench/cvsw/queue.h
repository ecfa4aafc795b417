/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queues of a virtio-net whose QEMU runs with accel=qtest, without a driver
 *
 * QEMU's memory is a file that is mapped here.  Faults end the program.
 */
#ifndef BENCH_CVSW_QUEUE_H
#define BENCH_CVSW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    QUEUE_MAX = 1024,           /* descriptors, one a frame */
    QUEUE_ROOM = 2048,          /* octets of a buffer */
    QUEUE_VNET_LEN = 12,        /* of virtio-net's header before the frame */
};

typedef struct QueueDesc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags, next;
} QueueDesc;

/* Buffers go round in their order: QEMU uses them so. */
typedef struct Queue {
    unsigned number, len;
    /* volatile: QEMU reads and writes them meanwhile. */
    volatile QueueDesc *desc;
    volatile uint16_t *avail;   /* flags, index, and the ring */
    volatile uint16_t *used;    /* flags, index, and elements of 8 octets */
    uint8_t *buffers;
    uint16_t added, seen;
} Queue;

/**
 * queue_open: begin to drive the NIC, which is at slot 0x10 and takes frames
 *             from now on
 *
 * @qtest: QEMU's socket
 * @memory: the file that is its memory
 */
void queue_open(const char *qtest, const char *memory, Queue *rx, Queue *tx);

/** queue_buffer: where header and frame of a descriptor are */
uint8_t *queue_buffer(const Queue *queue, unsigned slot);

/** queue_add: give QEMU so many more, and tell it if it wants to be told */
void queue_add(Queue *queue, unsigned num);

/** queue_room: Returns: how many QEMU does not have */
unsigned queue_room(const Queue *queue);

/** queue_take: Returns: whether QEMU has done one more, its slot and octets */
bool queue_take(Queue *queue, unsigned *slot, unsigned *len);

/** queue_turn: let QEMU do what it has */
void queue_turn(void);

/** die: end, and say why, with errno's text */
void __attribute__((noreturn)) die(const char *what);

/** now: Returns: seconds of a clock that only goes on */
double now(void);

/** nap: sleep for less than a second */
void nap(long ns);

#endif /* BENCH_CVSW_QUEUE_H */
