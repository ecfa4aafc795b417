/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bed of all qtests of -netdev mip6
 *
 * The test is the guest (stage-nic.c), and it is the link behind the netdev: a
 * pair of sockets, or a tap where virtio-net headers matter. It plays the
 * router and the home agent.
 */
#ifndef TESTS_QTEST_MIP6_BED_H
#define TESTS_QTEST_MIP6_BED_H

#include "net/mip6/core/mh.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "qobject/qdict.h"
#include "stage-nic.h"

#define HOME            "2001:db8:2000::10"
#define AGENT           "2001:db8:2000::1"
#define FAR             "2001:db8:9000::c"
#define FOREIGN         "2001:db8:3000::"
#define FOREIGN_2       "2001:db8:4000::"
#define GUEST_TEXT      "52:54:00:12:34:56"
#define MIP6_ARGS       "mip6,id=mip0,netdev=net0,home-prefix-length=64," \
                        "home-address=" HOME ",home-agent=" AGENT

#define FRAME_MAX       2000

extern const uint8_t bed_guest_mac[PACKET_ETH_ADDR_LEN];
extern const uint8_t bed_router_mac[PACKET_ETH_ADDR_LEN];

typedef struct Bed {
    Machine machine;
    QTestState *qts;
    const NicKind *kind;
    Nic *nic;                   /* NULL: not driven */
    bool tap;
    int peer;
    /* The last Binding Update. */
    Mip6Mh update;
    struct in6_addr care_of;
    uint8_t node_mac[PACKET_ETH_ADDR_LEN];
} Bed;

/*
 * QEMU; @options: of the netdev, @more: of the command line. With -incoming
 * among them the NIC's driver is not started.
 */
void bed_start(Bed *bed, const NicKind *kind, bool tap, const char *options,
               const char *more);
void bed_end(Bed *bed);

/* Lets QEMU's main loop process everything pending. */
void bed_settle(Bed *bed);

/* The netdev's answer to query-mip6; the caller must unref it. */
QDict *bed_query(Bed *bed);
uint64_t bed_dropped(Bed *bed, const char *reason);

/* Waits for the event MIP6_STATE with this state and reason. */
void bed_wait_state(Bed *bed, const char *state, const char *reason);

struct in6_addr bed_address(const char *text);

/* A frame of UDP; returns its length. */
size_t bed_packet(uint8_t *frame, const uint8_t *dst_mac,
                  const uint8_t *src_mac, const char *src, const char *dst,
                  size_t payload);

/* --- the link ------------------------------------------------------------- */

void peer_send(Bed *bed, const uint8_t *frame, size_t len);

/* Waits for any frame; returns its length. */
size_t peer_wait(Bed *bed, uint8_t *frame, size_t size);

/* Waits for a message of neighbour discovery, and skips other frames. */
void peer_wait_nd(Bed *bed, uint8_t type, PacketNd *nd);

/* Waits for a Binding Update, checks all of it, and stores its fields. */
void peer_wait_update(Bed *bed);

void peer_advertise(Bed *bed, const char *prefix);
void peer_acknowledge(Bed *bed, uint8_t status);

/* A packet of the agent's for the care-of address with @inner in it. */
void peer_tunnel(Bed *bed, const uint8_t *inner, size_t len);

/*
 * Answers the stored Binding Update, and later ones that have replaced it,
 * until the netdev reports this state and reason.
 */
void bed_answer(Bed *bed, uint8_t status, const char *state,
                const char *reason);

/* The same, accepted: until there is a binding. */
void bed_bind(Bed *bed);

/* From the start to a binding on the link of @prefix. */
void bed_register(Bed *bed, const char *prefix);

/* --- the guest ------------------------------------------------------------ */

size_t guest_wait(Bed *bed, uint8_t *frame, size_t size);

/* The whole of main(): make the network, run the tests of @add_tests. */
int mip6_test_main(int argc, char **argv, void (*add_tests)(void));

#endif /* TESTS_QTEST_MIP6_BED_H */
