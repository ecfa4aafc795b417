/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changed headers: the field has its value, the rest stays, checksums are
 * correct
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/frame/rewrite.h"
#include "net/packet/crc32c.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

enum { ICMP4 = 1, SCTP = 132 };
enum { PAYLOAD = 33 };

/* A frame as a guest sends it. */
typedef struct Sent {
    uint8_t data[600];
    size_t len, l3, l4;
    uint8_t protocol;
    bool is_ip4;
    PacketOffload offload;
} Sent;

static size_t sum_at(const Sent *s)
{
    switch (s->protocol) {
    case PACKET_PROTO_TCP:
        return s->l4 + PACKET_TCP_CHECKSUM;
    case PACKET_PROTO_UDP:
        return s->l4 + PACKET_UDP_CHECKSUM;
    case SCTP:
        return 0;
    default:
        return s->l4 + 2;
    }
}

static uint32_t pseudo(const uint8_t *frame, const Sent *s, size_t l4_len)
{
    return s->protocol == ICMP4 ? 0 : packet_sum_pseudo(frame + s->l3,
                                                        s->protocol, l4_len);
}

/* Octets of a transport's header. */
static size_t put_l4(uint8_t *p, uint8_t protocol)
{
    memset(p, 0, 32);
    put_be16(p, 1000);
    put_be16(p + 2, 2000);
    switch (protocol) {
    case PACKET_PROTO_TCP:
        p[12] = 5 << 4;
        p[13] = PACKET_TCP_ACK;
        return PACKET_TCP_LEN;
    case PACKET_PROTO_UDP:
        put_be16(p + 4, PACKET_UDP_LEN + PAYLOAD);
        return PACKET_UDP_LEN;
    case SCTP:
        return 12;
    case PACKET_PROTO_ICMP6:
        /* A neighbour solicitation with its option, and padding. */
        memset(p, 0, 4);
        p[0] = 135;
        p[8] = 0xfe;
        p[24] = 1;
        p[25] = 1;
        return 32;
    default:
        memset(p, 0, 4);
        p[0] = 8;
        return 8;
    }
}

static void make(Sent *s, unsigned tags, bool is_ip4, uint8_t protocol)
{
    uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 };
    size_t payload = protocol == PACKET_PROTO_ICMP6 ? 0 : PAYLOAD, l4_len;

    memset(s, 0, sizeof(*s));
    s->is_ip4 = is_ip4;
    s->protocol = protocol;
    packet_eth_build(s->data, mac, mac, is_ip4 ? PACKET_ETH_IP4
                                               : PACKET_ETH_IP6);
    s->l3 = PACKET_ETH_LEN + tags * PACKET_ETH_TAG_LEN;
    for (unsigned i = 0; i < tags; i++) {
        put_be16(s->data + 12 + 4 * i, PACKET_ETH_VLAN);
        put_be16(s->data + 14 + 4 * i, 0x2000 | (100 + i));
    }
    put_be16(s->data + s->l3 - 2, is_ip4 ? PACKET_ETH_IP4
                                         : PACKET_ETH_IP6);
    s->l4 = s->l3 + (is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN);
    l4_len = put_l4(s->data + s->l4, protocol) + payload;
    if (is_ip4) {
        PacketIp4 ip = { .ttl = 5, .tos = 0x15, .protocol = protocol,
                         .total = PACKET_IP4_LEN + l4_len };

        inet_pton(AF_INET, "192.0.2.1", &ip.src);
        inet_pton(AF_INET, "198.51.100.2", &ip.dst);
        packet_ip4_build(s->data + s->l3, &ip);
    } else {
        PacketIp6 ip = { .hops = 5, .tclass = 0x15, .next = protocol,
                         .payload = l4_len, .flow = 0x12345 };

        inet_pton(AF_INET6, "2001:db8::1", &ip.src);
        inet_pton(AF_INET6, "2001:db8:ffff::2", &ip.dst);
        packet_ip6_build(s->data + s->l3, &ip);
    }
    for (size_t i = 0; i < payload; i++) {
        s->data[s->l4 + l4_len - payload + i] = 7 * i;
    }
    s->len = s->l4 + l4_len;
}

/* The transport's checksum: whole, or left to the receiver. */
static void seal(Sent *s, bool partial)
{
    size_t l4_len = s->len - s->l4, at = sum_at(s);
    uint32_t sum = pseudo(s->data, s, l4_len);
    struct iovec iov = { s->data, s->len };

    if (!at) {
        uint32_t crc = packet_crc32c(0, s->data + s->l4, l4_len);

        crc = GUINT32_TO_LE(crc);
        memcpy(s->data + s->l4 + 8, &crc, sizeof(crc));
    } else if (partial) {
        put_be16(s->data + at, packet_sum_partial(sum));
        s->offload.needs_csum = true;
        s->offload.csum_start = s->l4;
        s->offload.csum_offset = at - s->l4;
    } else {
        sum = packet_sum_iov(sum, &iov, 1, s->l4, l4_len);
        put_be16(s->data + at, packet_sum_fold(sum));
    }
}

static void assert_sctp(uint8_t *l4, size_t len)
{
    uint32_t want, have;

    memcpy(&have, l4 + 8, sizeof(have));
    memset(l4 + 8, 0, sizeof(have));
    want = GUINT32_TO_LE(packet_crc32c(0, l4, len));
    g_assert_cmphex(have, ==, want);
}

/* All checksums of the output frame are correct. */
static void assert_sums(const CvswFrame *f, const Sent *s)
{
    uint8_t out[700];
    struct iovec iov[CVSW_PARTS_MAX + 1];
    size_t len = packet_iov_copy(iov, cvsw_frame_iov(f, iov), 0, out,
                                 sizeof(out));
    Sent now = *s;
    size_t l4_len;
    uint32_t sum;

    g_assert_cmpuint(len, ==, f->size);
    now.l3 = f->flow.l3;
    now.l4 = f->flow.l4;
    l4_len = len - now.l4;
    if (s->is_ip4) {
        g_assert_true(packet_ip4_sum_is_good(out + now.l3, PACKET_IP4_LEN));
    }
    sum = pseudo(out, &now, l4_len);
    if (!sum_at(&now)) {
        assert_sctp(out + now.l4, l4_len);
    } else if (f->offload.needs_csum) {
        g_assert_cmpuint(f->offload.csum_start, ==, now.l4);
        g_assert_cmphex(get_be16(out + sum_at(&now)), ==,
                        packet_sum_partial(sum));
    } else {
        sum = packet_sum_add(sum, out + now.l4, l4_len);
        g_assert_cmphex(packet_sum_fold(sum), ==, 0);
    }
}

typedef struct Setting {
    CvswField field;
    unsigned octets;
    uint32_t max;               /* greatest value, up to four octets; 0: any */
    uint8_t protocol;           /* required protocol; 0: any */
    uint8_t version;            /* of IP; 0: any */
    size_t at;                  /* in PacketFlow */
} Setting;

#define IN_FLOW(member) offsetof(PacketFlow, member)

static const Setting settings[] = {
    { CVSW_ETH_DST, 6, 0, 0, 0, IN_FLOW(eth.dst) },
    { CVSW_ETH_SRC, 6, 0, 0, 0, IN_FLOW(eth.src) },
    { CVSW_IPV4_SRC, 4, 0, 0, 4, IN_FLOW(ip4_src) },
    { CVSW_IPV4_DST, 4, 0, 0, 4, IN_FLOW(ip4_dst) },
    { CVSW_IPV6_SRC, 16, 0, 0, 6, IN_FLOW(ip6_src) },
    { CVSW_IPV6_DST, 16, 0, 0, 6, IN_FLOW(ip6_dst) },
    { CVSW_TCP_SRC, 2, 0, PACKET_PROTO_TCP, 0, IN_FLOW(src_port) },
    { CVSW_TCP_DST, 2, 0, PACKET_PROTO_TCP, 0, IN_FLOW(dst_port) },
    { CVSW_UDP_SRC, 2, 0, PACKET_PROTO_UDP, 0, IN_FLOW(src_port) },
    { CVSW_UDP_DST, 2, 0, PACKET_PROTO_UDP, 0, IN_FLOW(dst_port) },
    { CVSW_SCTP_SRC, 2, 0, SCTP, 0, IN_FLOW(src_port) },
    { CVSW_SCTP_DST, 2, 0, SCTP, 0, IN_FLOW(dst_port) },
    { CVSW_ICMPV4_CODE, 1, 0, ICMP4, 4, IN_FLOW(icmp_code) },
    { CVSW_ICMPV4_TYPE, 1, 0, ICMP4, 4, IN_FLOW(icmp_type) },
    { CVSW_IPV6_ND_TARGET, 16, 0, PACKET_PROTO_ICMP6, 6, IN_FLOW(nd_target) },
    { CVSW_IPV6_ND_SLL, 6, 0, PACKET_PROTO_ICMP6, 6, IN_FLOW(nd_sll) },
};

/* Numbers in a PacketFlow are in host order, all others as on the wire. */
static void assert_flow(const CvswFrame *f, const Setting *s,
                        const uint8_t *want)
{
    const uint8_t *have = (const uint8_t *)&f->flow + s->at;
    uint8_t number[2];

    if (s->octets == 2) {
        uint16_t host;

        memcpy(&host, have, sizeof(host));
        put_be16(number, host);
        have = number;
    }
    g_assert_cmpmem(have, s->octets, want, s->octets);
}

static void set_one(const Sent *sent, const Setting *s, GRand *random)
{
    struct iovec iov[2] = {
        { (void *)sent->data, sent->len / 2 },
        { (void *)(sent->data + sent->len / 2), sent->len - sent->len / 2 },
    };
    CvswAction action = { .type = CVSW_ACTION_SET_FIELD };
    g_autofree CvswFrame *f = g_new(CvswFrame, 1);
    bool meets;

    memset(action.set.mask.octets, 0xff, s->octets);
    action.set.field = s->field;
    for (unsigned i = 0; i < s->octets; i++) {
        action.set.value.octets[i] = g_rand_int(random);
    }
    meets = (!s->protocol || s->protocol == sent->protocol) &&
            (!s->version || s->version == (sent->is_ip4 ? 4 : 6));
    g_assert_true(cvsw_frame_take(f, iov, 2, &sent->offload));
    g_assert_cmpint(cvsw_rewrite(f, &action), ==, CVSW_REWRITE_DONE);
    if (meets) {
        assert_flow(f, s, action.set.value.octets);
    } else {
        g_assert_cmpmem(f->head, f->head_len, sent->data, f->head_len);
    }
    assert_sums(f, sent);
}

static const struct {
    bool is_ip4;
    uint8_t protocol;
} kinds[] = {
    { true, PACKET_PROTO_TCP }, { true, PACKET_PROTO_UDP },
    { true, ICMP4 }, { true, SCTP },
    { false, PACKET_PROTO_TCP }, { false, PACKET_PROTO_UDP },
    { false, PACKET_PROTO_ICMP6 }, { false, SCTP },
};

static void for_each_kind(void (*func)(const Sent *sent, void *data),
                          void *data)
{
    for (unsigned tags = 0; tags <= 2; tags++) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
            bool l4 = kinds[i].protocol == PACKET_PROTO_TCP ||
                      kinds[i].protocol == PACKET_PROTO_UDP;
            Sent sent;

            for (int partial = 0; partial <= l4; partial++) {
                make(&sent, tags, kinds[i].is_ip4, kinds[i].protocol);
                seal(&sent, partial);
                func(&sent, data);
            }
        }
    }
}

static void set_all(const Sent *sent, void *data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
        for (unsigned again = 0; again < 50; again++) {
            set_one(sent, &settings[i], data);
        }
    }
}

static void test_set_field(void)
{
    GRand *random = g_rand_new_with_seed(29);

    for_each_kind(set_all, random);
    g_rand_free(random);
}

static CvswFrame *change(const Sent *sent, const CvswAction *action,
                         CvswRewrite want)
{
    struct iovec iov = { (void *)sent->data, sent->len };
    CvswFrame *f = g_new(CvswFrame, 1);

    g_assert_true(cvsw_frame_take(f, &iov, 1, &sent->offload));
    g_assert_cmpint(cvsw_rewrite(f, action), ==, want);
    return f;
}

static void change_ip(const Sent *sent, void *data)
{
    CvswAction tos = { .type = CVSW_ACTION_SET_TOS, .number = 0xb8 };
    CvswAction ttl = { .type = CVSW_ACTION_SET_TTL, .number = 77 };
    CvswAction dec = { .type = CVSW_ACTION_DEC_TTL };
    CvswAction dscp = { .type = CVSW_ACTION_SET_FIELD };
    g_autofree CvswFrame *a = change(sent, &tos, CVSW_REWRITE_DONE);
    g_autofree CvswFrame *b = change(sent, &ttl, CVSW_REWRITE_DONE);
    g_autofree CvswFrame *c = change(sent, &dec, CVSW_REWRITE_DONE);
    g_autofree CvswFrame *d = NULL;

    g_assert_cmphex(a->flow.tos, ==, 0xb9);     /* ECN stays */
    g_assert_cmpint(b->flow.ttl, ==, 77);
    g_assert_cmpint(c->flow.ttl, ==, 4);
    dscp.set.field = CVSW_IP_ECN;
    dscp.set.value.octets[0] = 2;
    dscp.set.mask.octets[0] = 3;
    d = change(sent, &dscp, CVSW_REWRITE_DONE);
    g_assert_cmphex(d->flow.tos, ==, 0x16);
    if (!sent->is_ip4) {
        g_assert_cmphex(a->flow.ip6_label, ==, 0x12345);
    }
    assert_sums(a, sent);
    assert_sums(b, sent);
    assert_sums(c, sent);
    assert_sums(d, sent);
}

static void test_ip(void)
{
    for_each_kind(change_ip, NULL);
}

static void end_ttl(const Sent *sent, void *data)
{
    CvswAction one = { .type = CVSW_ACTION_SET_TTL, .number = 1 };
    CvswAction dec = { .type = CVSW_ACTION_DEC_TTL };
    g_autofree CvswFrame *f = change(sent, &one, CVSW_REWRITE_DONE);

    g_assert_cmpint(cvsw_rewrite(f, &dec), ==, CVSW_REWRITE_TTL);
}

static void test_ttl_ends(void)
{
    for_each_kind(end_ttl, NULL);
}

static void change_tags(const Sent *sent, void *data)
{
    CvswAction push = { .type = CVSW_ACTION_PUSH_VLAN,
                        .number = PACKET_ETH_QINQ };
    CvswAction pop = { .type = CVSW_ACTION_POP_VLAN };
    CvswAction vid = { .type = CVSW_ACTION_SET_VID, .number = 7 };
    CvswAction pcp = { .type = CVSW_ACTION_SET_PCP, .number = 5 };
    unsigned tags = (sent->l3 - PACKET_ETH_LEN) / PACKET_ETH_TAG_LEN;
    g_autofree CvswFrame *f = change(sent, &vid, CVSW_REWRITE_DONE);

    /* OpenFlow 1.0: the first one adds a tag where there is none. */
    g_assert_cmpint(f->flow.eth.tags, ==, MAX(tags, 1));
    g_assert_cmphex(f->flow.eth.tci[0], ==, tags ? 0x2007 : 7);
    cvsw_rewrite(f, &pcp);
    g_assert_cmphex(f->flow.eth.tci[0], ==, 0xa007);
    assert_sums(f, sent);
    if (tags < 2) {
        cvsw_rewrite(f, &push);
        g_assert_cmpint(f->flow.eth.tags, ==, 2);
        g_assert_cmphex(f->flow.eth.tpid[0], ==, PACKET_ETH_QINQ);
        g_assert_cmphex(f->flow.eth.tci[0], ==, 0xa007);
        assert_sums(f, sent);
    }
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(cvsw_rewrite(f, &pop), ==, CVSW_REWRITE_DONE);
    }
    g_assert_cmpint(f->flow.eth.tags, ==, 0);
    g_assert_cmpuint(f->size, ==, sent->len - tags * PACKET_ETH_TAG_LEN);
    assert_sums(f, sent);
}

static void test_tags(void)
{
    for_each_kind(change_tags, NULL);
}

/* No room for more tags: the frame stays unchanged. */
static void test_many_tags(void)
{
    CvswAction push = { .type = CVSW_ACTION_PUSH_VLAN,
                        .number = PACKET_ETH_VLAN };
    g_autofree CvswFrame *f = NULL;
    unsigned pushed = 0;
    Sent sent;

    make(&sent, 0, true, PACKET_PROTO_TCP);
    seal(&sent, false);
    f = change(&sent, &push, CVSW_REWRITE_DONE);
    while (cvsw_rewrite(f, &push) == CVSW_REWRITE_DONE) {
        pushed++;
    }
    g_assert_cmpuint(pushed + 1, ==, CVSW_HEADROOM / PACKET_ETH_TAG_LEN);
    g_assert_cmpuint(f->size, ==, sent.len + CVSW_HEADROOM);
}

/* UDP without a checksum stays without one; a sum of 0 is sent as 0xffff. */
static void test_udp_sum(void)
{
    CvswAction port = { .type = CVSW_ACTION_SET_TP_DST };
    g_autofree CvswFrame *none = NULL;
    Sent sent;

    make(&sent, 0, true, PACKET_PROTO_UDP);
    none = change(&sent, &port, CVSW_REWRITE_DONE);
    g_assert_cmphex(get_be16(none->head + sum_at(&sent)), ==, 0);
    seal(&sent, false);
    for (unsigned number = 0; number < 65536; number++) {
        g_autofree CvswFrame *f = NULL;

        port.number = number;
        f = change(&sent, &port, CVSW_REWRITE_DONE);
        g_assert_cmphex(get_be16(f->head + sum_at(&sent)), !=, 0);
        assert_sums(f, &sent);
    }
}

/* A wrong checksum stays wrong, so that the receiver detects it. */
static void test_damaged_sctp(void)
{
    CvswAction action = {
        .type = CVSW_ACTION_SET_FIELD,
        .set = { .field = CVSW_SCTP_SRC, .value.octets = { 0x12, 0x34 },
                 .mask.octets = { 0xff, 0xff } },
    };
    g_autofree CvswFrame *f = NULL;
    Sent sent;

    make(&sent, 1, false, SCTP);
    seal(&sent, false);
    sent.data[sent.l4 + 9] ^= 0x40;
    f = change(&sent, &action, CVSW_REWRITE_DONE);
    g_assert_cmpint(f->flow.src_port, ==, 0x1234);
    f->head[f->flow.l4 + 9] ^= 0x40;
    assert_sums(f, &sent);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/rewrite/set-field", test_set_field);
    g_test_add_func("/cvsw/rewrite/ip", test_ip);
    g_test_add_func("/cvsw/rewrite/ttl-ends", test_ttl_ends);
    g_test_add_func("/cvsw/rewrite/tags", test_tags);
    g_test_add_func("/cvsw/rewrite/many-tags", test_many_tags);
    g_test_add_func("/cvsw/rewrite/udp-sum", test_udp_sum);
    g_test_add_func("/cvsw/rewrite/damaged-sctp", test_damaged_sctp);
    return g_test_run();
}
