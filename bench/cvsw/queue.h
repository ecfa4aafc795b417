/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queues of a virtio-net whose QEMU runs with accel=qtest, without a driver
 *
 * QEMU's memory is a file that is mapped here.  Errors end the program.
 */
#ifndef BENCH_CVSW_QUEUE_H
#define BENCH_CVSW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    QUEUE_MAX = 1024,           /* descriptors, one for each frame */
    QUEUE_ROOM = 2048,          /* octets of a buffer */
    QUEUE_VNET_LEN = 12,        /* octets of virtio-net's header */
};

typedef struct QueueDesc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags, next;
} QueueDesc;

/* QEMU uses buffers in their order. */
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
 * queue_open: begin to drive the NIC in slot 0x10; after this it takes frames
 *
 * @qtest: QEMU's qtest socket
 * @memory: the file with the memory of QEMU's machine
 */
void queue_open(const char *qtest, const char *memory, Queue *rx, Queue *tx);

/** queue_buffer: Returns: header and frame of a descriptor */
uint8_t *queue_buffer(const Queue *queue, unsigned slot);

/**
 * queue_add: give QEMU more buffers, and notify it unless it suppresses that
 */
void queue_add(Queue *queue, unsigned num);

/** queue_room: Returns: the number of buffers that QEMU does not have */
unsigned queue_room(const Queue *queue);

/**
 * queue_take: Returns: whether QEMU has used one more, with its slot and octets
 */
bool queue_take(Queue *queue, unsigned *slot, unsigned *len);

/** queue_turn: let QEMU process its buffers */
void queue_turn(void);

/** die: print why, with errno's text, and exit */
void __attribute__((noreturn)) die(const char *what);

/** now: Returns: seconds of CLOCK_MONOTONIC */
double now(void);

/** nap: sleep for less than a second */
void nap(long ns);

#endif /* BENCH_CVSW_QUEUE_H */
