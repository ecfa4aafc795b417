/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit log: its lines, and what becomes of them when nobody reads them */

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <glib.h>

#include "hw/vmrpc/audit/json.h"
#include "hw/vmrpc/audit/log.h"

#define NOW     1795857243120451    /* 2026-11-28T09:14:03.120451Z */

/* Writers at once, and the lines of each */
#define WRITERS         4
#define MANY            250000

static unsigned kicks;

static void kick(void *opaque)
{
    kicks++;
}

static VmrpcAudit *new_log(VmrpcAuditFull full, uint32_t sockets)
{
    const VmrpcAuditConfig config = {
        .vm = "web", .dev = "vmrpc0", .full = full, .sockets = sockets,
        .kick = kick,
    };

    kicks = 0;
    return vmrpc_audit_new(&config);
}

static VmrpcAuditEntry opening(uint32_t socket)
{
    static struct sockaddr_storage peer;
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&peer;

    sin6->sin6_family = AF_INET6;
    sin6->sin6_port = htons(443);
    inet_pton(AF_INET6, "2001:db8:80::80", &sin6->sin6_addr);
    return (VmrpcAuditEntry) {
        .event = VMRPC_AUDIT_OPEN, .time_us = NOW, .proto = IPPROTO_TCP,
        .peer = &peer, .verdict = "allow", .line = 7, .policy = "5f1c9a02",
        .has_socket = true, .socket = socket,
    };
}

/* Appends what can be read, @step bytes at a time. */
static void read_all(VmrpcAudit *audit, GString *text, size_t step)
{
    const char *part;
    size_t len;

    while ((len = vmrpc_audit_peek(audit, NOW, &part))) {
        len = MIN(len, step);
        g_string_append_len(text, part, len);
        vmrpc_audit_consume(audit, len);
    }
}

/* --- lines ---------------------------------------------------------------- */

static void test_line(void)
{
    static const char *const asked[] = { "www.example.com" };
    VmrpcAudit *audit = new_log(VMRPC_AUDIT_DROP, 0);
    VmrpcAuditEntry entry = opening(42);
    g_autoptr(GString) text = g_string_new("");

    entry.asked = asked;
    entry.asked_num = 1;
    entry.said = "www.example.com";
    entry.alpn = "h2";
    g_assert_true(vmrpc_audit_write(audit, &entry));
    read_all(audit, text, SIZE_MAX);
    g_assert_cmpstr(text->str, ==,
        "{\"v\":1,\"seq\":1,\"time\":\"2026-11-28T09:14:03.120451Z\","
        "\"vm\":\"web\",\"dev\":\"vmrpc0\",\"event\":\"open\",\"proto\":"
        "\"tcp\",\"address\":\"2001:db8:80::80\",\"port\":443,\"verdict\":"
        "\"allow\",\"line\":7,\"policy\":\"5f1c9a02\",\"socket\":42,\"said\":"
        "\"www.example.com\",\"alpn\":\"h2\",\"asked\":[\"www.example.com\"]}"
        "\n");
    vmrpc_audit_free(audit);
}

static void test_others(void)
{
    struct in6_addr addresses[2];
    const VmrpcAuditEntry entries[] = {
        { .event = VMRPC_AUDIT_REFUSED, .proto = IPPROTO_UDP,
          .address = "192.0.2.1", .port = 53, .verdict = "deny",
          .reason = "deny-rule", .error = EACCES, .line = 3 },
        { .event = VMRPC_AUDIT_CLOSE, .error = ECONNRESET, .has_socket = true,
          .sent = UINT64_MAX, .received = 0, .ms = 17 },
        { .event = VMRPC_AUDIT_NAME, .name = "a.example", .type = 28,
          .verdict = "allow" },
        { .event = VMRPC_AUDIT_NAME, .name = "a.example", .type = 64999,
          .verdict = "watch" },
        { .event = VMRPC_AUDIT_ANSWER, .name = "a.example",
          .addresses = addresses, .address_num = 2, .security = "secure" },
        { .event = VMRPC_AUDIT_POLICY, .policy = "00000001", .file = "p" },
    };
    static const char *const expected[] = {
        "\"refused\",\"proto\":\"udp\",\"address\":\"192.0.2.1\",\"port\":53,"
        "\"verdict\":\"deny\",\"reason\":\"deny-rule\",\"errno\":\"EACCES\","
        "\"line\":3}",
        "\"close\",\"error\":\"ECONNRESET\",\"socket\":0,"
        "\"sent\":18446744073709551615,\"received\":0,\"ms\":17}",
        "\"name\",\"verdict\":\"allow\",\"name\":\"a.example\","
        "\"type\":\"AAAA\"}",
        "\"name\",\"verdict\":\"watch\",\"name\":\"a.example\","
        "\"type\":\"TYPE64999\"}",
        "\"answer\",\"name\":\"a.example\",\"security\":\"secure\","
        "\"addresses\":[\"2001:db8::1\",\"192.0.2.1\"]}",
        "\"policy\",\"policy\":\"00000001\",\"file\":\"p\"}",
    };

    inet_pton(AF_INET6, "2001:db8::1", &addresses[0]);
    inet_pton(AF_INET6, "::ffff:192.0.2.1", &addresses[1]);
    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
        char text[VMRPC_AUDIT_LINE_MAX];
        size_t len = vmrpc_audit_format(&entries[i], "", text, sizeof(text));
        g_autofree char *line = g_strndup(text, len - 1);

        g_assert_cmpint(text[len - 1], ==, '\n');
        g_assert_cmpstr(strstr(line, "\"event\":") + 8, ==, expected[i]);
    }
}

/* Any octet comes out as valid UTF-8 in a JSON string without a line end. */
static void test_hostile(void)
{
    for (unsigned c = 1; c < 256; c++) {
        const char name[] = { 'x', c, '"', c, 0x80, c, 0 };
        char text[256] = "";
        VmrpcJson j = { .text = text, .size = sizeof(text) - 1 };
        size_t quotes = 0;

        g_assert_true(vmrpc_json_string(&j, name));
        g_assert_true(g_utf8_validate(text, j.len, NULL));
        for (size_t i = 0; i < j.len; i++) {
            g_assert_cmpint((unsigned char)text[i], >=, 0x20);
            if (text[i] == '\\') {
                i++;
            } else {
                quotes += text[i] == '"';
            }
        }
        g_assert_cmpuint(quotes, ==, 2);
    }
}

static void test_escapes(void)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        { "", "\"\"" },
        { "a\"b\\c", "\"a\\\"b\\\\c\"" },
        { "\n\x7f\x01", "\"\\u000a\\u007f\\u0001\"" },
        { "\xc3\xbc", "\"\xc3\xbc\"" },
        { "\xc3", "\"\\ufffd\"" },
        { "\xc0\x80", "\"\\ufffd\\ufffd\"" },
        { "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },   /* a surrogate */
        { "\xf0\x9f\x92\xa9", "\"\xf0\x9f\x92\xa9\"" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[64] = "";
        VmrpcJson j = { .text = text, .size = sizeof(text) - 1 };

        g_assert_true(vmrpc_json_string(&j, cases[i].text));
        g_assert_cmpstr(text, ==, cases[i].json);
    }
}

/* Names that do not fit are counted, and the line is whole. */
static void test_long(void)
{
    g_autofree char *name = g_strnfill(1000, '\1');
    const char *asked[16];
    VmrpcAuditEntry entry = opening(1);
    char text[VMRPC_AUDIT_LINE_MAX - VMRPC_AUDIT_SEQ_MAX];
    size_t len;

    for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
        asked[i] = i ? name : "first.example";
    }
    entry.asked = asked;
    entry.asked_num = G_N_ELEMENTS(asked);
    entry.name = name;              /* 6000 octets: no room */
    len = vmrpc_audit_format(&entry, "", text, sizeof(text));
    g_assert_cmpuint(len, <, sizeof(text));
    text[len] = '\0';
    g_assert_true(g_str_has_suffix(text, "\"asked\":[\"first.example\"],"
                                         "\"more\":15}\n"));
    g_assert_null(strstr(text, "\"name\""));
    for (size_t size = 1024; size < sizeof(text); size++) {
        len = vmrpc_audit_format(&entry, "", text, size);
        g_assert_cmpuint(len, <=, size);
        g_assert_true(!memcmp(text + len - 2, "}\n", 2));
    }
}

/* --- the ring ------------------------------------------------------------- */

/* Checks the numbers of all lines; returns how many, and how many were lost. */
static uint64_t check_seq(const char *text, uint64_t first, uint64_t *lost)
{
    uint64_t seq = first;

    *lost = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        g_autofree char *line = NULL;
        const char *count;

        g_assert_nonnull(end);
        line = g_strndup(text, end - text);
        g_assert_true(g_str_has_prefix(line, "{\"v\":1,\"seq\":"));
        g_assert_cmpuint(g_ascii_strtoull(line + 13, NULL, 10), ==, seq);
        count = strstr(line, "\"event\":\"lost\",\"count\":");
        if (count) {
            *lost += g_ascii_strtoull(count + 23, NULL, 10);
        }
        seq++;
        text = end + 1;
    }
    return seq - first;
}

/* What does not fit is lost, and a line says how much, in its place. */
static void test_drop(void)
{
    VmrpcAudit *audit = new_log(VMRPC_AUDIT_DROP, 16384);
    VmrpcAuditEntry entry = opening(1);
    g_autoptr(GString) text = g_string_new("");
    uint64_t written = 0, lost = 0, lines, told;
    VmrpcAuditStats stats;
    const char *part;

    while (vmrpc_audit_write(audit, &entry)) {
        g_assert_true(vmrpc_audit_admits(audit));
        written++;
    }
    g_assert_cmpuint(kicks, ==, 1);
    for (lost = 1; lost < 1000; lost++) {
        g_assert_false(vmrpc_audit_write(audit, &entry));
    }
    g_assert_true(vmrpc_audit_admits(audit));
    vmrpc_audit_stats(audit, &stats);
    g_assert_cmpuint(stats.lost, ==, lost);
    g_assert_cmpuint(stats.pending, ==, written);
    g_assert_cmpuint(vmrpc_audit_next_seq(audit), ==, written + 2);

    /* Room for some more behind the gap */
    g_assert_cmpuint(vmrpc_audit_peek(audit, NOW, &part), >, 50000);
    g_assert_true(vmrpc_audit_write(audit, &entry));
    g_assert_cmpuint(vmrpc_audit_next_seq(audit), ==, written + 3);
    read_all(audit, text, 1000);
    lines = check_seq(text->str, 1, &told);
    g_assert_cmpuint(lines, ==, written + 2);
    g_assert_cmpuint(told, ==, lost);
    g_assert_nonnull(strstr(text->str, "\"event\":\"lost\",\"count\":1000}\n"));
    g_assert_false(g_str_has_suffix(text->str, "\"count\":1000}\n"));
    vmrpc_audit_stats(audit, &stats);
    g_assert_cmpuint(stats.lines, ==, lines);
    g_assert_cmpuint(stats.pending, ==, 0);
    g_assert_cmpuint(kicks, ==, 1);
    vmrpc_audit_write(audit, &entry);
    g_assert_cmpuint(kicks, ==, 2);
    vmrpc_audit_free(audit);
}

/* A gap at the end is told as well, when there is nothing behind it. */
static void test_drop_last(void)
{
    VmrpcAudit *audit = new_log(VMRPC_AUDIT_DROP, 1);
    VmrpcAuditEntry entry = opening(1);
    g_autoptr(GString) text = g_string_new("");
    uint64_t told;

    while (vmrpc_audit_write(audit, &entry)) {
    }
    read_all(audit, text, SIZE_MAX);
    check_seq(text->str, 1, &told);
    g_assert_cmpuint(told, ==, 1);
    g_assert_true(g_str_has_suffix(text->str, "\"count\":1}\n"));
    vmrpc_audit_free(audit);
}

/* Nothing begins without room, all that has begun ends, nothing is lost. */
static void test_wait(void)
{
    const uint32_t sockets = 5000;
    VmrpcAudit *audit = new_log(VMRPC_AUDIT_WAIT, sockets);
    g_autoptr(GString) text = g_string_new("");
    VmrpcAuditEntry entry = opening(1);
    uint64_t lines, told, written = 0;
    VmrpcAuditStats stats;
    bool wakes = false;
    const char *part;
    size_t len;

    while (vmrpc_audit_admits(audit)) {
        g_assert_true(vmrpc_audit_write(audit, &entry));
        written++;
    }
    g_assert_cmpuint(written, >, 1000);
    entry.event = VMRPC_AUDIT_CLOSE;
    entry.address = "2001:db8:1234:5678:9abc:def0:1234:5678";
    entry.sent = entry.received = entry.ms = UINT64_MAX;
    for (uint32_t i = 0; i < sockets; i++) {
        entry.socket = i;
        g_assert_true(vmrpc_audit_write(audit, &entry));
    }
    g_assert_false(vmrpc_audit_admits(audit));
    while (!wakes) {
        len = vmrpc_audit_peek(audit, NOW, &part);
        g_assert_cmpuint(len, >, 0);
        g_string_append_len(text, part, len);
        wakes = vmrpc_audit_consume(audit, len);
    }
    g_assert_true(vmrpc_audit_admits(audit));
    vmrpc_audit_stats(audit, &stats);
    g_assert_cmpuint(stats.waits, ==, 2);
    g_assert_cmpuint(stats.lost, ==, 0);
    read_all(audit, text, SIZE_MAX);
    lines = check_seq(text->str, 1, &told);
    g_assert_cmpuint(lines, ==, written + sockets);
    g_assert_cmpuint(told, ==, 0);
    vmrpc_audit_free(audit);
}

/* An outlet that takes nothing admits nothing, whatever room there is. */
static void test_stuck(void)
{
    VmrpcAudit *audit = new_log(VMRPC_AUDIT_WAIT, 1);
    VmrpcAudit *drops = new_log(VMRPC_AUDIT_DROP, 1);

    g_assert_false(vmrpc_audit_set_stuck(audit, true));
    g_assert_false(vmrpc_audit_set_stuck(audit, false));
    vmrpc_audit_set_stuck(audit, true);
    g_assert_false(vmrpc_audit_admits(audit));
    g_assert_true(vmrpc_audit_set_stuck(audit, false));
    g_assert_false(vmrpc_audit_set_stuck(audit, false));
    g_assert_true(vmrpc_audit_admits(audit));
    vmrpc_audit_set_stuck(drops, true);
    g_assert_true(vmrpc_audit_admits(drops));
    vmrpc_audit_free(audit);
    vmrpc_audit_free(drops);
}

/* Another outlet begins with a whole line, wherever the former one stopped. */
static void test_rewind(void)
{
    for (size_t stop = 1; stop < 700; stop += 7) {
        VmrpcAudit *audit = new_log(VMRPC_AUDIT_DROP, 1);
        g_autoptr(GString) text = g_string_new("");
        VmrpcAuditEntry entry = opening(1);
        const char *part, *line;
        uint64_t told, before;

        for (unsigned i = 0; i < 3; i++) {
            vmrpc_audit_write(audit, &entry);
        }
        vmrpc_audit_peek(audit, NOW, &part);
        g_string_append_len(text, part, stop);
        vmrpc_audit_consume(audit, stop);
        vmrpc_audit_rewind(audit);
        line = strrchr(text->str, '\n');
        g_string_truncate(text, line ? line + 1 - text->str : 0);
        before = check_seq(text->str, 1, &told);
        g_string_truncate(text, 0);
        read_all(audit, text, SIZE_MAX);
        g_assert_cmpuint(check_seq(text->str, before + 1, &told), ==,
                         3 - before);
        vmrpc_audit_free(audit);
    }
}

/* A migration: the destination goes on with the number behind all lines. */
static void test_seq(void)
{
    VmrpcAudit *source = new_log(VMRPC_AUDIT_DROP, 1);
    VmrpcAudit *dest = new_log(VMRPC_AUDIT_DROP, 1);
    g_autoptr(GString) text = g_string_new("");
    VmrpcAuditEntry entry = opening(1);
    uint64_t told;

    for (unsigned i = 0; i < 10; i++) {
        vmrpc_audit_write(source, &entry);
    }
    vmrpc_audit_follow_seq(dest, vmrpc_audit_next_seq(source));
    vmrpc_audit_follow_seq(dest, 5);        /* never back */
    for (unsigned i = 0; i < 10; i++) {
        vmrpc_audit_write(dest, &entry);
    }
    read_all(source, text, SIZE_MAX);
    read_all(dest, text, SIZE_MAX);
    g_assert_cmpuint(check_seq(text->str, 1, &told), ==, 20);
    vmrpc_audit_free(source);
    vmrpc_audit_free(dest);
}

/* --- many threads ---------------------------------------------------------- */

static void *write_many(void *opaque)
{
    VmrpcAuditEntry entry = opening(7);

    for (unsigned i = 0; i < MANY; i++) {
        vmrpc_audit_write(opaque, &entry);
    }
    return NULL;
}

/* Each line of a million is there or counted as lost. */
static void test_many(void)
{
    VmrpcAudit *audit = new_log(VMRPC_AUDIT_DROP, 1);
    g_autoptr(GString) text = g_string_new("");
    uint64_t told = 0, lines = 0, lost = 0;
    pthread_t thread[WRITERS];
    VmrpcAuditStats stats;

    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_create(&thread[i], NULL, write_many, audit);
    }
    do {
        g_string_truncate(text, 0);
        read_all(audit, text, 60000);
        lines += check_seq(text->str, lines + 1, &told);
        lost += told;
        vmrpc_audit_stats(audit, &stats);
    } while (stats.pending || stats.lines + lost < WRITERS * MANY);
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(thread[i], NULL);
    }
    g_string_truncate(text, 0);
    read_all(audit, text, 60000);
    lines += check_seq(text->str, lines + 1, &told);
    lost += told;
    vmrpc_audit_stats(audit, &stats);
    g_assert_cmpuint(stats.lost, ==, lost);
    g_assert_cmpuint(stats.lines, ==, lines);
    g_assert_cmpuint(lines + lost, >=, WRITERS * MANY);
    vmrpc_audit_free(audit);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc-audit/line", test_line);
    g_test_add_func("/vmrpc-audit/others", test_others);
    g_test_add_func("/vmrpc-audit/hostile", test_hostile);
    g_test_add_func("/vmrpc-audit/escapes", test_escapes);
    g_test_add_func("/vmrpc-audit/long", test_long);
    g_test_add_func("/vmrpc-audit/drop", test_drop);
    g_test_add_func("/vmrpc-audit/drop-last", test_drop_last);
    g_test_add_func("/vmrpc-audit/wait", test_wait);
    g_test_add_func("/vmrpc-audit/stuck", test_stuck);
    g_test_add_func("/vmrpc-audit/rewind", test_rewind);
    g_test_add_func("/vmrpc-audit/seq", test_seq);
    g_test_add_func("/vmrpc-audit/many", test_many);
    return g_test_run();
}
