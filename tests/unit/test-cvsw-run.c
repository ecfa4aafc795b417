/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of frames through two NICs, back to back
 *
 * One takes out of the tunnel the frames that the other sends into it.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "hw/net/cvsw/run/run.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

enum { MTU = 1500, MSS = 1300, VNI = 0xabcdef, SPI = 4096 };

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0, 0xa };
static const uint8_t mac_b[6] = { 2, 0, 0, 0, 0, 0xb };

typedef struct Frame {
    uint8_t data[65536 + 200];
    size_t len;
    PacketOffload offload;
} Frame;

typedef struct Nic {
    CvswRun run;
    GPtrArray *guest, *wire;    /* frames that came out there */
    unsigned punted;
} Nic;

static void emit(void *opaque, uint32_t port, const struct iovec *iov,
                 int parts, const PacketOffload *offload)
{
    Nic *nic = opaque;
    Frame *f = g_new0(Frame, 1);

    f->len = packet_iov_copy(iov, parts, 0, f->data, sizeof(f->data));
    f->offload = *offload;
    g_ptr_array_add(port == CVSW_PORT_GUEST ? nic->guest : nic->wire, f);
}

static void punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                 uint16_t max_len, const CvswEntry *entry)
{
    ((Nic *)opaque)->punted++;
}

static Nic *nic_new(void)
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

static void nic_free(Nic *nic)
{
    cvsw_table_free(nic->run.table);
    cvsw_sas_free(nic->run.sas);
    g_ptr_array_unref(nic->guest);
    g_ptr_array_unref(nic->wire);
    g_free(nic);
}

/* --- flows ---------------------------------------------------------------- */

static CvswAction output(uint32_t port)
{
    CvswAction a = { .type = CVSW_ACTION_OUTPUT };

    a.output.port = port;
    return a;
}

static CvswAction into_tunnel(bool is_ip6)
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

static CvswAction with_sa(CvswActionType type, uint32_t sa)
{
    return (CvswAction) { .type = type, .sa = sa };
}

static void match_number(CvswMatch *match, CvswField field, uint64_t number)
{
    size_t octets = cvsw_field_octets(field);
    CvswValue value = { { 0 } };

    for (size_t i = 0; i < octets; i++) {
        value.octets[octets - 1 - i] = number >> 8 * i;
    }
    g_assert_cmpint(cvsw_match_add(match, field, &value, NULL), ==,
                    CVSW_MATCH_OK);
}

static void add_flow(Nic *nic, const CvswMatch *match, uint16_t priority,
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

static void flow_from(Nic *nic, uint32_t port, const CvswAction *actions,
                      unsigned num)
{
    CvswMatch match = { 0 };

    match_number(&match, CVSW_IN_PORT, port);
    add_flow(nic, &match, 1, actions, num);
}

static void add_sa(Nic *nic, uint32_t number, EspDirection direction,
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

/* A sends everything into its tunnel, B takes it out. */
static void connect_nics(Nic *a, Nic *b, bool is_ip6, bool sealed)
{
    CvswAction out[3] = { into_tunnel(is_ip6) }, in[2];
    unsigned outs = 1, ins = 0;

    if (sealed) {
        out[outs++] = with_sa(CVSW_ACTION_ENCRYPT, 1);
        in[ins++] = with_sa(CVSW_ACTION_DECRYPT, 0);
        add_sa(a, 1, ESP_OUTBOUND, 7);
        add_sa(b, 1, ESP_INBOUND, 7);
    }
    out[outs++] = output(CVSW_PORT_WIRE);
    in[ins++] = (CvswAction) { .type = CVSW_ACTION_TUNNEL_DECAP };
    flow_from(a, CVSW_PORT_GUEST, out, outs);
    flow_from(b, CVSW_PORT_WIRE, in, ins);
    {
        CvswAction deliver = output(CVSW_PORT_GUEST);
        CvswMatch match = { 0 };

        match_number(&match, CVSW_TUNNEL_ID, VNI);
        add_flow(b, &match, 2, &deliver, 1);
    }
}

/* --- frames --------------------------------------------------------------- */

/* TCP over IPv4 or IPv6 with @payload octets; whole, or for the NIC to do. */
static Frame *tcp(bool is_ip4, size_t payload, bool partial)
{
    Frame *f = g_new0(Frame, 1);
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

static bool put_in(Nic *nic, uint32_t port, const Frame *f)
{
    struct iovec iov[3] = {
        { (void *)f->data, 20 },
        { (void *)(f->data + 20), f->len / 2 },
        { (void *)(f->data + 20 + f->len / 2), f->len - 20 - f->len / 2 },
    };

    return cvsw_run(&nic->run, port, iov, 3, &f->offload, 0);
}

static void carry(Nic *from, Nic *to)
{
    for (unsigned i = 0; i < from->wire->len; i++) {
        g_assert_true(put_in(to, CVSW_PORT_WIRE,
                             g_ptr_array_index(from->wire, i)));
    }
}

/* A segment that came out of the tunnel: whole, with right checksums. */
static size_t assert_segment(const Frame *f, bool is_ip4, size_t at)
{
    size_t ip_len = is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN;
    const uint8_t *l3 = f->data + PACKET_ETH_LEN, *l4 = l3 + ip_len;
    size_t l4_len = f->len - PACKET_ETH_LEN - ip_len;
    uint32_t sum = packet_sum_pseudo(l3, 6, l4_len);

    if (is_ip4) {
        g_assert_true(packet_ip4_sum_is_good(l3, ip_len));
        g_assert_cmpuint(packet_get16(l3 + 2), ==, ip_len + l4_len);
    } else {
        g_assert_cmpuint(packet_get16(l3 + 4), ==, l4_len);
    }
    g_assert_cmphex(packet_sum_fold(packet_sum_add(sum, l4, l4_len)), ==, 0);
    g_assert_cmpuint(packet_get32(l4 + 4), ==, at);
    for (size_t i = PACKET_TCP_LEN; i < l4_len; i++) {
        size_t n = at + i - PACKET_TCP_LEN;

        g_assert_cmphex(l4[i], ==, (uint8_t)(n * 31 + (n >> 8)));
    }
    return l4_len - PACKET_TCP_LEN;
}

static void assert_arrived(Nic *nic, bool is_ip4, size_t payload)
{
    size_t at = 0;

    g_assert_cmpint(nic->guest->len, >, 0);
    for (unsigned i = 0; i < nic->guest->len; i++) {
        at += assert_segment(g_ptr_array_index(nic->guest, i), is_ip4, at);
    }
    g_assert_cmpuint(at, ==, payload);
}

/* No outer packet is longer than the link takes, or a fragment. */
static void assert_outer(Nic *nic, bool is_ip6, bool sealed)
{
    for (unsigned i = 0; i < nic->wire->len; i++) {
        const Frame *f = g_ptr_array_index(nic->wire, i);
        PacketFlow flow;

        g_assert_cmpuint(f->len, <=, MTU + PACKET_ETH_LEN);
        g_assert_true(packet_flow_parse(&flow, f->data, MIN(f->len, 512),
                                        f->len));
        g_assert_true(flow.has & (is_ip6 ? PACKET_FLOW_IP6
                                         : PACKET_FLOW_IP4));
        g_assert_false(flow.has & PACKET_FLOW_FRAGMENT);
        g_assert_cmpint(flow.protocol, ==, sealed ? ESP_PROTOCOL
                                                  : PACKET_PROTO_UDP);
        if (!sealed) {
            g_assert_cmpint(flow.dst_port, ==, 4789);
            g_assert_cmpint(flow.src_port, >=, 0xc000);
        }
    }
}

static void through(bool is_ip4, bool outer_ip6, bool sealed, size_t payload,
                    bool partial)
{
    Nic *a = nic_new(), *b = nic_new();
    g_autofree Frame *f = tcp(is_ip4, payload, partial || payload > MSS);

    connect_nics(a, b, outer_ip6, sealed);
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, payload ? (payload + MSS - 1) / MSS : 1);
    assert_outer(a, outer_ip6, sealed);
    carry(a, b);
    assert_arrived(b, is_ip4, payload);
    nic_free(a);
    nic_free(b);
}

static void test_tunnel(void)
{
    static const size_t sizes[] = {
        0, 1, 2, 63, 64, 511, 1000, MSS - 1, MSS, MSS + 1, 2 * MSS,
        2 * MSS + 1, 32768, 65535 - PACKET_IP4_LEN - PACKET_TCP_LEN,
    };

    for (unsigned way = 0; way < 16; way++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
            through(way & 1, way & 2, way & 4, sizes[i], way & 8);
        }
    }
}

static uint64_t dropped(const Nic *nic, uint32_t port, CvswDrop why)
{
    return nic->run.dropped[port != CVSW_PORT_GUEST][why];
}

/* A frame that a flow says to seal never leaves in clear. */
static void test_no_sa(void)
{
    Nic *a = nic_new(), *b = nic_new();
    g_autofree Frame *f = tcp(true, 100, false);

    connect_nics(a, b, false, true);
    g_assert_true(cvsw_sas_delete(a->run.sas, 1));
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 0);
    g_assert_cmpuint(dropped(a, CVSW_PORT_GUEST, CVSW_DROP_NO_SA), ==, 1);
    /* Nor by a flow that forgets the tunnel. */
    {
        CvswAction bare[2] = {
            with_sa(CVSW_ACTION_ENCRYPT, 1), output(CVSW_PORT_WIRE),
        };

        flow_from(a, CVSW_PORT_GUEST, bare, 2);
        g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->wire->len, ==, 0);
    }
    nic_free(a);
    nic_free(b);
}

/* Another key, a frame once more, a frame in clear: nothing gets in. */
static void test_intruder(void)
{
    Nic *a = nic_new(), *b = nic_new(), *c = nic_new();
    g_autofree Frame *f = tcp(true, 100, false);

    connect_nics(a, b, false, true);
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    g_assert_cmpuint(b->run.esp[ESP_REPLAYED], ==, 1);
    add_sa(a, 1, ESP_OUTBOUND, 8);
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    g_ptr_array_set_size(a->wire, 0);   /* with a number that was seen */
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    carry(a, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    g_assert_cmpuint(b->run.esp[ESP_ICV], ==, 1);
    connect_nics(c, b, false, false);
    {
        CvswAction in[2] = {
            with_sa(CVSW_ACTION_DECRYPT, 0),
            { .type = CVSW_ACTION_TUNNEL_DECAP },
        };

        flow_from(b, CVSW_PORT_WIRE, in, 2);
    }
    g_assert_true(put_in(c, CVSW_PORT_GUEST, f));
    carry(c, b);
    g_assert_cmpint(b->guest->len, ==, 1);
    g_assert_cmpuint(dropped(b, CVSW_PORT_WIRE, CVSW_DROP_NOT_SEALED), ==, 1);
    nic_free(a);
    nic_free(b);
    nic_free(c);
}

/* Any octet of an outer frame may be wrong. */
static void test_damaged(void)
{
    for (unsigned sealed = 0; sealed < 2; sealed++) {
        Nic *a = nic_new(), *b = nic_new();
        g_autofree Frame *f = tcp(true, 60, false);
        Frame *outer;

        connect_nics(a, b, sealed, sealed);
        g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
        outer = g_ptr_array_index(a->wire, 0);
        for (size_t i = 0; i < outer->len; i++) {
            outer->data[i] ^= 0xff;
            put_in(b, CVSW_PORT_WIRE, outer);
            outer->data[i] ^= 0xff;
        }
        for (size_t len = 40; len < outer->len; len++) {
            Frame cut = *outer;

            cut.len = len;
            put_in(b, CVSW_PORT_WIRE, &cut);
        }
        if (sealed) {
            /* The outer Ethernet and IPv6 addresses are not covered. */
            g_assert_cmpuint(b->run.esp[ESP_GOOD], ==, 0);
        }
        nic_free(a);
        nic_free(b);
    }
}

/* No flow: to the other side as it is, or dropped if that is wanted. */
static void test_miss(void)
{
    Nic *a = nic_new();
    g_autofree Frame *f = tcp(true, 100, false);

    g_assert_false(put_in(a, CVSW_PORT_GUEST, f));
    a->run.drop_misses = true;
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(dropped(a, CVSW_PORT_GUEST, CVSW_DROP_MISS), ==, 1);
    g_assert_cmpint(a->wire->len, ==, 0);
    nic_free(a);
}

static void test_outputs(void)
{
    static const struct {
        uint32_t port;
        unsigned guest, wire, punted;
    } cases[] = {
        { CVSW_PORT_WIRE, 0, 1, 0 },
        { CVSW_PORT_GUEST, 0, 0, 0 },           /* where it came from */
        { CVSW_OUT_IN_PORT, 1, 0, 0 },
        { CVSW_OUT_NORMAL, 0, 1, 0 },
        { CVSW_OUT_ALL, 0, 1, 0 },
        { CVSW_OUT_FLOOD, 0, 1, 0 },
        { CVSW_OUT_CONTROLLER, 0, 0, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Nic *a = nic_new();
        g_autofree Frame *f = tcp(true, 100, false);
        CvswAction action = output(cases[i].port);

        flow_from(a, CVSW_PORT_GUEST, &action, 1);
        g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
        g_assert_cmpint(a->guest->len, ==, cases[i].guest);
        g_assert_cmpint(a->wire->len, ==, cases[i].wire);
        g_assert_cmpint(a->punted, ==, cases[i].punted);
        g_assert_cmpuint(dropped(a, CVSW_PORT_GUEST, CVSW_DROP_FLOW), ==,
                         cases[i].port == CVSW_PORT_GUEST);
        nic_free(a);
    }
}

/* An empty list drops, and counts for its flow. */
static void test_drop(void)
{
    Nic *a = nic_new();
    g_autofree Frame *f = tcp(true, 100, false);

    flow_from(a, CVSW_PORT_GUEST, NULL, 0);
    g_assert_true(put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(dropped(a, CVSW_PORT_GUEST, CVSW_DROP_FLOW), ==, 1);
    nic_free(a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/run/tunnel", test_tunnel);
    g_test_add_func("/cvsw/run/no-sa", test_no_sa);
    g_test_add_func("/cvsw/run/intruder", test_intruder);
    g_test_add_func("/cvsw/run/damaged", test_damaged);
    g_test_add_func("/cvsw/run/miss", test_miss);
    g_test_add_func("/cvsw/run/outputs", test_outputs);
    g_test_add_func("/cvsw/run/drop", test_drop);
    return g_test_run();
}
