/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common code of the qtests of net/stage
 *
 * Theory of operation
 * ===================
 *
 * The test is the guest (stage-nic.c) and it is the network.  Between them is
 * a chain: the NIC "nic0", some stages, "st1" being the one next to the
 * backend, and the backend "net0".  Most tests run with no stage, with one and
 * with two.  What holds without a stage must hold with them, and a test that
 * fails without one is wrong itself.
 *
 * The network is a pair of sockets, each datagram a frame (-netdev dgram) or
 * each frame with its length before it (-netdev stream, socket), L2TPv3 in UDP,
 * or a tap in a network namespace of the test, where a packet socket is the
 * peer and sees the virtio-net header as the kernel understood it.
 *
 * Frames have an Ethernet type of their own, so nothing else is taken for
 * them, a number, and octets that follow from it.
 */
#ifndef TESTS_QTEST_STAGE_FIXTURE_H
#define TESTS_QTEST_STAGE_FIXTURE_H

#include "stage-nic.h"

#define FRAME_MAX       9000
#define NIC_MAC         "52:54:00:12:34:56"
#define MAX_STAGES      2

typedef enum Backend {
    DGRAM,
    STREAM,
    RECONNECT,                  /* the same, connected again when it ends */
    SOCKET,
    L2TPV3,
    USER,                       /* libslirp, which has no peer */
    TAP,                        /* with virtio-net header, one queue */
    TAP_MQ,                     /* the same with two queues */
} Backend;

/* The chain between the guest and the network in one run of a test. */
typedef struct Setup {
    const NicKind *nic;
    Backend backend;
    unsigned stages;
} Setup;

typedef struct Bed {
    const Setup *setup;
    Machine machine;
    QTestState *qts;            /* of the machine */
    Nic *nic;
    int peer;                   /* -1: there is none */
    int listener;               /* of RECONNECT */
    bool peer_has_vnet;
} Bed;

/* Starts QEMU with @setup, and @more options; the NIC has a driver. */
void bed_start(Bed *bed, const Setup *setup, const char *more);
void bed_stop(Bed *bed);

/* Takes QEMU's next connection (RECONNECT), as the peer. */
void bed_accept(Bed *bed);

/* Lets QEMU's main loop process everything pending. */
void bed_settle(Bed *bed);

/* The ID of the netdev that the NIC uses. */
const char *bed_top(const Bed *bed);

/*
 * device_del and device_add of the NIC.  With a notice the driver resets it
 * first; a NIC that is pulled gives no notice.
 */
void bed_unplug_nic(Bed *bed);
void bed_pull_nic(Bed *bed);
void bed_plug_nic(Bed *bed);

/* netdev_add of a new backend "net0" (DGRAM), and of the stages before it. */
void bed_add_backend(Bed *bed);
void bed_add_stages(Bed *bed);

/* netdev_del; it must succeed. */
void bed_del_netdev(Bed *bed, const char *id);

void bed_set_link(Bed *bed, const char *id, bool up);

/* Returns: the output of "info network". */
char *bed_info(Bed *bed);

/* --- frames --------------------------------------------------------------- */

/* Makes frame number @number, @len octets, from the peer to the NIC. */
void frame_make(uint8_t *frame, size_t len, uint32_t number);

/* Fails unless @frame is what frame_make() made. */
void frame_check(const uint8_t *frame, size_t len, size_t want,
                 uint32_t number);

/* Returns: is this a frame of a test?  Others are ignored. */
bool frame_is_ours(const uint8_t *frame, size_t len);

/* Each sends a frame, or waits for one and checks it. */
void guest_send_frame(Bed *bed, size_t len, uint32_t number);
void guest_expect_frame(Bed *bed, size_t len, uint32_t number);
void peer_send_frame(Bed *bed, size_t len, uint32_t number);
void peer_expect_frame(Bed *bed, size_t len, uint32_t number);

/* Sends if that is possible at once. */
bool peer_try_send_frame(Bed *bed, size_t len, uint32_t number);

/*
 * Waits for any frame.  @vnet (10 octets, may be NULL) is the header the
 * kernel saw.  Returns its length.
 */
size_t peer_expect_any(Bed *bed, uint8_t *vnet, uint8_t *frame, size_t size);

/* The same at the guest, in any queue; header in bed->nic->vnet. */
size_t guest_expect_any(Bed *bed, uint8_t *frame, size_t size,
                        unsigned *queue);

/* Sends any frame with a virtio-net header of 10 octets. */
void peer_send_any(Bed *bed, const void *vnet, const uint8_t *frame,
                   size_t len);

/* Fails if a frame has come; frames in flight may arrive before. */
void guest_expect_nothing(Bed *bed);
void peer_expect_nothing(Bed *bed);

/* A frame each way, which proves that the whole chain works. */
void bed_converse(Bed *bed, uint32_t number);

/* --- main ----------------------------------------------------------------- */

/*
 * Adds /stage/NAME/SETUP for each NIC in @nics (NULL ends them) and each number
 * of stages from @least to MAX_STAGES.
 */
void add_test(const char *name, const NicKind *const *nics, Backend backend,
              unsigned least, void (*func)(const Setup *setup));

/* The whole of main(): make the network, run the tests of @add_tests. */
int stage_test_main(int argc, char **argv, void (*add_tests)(void));

#endif /* TESTS_QTEST_STAGE_FIXTURE_H */
