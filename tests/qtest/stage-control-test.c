/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net/stage: options, links, plugging, the monitor's output */
#include "qemu/osdep.h"

#include "qobject/qdict.h"
#include "stage-fixture.h"

/* Fails unless @text has all of @says, in this order. */
static void assert_says(const char *text, const char *const *says)
{
    const char *pos = text;

    for (; *says; says++) {
        pos = strstr(pos, *says);
        if (!pos) {
            g_test_message("'%s' is missing in: %s", *says, text);
        }
        g_assert_nonnull(pos);
        pos += strlen(*says);
    }
}

/* --- options -------------------------------------------------------------- */

typedef struct Refusal {
    const char *arguments;      /* of netdev_add, JSON members */
    const char *says[5];
} Refusal;

/*
 * The machine has a backend "net0" behind "st1", which the NIC uses, and
 * "free0".
 */
static const Refusal refusals[] = {
    { "'id': 'st9'", { "netdev" } },
    { "'id': 'st9', 'netdev': 'nix'", { "'nix' not found", "before 'st9'" } },
    { "'id': 'st9', 'netdev': 'st9'", { "'st9' not found" } },
    { "'id': 'st9', 'netdev': 'nic0'", { "'nic0' not found" } },
    { "'id': 'st9', 'netdev': ''", { "'' not found" } },
    { "'id': 'st9', 'netdev': 'net0'",
      { "'net0' is already used by 'st1'", "'st9'" } },
    { "'id': 'st9', 'netdev': 'st1'",
      { "'st1' is already used by 'nic0'", "'st9'" } },
    { "'id': 'st1', 'netdev': 'free0'", { "Duplicate ID 'st1'" } },
    { "'id': '1st', 'netdev': 'free0'", { "id" } },
    { "'id': 'st9', 'netdev': 'free0', 'queues': 2", { "queues" } },
};

/* The description of the error, or NULL. */
static char *try_netdev(QTestState *qts, const char *arguments)
{
    g_autofree char *cmd = g_strdup_printf(
        "{ 'execute': 'netdev_add', 'arguments': { 'type': 'stage', %s } }",
        arguments);
    char *text = NULL;
    QDict *resp;

    qtest_qmp_send_raw(qts, "%s", g_strdelimit(cmd, "'", '"'));
    resp = qtest_qmp_receive(qts);
    if (qdict_haskey(resp, "error")) {
        text = g_strdup(qdict_get_str(qdict_get_qdict(resp, "error"), "desc"));
    }
    qobject_unref(resp);
    return text;
}

static void test_refusals(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "-netdev hubport,id=free0,hubid=7");
    for (unsigned i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *text = try_netdev(bed.qts, refusals[i].arguments);

        g_assert_nonnull(text);
        assert_says(text, refusals[i].says);
    }
    g_assert_null(try_netdev(bed.qts, "'id': 'st9', 'netdev': 'free0'"));
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

typedef struct BadLine {
    const char *options;
    const char *says[4];
} BadLine;

static const BadLine bad_lines[] = {
    { "-netdev stage,id=st1,netdev=h0 -netdev hubport,id=h0,hubid=0",
      { "netdev 'h0' not found", "before 'st1'" } },
    { "-netdev {\"type\":\"stage\",\"id\":\"st1\",\"netdev\":\"h0\"} "
      "-netdev hubport,id=h0,hubid=0",
      { "netdev 'h0' not found", "JSON first" } },
    { "-net stage,netdev=h0",
      { "-net stage does not exist", "-netdev stage" } },
    { "-netdev hubport,id=h0,hubid=0 -netdev stage,id=st1,netdev=h0 "
      "-device virtio-net-pci,netdev=h0", { "netdev", "'h0'", "in use" } },
};

/* QEMU's errors about an invalid command line. */
static void test_bad_lines(void)
{
    const char *qemu = g_getenv("QTEST_QEMU_BINARY");

    for (unsigned i = 0; i < ARRAY_SIZE(bad_lines); i++) {
        g_autofree char *line = g_strdup_printf(
            "%s -machine none -accel qtest -nodefaults -display none %s", qemu,
            bad_lines[i].options);
        g_auto(GStrv) argv = g_strsplit(line, " ", -1);
        g_autofree char *text = NULL;
        int status;

        if (strstr(line, "-device")) {
            g_free(argv[2]);
            argv[2] = g_strdup("pc");
        }
        g_assert_true(g_spawn_sync(NULL, argv, NULL,
                                   G_SPAWN_SEARCH_PATH |
                                   G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                                   NULL, &text, &status, NULL));
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        assert_says(text, bad_lines[i].says);
    }
}

/* With vhost the kernel would carry the frames past the stage. */
static void test_vhost(const Setup *setup)
{
    g_autofree char *text = NULL;
    static const char *const says[] = { "'tap1' has vhost=on", "vhost=off",
                                        NULL };
    Bed bed;

    if (access("/dev/vhost-net", R_OK | W_OK) < 0) {
        g_test_skip("no /dev/vhost-net");
        return;
    }
    bed_start(&bed, setup, "-netdev tap,id=tap1,ifname=tap1,script=no,"
              "downscript=no,vhost=on");
    text = try_netdev(bed.qts, "'id': 'st9', 'netdev': 'tap1'");
    g_assert_nonnull(text);
    assert_says(text, says);
    bed_stop(&bed);
}

/* --- the monitor ---------------------------------------------------------- */

static void test_info(const Setup *setup)
{
    static const char *const one[] = {
        "nic0: index=0,type=nic", " \\ st1: index=0,type=stage,netdev=net0",
        "NIC: passed=1,dropped=0,", "backend: passed=1,dropped=0,",
        " \\ net0: index=0,type=dgram,fd=", NULL
    };
    static const char *const two[] = {
        "nic0: index=0,type=nic", " \\ st2: index=0,type=stage,netdev=st1",
        "NIC: passed=1,", "backend: passed=1,",
        " \\ st1: index=0,type=stage,netdev=net0",
        "NIC: passed=1,", "backend: passed=1,",
        " \\ net0: index=0,type=dgram", NULL
    };
    static const char *const unused[] = {
        "st1: index=0,type=stage,netdev=net0", " \\ net0: index=0,type=dgram",
        NULL
    };
    g_autofree char *text = NULL;
    Bed bed;

    bed_start(&bed, setup, "");
    bed_converse(&bed, 1);
    text = bed_info(&bed);
    assert_says(text, setup->stages == 1 ? one : two);
    bed_unplug_nic(&bed);
    g_free(text);
    text = bed_info(&bed);
    assert_says(text, unused);
    bed_stop(&bed);
}

/* --- links ---------------------------------------------------------------- */

static void check_down(Bed *bed)
{
    nic_post(bed->nic, 0, 1);
    peer_send_frame(bed, 100, 1);
    guest_expect_nothing(bed);
    guest_send_frame(bed, 100, 1);
    peer_expect_nothing(bed);
}

/*
 * set_link of any part of the chain stops both directions, and the guest sees
 * it; afterwards everything works as before.
 */
static void test_link(const Setup *setup)
{
    static const char *const ids[] = { "nic0", "net0", "st1", "st2" };
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < 2 + setup->stages; i++) {
        for (unsigned round = 0; round < 2; round++) {
            g_assert_true(nic_link_up(bed.nic));
            bed_set_link(&bed, ids[i], false);
            g_assert_false(nic_link_up(bed.nic));
            check_down(&bed);
            bed_set_link(&bed, ids[i], true);
            g_assert_true(nic_link_up(bed.nic));
            bed_converse(&bed, 10 * i + round);
        }
    }
    bed_stop(&bed);
}

/* A link that is down in two places is up when both are up. */
static void test_link_twice(const Setup *setup)
{
    static const char *const ids[] = { "nic0", "net0", "st1", "st2" };
    unsigned num = 2 + setup->stages;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < num * num; i++) {
        bed_set_link(&bed, ids[i / num], false);
        bed_set_link(&bed, ids[i % num], false);
        check_down(&bed);
        bed_set_link(&bed, ids[i / num], true);
        bed_set_link(&bed, ids[i % num], true);
        g_assert_true(nic_link_up(bed.nic));
        bed_converse(&bed, i);
    }
    bed_stop(&bed);
}

/* A new NIC does not inherit the old one's link state. */
static void test_link_of_new_nic(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < 2; i++) {
        bed_set_link(&bed, "nic0", false);
        bed_unplug_nic(&bed);
        bed_plug_nic(&bed);
        g_assert_true(nic_link_up(bed.nic));
        bed_converse(&bed, i);
    }
    bed_stop(&bed);
}

/* --- unplugging ----------------------------------------------------------- */

/* Fills both directions with frames. */
static void fill(Bed *bed)
{
    for (unsigned i = 0; i < NIC_SLOTS - 1; i++) {
        guest_send_frame(bed, 300, 1000 + i);
    }
    for (unsigned i = 0; i < 8; i++) {
        peer_send_frame(bed, 300, 2000 + i);
    }
    bed_settle(bed);
}

/* Takes the frames that fill() has left in the network. */
static void drain(Bed *bed)
{
    uint8_t frame[FRAME_MAX];
    size_t len;

    guest_send_frame(bed, 100, 3000);
    do {
        len = peer_expect_any(bed, NULL, frame, sizeof(frame));
    } while (len != 100);
    frame_check(frame, len, 100, 3000);
}

static void test_unplug_nic(const Setup *setup)
{
    uint8_t frame[FRAME_MAX];
    unsigned queue;
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned round = 0; round < 3; round++) {
        bed_converse(&bed, round);
        fill(&bed);
        bed_unplug_nic(&bed);
        peer_send_frame(&bed, 300, 4000);       /* to nobody */
        bed_settle(&bed);
        bed_plug_nic(&bed);
        drain(&bed);
        nic_post(bed.nic, 0, 32);
        peer_send_frame(&bed, 100, 5000);
        do {
            len = guest_expect_any(&bed, frame, sizeof(frame), &queue);
        } while (len != 100);
        frame_check(frame, len, 100, 5000);
        bed_unplug_nic(&bed);
        bed_plug_nic(&bed);
    }
    bed_stop(&bed);
}

/* The same for a NIC that is removed while its frames wait for the network. */
static void test_pull_nic(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned round = 0; round < 3; round++) {
        fill(&bed);
        bed_pull_nic(&bed);
        bed_plug_nic(&bed);
        drain(&bed);
        bed_converse(&bed, round);
    }
    bed_stop(&bed);
}

/*
 * The backend is removed: the guest's link goes down, and no frame of the guest
 * stays in the NIC.  After a new backend and stages everything works.
 */
static void test_unplug_backend(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned round = 0; round < 3; round++) {
        g_autofree char *info = NULL;
        unsigned before = nic_sent(bed.nic, 0);

        fill(&bed);
        g_assert_cmpuint(nic_sent(bed.nic, 0), <, before + NIC_SLOTS - 1);
        bed_del_netdev(&bed, "net0");
        g_assert_false(nic_link_up(bed.nic));
        g_assert_cmpuint(nic_sent(bed.nic, 0), ==, before + NIC_SLOTS - 1);
        info = bed_info(&bed);
        g_assert_null(strstr(info, "net0: "));

        /* The link is up again, but without a backend. */
        bed_set_link(&bed, "nic0", true);
        guest_send_frame(&bed, 100, 1);
        bed_settle(&bed);
        g_assert_cmpuint(nic_sent(bed.nic, 0), ==, before + NIC_SLOTS);

        bed_unplug_nic(&bed);
        for (unsigned i = setup->stages; i; i--) {
            bed_del_netdev(&bed, i == 1 ? "st1" : "st2");
        }
        bed_add_backend(&bed);
        bed_add_stages(&bed);
        bed_plug_nic(&bed);
        bed_converse(&bed, round);
    }
    bed_stop(&bed);
}

/* After that a guest may restart its driver, with other headers. */
static void test_reset_without_backend(const Setup *setup)
{
    NicKind old = *setup->nic;
    Bed bed;

    bed_start(&bed, setup, "");
    g_assert_cmpuint(bed.nic->vnet_len, ==, 20);
    bed_converse(&bed, 1);
    bed_del_netdev(&bed, "net0");
    bed_set_link(&bed, "nic0", true);
    old.features &= ~(1ull << 57);      /* VIRTIO_NET_F_HASH_REPORT */
    nic_free(bed.nic);
    bed.nic = old.start(&bed.machine, &old);
    g_assert_cmpuint(bed.nic->vnet_len, ==, 12);
    guest_send_frame(&bed, 100, 1);
    bed_settle(&bed);
    g_assert_cmpuint(nic_sent(bed.nic, 0), ==, 1);
    bed_stop(&bed);
}

/*
 * The stage is removed while a NIC uses it: the link stays down, and the
 * backend is free when the NIC is removed, too.
 */
static void test_unplug_stage(const Setup *setup)
{
    static const char *const says[] = { "'net0' is already used by 'st1'",
                                        NULL };
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned round = 0; round < 3; round++) {
        g_autofree char *text = NULL;

        fill(&bed);
        bed_del_netdev(&bed, "st1");
        g_assert_false(nic_link_up(bed.nic));
        bed_set_link(&bed, "net0", false);
        bed_set_link(&bed, "net0", true);
        g_assert_false(nic_link_up(bed.nic));
        text = try_netdev(bed.qts, "'id': 'st9', 'netdev': 'net0'");
        g_assert_nonnull(text);
        assert_says(text, says);
        bed_unplug_nic(&bed);
        bed_add_stages(&bed);
        bed_plug_nic(&bed);
        drain(&bed);
    }
    bed_stop(&bed);
}

/* A stage that no NIC uses releases its backend at once. */
static void test_del_stage(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned round = 0; round < 3; round++) {
        bed_unplug_nic(&bed);
        for (unsigned i = setup->stages; i; i--) {
            bed_del_netdev(&bed, i == 1 ? "st1" : "st2");
        }
        bed_add_stages(&bed);
        bed_plug_nic(&bed);
        bed_converse(&bed, round);
    }
    bed_stop(&bed);
}

/* --- main ----------------------------------------------------------------- */

static const NicKind *const both[] = { &nic_virtio12, &nic_e1000, NULL };
static const NicKind *const virtio[] = { &nic_virtio12, NULL };
static const NicKind *const longest[] = { &nic_virtio20, NULL };

static void test_refusals_once(const void *unused)
{
    const Setup setup = { &nic_virtio12, DGRAM, 1 };

    test_refusals(&setup);
}

static void test_vhost_once(const void *unused)
{
    const Setup setup = { &nic_virtio12, DGRAM, 1 };

    test_vhost(&setup);
}

static void test_unplug_stage_once(const void *unused)
{
    const Setup setup = { &nic_virtio12, DGRAM, 1 };

    test_unplug_stage(&setup);
}

static void add_tests(void)
{
    qtest_add_data_func("/stage/refusals", NULL, test_refusals_once);
    qtest_add_func("/stage/bad-lines", test_bad_lines);
    qtest_add_data_func("/stage/vhost", NULL, test_vhost_once);
    qtest_add_data_func("/stage/unplug-stage", NULL, test_unplug_stage_once);
    add_test("info", virtio, DGRAM, 1, test_info);
    add_test("link", virtio, DGRAM, 0, test_link);
    add_test("link-twice", virtio, DGRAM, 0, test_link_twice);
    add_test("link-new-nic", virtio, DGRAM, 0, test_link_of_new_nic);
    add_test("unplug-nic", both, DGRAM, 0, test_unplug_nic);
    add_test("pull-nic", both, DGRAM, 0, test_pull_nic);
    add_test("unplug-backend", virtio, DGRAM, 1, test_unplug_backend);
    add_test("reset-without-backend", longest, TAP, 0,
             test_reset_without_backend);
    add_test("del-stage", both, DGRAM, 1, test_del_stage);
}

int main(int argc, char **argv)
{
    return stage_test_main(argc, argv, add_tests);
}
