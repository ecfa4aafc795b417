/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolv.conf(5), the search list, hosts(5)
 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/dns/client/config/address.h"
#include "net/dns/client/config/conf.h"
#include "net/dns/client/config/file.h"
#include "net/dns/client/config/hosts.h"

static DnscConf parse(const char *text)
{
    DnscConf conf;

    dnsc_conf_parse(&conf, text, strlen(text), "vm7.dc.example");
    return conf;
}

/* The names to try, with a blank between them */
static void assert_candidates(const DnscConf *conf, const char *text,
                              const char *expected)
{
    g_auto(GStrv) names = g_strsplit(expected, " ", -1);
    char name_text[DNS_NAME_TEXT_MAX];
    DnsName name;
    size_t i;

    for (i = 0; names[i]; i++) {
        g_assert_cmpint(dnsc_conf_candidate(conf, text, true, i, &name), ==,
                        1);
        dns_name_to_text(&name, name_text);
        g_assert_cmpstr(name_text, ==, names[i]);
    }
    g_assert_cmpint(dnsc_conf_candidate(conf, text, true, i, &name), ==, 0);
}

static void test_whole(void)
{
    DnscConf conf = parse("# made by hand\n"
                          "nameserver 192.0.2.53\n"
                          "nameserver\t2001:db8::53 \t\n"
                          "nameserver nobody\n"
                          "search one.example two.example..\n"
                          "options ndots:2 timeout:3 attempts:9 rotate\n"
                          "options trust-ad use-vc edns0 no-aaaa ndots:x\n");

    g_assert_cmpuint(conf.servers.count, ==, 2);
    g_assert_cmpint(conf.servers.addr[1].sa.sa_family, ==, AF_INET6);
    g_assert_cmpint(ntohs(conf.servers.addr[1].in6.sin6_port), ==, 53);
    g_assert_false(conf.names_none);
    g_assert_cmpuint(conf.searches, ==, 1);
    g_assert_cmpuint(conf.ndots, ==, 2);
    g_assert_cmpuint(conf.timeout, ==, 3);
    g_assert_cmpuint(conf.attempts, ==, 5);
    g_assert_true(conf.rotate && conf.trust_ad && conf.use_vc &&
                  conf.no_aaaa);
}

static void test_defaults(void)
{
    DnscConf conf = parse("");

    g_assert_cmpuint(conf.servers.count, ==, 1);
    g_assert_true(dnsc_address_is_loopback(&conf.servers.addr[0]));
    g_assert_true(conf.names_none);
    g_assert_cmpuint(conf.ndots, ==, 1);
    g_assert_cmpuint(conf.timeout, ==, 5);
    g_assert_cmpuint(conf.attempts, ==, 2);
    assert_candidates(&conf, "db",
                      "db.dc.example db");
}

static void test_candidates(void)
{
    DnscConf conf = parse("search a.example b.example\noptions ndots:2\n");

    assert_candidates(&conf, "www",
                      "www.a.example www.b.example www");
    assert_candidates(&conf, "www.x",
                      "www.x.a.example www.x.b.example www.x");
    assert_candidates(&conf, "www.x.y",
                      "www.x.y www.x.y.a.example www.x.y.b.example");
    assert_candidates(&conf, "www.",
                      "www");
    conf = parse("domain c.example d.example\n");
    assert_candidates(&conf, "www",
                      "www.c.example www");
}

static void test_no_name(void)
{
    DnscConf conf = parse("");
    DnsName name;

    g_assert_cmpint(dnsc_conf_candidate(&conf, "", true, 0, &name), <, 0);
    g_assert_cmpint(dnsc_conf_candidate(&conf, "a..b", true, 0, &name), <, 0);
}

static void test_servers(void)
{
    static const char *const wrong[] = {
        "", "name", "192.0.2.1@", "192.0.2.1@0", "192.0.2.1@65536",
        "192.0.2.1@5x", "2001:db8::1%nowhere", "192.0.2", "@53", "-1",
    };
    VmmnetDnsAddress addr;

    g_assert_cmpint(dnsc_address_parse_server("192.0.2.1@5353", &addr), ==, 0);
    g_assert_cmpint(ntohs(addr.in.sin_port), ==, 5353);
    g_assert_cmpint(dnsc_address_parse_server("fe80::1%lo@54", &addr), ==, 0);
    g_assert_cmpint(addr.in6.sin6_scope_id, !=, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_cmpint(dnsc_address_parse_server(wrong[i], &addr), <, 0);
    }
}

/* The only server, as text */
static void assert_server(const DnscServerList *list, const char *expected)
{
    char text[DNSC_SERVER_TEXT_MAX];

    g_assert_cmpuint(list->count, ==, 1);
    dnsc_list_text(list, 0, text);
    g_assert_cmpstr(text, ==, expected);
}

static void test_list(void)
{
    static const char *const same[] = {
        "192.0.2.1", "192.0.2.1@5353", "2001:db8::1@1", "fe80::1%lo",
        "fe80::1%late0@65535", "fe80::1%1",
    };
    static const char *const wrong[] = {
        "fe80::1%", "fe80::1%a/b", "fe80::1%a-name-too-long-", "fe80::1%x@0",
        "name", "192.0.2.1%lo",
    };
    DnscServerList list;

    for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
        list = (DnscServerList) { 0 };
        g_assert_cmpint(dnsc_list_add(&list, same[i]), ==, 0);
        assert_server(&list, same[i]);
        g_assert_true(dnsc_list_same(&list, &list));
    }
    list = (DnscServerList) { 0 };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_cmpint(dnsc_list_add(&list, wrong[i]), ==, -EINVAL);
    }
    g_assert_cmpuint(list.count, ==, 0);
    for (size_t i = 0; i < DNSC_SERVERS_MAX; i++) {
        g_assert_cmpint(dnsc_list_add(&list, "::1"), ==, 0);
    }
    g_assert_cmpint(dnsc_list_add(&list, "::1"), ==, -ENOSPC);
}

static void run(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/* An interface that comes late, is made again, and goes */
static void test_late_interface(void)
{
    DnscConf conf;
    DnscServerList *list = &conf.servers;
    unsigned before;

    g_assert_true(unshare(CLONE_NEWNET) == 0 ||
                  unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
    conf = parse("nameserver fe80::1%late0\n");
    assert_server(list, "fe80::1%late0");
    g_assert_true(dnsc_list_is_absent(list, 0));
    g_assert_false(conf.names_none);
    g_assert_false(dnsc_list_follow(list));

    run("ip link add late0 type veth peer name late1");
    g_assert_true(dnsc_list_follow(list));
    g_assert_false(dnsc_list_is_absent(list, 0));
    before = list->addr[0].in6.sin6_scope_id;
    g_assert_cmpuint(before, ==, if_nametoindex("late0"));
    g_assert_false(dnsc_list_follow(list));

    run("ip link del late0 && ip link add late0 type veth peer name late1");
    g_assert_true(dnsc_list_follow(list));
    g_assert_cmpuint(list->addr[0].in6.sin6_scope_id, !=, before);

    run("ip link del late0");
    g_assert_true(dnsc_list_follow(list));
    g_assert_true(dnsc_list_is_absent(list, 0));
}

/* A file is read once for each change, and kept while it cannot be opened. */
static void test_file(void)
{
    g_autofree char *folder = g_dir_make_tmp("dns-file-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "conf", NULL);
    struct rlimit before, none;
    DnscFile file;

    g_assert_cmpint(dnsc_file_init(&file, path), ==, 0);
    g_assert_false(dnsc_file_refresh(&file));
    g_assert_true(g_file_set_contents(path, "one", -1, NULL));
    g_assert_true(dnsc_file_refresh(&file));
    g_assert_false(dnsc_file_refresh(&file));
    g_assert_cmpmem(file.text, file.len, "one", 3);
    g_assert_true(g_file_set_contents(path, "two", -1, NULL));
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    g_assert_false(dnsc_file_refresh(&file));
    g_assert_cmpmem(file.text, file.len, "one", 3);
    setrlimit(RLIMIT_NOFILE, &before);
    g_assert_true(dnsc_file_refresh(&file));
    g_assert_cmpmem(file.text, file.len, "two", 3);
    /* What is no file is read as none, and once. */
    g_assert_cmpint(unlink(path), ==, 0);
    g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
    g_assert_true(dnsc_file_refresh(&file));
    g_assert_null(file.text);
    g_assert_false(dnsc_file_refresh(&file));
    g_assert_cmpint(rmdir(path), ==, 0);
    g_assert_true(dnsc_file_refresh(&file));
    g_assert_false(dnsc_file_refresh(&file));
    dnsc_file_clear(&file);
    g_assert_cmpint(rmdir(folder), ==, 0);
}

static void test_hosts(void)
{
    static const char text[] =
        "127.0.0.1 localhost\n"
        "192.0.2.7\tdb.example db  # the old one\n"
        "#192.0.2.8 db\n"
        "2001:db8::7 DB\n"
        "not-an-address db\n"
        "192.0.2.9 dbx xdb";
    VmmnetDnsAddress addrs[4];
    char canonical[64];
    bool known;

    g_assert_cmpuint(dnsc_hosts_find(text, strlen(text), "db.", AF_UNSPEC,
                                     addrs, 4, canonical, sizeof(canonical),
                                     &known), ==, 2);
    g_assert_cmpstr(canonical, ==, "db.example");
    g_assert_cmpint(addrs[0].sa.sa_family, ==, AF_INET);
    g_assert_cmpint(addrs[1].sa.sa_family, ==, AF_INET6);
    g_assert_cmpuint(dnsc_hosts_find(text, strlen(text), "db.example",
                                     AF_INET6, addrs, 4, canonical,
                                     sizeof(canonical), &known), ==, 0);
    g_assert_true(known);
    g_assert_cmpuint(dnsc_hosts_find(text, strlen(text), "d", AF_UNSPEC,
                                     addrs, 4, canonical, sizeof(canonical),
                                     &known), ==, 0);
    g_assert_false(known);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/conf/whole", test_whole);
    g_test_add_func("/dns-client/conf/defaults", test_defaults);
    g_test_add_func("/dns-client/conf/candidates", test_candidates);
    g_test_add_func("/dns-client/conf/no-name", test_no_name);
    g_test_add_func("/dns-client/conf/servers", test_servers);
    g_test_add_func("/dns-client/conf/file", test_file);
    g_test_add_func("/dns-client/conf/list", test_list);
    g_test_add_func("/dns-client/conf/late-interface", test_late_interface);
    g_test_add_func("/dns-client/conf/hosts", test_hosts);
    return g_test_run();
}
