/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6 with several home addresses: options, monitor, migration */
#include "qemu/osdep.h"

#include "tests/qtest/libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"

#define COMMON  "home-prefix-length=64,home-agent=2001:db8:2000::1"

typedef struct Refusal {
    const char *addresses;      /* of netdev_add: more-home-address */
    const char *says;
} Refusal;

static const Refusal refusals[] = {
    { "'x'", "more-home-address=x is not a global IPv6 address" },
    { "'fe80::1'", "more-home-address=fe80::1 is not a global IPv6 address" },
    { "'ff0e::1'", "more-home-address=ff0e::1 is not a global IPv6 address" },
    { "'::1'", "more-home-address=::1 is not a global IPv6 address" },
    { "'2001:db8:2001::11'",
      "more-home-address=2001:db8:2001::11 does not have the prefix of "
      "home-address, with home-prefix-length=64" },
    { "'2001:db8:2000::10'",
      "more-home-address=2001:db8:2000::10 is a home address already" },
    { "'2001:db8:2000::11', '2001:db8:2000:0:0::11'",
      "more-home-address=2001:db8:2000:0:0::11 is a home address already" },
    { "'2001:db8:2000::11', '2001:db8:2000::1'",
      "home-agent=2001:db8:2000::1 is the home address" },
    { "'2001:db8:2000::11', '2001:db8:2000::12', '2001:db8:2000::13', "
      "'2001:db8:2000::14', '2001:db8:2000::15', '2001:db8:2000::16', "
      "'2001:db8:2000::17', '2001:db8:2000::18'",
      "more-home-address=2001:db8:2000::18 is too many: a VM has at most 8 "
      "home addresses" },
};

static void assert_says(const char *text, const char *says)
{
    if (!strstr(text, says)) {
        g_test_message("'%s' is missing in: %s", says, text);
    }
    g_assert_nonnull(strstr(text, says));
}

/* A VM with a netdev "mip0" only, and @more options. */
static QTestState *start(const char *options, const char *more)
{
    return qtest_initf("-machine none -nodefaults "
                       "-netdev hubport,id=net0,hubid=0 "
                       "-netdev mip6,id=mip0,netdev=net0,"
                       "home-address=2001:db8:2000::10," COMMON "%s %s",
                       options, more);
}

static void test_refused(void)
{
    QTestState *qts = start("", "-netdev hubport,id=net1,hubid=1");

    for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_autofree char *cmd = g_strdup_printf(
            "{ 'execute': 'netdev_add', 'arguments': { 'type': 'mip6', "
            "'id': 'mip1', 'netdev': 'net1', "
            "'home-address': '2001:db8:2000::10', 'home-prefix-length': 64, "
            "'home-agent': '2001:db8:2000::1', "
            "'more-home-address': [ %s ] } }", refusals[i].addresses);
        QDict *resp;

        qtest_qmp_send_raw(qts, "%s", g_strdelimit(cmd, "'", '"'));
        resp = qtest_qmp_receive(qts);
        g_assert_true(qdict_haskey(resp, "error"));
        assert_says(qdict_get_str(qdict_get_qdict(resp, "error"), "desc"),
                    refusals[i].says);
        qobject_unref(resp);
    }
    qtest_quit(qts);
}

/* A repeated option makes a list, and the monitor shows it. */
static void test_query(void)
{
    static const char *const homes[] = {
        "2001:db8:2000::10", "2001:db8:2000::11", "2001:db8:2000::12",
    };
    QTestState *qts = start(",more-home-address=2001:db8:2000::11,"
                            "more-home-address=2001:db8:2000::12,"
                            "heard-addresses=on,location=away", "");
    QDict *resp = qtest_qmp(qts, "{ 'execute': 'query-mip6' }");
    QDict *info = qobject_to(QDict,
                             qlist_peek(qdict_get_qlist(resp, "return")));
    QList *bindings = qdict_get_qlist(info, "bindings");
    g_autofree char *text = NULL;
    unsigned i = 0;
    const QListEntry *entry;

    g_assert_cmpstr(qdict_get_str(info, "state"), ==, "acquiring");
    g_assert_cmpstr(qdict_get_str(info, "home-address"), ==, homes[0]);
    g_assert_cmpint(qlist_size(bindings), ==, 3);
    QLIST_FOREACH_ENTRY(bindings, entry) {
        QDict *b = qobject_to(QDict, qlist_entry_obj(entry));

        g_assert_cmpstr(qdict_get_str(b, "home-address"), ==, homes[i++]);
        g_assert_cmpstr(qdict_get_str(b, "state"), ==, "acquiring");
        g_assert_cmpstr(qdict_get_str(b, "reason"), ==, "no-care-of-address");
    }
    qobject_unref(resp);
    text = qtest_hmp(qts, "info mip6");
    assert_says(text, "home     2001:db8:2000::10, agent 2001:db8:2000::1");
    assert_says(text, "home     2001:db8:2000::12, acquiring "
                      "(no-care-of-address)");
    qtest_quit(qts);
}

static bool migrate(QTestState *from, QTestState *to, const char *uri)
{
    qtest_qmp_assert_success(
        to, "{ 'execute': 'migrate-incoming', 'arguments': { 'uri': %s, "
        "'exit-on-error': false } }", uri);
    qtest_qmp_assert_success(
        from, "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }", uri);
    for (;;) {
        QDict *resp = qtest_qmp(to, "{ 'execute': 'query-migrate' }");
        const char *status = qdict_get_try_str(qdict_get_qdict(resp, "return"),
                                               "status");
        bool failed = status && !strcmp(status, "failed");
        bool completed = status && !strcmp(status, "completed");

        qobject_unref(resp);
        if (failed || completed) {
            return completed;
        }
    }
}

/* The destination reports the addresses of both sides if they differ. */
static void test_migration(void)
{
    static const struct {
        const char *options, *says;
    } there[] = {
        { ",more-home-address=2001:db8:2000::11", NULL },
        { "", "has the home addresses 2001:db8:2000::10, 2001:db8:2000::11, "
              "but home-address= and more-home-address= here have "
              "2001:db8:2000::10: make them the same" },
        { ",more-home-address=2001:db8:2000::12",
          "here have 2001:db8:2000::10, 2001:db8:2000::12:" },
    };
    g_autofree char *dir = g_dir_make_tmp("mip6-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "migration", NULL);
    g_autofree char *err = g_build_filename(dir, "stderr", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    g_autofree char *more = g_strdup_printf("-incoming defer 2>%s", err);

    for (unsigned i = 0; i < G_N_ELEMENTS(there); i++) {
        QTestState *from = start(there[0].options, "");
        QTestState *to = start(there[i].options, more);
        g_autofree char *text = NULL;

        g_assert_cmpint(migrate(from, to, uri), ==, !there[i].says);
        qtest_quit(to);
        qtest_quit(from);
        g_assert_true(g_file_get_contents(err, &text, NULL, NULL));
        if (there[i].says) {
            assert_says(text, there[i].says);
        }
    }
    unlink(path);
    unlink(err);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/mip6/addresses/refused", test_refused);
    qtest_add_func("/mip6/addresses/query", test_query);
    qtest_add_func("/mip6/addresses/migration", test_migration);
    return g_test_run();
}
