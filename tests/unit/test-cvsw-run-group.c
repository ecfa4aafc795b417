/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames through groups: each bucket has a copy of its own
 *
 * A bucket changes its copy exactly as a flow with the same actions would
 * change the frame.
 */
#include "base/octets.h"
#include "tests/fixtures/cvsw-nic.h"
#include "net/packet/ip4.h"

enum { TOP = 1, LEAF = 2 };

/* Adds a bucket for a later group. */
static void add_bucket(GArray *buckets, const CvswAction *actions,
                       unsigned num)
{
    CvswGroupBucket bucket = {
        .actions_len = num,
        .actions = g_memdup2(actions, num * sizeof(*actions)),
    };

    g_array_append_val(buckets, bucket);
}

static GArray *new_buckets(void)
{
    return g_array_new(false, true, sizeof(CvswGroupBucket));
}

static void add_group(Nic *nic, uint32_t id, GArray *buckets)
{
    g_auto(CvswGroupMod) mod = {
        .command = CVSW_GROUP_ADD,
        .id = id,
        .buckets_len = buckets->len,
        .buckets = (CvswGroupBucket *)g_array_free(buckets, false),
    };

    g_assert_cmpint(cvsw_table_group_mod(nic->run.table, &mod, 0), ==,
                    CVSW_GROUP_OK);
}

static CvswAction to_group(uint32_t id)
{
    return (CvswAction) { .type = CVSW_ACTION_GROUP, .group = id };
}

static CvswAction set_dst(uint8_t last)
{
    CvswAction a = { .type = CVSW_ACTION_SET_FIELD };

    a.set.field = CVSW_ETH_DST;
    a.set.value.octets[0] = 2;
    a.set.value.octets[5] = last;
    memset(a.set.mask.octets, 0xff, PACKET_ETH_ADDR_LEN);
    return a;
}

static void assert_same(const NicFrame *a, const NicFrame *b)
{
    g_assert_cmpmem(a->data, a->len, b->data, b->len);
    g_assert_cmpint(a->offload.needs_csum, ==, b->offload.needs_csum);
    g_assert_cmpint(a->offload.gso, ==, b->offload.gso);
    g_assert_cmpint(a->offload.gso_size, ==, b->offload.gso_size);
}

static const NicFrame *on_wire(const Nic *nic, unsigned i)
{
    g_assert_cmpuint(i, <, nic->wire->len);
    return g_ptr_array_index(nic->wire, i);
}

/* Changes by buckets end with them; the flow goes on with its own frame. */
static void test_copies(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, true);
    CvswAction push = { .type = CVSW_ACTION_PUSH_VLAN, .number = 0x8100 };
    CvswAction first[] = { set_dst(9), push, nic_output(CVSW_PORT_WIRE) };
    CvswAction second[] = { nic_into_tunnel(false),
                            nic_output(CVSW_PORT_WIRE) };
    CvswAction third[] = { nic_output(CVSW_PORT_WIRE) };
    CvswAction list[] = { to_group(LEAF), nic_output(CVSW_PORT_WIRE) };
    GArray *buckets = new_buckets();
    CvswGroup *group;

    add_bucket(buckets, first, 3);
    add_bucket(buckets, NULL, 0);
    add_bucket(buckets, second, 2);
    add_bucket(buckets, third, 1);
    add_group(a, LEAF, buckets);
    nic_flow_from(a, CVSW_PORT_GUEST, list, 2);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 4);
    g_assert_cmpuint(on_wire(a, 0)->len, ==, f->len + PACKET_ETH_TAG_LEN);
    g_assert_cmpint(on_wire(a, 0)->data[5], ==, 9);
    /* The checksum was made in the tunnel, for this copy only. */
    g_assert_cmpuint(on_wire(a, 1)->len, ==, f->len + 14 + 20 + 8 + 8);
    g_assert_cmpmem(on_wire(a, 1)->data + 50, 14, f->data, 14);
    assert_same(on_wire(a, 2), f);
    assert_same(on_wire(a, 3), f);
    group = cvsw_groups_find(cvsw_table_groups(a->run.table), LEAF);
    g_assert_cmpuint(group->packets, ==, 1);
    g_assert_cmpuint(group->octets, ==, f->len);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(group->buckets[i].packets, ==, 1);
        g_assert_cmpuint(group->buckets[i].octets, ==, f->len);
    }
    nic_free(a);
}

/* Buckets use the flow's tunnel, until they begin another one. */
static void test_tunnel_before(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);
    CvswAction other = nic_into_tunnel(false), out = nic_output(CVSW_PORT_WIRE);
    CvswAction list[] = { nic_into_tunnel(false), to_group(LEAF), out };
    CvswAction first[] = { other, out };
    GArray *buckets = new_buckets();

    first[0].tunnel.vni = 7;
    add_bucket(buckets, first, 2);
    add_bucket(buckets, &out, 1);
    add_group(a, LEAF, buckets);
    nic_flow_from(a, CVSW_PORT_GUEST, list, 3);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(get_be32(on_wire(a, i)->data + 46) >> 8, ==,
                        i ? NIC_VNI : 7);
    }
    nic_free(a);
}

/* A copy that cannot be sent is dropped and counted; the others go on. */
static void test_failures(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);
    CvswAction out = nic_output(CVSW_PORT_WIRE), list = to_group(LEAF);
    GArray *buckets = new_buckets();

    nic_add_sa(a, 2, ESP_OUTBOUND, 7);
    for (unsigned sa = 1; sa <= 3; sa++) {
        CvswAction sealed[] = { nic_into_tunnel(false),
                                nic_with_sa(CVSW_ACTION_ENCRYPT, sa), out };

        add_bucket(buckets, sealed, 3);
    }
    add_bucket(buckets, &out, 1);
    add_group(a, LEAF, buckets);
    nic_flow_from(a, CVSW_PORT_GUEST, &list, 1);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 2);
    g_assert_cmpint(on_wire(a, 0)->data[23], ==, ESP_PROTOCOL);
    assert_same(on_wire(a, 1), f);
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_NO_SA), ==, 2);
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_FLOW), ==, 0);
    nic_free(a);
}

/* A group without a bucket, or without output, drops. */
static void test_drops(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);
    CvswAction list = to_group(LEAF);

    add_group(a, LEAF, new_buckets());
    nic_flow_from(a, CVSW_PORT_GUEST, &list, 1);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_FLOW), ==, 1);
    nic_free(a);
}

/* As the controller does for 512 members: a group of groups. */
static void test_many(void)
{
    enum { PEERS = 511, EACH = 12, INNER = 14 + 20 + 8 + 8 };
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 100, false);
    CvswAction list = to_group(TOP);
    GArray *top = new_buckets();

    for (unsigned at = 0; at < PEERS; at += EACH) {
        CvswAction next = to_group(LEAF + at);
        GArray *buckets = new_buckets();

        for (unsigned i = at; i < MIN(at + EACH, PEERS); i++) {
            CvswAction way[] = { nic_into_tunnel(false),
                                 nic_output(CVSW_PORT_WIRE) };

            way[0].tunnel.vni = i;
            add_bucket(buckets, way, 2);
        }
        add_group(a, LEAF + at, buckets);
        add_bucket(top, &next, 1);
    }
    add_group(a, TOP, top);
    nic_flow_from(a, CVSW_PORT_GUEST, &list, 1);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, PEERS);
    for (unsigned i = 0; i < PEERS; i++) {
        const NicFrame *outer = on_wire(a, i);

        g_assert_cmpuint(get_be32(outer->data + INNER - 4) >> 8, ==, i);
        g_assert_cmpmem(outer->data + INNER, outer->len - INNER, f->data,
                        f->len);
    }
    nic_free(a);
}

/* The number of copies of a frame is limited, for any number of groups. */
static void test_bound(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 10, false);
    CvswAction out = nic_output(CVSW_PORT_WIRE), list[CVSW_ACTIONS_MAX];
    CvswAction next = to_group(LEAF);
    GArray *buckets = new_buckets(), *top = new_buckets();

    for (unsigned i = 0; i < 900; i++) {
        add_bucket(buckets, &out, 1);
    }
    add_group(a, LEAF, buckets);
    add_bucket(top, &next, 1);
    add_bucket(top, &next, 1);
    add_group(a, TOP, top);
    for (unsigned i = 0; i < CVSW_ACTIONS_MAX; i++) {
        list[i] = to_group(TOP);
    }
    nic_flow_from(a, CVSW_PORT_GUEST, list, CVSW_ACTIONS_MAX);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    /* Two copies went to the other group. */
    g_assert_cmpint(a->wire->len, ==, CVSW_COPIES_MAX - 2);
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_COPIES), ==, 1);
    /* The limit counts for each frame. */
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 2 * (CVSW_COPIES_MAX - 2));
    nic_free(a);
}

/* A frame that is too big for all tunnels causes one error. */
static void test_told_once(void)
{
    Nic *a = nic_new();
    g_autofree NicFrame *f = nic_tcp(true, 1300, false);
    CvswAction way[] = { nic_into_tunnel(false), nic_output(CVSW_PORT_WIRE) };
    CvswAction list = to_group(LEAF);
    GArray *buckets = new_buckets();

    f->data[PACKET_ETH_LEN + 6] |= 0x40;        /* no fragments (RFC 791) */
    packet_ip4_seal(f->data + PACKET_ETH_LEN, PACKET_IP4_LEN);
    a->run.link_mtu = 1280;
    for (unsigned i = 0; i < 5; i++) {
        add_bucket(buckets, way, 2);
    }
    add_group(a, LEAF, buckets);
    nic_flow_from(a, CVSW_PORT_GUEST, &list, 1);
    g_assert_true(nic_put_in(a, CVSW_PORT_GUEST, f));
    g_assert_cmpint(a->wire->len, ==, 0);
    g_assert_cmpint(a->guest->len, ==, 1);
    g_assert_cmpuint(nic_dropped(a, CVSW_PORT_GUEST, CVSW_DROP_TOO_BIG), ==,
                     5);
    nic_free(a);
}

/* --- any buckets ---------------------------------------------------------- */

static CvswAction any_action(GRand *rand)
{
    CvswAction a = { 0 };

    switch (g_rand_int_range(rand, 0, 9)) {
    case 0:
        return set_dst(g_rand_int(rand));
    case 1:
        return (CvswAction) { .type = CVSW_ACTION_PUSH_VLAN,
                              .number = 0x8100 };
    case 2:
        return (CvswAction) { .type = CVSW_ACTION_POP_VLAN };
    case 3:
        return (CvswAction) { .type = CVSW_ACTION_SET_TTL,
                              .number = g_rand_int_range(rand, 0, 256) };
    case 4:
        return (CvswAction) { .type = CVSW_ACTION_DEC_TTL };
    case 5:
        a.type = CVSW_ACTION_SET_NW_DST;
        a.ip4.s_addr = g_rand_int(rand);
        return a;
    case 6:
        return (CvswAction) { .type = CVSW_ACTION_SET_TP_DST,
                              .number = g_rand_int_range(rand, 0, 65536) };
    case 7:
        return nic_into_tunnel(g_rand_boolean(rand));
    default:
        return nic_output(CVSW_PORT_WIRE);
    }
}

static unsigned any_list(GRand *rand, CvswAction *list)
{
    unsigned num = g_rand_int_range(rand, 0, 6);

    for (unsigned i = 0; i < num; i++) {
        list[i] = any_action(rand);
    }
    list[num] = nic_output(CVSW_PORT_WIRE);
    return num + 1;
}

static void test_any(void)
{
    GRand *rand = g_rand_new_with_seed(29);

    for (unsigned round = 0; round < 400; round++) {
        Nic *grouped = nic_new(), *single = nic_new();
        size_t size = g_rand_int_range(rand, 0, round % 8 ? 1200 : 9000);
        g_autofree NicFrame *f = nic_tcp(g_rand_boolean(rand), size,
                                         size > NIC_MSS ||
                                         g_rand_boolean(rand));
        unsigned num = g_rand_int_range(rand, 1, 8);
        CvswAction list[8], to = to_group(LEAF);
        GArray *buckets = new_buckets();

        for (unsigned i = 0; i < num; i++) {
            unsigned len = any_list(rand, list);

            add_bucket(buckets, list, len);
            nic_flow_from(single, CVSW_PORT_GUEST, list, len);
            g_assert_true(nic_put_in(single, CVSW_PORT_GUEST, f));
        }
        add_group(grouped, LEAF, buckets);
        nic_flow_from(grouped, CVSW_PORT_GUEST, &to, 1);
        g_assert_true(nic_put_in(grouped, CVSW_PORT_GUEST, f));
        g_assert_cmpint(grouped->wire->len, ==, single->wire->len);
        for (unsigned i = 0; i < single->wire->len; i++) {
            assert_same(on_wire(grouped, i), on_wire(single, i));
        }
        g_assert_cmpmem(grouped->run.dropped, sizeof(grouped->run.dropped),
                        single->run.dropped, sizeof(single->run.dropped));
        nic_free(grouped);
        nic_free(single);
    }
    g_rand_free(rand);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/run-group/copies", test_copies);
    g_test_add_func("/cvsw/run-group/tunnel-before", test_tunnel_before);
    g_test_add_func("/cvsw/run-group/failures", test_failures);
    g_test_add_func("/cvsw/run-group/drops", test_drops);
    g_test_add_func("/cvsw/run-group/many", test_many);
    g_test_add_func("/cvsw/run-group/bound", test_bound);
    g_test_add_func("/cvsw/run-group/told-once", test_told_once);
    g_test_add_func("/cvsw/run-group/any", test_any);
    return g_test_run();
}
