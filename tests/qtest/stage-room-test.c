/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/stage: operations of a room on frames
 *
 * Theory of operation
 * ===================
 *
 * -netdev stage passes everything, so this program is a room of its own: it
 * has the stage and QEMU's queues (net/queue.c) in it, and in place of net.c,
 * which wants a whole machine, the few functions of it that matter, at the end
 * of this file.  The NIC and the backend are clients that note what they get
 * and can be full.
 *
 * The first octet of a frame says what the room does with it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "net/stage/stage.h"
#include "net/stage/tap-watch.h"
#include "net/stage/tap.h"
#include "net/stage/vnet.h"
#include "net/vhost_net.h"
#include "qapi/error.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"

#define VNET_LEN        12

/* --- who is at both ends -------------------------------------------------- */

typedef struct Endpoint {
    NetClientState nc;
    bool full;
    bool answers;               /* each frame, before it has taken it */
    GString *got;               /* frames, each followed by a space */
    unsigned sent;              /* calls of its sent_cb */
    unsigned offloads;          /* NET_STAGE_..., as set by its peer */
    unsigned in_tunnels;        /* the same for super-frames in tunnels */
    uint8_t vnet[NET_STAGE_VNET_TUNNEL + 1];    /* of the last frame */
    int parts;                  /* that it was in */
} Endpoint;

static bool running = true;
static bool has_tunnels;        /* the wire */
static Endpoint *nic, *wire;

static void endpoint_sent(NetClientState *nc, ssize_t ret)
{
    DO_UPCAST(Endpoint, nc, nc)->sent++;
}

/* As libslirp, which answers at once. */
static void endpoint_answer(Endpoint *e)
{
    struct iovec iov = { (void *)"now", 3 };

    qemu_sendv_packet_async(&e->nc, &iov, 1, NULL);
}

static ssize_t endpoint_receive_iov(NetClientState *nc, const struct iovec *iov,
                                    int iovcnt)
{
    Endpoint *e = DO_UPCAST(Endpoint, nc, nc);
    size_t size = iov_size(iov, iovcnt);
    g_autofree char *frame = g_malloc(size);
    size_t vnet_len = nc->vnet_hdr_len ?: nc->peer->vnet_hdr_len;

    if (e->full) {
        return 0;
    }
    iov_to_buf(iov, iovcnt, 0, frame, size);
    g_assert_cmpuint(size, >, vnet_len);
    memset(e->vnet, 0, sizeof(e->vnet));
    memcpy(e->vnet, frame, vnet_len);
    e->parts = iovcnt;
    g_string_append_len(e->got, frame + vnet_len, size - vnet_len);
    g_string_append_c(e->got, ' ');
    if (e->answers) {
        endpoint_answer(e);
    }
    return size;
}

static void endpoint_cleanup(NetClientState *nc)
{
    g_string_free(DO_UPCAST(Endpoint, nc, nc)->got, true);
}

static bool endpoint_has_vnet_hdr(NetClientState *nc)
{
    return true;
}

static void endpoint_set_vnet_hdr_len(NetClientState *nc, int len)
{
    nc->vnet_hdr_len = len;
}

static void endpoint_set_offload(NetClientState *nc, OFFLOAD_PARAMS)
{
    const NetOffloads *o = OFFLOADS;

    DO_UPCAST(Endpoint, nc, nc)->offloads =
        o->csum | o->tso4 << 1 | o->tso6 << 2 | o->ecn << 3 | o->ufo << 4 |
        o->uso4 << 5 | o->uso6 << 6;
}

static NetClientInfo nic_info = {
    .type = NET_CLIENT_DRIVER_SOCKET,
    .size = sizeof(Endpoint),
    .receive_iov = endpoint_receive_iov,
    .cleanup = endpoint_cleanup,
};

static NetClientInfo wire_info = {
    .type = NET_CLIENT_DRIVER_SOCKET,
    .size = sizeof(Endpoint),
    .receive_iov = endpoint_receive_iov,
    .cleanup = endpoint_cleanup,
    .has_vnet_hdr = endpoint_has_vnet_hdr,
    .set_vnet_hdr_len = endpoint_set_vnet_hdr_len,
    .set_offload = endpoint_set_offload,
};

static Endpoint *endpoint_new(NetClientInfo *info, NetClientState *peer,
                              const char *name)
{
    NetClientState *nc = qemu_new_net_client(info, peer, "test", name);
    Endpoint *e = DO_UPCAST(Endpoint, nc, nc);

    e->got = g_string_new("");
    return e;
}

/* The octets 1, 2, 3, ... */
static void make_header(uint8_t *header, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        header[i] = i + 1;
    }
}

/* Sends a frame in two parts, with a header if one is in use. */
static ssize_t endpoint_send(Endpoint *e, const char *frame)
{
    uint8_t header[NET_STAGE_VNET_TUNNEL];
    size_t len = strlen(frame);
    struct iovec iov[] = {
        { header, e->nc.peer->vnet_hdr_len },
        { (void *)frame, len / 2 },
        { (void *)(frame + len / 2), len - len / 2 },
    };

    make_header(header, sizeof(header));
    return qemu_sendv_packet_async(&e->nc, iov, ARRAY_SIZE(iov),
                                   endpoint_sent);
}

/* The same in one part, as a tap does. */
static ssize_t endpoint_send_flat(Endpoint *e, const char *frame)
{
    size_t vnet_len = e->nc.peer->vnet_hdr_len, len = strlen(frame);
    g_autofree uint8_t *buf = g_malloc(vnet_len + len);
    struct iovec iov = { buf, vnet_len + len };

    make_header(buf, vnet_len);
    memcpy(buf + vnet_len, frame, len);
    return qemu_sendv_packet_async(&e->nc, &iov, 1, endpoint_sent);
}

static void endpoint_take(Endpoint *e)
{
    e->full = false;
    qemu_flush_queued_packets(&e->nc);
}

/* Fails unless @e has got exactly @want since the last time. */
static void endpoint_check(Endpoint *e, const char *want)
{
    g_assert_cmpstr(e->got->str, ==, want);
    g_string_truncate(e->got, 0);
}

/* --- the room ------------------------------------------------------------- */

typedef struct Room {
    bool hold;
    bool is_inside;             /* one of its functions, or is sending */
    unsigned asked;
    unsigned stuck;             /* of these, about a NIC that is */
    unsigned changed;
    unsigned freed;
} Room;

static Room room;

static NetStageVerdict room_say(NetStage *stage, NetStageFrame *frame,
                                NetStageSide from)
{
    static struct iovec other;
    NetStageFrame answer = { .iov = &other, .iovcnt = 1 };
    char what = 0;

    g_assert_false(room.is_inside);
    g_assert_true(net_stage_opaque(stage) == &room);
    g_assert_cmpuint(frame->vnet_len, ==,
                     net_stage_vnet_len(stage, from, frame->queue));
    g_assert_cmpuint(net_stage_peek(frame, 0, &what, 1), ==, 1);
    g_assert_cmpuint(net_stage_peek(frame, net_stage_frame_size(frame),
                                    &what, 1), ==, 0);
    room.asked++;
    room.stuck += frame->nic_is_stuck;
    switch (what) {
    case 'd':
        return NET_STAGE_DROP;
    case 'h':
        return room.hold ? NET_STAGE_HOLD : NET_STAGE_PASS;
    case 'r':
        other = (struct iovec) { (void *)"\0\0\0\0\0\0\0\0\0\0\0\0other",
                                 VNET_LEN + 5 };
        frame->iov = &other;
        frame->iovcnt = 1;
        return NET_STAGE_PASS;
    case 'e':
        frame->iovcnt = 0;
        return NET_STAGE_PASS;
    case 'a':
        other = (struct iovec) { (void *)"answer", 6 };
        g_assert_true(net_stage_send(stage, from, &answer));
        return NET_STAGE_DROP;
    case 's':
        other = (struct iovec) { (void *)"instead", 7 };
        room.is_inside = true;
        g_assert_true(net_stage_send(stage, !from, &answer));
        room.is_inside = false;
        return NET_STAGE_DROP;
    default:
        return NET_STAGE_PASS;
    }
}

static NetStageVerdict room_from_nic(NetStage *stage, NetStageFrame *frame)
{
    return room_say(stage, frame, NET_STAGE_NIC);
}

static NetStageVerdict room_from_backend(NetStage *stage,
                                         NetStageFrame *frame)
{
    return room_say(stage, frame, NET_STAGE_BACKEND);
}

static void room_changed(NetStage *stage)
{
    room.changed++;
}

static void room_free(void *opaque)
{
    g_assert_true(opaque == &room);
    room.freed++;
}

static const NetStageRoom test_room = {
    .type = NET_CLIENT_DRIVER_STAGE,
    .from_nic = room_from_nic,
    .from_backend = room_from_backend,
    .changed = room_changed,
    .free = room_free,
};

static const NetStageRoom station_room = {
    .type = NET_CLIENT_DRIVER_STAGE,
    .from_nic = room_from_nic,
    .from_backend = room_from_backend,
    .changed = room_changed,
    .free = room_free,
    .hears_past_nic = true,
};

static const NetStageRoom other_room = { .type = NET_CLIENT_DRIVER_STAGE };

static void settle(void)
{
    while (aio_poll(qemu_get_aio_context(), false)) {
        /* the stage's bottom half */
    }
}

static NetStage *setup_room(const NetStageRoom *which, unsigned vnet_len)
{
    NetStage *stage;

    room = (Room) { };
    running = true;
    wire = endpoint_new(&wire_info, NULL, "net0");
    stage = net_stage_new(which, "st0", "net0", NULL, &room, &error_abort);
    nic = endpoint_new(&nic_info, qemu_find_netdev("st0"), "nic0");
    if (vnet_len) {
        qemu_set_vnet_hdr_len(nic->nc.peer, vnet_len);
    }
    settle();
    g_assert_cmpuint(room.changed, ==, 1);
    room.changed = 0;
    return stage;
}

static NetStage *setup(unsigned vnet_len)
{
    return setup_room(&test_room, vnet_len);
}

static void teardown(void)
{
    NetClientState *stage = qemu_find_netdev("st0");

    if (qemu_find_netdev("nic0")) {
        qemu_del_net_client(&nic->nc);
    }
    qemu_del_net_client(stage);
    g_assert_cmpuint(room.freed, ==, 1);
    g_assert_null(net_stage_find("st0", NULL));
    if (qemu_find_netdev("net0")) {
        g_assert_null(wire->nc.peer);
        qemu_del_net_client(&wire->nc);
    }
    settle();
}

/* --- tests ---------------------------------------------------------------- */

static void test_verdicts(void)
{
    NetStage *stage = setup(VNET_LEN);
    NetStageStats stats;

    g_assert_cmpint(endpoint_send(nic, "pass"), ==, VNET_LEN + 4);
    g_assert_cmpint(endpoint_send(nic, "drop"), ==, VNET_LEN + 4);
    g_assert_cmpint(endpoint_send(nic, "replace"), ==, VNET_LEN + 7);
    g_assert_cmpint(endpoint_send(nic, "empty"), ==, VNET_LEN + 5);
    g_assert_cmpint(endpoint_send(nic, "ask"), ==, VNET_LEN + 3);
    g_assert_cmpint(endpoint_send(nic, ""), ==, VNET_LEN);
    endpoint_check(wire, "pass other ");
    endpoint_check(nic, "answer ");
    stats = net_stage_stats(stage, NET_STAGE_NIC);
    g_assert_cmpuint(stats.passed, ==, 2);
    g_assert_cmpuint(stats.dropped, ==, 2);
    g_assert_cmpuint(stats.malformed, ==, 2);
    g_assert_cmpuint(stats.sent, ==, 1);
    g_assert_cmpuint(room.asked, ==, 5);

    endpoint_send(wire, "pass");
    endpoint_send(wire, "ask");
    endpoint_check(nic, "pass ");
    endpoint_check(wire, "answer ");
    stats = net_stage_stats(stage, NET_STAGE_BACKEND);
    g_assert_cmpuint(stats.passed, ==, 1);
    g_assert_cmpuint(stats.dropped, ==, 1);
    teardown();
}

/* An answer at once is handled when the room has finished its current frame. */
static void test_answered(void)
{
    NetStage *stage = setup(0);
    struct iovec iov = { (void *)"own", 3 };
    NetStageFrame frame = { .iov = &iov, .iovcnt = 1 };

    wire->answers = true;
    endpoint_send(nic, "pass");
    endpoint_check(wire, "pass ");
    endpoint_check(nic, "now ");

    endpoint_send(nic, "send");
    endpoint_check(wire, "instead ");
    endpoint_check(nic, "");
    settle();
    endpoint_check(nic, "now ");

    room.is_inside = true;
    g_assert_true(net_stage_send(stage, NET_STAGE_BACKEND, &frame));
    room.is_inside = false;
    endpoint_check(nic, "");
    settle();
    endpoint_check(nic, "now ");
    endpoint_check(wire, "own ");
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).passed, ==, 3);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).held, ==, 0);
    teardown();
}

/* Frames dropped by a link that is down are counted so. */
static void test_down(void)
{
    NetStage *stage = setup(0);

    wire->nc.link_down = true;
    endpoint_send(nic, "pass");
    endpoint_check(wire, "");
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_NIC).down, ==, 1);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_NIC).passed, ==, 0);
    wire->nc.link_down = false;
    nic->nc.link_down = true;
    endpoint_send(wire, "pass");
    endpoint_check(nic, "");
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).down, ==, 1);
    teardown();
}

/* QEMU keeps 10,000 frames of a netdev that does not wait. */
static void test_overflow(void)
{
    NetStage *stage = setup(0);
    NetStageStats stats;

    nic->full = true;
    for (unsigned i = 0; i < 10000 + 1 + 3; i++) {
        endpoint_answer(wire);
    }
    stats = net_stage_stats(stage, NET_STAGE_BACKEND);
    g_assert_cmpuint(stats.overflow, ==, 3);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_NIC).overflow, ==, 0);
    endpoint_take(nic);
    stats = net_stage_stats(stage, NET_STAGE_BACKEND);
    g_assert_cmpuint(stats.passed, ==, 10000 + 1);
    teardown();
}

/* A held frame waits, and later frames wait, too. */
static void test_hold(void)
{
    NetStage *stage = setup(0);

    room.hold = true;
    g_assert_cmpint(endpoint_send(nic, "held1"), ==, 0);
    endpoint_send(nic, "pass2");
    endpoint_send(nic, "held3");
    settle();
    g_assert_cmpuint(room.asked, ==, 1);
    g_assert_cmpuint(nic->sent, ==, 0);
    endpoint_check(wire, "");
    endpoint_send(wire, "other");
    endpoint_check(nic, "other ");

    net_stage_release(stage);
    settle();
    endpoint_check(wire, "");           /* the room has not changed its mind */
    room.hold = false;
    net_stage_release(stage);
    endpoint_check(wire, "");
    settle();
    endpoint_check(wire, "held1 pass2 held3 ");
    g_assert_cmpuint(nic->sent, ==, 3);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_NIC).held, ==, 2);
    teardown();
}

/* A frame released while the machine is stopped is sent when it runs. */
static void test_release_stopped(void)
{
    NetStage *stage = setup(0);

    room.hold = true;
    endpoint_send(nic, "held");
    running = false;
    room.hold = false;
    net_stage_release(stage);
    settle();
    g_assert_cmpuint(nic->sent, ==, 0);
    running = true;
    if (qemu_can_send_packet(&nic->nc)) {       /* as net.c does */
        qemu_flush_queued_packets(nic->nc.peer);
    }
    endpoint_check(wire, "held ");
    g_assert_cmpuint(nic->sent, ==, 1);
    teardown();
}

/* One frame waits behind the stage, the rest before it; each is seen once. */
static void test_wait(void)
{
    setup(VNET_LEN);
    wire->full = true;
    g_assert_cmpint(endpoint_send(nic, "1"), ==, VNET_LEN + 1);
    g_assert_false(qemu_can_send_packet(&nic->nc));
    g_assert_cmpint(endpoint_send(nic, "2"), ==, 0);
    g_assert_cmpint(endpoint_send(nic, "3"), ==, 0);
    qemu_flush_queued_packets(nic->nc.peer);
    g_assert_cmpuint(room.asked, ==, 1);
    endpoint_take(wire);
    endpoint_check(wire, "1 2 3 ");
    g_assert_cmpuint(room.asked, ==, 3);
    g_assert_cmpuint(nic->sent, ==, 2);
    g_assert_true(qemu_can_send_packet(&nic->nc));
    teardown();
}

static bool room_send(NetStage *stage, NetStageSide to, const char *text,
                      unsigned vnet_len)
{
    struct iovec iov = { (void *)text, strlen(text) };
    NetStageFrame frame = { .iov = &iov, .iovcnt = 1, .vnet_len = vnet_len };

    return net_stage_send(stage, to, &frame);
}

/* The room's own frames are queued with the others, up to a limit. */
static void test_send_limit(void)
{
    NetStage *stage = setup(0);
    GString *want = g_string_new("1 ");

    nic->full = true;
    endpoint_send(wire, "1");
    for (unsigned i = 2; i <= NET_STAGE_WAITING_MAX; i++) {
        g_autofree char *text = g_strdup_printf("%u", i);

        g_assert_true(room_send(stage, NET_STAGE_NIC, text, 0));
        g_string_append_printf(want, "%s ", text);
    }
    g_assert_false(room_send(stage, NET_STAGE_NIC, "x", 0));
    g_assert_cmpint(endpoint_send(wire, "last"), ==, 0);
    g_string_append(want, "last ");
    endpoint_take(nic);
    endpoint_check(nic, want->str);
    g_assert_cmpuint(wire->sent, ==, 1);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_NIC).refused, ==, 1);
    g_assert_true(room_send(stage, NET_STAGE_NIC, "y", 0));
    endpoint_check(nic, "y ");
    g_string_free(want, true);
    teardown();
}

/* A NIC that takes nothing does not block a station's other users. */
static void test_stuck(void)
{
    NetStage *stage = setup_room(&station_room, VNET_LEN);

    nic->full = true;
    endpoint_send(wire, "1");
    g_assert_cmpint(endpoint_send(wire, "ask"), ==, 0);
    g_assert_false(qemu_can_send_packet(&wire->nc));
    while (!wire->sent) {
        main_loop_wait(false);
    }
    endpoint_check(wire, "answer ");
    g_assert_true(qemu_can_send_packet(&wire->nc));
    g_assert_cmpint(endpoint_send(wire, "past"), ==, VNET_LEN + 4);
    g_assert_cmpuint(room.stuck, ==, 2);
    g_assert_true(room_send(stage, NET_STAGE_NIC, "2", 0));
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).dropped, ==, 2);

    endpoint_take(nic);
    endpoint_check(nic, "1 2 ");
    endpoint_send(wire, "3");
    endpoint_check(nic, "3 ");
    g_assert_cmpuint(room.stuck, ==, 2);
    teardown();
}

/* While the machine is stopped no NIC takes frames: it is not stuck. */
static void test_stuck_stopped(void)
{
    int64_t until;

    setup_room(&station_room, 0);
    nic->full = true;
    endpoint_send(wire, "1");
    endpoint_send(wire, "2");
    running = false;
    until = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + 4 * NET_STAGE_STUCK_MS;
    while (qemu_clock_get_ms(QEMU_CLOCK_REALTIME) < until) {
        main_loop_wait(false);
    }
    g_assert_cmpuint(room.asked, ==, 1);
    running = true;
    endpoint_take(nic);
    endpoint_check(nic, "1 2 ");
    g_assert_cmpuint(room.stuck, ==, 0);
    teardown();
}

static void set_nic_link(bool up)
{
    nic->nc.link_down = !up;
    nic->nc.peer->info->link_status_changed(nic->nc.peer);
    settle();
}

/* The wire's side of a station stays up when its NIC's link goes down. */
static void test_link(void)
{
    static const NetStageRoom *const rooms[] = { &test_room, &station_room };
    static const char *const hears[] = { "", "answer " };

    for (unsigned i = 0; i < ARRAY_SIZE(rooms); i++) {
        setup_room(rooms[i], 0);
        set_nic_link(false);
        endpoint_send(wire, "pass");
        endpoint_send(wire, "ask");
        endpoint_check(nic, "");
        endpoint_check(wire, hears[i]);
        set_nic_link(true);
        endpoint_send(wire, "pass");
        endpoint_send(wire, "ask");
        endpoint_check(nic, "pass ");
        endpoint_check(wire, "answer ");
        teardown();
    }
}

/* The next driver would misread waiting frames. */
static void test_header(void)
{
    setup(10);
    nic->full = wire->full = true;
    endpoint_send(wire, "1");
    endpoint_send(wire, "2");
    endpoint_send(nic, "3");
    qemu_set_vnet_hdr_len(nic->nc.peer, VNET_LEN);
    settle();
    g_assert_cmpuint(wire->sent, ==, 1);
    endpoint_take(nic);
    endpoint_take(wire);
    endpoint_check(nic, "");
    endpoint_check(wire, "");
    endpoint_send(wire, "4");
    endpoint_send(nic, "5");
    endpoint_check(nic, "4 ");
    endpoint_check(wire, "5 ");
    teardown();
}

static void test_send_bad(void)
{
    NetStage *stage = setup(VNET_LEN);
    g_autofree char *big = g_strnfill(NET_STAGE_FRAME_MAX - VNET_LEN + 1, 'b');
    struct iovec iov[NET_STAGE_PARTS_MAX + 1];
    NetStageFrame many = { .iov = iov, .iovcnt = ARRAY_SIZE(iov) };

    for (unsigned i = 0; i < ARRAY_SIZE(iov); i++) {
        iov[i] = (struct iovec) { (void *)"p", 1 };
    }
    g_assert_false(room_send(stage, NET_STAGE_BACKEND, "", 0));
    g_assert_false(room_send(stage, NET_STAGE_BACKEND, big, 0));
    g_assert_false(room_send(stage, NET_STAGE_BACKEND, "0123456789ab", 10));
    g_assert_false(room_send(stage, NET_STAGE_BACKEND, "0123456789ab",
                             VNET_LEN));
    g_assert_false(net_stage_send(stage, NET_STAGE_BACKEND, &many));
    many.iovcnt--;
    g_assert_true(net_stage_send(stage, NET_STAGE_BACKEND, &many));
    g_assert_cmpuint(wire->got->len, ==, NET_STAGE_PARTS_MAX + 1);
    g_string_truncate(wire->got, 0);
    g_assert_true(room_send(stage, NET_STAGE_BACKEND, "0123456789abX",
                            VNET_LEN));
    g_assert_true(room_send(stage, NET_STAGE_BACKEND, big + 1, 0));
    g_assert_true(g_str_has_prefix(wire->got->str, "X bbb"));
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).refused, ==, 5);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).sent, ==, 3);
    g_string_truncate(wire->got, 0);
    teardown();
}

/* A removed netdev's waiting frames are dropped, and do not block others. */
static void test_gone(void)
{
    NetStage *stage = setup(VNET_LEN);

    wire->full = true;
    endpoint_send(nic, "1");
    endpoint_send(nic, "2");
    qemu_del_net_client(&wire->nc);
    g_assert_true(nic->nc.peer->link_down);
    settle();
    g_assert_cmpuint(nic->sent, ==, 1);
    g_assert_cmpuint(room.changed, ==, 1);
    g_assert_false(net_stage_present(stage, NET_STAGE_BACKEND));
    g_assert_true(net_stage_present(stage, NET_STAGE_NIC));
    g_assert_false(room_send(stage, NET_STAGE_BACKEND, "x", 0));
    g_assert_true(qemu_has_vnet_hdr(nic->nc.peer));

    qemu_del_net_client(&nic->nc);
    settle();
    g_assert_cmpuint(room.changed, ==, 2);
    g_assert_false(net_stage_present(stage, NET_STAGE_NIC));
    g_assert_false(room_send(stage, NET_STAGE_NIC, "x", 0));
    teardown();
}

static void test_nic_gone(void)
{
    NetStage *stage = setup(0);

    nic->full = true;
    endpoint_send(wire, "1");
    endpoint_send(wire, "2");
    qemu_del_net_client(&nic->nc);
    settle();
    g_assert_cmpuint(wire->sent, ==, 1);
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_BACKEND).nobody, ==, 1);
    nic = endpoint_new(&nic_info, qemu_find_netdev("st0"), "nic0");
    settle();
    endpoint_send(wire, "3");
    endpoint_check(nic, "3 ");
    teardown();
}

static void count(NetStage *stage, void *data)
{
    (*(unsigned *)data)++;
}

static void test_find(void)
{
    NetStage *stage = setup(0);
    unsigned all = 0, ours = 0, others = 0;
    Error *err = NULL;

    g_assert_true(net_stage_find("st0", NULL) == stage);
    g_assert_true(net_stage_find("st0", &test_room) == stage);
    g_assert_null(net_stage_find("st0", &other_room));
    g_assert_null(net_stage_find("net0", NULL));
    net_stage_foreach(NULL, count, &all);
    net_stage_foreach(&test_room, count, &ours);
    net_stage_foreach(&other_room, count, &others);
    g_assert_cmpuint(all, ==, 1);
    g_assert_cmpuint(ours, ==, 1);
    g_assert_cmpuint(others, ==, 0);
    g_assert_cmpstr(net_stage_id(stage), ==, "st0");

    /* The caller keeps the data of a stage that is refused. */
    g_assert_null(net_stage_new(&test_room, "st1", "net0", NULL, &room, &err));
    error_free_or_abort(&err);
    g_assert_cmpuint(room.freed, ==, 0);
    teardown();
}

/* No stage is possible on a backend whose frames bypass QEMU. */
static void test_past_qemu(void)
{
    static const struct {
        NetClientDriver type;
        const char *says;
    } past[] = {
        { NET_CLIENT_DRIVER_VHOST_USER,
          "netdev 'net9' is of type vhost-user, whose frames do not come "
          "through QEMU: 'st9' needs another type, such as tap or stream" },
        { NET_CLIENT_DRIVER_VHOST_VDPA,
          "netdev 'net9' is of type vhost-vdpa, whose frames do not come "
          "through QEMU: 'st9' needs another type, such as tap or stream" },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(past); i++) {
        NetClientInfo info = wire_info;
        Error *err = NULL;
        Endpoint *other;

        room = (Room) { };
        info.type = past[i].type;
        other = endpoint_new(&info, NULL, "net9");
        g_assert_null(net_stage_new(&test_room, "st9", "net9", NULL, &room,
                                    &err));
        g_assert_cmpstr(error_get_pretty(err), ==, past[i].says);
        error_free(err);
        g_assert_cmpuint(room.freed, ==, 0);
        g_assert_null(other->nc.peer);
        qemu_del_net_client(&other->nc);
    }
}

static void ask_offloads(unsigned on)
{
    compat_set_offload(nic->nc.peer, &(NetOffloads) {
        .csum = on & NET_STAGE_CSUM,
        .tso4 = on & NET_STAGE_TSO4,
        .tso6 = on & NET_STAGE_TSO6,
        .uso6 = on & NET_STAGE_USO6,
    });
}

static void test_offloads(void)
{
    NetStage *stage = setup(0);

    g_assert_cmpuint(net_stage_offloads(stage), ==, 0);
    ask_offloads(NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_USO6);
    g_assert_cmpuint(net_stage_offloads(stage), ==,
                     NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_USO6);
    g_assert_cmpuint(wire->offloads, ==, net_stage_offloads(stage));

    /* The backend gets no offload that the room denies, now and later. */
    net_stage_deny(stage, NET_STAGE_USO6 | NET_STAGE_TSO6);
    g_assert_cmpuint(wire->offloads, ==, NET_STAGE_CSUM | NET_STAGE_TSO4);
    g_assert_cmpuint(net_stage_offloads(stage), ==, wire->offloads);
    g_assert_cmpuint(net_stage_asked(stage), ==,
                     NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_USO6);
    ask_offloads(NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6);
    g_assert_cmpuint(wire->offloads, ==, NET_STAGE_CSUM | NET_STAGE_TSO4);
    net_stage_deny(stage, 0);
    g_assert_cmpuint(wire->offloads, ==,
                     NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6);
    teardown();
}

/* --- tunnels -------------------------------------------------------------- */

static NetStage *setup_tunnels(void)
{
    NetStage *stage;

    has_tunnels = true;
    stage = setup(0);
    g_assert_true(net_stage_use_tunnels(stage));
    qemu_set_vnet_hdr_len(nic->nc.peer, VNET_LEN);
    g_assert_cmpuint(net_stage_vnet_len(stage, NET_STAGE_NIC, 0), ==, VNET_LEN);
    g_assert_cmpuint(net_stage_vnet_len(stage, NET_STAGE_BACKEND, 0), ==,
                     NET_STAGE_VNET_TUNNEL);
    g_assert_cmpuint(wire->nc.vnet_hdr_len, ==, NET_STAGE_VNET_TUNNEL);
    return stage;
}

/* The last frame's header: the octets 1, 2, 3, ..., and zeros behind them. */
static void check_header(const Endpoint *e)
{
    uint8_t want[NET_STAGE_VNET_TUNNEL + 1] = { };

    make_header(want, VNET_LEN);
    g_assert_cmpmem(e->vnet, sizeof(e->vnet), want, sizeof(want));
}

/* NIC and backend have different headers; each gets its own. */
static void test_tunnel_headers(void)
{
    setup_tunnels();
    endpoint_send(nic, "pass");
    endpoint_check(wire, "pass ");
    check_header(wire);
    endpoint_send(wire, "pass");
    endpoint_check(nic, "pass ");
    check_header(nic);
    endpoint_send_flat(nic, "pass2");
    endpoint_check(wire, "pass2 ");
    check_header(wire);
    endpoint_send_flat(wire, "pass2");
    endpoint_check(nic, "pass2 ");
    check_header(nic);
    g_assert_cmpint(nic->parts, ==, 1);
    endpoint_send(wire, "ask");
    endpoint_check(wire, "answer ");
    endpoint_send(nic, "ask");
    endpoint_check(nic, "answer ");
    teardown();
}

/* Also the headers of waiting frames. */
static void test_tunnel_wait(void)
{
    setup_tunnels();
    nic->full = wire->full = true;
    endpoint_send_flat(wire, "1");
    endpoint_send_flat(wire, "2");
    endpoint_send(nic, "3");
    endpoint_send(nic, "4");
    endpoint_take(nic);
    endpoint_take(wire);
    endpoint_check(nic, "1 2 ");
    check_header(nic);
    endpoint_check(wire, "3 4 ");
    check_header(wire);
    teardown();
}

static void test_tunnel_send(void)
{
    NetStage *stage = setup_tunnels();

    g_assert_true(room_send(stage, NET_STAGE_BACKEND,
                            "0123456789abcdefghijklmnX",
                            NET_STAGE_VNET_TUNNEL));
    endpoint_check(wire, "X ");
    g_assert_false(room_send(stage, NET_STAGE_BACKEND, "0123456789abX",
                             VNET_LEN));
    g_assert_false(room_send(stage, NET_STAGE_NIC,
                             "0123456789abcdefghijklmnX",
                             NET_STAGE_VNET_TUNNEL));
    teardown();
}

/* A frame of more parts than writev() takes with its header is lost. */
static void test_tunnel_parts(void)
{
    NetStage *stage = setup_tunnels();
    g_autofree struct iovec *iov = g_new(struct iovec, IOV_MAX + 1);
    uint8_t header[VNET_LEN] = { };

    iov[0] = (struct iovec) { header, sizeof(header) };
    for (unsigned i = 1; i <= IOV_MAX; i++) {
        iov[i] = (struct iovec) { (void *)"p", 1 };
    }
    qemu_sendv_packet_async(&nic->nc, iov, IOV_MAX + 1, endpoint_sent);
    endpoint_check(wire, "");
    g_assert_cmpuint(net_stage_stats(stage, NET_STAGE_NIC).malformed, ==, 1);
    qemu_sendv_packet_async(&nic->nc, iov, IOV_MAX, endpoint_sent);
    g_assert_cmpuint(wire->got->len, ==, IOV_MAX);
    g_string_truncate(wire->got, 0);
    teardown();
}

/* A netdev without tunnels stays unaffected. */
static void test_no_tunnels(void)
{
    NetStage *stage;

    has_tunnels = false;
    stage = setup(0);
    g_assert_false(net_stage_use_tunnels(stage));
    qemu_set_vnet_hdr_len(nic->nc.peer, VNET_LEN);
    g_assert_cmpuint(net_stage_vnet_len(stage, NET_STAGE_BACKEND, 0), ==,
                     VNET_LEN);
    net_stage_take_tunnels(stage);
    ask_offloads(NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6);
    g_assert_cmpuint(wire->in_tunnels, ==, 0);
    endpoint_send(nic, "pass");
    endpoint_check(wire, "pass ");
    check_header(wire);
    teardown();
}

/* The NIC's offloads without a tunnel, if the room requests such frames. */
static void test_tunnel_offloads(void)
{
    NetStage *stage = setup_tunnels();

    ask_offloads(NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6);
    g_assert_cmpuint(wire->in_tunnels, ==, 0);
    net_stage_take_tunnels(stage);
    g_assert_cmpuint(wire->in_tunnels, ==,
                     NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6);
    net_stage_deny(stage, NET_STAGE_TSO6);
    g_assert_cmpuint(wire->in_tunnels, ==, NET_STAGE_CSUM | NET_STAGE_TSO4);
    ask_offloads(0);
    g_assert_cmpuint(wire->in_tunnels, ==, 0);
    qemu_del_net_client(&wire->nc);
    ask_offloads(NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6);
    teardown();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qemu_init_main_loop(&error_abort);
    g_test_add_func("/stage/room/verdicts", test_verdicts);
    g_test_add_func("/stage/room/answered", test_answered);
    g_test_add_func("/stage/room/down", test_down);
    g_test_add_func("/stage/room/overflow", test_overflow);
    g_test_add_func("/stage/room/past-qemu", test_past_qemu);
    g_test_add_func("/stage/room/hold", test_hold);
    g_test_add_func("/stage/room/release-stopped", test_release_stopped);
    g_test_add_func("/stage/room/wait", test_wait);
    g_test_add_func("/stage/room/send-limit", test_send_limit);
    g_test_add_func("/stage/room/stuck", test_stuck);
    g_test_add_func("/stage/room/stuck-stopped", test_stuck_stopped);
    g_test_add_func("/stage/room/link", test_link);
    g_test_add_func("/stage/room/header", test_header);
    g_test_add_func("/stage/room/send-bad", test_send_bad);
    g_test_add_func("/stage/room/gone", test_gone);
    g_test_add_func("/stage/room/nic-gone", test_nic_gone);
    g_test_add_func("/stage/room/find", test_find);
    g_test_add_func("/stage/room/offloads", test_offloads);
    g_test_add_func("/stage/room/tunnels/headers", test_tunnel_headers);
    g_test_add_func("/stage/room/tunnels/wait", test_tunnel_wait);
    g_test_add_func("/stage/room/tunnels/send", test_tunnel_send);
    g_test_add_func("/stage/room/tunnels/parts", test_tunnel_parts);
    g_test_add_func("/stage/room/tunnels/none", test_no_tunnels);
    g_test_add_func("/stage/room/tunnels/offloads", test_tunnel_offloads);
    return g_test_run();
}

/* --- in place of a tap ---------------------------------------------------- */

StageTapWatch *stage_tap_watch_new(NetClientState *nc, const char *type,
                                   const char *id)
{
    return NULL;
}

void stage_tap_watch_failed(StageTapWatch *w)
{
}

void stage_tap_watch_free(StageTapWatch *w)
{
}

bool net_stage_tap_has_tunnels(NetClientState *nc)
{
    g_assert_true(nc == &wire->nc);
    return has_tunnels;
}

void net_stage_tap_take_tunnels(NetClientState *nc, unsigned offloads)
{
    DO_UPCAST(Endpoint, nc, nc)->in_tunnels = offloads;
}

/* --- in place of net.c ---------------------------------------------------- */

static QTAILQ_HEAD(, NetClientState) clients =
    QTAILQ_HEAD_INITIALIZER(clients);

static ssize_t deliver(NetClientState *sender, unsigned flags,
                       const struct iovec *iov, int iovcnt, void *opaque)
{
    NetClientState *nc = opaque;
    ssize_t ret;

    if (nc->link_down) {
        return iov_size(iov, iovcnt);
    }
    if (nc->receive_disabled) {
        return 0;
    }
    ret = nc->info->receive_iov(nc, iov, iovcnt);
    nc->receive_disabled |= ret == 0;
    return ret;
}

static void peer_changed(NetClientState *nc)
{
    if (nc->info->link_status_changed) {
        nc->info->link_status_changed(nc);
    }
}

NetClientState *qemu_new_net_client(NetClientInfo *info, NetClientState *peer,
                                    const char *model, const char *name)
{
    NetClientState *nc = g_malloc0(info->size);

    nc->info = info;
    nc->name = g_strdup(name);
    nc->incoming_queue = qemu_new_net_queue(deliver, nc);
    QTAILQ_INSERT_TAIL(&clients, nc, next);
    if (peer) {
        g_assert_null(peer->peer);
        nc->peer = peer;
        peer->peer = nc;
        peer_changed(peer);
    }
    return nc;
}

void qemu_del_net_client(NetClientState *nc)
{
    QTAILQ_REMOVE(&clients, nc, next);
    nc->info->cleanup(nc);
    qemu_del_net_queue(nc->incoming_queue);
    if (nc->peer) {
        nc->peer->peer = NULL;
        peer_changed(nc->peer);
    }
    g_free(nc->name);
    g_free(nc);
}

NetClientState *qemu_find_netdev(const char *id)
{
    NetClientState *nc = NULL;

    qemu_find_net_clients_except(id, &nc, NET_CLIENT_DRIVER_NIC, 1);
    return nc;
}

int qemu_find_net_clients_except(const char *id, NetClientState **ncs,
                                 NetClientDriver type, int max)
{
    NetClientState *nc;
    int num = 0;

    QTAILQ_FOREACH(nc, &clients, next) {
        if (nc->info->type != type && !strcmp(nc->name, id) && num < max) {
            ncs[num++] = nc;
        }
    }
    return num;
}

int qemu_can_send_packet(NetClientState *sender)
{
    NetClientState *peer = sender->peer;

    return running && (!peer || (!peer->receive_disabled &&
                                 (!peer->info->can_receive ||
                                  peer->info->can_receive(peer))));
}

ssize_t qemu_sendv_packet_async(NetClientState *sender,
                                const struct iovec *iov, int iovcnt,
                                NetPacketSent *sent_cb)
{
    if (sender->link_down || !sender->peer) {
        return iov_size(iov, iovcnt);
    }
    return qemu_net_queue_send_iov(sender->peer->incoming_queue, sender, 0,
                                   iov, iovcnt, sent_cb);
}

void qemu_flush_queued_packets(NetClientState *nc)
{
    nc->receive_disabled = 0;
    qemu_net_queue_flush(nc->incoming_queue);
}

void qemu_purge_queued_packets(NetClientState *nc)
{
    if (nc->peer) {
        qemu_net_queue_purge(nc->peer->incoming_queue, nc);
    }
}

bool qemu_has_vnet_hdr(NetClientState *nc)
{
    return nc->info->has_vnet_hdr && nc->info->has_vnet_hdr(nc);
}

bool qemu_has_vnet_hdr_len(NetClientState *nc, int len)
{
    return qemu_has_vnet_hdr(nc);
}

bool qemu_has_ufo(NetClientState *nc)
{
    return false;
}

bool qemu_has_uso(NetClientState *nc)
{
    return false;
}

void qemu_set_vnet_hdr_len(NetClientState *nc, int len)
{
    nc->vnet_hdr_len = len;
    nc->info->set_vnet_hdr_len(nc, len);
}

void qemu_set_offload(NetClientState *nc, OFFLOAD_PARAMS)
{
    if (nc && nc->info->set_offload) {
        nc->info->set_offload(nc, OFFLOAD_ARGS);
    }
}

int qemu_set_vnet_le(NetClientState *nc, bool is_le)
{
    return 0;
}

int qemu_set_vnet_be(NetClientState *nc, bool is_be)
{
    return 0;
}

void qemu_set_info_str(NetClientState *nc, const char *fmt, ...)
{
}

NICState *qemu_get_nic(NetClientState *nc)
{
    g_assert_not_reached();             /* there is no NIC of QEMU's here */
}

VHostNetState *get_vhost_net(NetClientState *nc)
{
    return NULL;
}

void print_net_client(Monitor *mon, NetClientState *nc)
{
}

int monitor_printf(Monitor *mon, const char *fmt, ...)
{
    return 0;
}

bool runstate_is_running(void)
{
    return running;
}
