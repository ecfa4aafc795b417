/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of a hostile guest and a hostile wire, through a switch
 *
 * Input: steps, each of a type and two octets of length. A FLOW_MOD or a
 * GROUP_MOD is as long as that; a frame has the eight octets of its offloads
 * before it, and four more of a tunnel's. The first octet of the input says
 * whether the guest is in a tunnel that is sealed, and whether the wire cuts
 * what is in others.
 *
 * What goes out is whole; a frame that is taken goes out, to the controller, or
 * is counted; of a guest in a sealed tunnel nothing goes out but ESP. The guest
 * gets no super-frame in a tunnel, nor does a wire that does not cut them.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/event/packet-in.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "hw/net/cvsw/run/run.h"
#include "net/packet/ip4.h"

#define FRAME_MAX       70000u
#define OFFLOAD_LEN     8u
#define TUNNEL_LEN      4u
#define SPI             4096u

enum { STEP_FLOW, STEP_GUEST, STEP_WIRE, STEPS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Nic {
    CvswRun run;
    bool is_sealed;
    uint64_t out, now_ms;
} Nic;

static void emit(void *opaque, uint32_t port, const struct iovec *iov,
                 int parts, const PacketOffload *offload)
{
    g_autofree uint8_t *copy = g_malloc(FRAME_MAX);
    Nic *nic = opaque;
    size_t len = packet_iov_copy(iov, parts, 0, copy, FRAME_MAX);

    g_assert(port == CVSW_PORT_GUEST || port == CVSW_PORT_WIRE);
    g_assert(len == packet_iov_len(iov, parts) && len >= PACKET_ETH_LEN);
    if (offload->tunnel != PACKET_TUNNEL_NONE) {
        g_assert(port == CVSW_PORT_WIRE && nic->run.wire_cuts);
        g_assert(offload->gso == PACKET_GSO_TCP4 ||
                 offload->gso == PACKET_GSO_TCP6);
        g_assert(offload->csum_start + offload->csum_offset + 2u <= len);
    }
    if (nic->is_sealed && port == CVSW_PORT_WIRE) {
        g_assert(get_be16(copy + 12) == PACKET_ETH_IP4);
        g_assert(copy[PACKET_ETH_LEN + 9] == ESP_PROTOCOL);
        g_assert(get_be16(copy + PACKET_ETH_LEN + 2) ==
                 len - PACKET_ETH_LEN);
    }
    nic->out++;
}

static bool wire_cuts(void *opaque)
{
    return true;
}

static void punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                 uint16_t max_len, const CvswEntry *entry)
{
    uint8_t message[200];
    Nic *nic = opaque;
    size_t len = cvsw_packet_in_build(message, sizeof(message), frame, in_port,
                                      max_len, entry);

    g_assert(len <= sizeof(message) && get_be16(message + 2) == len);
    nic->out++;
}

static void count_drop(void *opaque, uint32_t in_port, CvswDrop why)
{
    g_assert(cvsw_drop_name(why));
    ((Nic *)opaque)->out++;
}

/* --- a tunnel that is sealed ---------------------------------------------- */

static void set_sa(Nic *nic, uint32_t number, EspDirection direction)
{
    uint8_t key[20] = { 1 };
    EspSaConfig config = {
        .algorithm = esp_algorithm_by_name("aes-gcm-128"),
        .direction = direction,
        .spi = SPI,
        .esn = true,
        .window = direction == ESP_INBOUND ? 64 : 0,
        .epoch = 1,
        .key = key,
        .key_len = sizeof(key),
    };

    g_assert(cvsw_sas_set(nic->run.sas, number, &config, NULL) ==
             CVSW_SAS_OK);
}

static void add_flow(Nic *nic, uint32_t port, const CvswAction *actions,
                     unsigned num)
{
    CvswValue value = { { 0, 0, 0, port } };
    CvswFlowMod mod = {
        .command = CVSW_ADD,
        .priority = 1,
        .out_port = CVSW_ANY_PORT,
        .actions_len = num,
    };

    g_assert(cvsw_match_add(&mod.match, CVSW_IN_PORT, &value, NULL) ==
             CVSW_MATCH_OK);
    memcpy(mod.actions, actions, num * sizeof(*actions));
    g_assert(cvsw_table_mod(nic->run.table, &mod, 0) == CVSW_FLOW_OK);
}

static void join_tunnel(Nic *nic)
{
    CvswAction out[3] = {
        { .type = CVSW_ACTION_TUNNEL_ENCAP,
          .tunnel = { .port = 4789, .vni = 7 } },
        { .type = CVSW_ACTION_ENCRYPT, .sa = 1 },
        { .type = CVSW_ACTION_OUTPUT, .output = { CVSW_PORT_WIRE, 0 } },
    };
    CvswAction in[3] = {
        { .type = CVSW_ACTION_DECRYPT },
        { .type = CVSW_ACTION_TUNNEL_DECAP },
        { .type = CVSW_ACTION_OUTPUT, .output = { CVSW_PORT_GUEST, 0 } },
    };

    add_flow(nic, CVSW_PORT_GUEST, out, G_N_ELEMENTS(out));
    add_flow(nic, CVSW_PORT_WIRE, in, G_N_ELEMENTS(in));
}

/* --- steps ---------------------------------------------------------------- */

static void put_group(Nic *nic, const uint8_t *data, size_t len)
{
    g_auto(CvswGroupMod) mod = { 0 };

    if (cvsw_of_group_mod_parse(&mod, data, len) == CVSW_OF_OK) {
        cvsw_table_group_mod(nic->run.table, &mod, nic->now_ms);
    }
}

static void put_flow(Nic *nic, const uint8_t *data, size_t len)
{
    g_autofree CvswFlowMod *mod = g_new(CvswFlowMod, 1);

    if (len >= OFP_HEADER_LEN && data[OFP_HEADER_TYPE] == OFPT_GROUP_MOD) {
        put_group(nic, data, len);
    } else if (!nic->is_sealed &&
               cvsw_of_flow_mod_parse(mod, data, len) == CVSW_OF_OK) {
        cvsw_table_mod(nic->run.table, mod, nic->now_ms);
    }
}

/* Any header, as net_stage_read_offload() reads it. */
static PacketOffload read_offload(const uint8_t *p)
{
    return (PacketOffload) {
        .needs_csum = p[0] & 1,
        .ecn = p[0] & 2,
        .gso = (p[0] >> 2) % 4,
        .csum_start = get_be16(p + 1),
        .csum_offset = p[3],
        .gso_size = get_be16(p + 4),
        .head_len = get_be16(p + 6),
    };
}

/* Any tunnel, for frames of the wire.  Returns: octets that were read. */
static size_t read_tunnel(PacketOffload *offload, uint8_t first,
                          const uint8_t *p, size_t len)
{
    if (!(first & 0x30) || len <= TUNNEL_LEN) {
        return 0;
    }
    offload->tunnel = first & 0x20 ? PACKET_TUNNEL_UDP6 : PACKET_TUNNEL_UDP4;
    offload->tunnel_csum = first & 0x40;
    offload->outer_l4 = get_be16(p);
    offload->inner_l3 = get_be16(p + 2);
    return TUNNEL_LEN;
}

static void put_frame(Nic *nic, uint32_t port, const uint8_t *data, size_t len)
{
    PacketOffload offload;
    uint8_t first;
    g_autofree uint8_t *frame = NULL;
    struct iovec iov[3];
    uint64_t before = nic->out;
    size_t cut, more = 0;

    if (len <= OFFLOAD_LEN) {
        return;
    }
    first = data[0];
    offload = read_offload(data);
    data += OFFLOAD_LEN;
    len -= OFFLOAD_LEN;
    if (port == CVSW_PORT_WIRE) {
        more = read_tunnel(&offload, first, data, len);
    }
    len -= more;
    frame = g_memdup2(data + more, len);
    cut = MIN(len, 17);
    iov[0] = (struct iovec) { frame, cut };
    iov[1] = (struct iovec) { frame + cut, (len - cut) / 2 };
    iov[2] = (struct iovec) { frame + cut + iov[1].iov_len,
                              len - cut - iov[1].iov_len };
    if (cvsw_run(&nic->run, port, iov, G_N_ELEMENTS(iov), &offload,
                 nic->now_ms)) {
        g_assert(nic->out > before);
    } else {
        g_assert(nic->out == before && !nic->is_sealed);
    }
}

static void step(Nic *nic, uint8_t type, const uint8_t *data, size_t len)
{
    nic->now_ms += 10;
    switch (type % STEPS) {
    case STEP_FLOW:
        put_flow(nic, data, len);
        break;
    case STEP_GUEST:
        put_frame(nic, CVSW_PORT_GUEST, data, len);
        break;
    default:
        put_frame(nic, CVSW_PORT_WIRE, data, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Nic *nic;

    if (!size) {
        return 0;
    }
    nic = g_new0(Nic, 1);
    nic->is_sealed = data[0] & 1;
    nic->run.wire_cuts = data[0] & 2 ? wire_cuts : NULL;
    nic->now_ms = 1000;
    nic->run.table = cvsw_table_new(16, 8, 1, NULL, NULL);
    nic->run.sas = cvsw_sas_new();
    nic->run.emit = emit;
    nic->run.punt = punt;
    nic->run.on_drop = count_drop;
    nic->run.opaque = nic;
    set_sa(nic, 1, ESP_OUTBOUND);
    set_sa(nic, 2, ESP_INBOUND);
    if (nic->is_sealed) {
        join_tunnel(nic);
    }
    for (data++, size--; size >= 3;) {
        size_t len = MIN(get_be16(data + 1), size - 3);

        step(nic, data[0], data + 3, len);
        data += 3 + len;
        size -= 3 + len;
    }
    cvsw_table_free(nic->run.table);
    cvsw_sas_free(nic->run.sas);
    g_free(nic);
    return 0;
}
