/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common code of the qtests of -netdev hostvlan
 *
 * The test is the guest (stage-nic.c), it is the network behind the netdev
 * (a pair of sockets, or a tap where virtio-net headers matter), and it is who
 * writes the table (hostvlan-fixture.c).  In the table the guest is in LNID 1
 * with PEER; OTHER is in LNID 2, ROUTER in the global one, and a STRANGER is
 * not there.
 */
#ifndef TESTS_QTEST_HOSTVLAN_BED_H
#define TESTS_QTEST_HOSTVLAN_BED_H

#include "qobject/qdict.h"
#include "stage-nic.h"
#include "tests/fixtures/hostvlan-fixture.h"

#define GUEST           0x525400123456ull
#define GUEST_TEXT      "52:54:00:12:34:56"
#define PEER            0x020000000001ull
#define OTHER           0x020000000002ull
#define ROUTER          0x020000000003ull
#define STRANGER        0x020000000004ull
#define BROADCAST       0xffffffffffffull

#define ETHERTYPE       0x88b5          /* IEEE 802: for local experiments */
#define FRAME_MAX       2000

typedef struct Bed {
    Machine machine;
    QTestState *qts;
    const NicKind *kind;
    Nic *nic;                           /* NULL: not driven */
    bool tap;
    int peer;
    char *dir, *path;
    HvWriter *table;                    /* NULL: none */
} Bed;

/* Starts QEMU with a table. */
void bed_begin(Bed *bed, const NicKind *kind, const char *options);
void bed_end(Bed *bed);

/*
 * The parts of bed_begin(): a path for a table, whose folder does not exist
 * yet,
 */
void bed_make_place(Bed *bed);
/* the table with the machines above, which replaces an existing one, */
HvWriter *bed_make_table(const char *path);
/* and QEMU; @device: of -device, with its options; @options: of the netdev. */
void bed_start(Bed *bed, const char *device, const char *options);

/* Lets QEMU's main loop process everything pending. */
void bed_settle(Bed *bed);

/* The reply of QMP for the port; the caller must unref it. */
QDict *bed_query(Bed *bed);
uint64_t bed_counter(Bed *bed, const char *direction, const char *reason);
void bed_wait_counter(Bed *bed, const char *direction, const char *reason,
                      uint64_t n);

/* --- frames --------------------------------------------------------------- */

void frame_put_mac(uint8_t *p, uint64_t mac);
void frame_make(uint8_t *frame, size_t len, uint64_t source, uint64_t dest,
                uint16_t type);

/* Waits for any frame; returns its length. */
size_t peer_wait(Bed *bed, uint8_t *frame, size_t size);
void peer_has_nothing(Bed *bed);

/* Sends any frame to the guest; checks its result and the counter. */
void frame_received(Bed *bed, const uint8_t *frame, size_t len,
                    const char *reason);

/* The same for a frame of the guest; @vnet: see nic_send(). */
void frame_sent(Bed *bed, const void *vnet, const uint8_t *frame, size_t len,
                const char *reason);

/* The same for frames from @source to the guest, to all and to a group. */
void received_from(Bed *bed, uint64_t source, const char *reason);

/* The same for frames of the guest with the source @source. */
void sent_as(Bed *bed, uint64_t source, const char *reason);

/* Frames each way. */
void bed_converse(Bed *bed);

/* --- main ----------------------------------------------------------------- */

/* The whole of main(): make the network, run the tests of @add_tests. */
int hostvlan_test_main(int argc, char **argv, void (*add_tests)(void));

#endif /* TESTS_QTEST_HOSTVLAN_BED_H */
