/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two NICs back to back, for tests of their work on frames */
#include <arpa/inet.h>
#include <string.h>

#include "cvsw-nic.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

enum { MSS = NIC_MSS, VNI = NIC_VNI, SPI = 4096 };

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0, 0xa };
static const uint8_t mac_b[6] = { 2, 0, 0, 0, 0, 0xb };

static void emit(void *opaque, uint32_t port, const struct iovec *iov,
                 int parts, const PacketOffload *offload)
{
    Nic *nic = opaque;
    NicFrame *f = g_new0(NicFrame, 1);

    f->len = packet_iov_copy(iov, parts, 0, f->data, sizeof(f->data));
    f->offload = *offload;
    if (port == CVSW_PORT_GUEST) {
        nic->out_of_tunnel += nic->run.out_of_tunnel;
    }
    g_ptr_array_add(port == CVSW_PORT_GUEST ? nic->guest : nic->wire, f);
}

static void punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                 uint16_t max_len, const CvswEntry *entry)
{
    ((Nic *)opaque)->punted++;
}

Nic *nic_new(void)
{
    Nic *nic = g_new0(Nic, 1);

    nic->run.table = cvsw_table_new(64, 16, 1, NULL, NULL);
    nic->run.sas = cvsw_sas_new();
    nic->run.emit = emit;
    nic->run.punt = punt;
    nic->run.opaque = nic;
    nic->guest = g_ptr_array_new_with_free_func(g_free);
    nic->wire = g_ptr_array_new_with_free_func(g_free);
    return nic;
}

void nic_free(Nic *nic)
{
    cvsw_table_free(nic->run.table);
    cvsw_sas_free(nic->run.sas);
    g_ptr_array_unref(nic->guest);
    g_ptr_array_unref(nic->wire);
    g_free(nic);
}

/* --- flows ---------------------------------------------------------------- */

CvswAction nic_output(uint32_t port)
{
    CvswAction a = { .type = CVSW_ACTION_OUTPUT };

    a.output.port = port;
    return a;
}

CvswAction nic_into_tunnel(bool is_ip6)
{
    CvswAction a = { .type = CVSW_ACTION_TUNNEL_ENCAP };
    int family = is_ip6 ? AF_INET6 : AF_INET;

    a.tunnel.is_ip6 = is_ip6;
    a.tunnel.vni = VNI;
    a.tunnel.port = 4789;
    memcpy(a.tunnel.local_mac, mac_a, 6);
    memcpy(a.tunnel.remote_mac, mac_b, 6);
    inet_pton(family, is_ip6 ? "2001:db8::a" : "192.0.2.10", a.tunnel.local);
    inet_pton(family, is_ip6 ? "2001:db8::b" : "192.0.2.11", a.tunnel.remote);
    return a;
}

CvswAction nic_with_sa(CvswActionType type, uint32_t sa)
{
    return (CvswAction) { .type = type, .sa = sa };
}

void nic_match_number(CvswMatch *match, CvswField field, uint64_t number)
{
    size_t octets = cvsw_field_octets(field);
    CvswValue value = { { 0 } };

    for (size_t i = 0; i < octets; i++) {
        value.octets[octets - 1 - i] = number >> 8 * i;
    }
    g_assert_cmpint(cvsw_match_add(match, field, &value, NULL), ==,
                    CVSW_MATCH_OK);
}

void nic_add_flow(Nic *nic, const CvswMatch *match, uint16_t priority,
                     const CvswAction *actions, unsigned num)
{
    g_autofree CvswFlowMod *mod = g_new0(CvswFlowMod, 1);

    mod->command = CVSW_ADD;
    mod->match = *match;
    mod->priority = priority;
    mod->out_port = CVSW_ANY_PORT;
    mod->actions_len = num;
    for (unsigned i = 0; i < num; i++) {
        mod->actions[i] = actions[i];
    }
    g_assert_cmpint(cvsw_table_mod(nic->run.table, mod, 0), ==,
                    CVSW_FLOW_OK);
}

void nic_flow_from(Nic *nic, uint32_t port, const CvswAction *actions,
                      unsigned num)
{
    CvswMatch match = { 0 };

    nic_match_number(&match, CVSW_IN_PORT, port);
    nic_add_flow(nic, &match, 1, actions, num);
}

void nic_add_sa(Nic *nic, uint32_t number, EspDirection direction,
                   uint8_t key_octet)
{
    uint8_t key[20];
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

    memset(key, key_octet, sizeof(key));
    g_assert_cmpint(cvsw_sas_set(nic->run.sas, number, &config, NULL), ==,
                    CVSW_SAS_OK);
}

void nic_connect(Nic *a, Nic *b, bool is_ip6, bool sealed)
{
    CvswAction out[3] = { nic_into_tunnel(is_ip6) }, in[2];
    unsigned outs = 1, ins = 0;

    if (sealed) {
        out[outs++] = nic_with_sa(CVSW_ACTION_ENCRYPT, 1);
        in[ins++] = nic_with_sa(CVSW_ACTION_DECRYPT, 0);
        nic_add_sa(a, 1, ESP_OUTBOUND, 7);
        nic_add_sa(b, 1, ESP_INBOUND, 7);
    }
    out[outs++] = nic_output(CVSW_PORT_WIRE);
    in[ins++] = (CvswAction) { .type = CVSW_ACTION_TUNNEL_DECAP };
    nic_flow_from(a, CVSW_PORT_GUEST, out, outs);
    nic_flow_from(b, CVSW_PORT_WIRE, in, ins);
    {
        CvswAction deliver = nic_output(CVSW_PORT_GUEST);
        CvswMatch match = { 0 };

        nic_match_number(&match, CVSW_TUNNEL_ID, VNI);
        nic_add_flow(b, &match, 2, &deliver, 1);
    }
}

/* --- frames --------------------------------------------------------------- */

NicFrame *nic_tcp(bool is_ip4, size_t payload, bool partial)
{
    NicFrame *f = g_new0(NicFrame, 1);
    size_t ip_len = is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN;
    size_t l4_len = PACKET_TCP_LEN + payload;
    uint8_t *l3 = f->data + PACKET_ETH_LEN, *l4 = l3 + ip_len;
    uint32_t sum;

    packet_eth_build(f->data, mac_b, mac_a, is_ip4 ? PACKET_ETH_IP4
                                                   : PACKET_ETH_IP6);
    if (is_ip4) {
        PacketIp4 ip = { .ttl = 64, .protocol = 6, .total = ip_len + l4_len,
                         .src = { htonl(0x0a000001) },
                         .dst = { htonl(0x0a000002) } };

        packet_ip4_build(l3, &ip);
    } else {
        PacketIp6 ip = { .hops = 64, .next = 6, .payload = l4_len };

        ip.src.s6_addr[0] = ip.dst.s6_addr[0] = 0xfd;
        ip.dst.s6_addr[15] = 1;
        packet_ip6_build(l3, &ip);
    }
    packet_put16(l4, 1000);
    packet_put16(l4 + 2, 2000);
    l4[12] = 5 << 4;
    l4[13] = PACKET_TCP_ACK;
    for (size_t i = 0; i < payload; i++) {
        l4[PACKET_TCP_LEN + i] = i * 31 + (i >> 8);
    }
    f->len = l4 - f->data + l4_len;
    sum = packet_sum_pseudo(l3, 6, l4_len);
    if (partial) {
        packet_put16(l4 + PACKET_TCP_CHECKSUM, packet_sum_partial(sum));
        f->offload.needs_csum = true;
        f->offload.csum_start = l4 - f->data;
        f->offload.csum_offset = PACKET_TCP_CHECKSUM;
    } else {
        sum = packet_sum_add(sum, l4, l4_len);
        packet_put16(l4 + PACKET_TCP_CHECKSUM, packet_sum_fold(sum));
    }
    if (payload > MSS) {
        f->offload.gso = is_ip4 ? PACKET_GSO_TCP4 : PACKET_GSO_TCP6;
        f->offload.gso_size = MSS;
    }
    return f;
}

bool nic_put_in(Nic *nic, uint32_t port, const NicFrame *f)
{
    struct iovec iov[3] = {
        { (void *)f->data, 20 },
        { (void *)(f->data + 20), f->len / 2 },
        { (void *)(f->data + 20 + f->len / 2), f->len - 20 - f->len / 2 },
    };

    return cvsw_run(&nic->run, port, iov, 3, &f->offload, 0);
}

void nic_carry(Nic *from, Nic *to)
{
    for (unsigned i = 0; i < from->wire->len; i++) {
        g_assert_true(nic_put_in(to, CVSW_PORT_WIRE,
                             g_ptr_array_index(from->wire, i)));
    }
}

uint64_t nic_dropped(const Nic *nic, uint32_t port, CvswDrop why)
{
    return nic->run.dropped[port != CVSW_PORT_GUEST][why];
}
