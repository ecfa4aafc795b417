/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch of a NIC between two ports that its tester holds
 *
 * Requests come on stdin and answers go to stdout.  Each is the number of
 * octets behind it (32 bits), a letter, and what belongs to the letter.  All
 * numbers are in network order.  What no flow is for is dropped, as OpenFlow
 * has it.
 *
 *   R                  an empty table, its counters at 0
 *   M  message         a FLOW_MOD or a GROUP_MOD: E  OFPT_ERROR, if it is
 *                      refused
 *   F  port, frame     a frame comes in by a port (8 bits):
 *                      O  port, frame      it leaves by a port
 *                      P  port, octets     for the controller: where it came
 *                                          in, and as much as is wanted
 *   T  time            the clock says so many milliseconds (64 bits):
 *                      V  OFPT_FLOW_REMOVED of a flow that ends and tells it
 *
 * The last answer to each is D: how many frames were looked up, and how many
 * had a flow (64 bits each).
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/octets.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "hw/net/cvsw/run/run.h"

#define HEAD            4u
#define REQUEST_MAX     (1u + UINT16_MAX + 1)
#define FLOWS_MAX       4096u
#define MASKS_MAX       64u
#define SEED            29u
#define XID             7u

typedef struct Peer {
    CvswRun run;
    uint64_t now_ms;
    uint8_t version;            /* of the last FLOW_MOD */
} Peer;

static void put(const void *octets, size_t len)
{
    if (fwrite(octets, 1, len, stdout) != len) {
        exit(EXIT_FAILURE);     /* the tester is gone */
    }
}

static void put_head(char letter, size_t len)
{
    uint8_t head[HEAD + 1];

    put_be32(head, 1 + len);
    head[HEAD] = letter;
    put(head, sizeof(head));
}

static void put_done(Peer *peer)
{
    CvswTableStats stats = cvsw_table_stats(peer->run.table);
    uint8_t numbers[16];

    put_be64(numbers, stats.lookups);
    put_be64(numbers + 8, stats.matched);
    put_head('D', sizeof(numbers));
    put(numbers, sizeof(numbers));
    fflush(stdout);
}

/* The first @most octets of a frame that is in pieces. */
static void put_frame(char letter, uint32_t port, const struct iovec *iov,
                      int parts, size_t most)
{
    size_t left = MIN(most, packet_iov_len(iov, parts));
    uint8_t number = port;

    put_head(letter, 1 + left);
    put(&number, 1);
    for (int i = 0; i < parts && left; i++) {
        size_t len = MIN(left, iov[i].iov_len);

        put(iov[i].iov_base, len);
        left -= len;
    }
}

static void emit(void *opaque, uint32_t port, const struct iovec *iov,
                 int parts, const PacketOffload *offload)
{
    put_frame('O', port, iov, parts, SIZE_MAX);
}

static void punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                 uint16_t max_len, const CvswEntry *entry)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];

    put_frame('P', in_port, iov, cvsw_frame_iov(frame, iov), max_len);
}

static void removed(void *opaque, const CvswEntry *entry, CvswRemovedWhy why)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    Peer *peer = opaque;

    cvsw_of_removed_build(out, peer->version, XID, entry, why, peer->now_ms);
    put_head('V', out->len);
    put(out->data, out->len);
}

static void reset(Peer *peer)
{
    cvsw_table_free(peer->run.table);
    peer->run.table = cvsw_table_new(FLOWS_MAX, MASKS_MAX, SEED, removed,
                                     peer);
}

static CvswOfFault group_mod(Peer *peer, const uint8_t *msg, size_t len)
{
    g_auto(CvswGroupMod) mod = { 0 };
    CvswOfFault fault = cvsw_of_group_mod_parse(&mod, msg, len);

    if (fault != CVSW_OF_OK) {
        return fault;
    }
    return cvsw_of_group_fault(cvsw_table_group_mod(peer->run.table, &mod,
                                                    peer->now_ms));
}

static CvswOfFault flow_mod(Peer *peer, const uint8_t *msg, size_t len)
{
    CvswFlowMod mod;
    CvswOfFault fault = cvsw_of_flow_mod_parse(&mod, msg, len);

    if (fault == CVSW_OF_OK) {
        peer->version = msg[0];
        fault = cvsw_of_table_fault(cvsw_table_mod(peer->run.table, &mod,
                                                   peer->now_ms));
    }
    return fault;
}

static void change(Peer *peer, const uint8_t *msg, size_t len)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    bool is_group = len >= OFP_HEADER_LEN &&
                    msg[OFP_HEADER_VERSION] == OFP13_VERSION &&
                    msg[OFP_HEADER_TYPE] == OFPT_GROUP_MOD;
    CvswOfFault fault = is_group ? group_mod(peer, msg, len)
                                 : flow_mod(peer, msg, len);

    if (fault != CVSW_OF_OK) {
        cvsw_of_error_build(out, fault, msg, len);
        put_head('E', out->len);
        put(out->data, out->len);
    }
}

static void take_frame(Peer *peer, uint8_t *octets, size_t len)
{
    struct iovec iov = { octets + 1, len - 1 };
    PacketOffload none = { 0 };

    cvsw_run(&peer->run, octets[0], &iov, 1, &none, peer->now_ms);
}

static void set_clock(Peer *peer, const uint8_t *time)
{
    peer->now_ms = get_be64(time);
    cvsw_table_expire(peer->run.table, peer->now_ms);
}

/* Returns: false if this is no request. */
static bool obey(Peer *peer, uint8_t letter, uint8_t *rest, size_t len)
{
    if (letter == 'R' && !len) {
        reset(peer);
    } else if (letter == 'M') {
        change(peer, rest, len);
    } else if (letter == 'F' && len) {
        take_frame(peer, rest, len);
    } else if (letter == 'T' && len == sizeof(uint64_t)) {
        set_clock(peer, rest);
    } else {
        return false;
    }
    put_done(peer);
    return true;
}

/* Returns: octets of the request that came; 0 if no whole one does. */
static size_t next_request(uint8_t *request)
{
    uint8_t head[HEAD];
    size_t len;

    if (fread(head, 1, sizeof(head), stdin) != sizeof(head)) {
        return 0;
    }
    len = get_be32(head);
    if (!len || len > REQUEST_MAX || fread(request, 1, len, stdin) != len) {
        return 0;
    }
    return len;
}

int main(void)
{
    static uint8_t request[REQUEST_MAX];
    static Peer peer;
    bool sane = true;
    size_t len;

    peer.run.sas = cvsw_sas_new();
    peer.run.emit = emit;
    peer.run.punt = punt;
    peer.run.opaque = &peer;
    peer.run.drop_misses = true;
    reset(&peer);
    while (sane && (len = next_request(request))) {
        sane = obey(&peer, request[0], request + 1, len - 1);
    }
    cvsw_table_free(peer.run.table);
    cvsw_sas_free(peer.run.sas);
    return sane ? EXIT_SUCCESS : EXIT_FAILURE;
}
