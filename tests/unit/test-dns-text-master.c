/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Master files: directives, TTLs, files within files, pieces of a file */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fixtures/dns-text-fixture.h"

/* A file, and the records that it is read as */
typedef struct Reading {
    const char *name;
    const char *text;
    const char *records;
    const char *warnings;
} Reading;

#define NO_TTL  "zone.db:1:0: warning: without $TTL, the SOA record's last " \
    "number is taken for it\n"
#define LAST_TTL(line)  "zone.db:" line ":0: warning: without $TTL, records " \
    "without a TTL get that of the record before\n"
#define LONG_TTL(line)  "zone.db:" line ":0: warning: a TTL above " \
    "2147483647 counts as 0\n"

static const Reading readings[] = {
    { "rfc1035-5.3",
      "@   IN  SOA     VENERA      Action\\.domains (\n"
      "                                 20     ; SERIAL\n"
      "                                 7200   ; REFRESH\n"
      "                                 600    ; RETRY\n"
      "                                 3600000; EXPIRE\n"
      "                                 60)    ; MINIMUM\n\n"
      "        NS      A.ISI.EDU.\n"
      "        MX      10      VENERA\n\n"
      "A       A       26.3.0.103\n",
      "example. 60 IN SOA VENERA.example. Action\\.domains.example. 20 7200 "
      "600 3600000 60\n"
      "example. 60 IN NS A.ISI.EDU.\n"
      "example. 60 IN MX 10 VENERA.example.\n"
      "A.example. 60 IN A 26.3.0.103\n", NO_TTL },
    { "empty", "", "", NULL },
    { "comments", "; a\n\n  \t\n ; b\n\r\n;c", "", NULL },
    { "order",
      "$TTL 1\n"
      "a 5 IN A 192.0.2.1\na IN 5 A 192.0.2.2\na IN A 192.0.2.3\n"
      "a 5 A 192.0.2.4\na A 192.0.2.5\n",
      "a.example. 5 IN A 192.0.2.1\na.example. 5 IN A 192.0.2.2\n"
      "a.example. 1 IN A 192.0.2.3\na.example. 5 IN A 192.0.2.4\n"
      "a.example. 1 IN A 192.0.2.5\n", NULL },
    { "mnemonics-as-names", "$TTL 1\nIN IN A 192.0.2.1\nA A 192.0.2.2\n"
      "300 A 192.0.2.3\nTXT CLASS1 TYPE16 A\n",
      "IN.example. 1 IN A 192.0.2.1\nA.example. 1 IN A 192.0.2.2\n"
      "300.example. 1 IN A 192.0.2.3\nTXT.example. 1 IN TXT \"A\"\n", NULL },
    { "crlf-no-end", "$TTL 1\r\na A 192.0.2.1\r\n\tA (\r\n192.0.2.2 )",
      "a.example. 1 IN A 192.0.2.1\na.example. 1 IN A 192.0.2.2\n", NULL },
    { "bom", "\xef\xbb\xbf$TTL 1\na A 192.0.2.1\n",
      "a.example. 1 IN A 192.0.2.1\n", NULL },
    { "origin",
      "$TTL 1\n$ORIGIN sub\na A 192.0.2.1\n@ A 192.0.2.2\n"
      "$ORIGIN sub.sub ; relative\na A 192.0.2.3\n$ORIGIN .\na A 192.0.2.4\n"
      " A 192.0.2.5\n",
      "a.sub.example. 1 IN A 192.0.2.1\nsub.example. 1 IN A 192.0.2.2\n"
      "a.sub.sub.sub.example. 1 IN A 192.0.2.3\na. 1 IN A 192.0.2.4\n"
      "a. 1 IN A 192.0.2.5\n", NULL },
    { "escapes",
      "$TTL 1\na\\.b A 192.0.2.1\n\\@ A 192.0.2.2\n\\065 A 192.0.2.3\n"
      "\\$TTL A 192.0.2.4\na\\ b A 192.0.2.5\n*.w A 192.0.2.6\n",
      "a\\.b.example. 1 IN A 192.0.2.1\n\\@.example. 1 IN A 192.0.2.2\n"
      "A.example. 1 IN A 192.0.2.3\n\\$TTL.example. 1 IN A 192.0.2.4\n"
      "a\\032b.example. 1 IN A 192.0.2.5\n*.w.example. 1 IN A 192.0.2.6\n",
      NULL },
    { "parentheses",
      "$TTL 1\n(a A ;)\n192.0.2.1)\nb ( ) A (( 192.0.2.2\n\n) )\n"
      "c TXT (\"(\" \";\" ;\n)\n",
      "a.example. 1 IN A 192.0.2.1\nb.example. 1 IN A 192.0.2.2\n"
      "c.example. 1 IN TXT \"(\" \";\"\n", NULL },
    { "adjoining", "$TTL 1\na TXT b\"c\"d(e)f;g\n",
      "a.example. 1 IN TXT \"b\" \"c\" \"d\" \"e\" \"f\"\n", NULL },
    { "ttl-units", "$TTL 1W2D3h4m5s\na A 192.0.2.1\na 1h1h A 192.0.2.2\n",
      "a.example. 788645 IN A 192.0.2.1\na.example. 7200 IN A 192.0.2.2\n",
      NULL },
    /* RFC 2308 section 4: for the following records without a TTL */
    { "ttl-changes",
      "$TTL 1\na A 192.0.2.1\na 9 A 192.0.2.2\na A 192.0.2.3\n$TTL 2\n"
      "a A 192.0.2.4\n",
      "a.example. 1 IN A 192.0.2.1\na.example. 9 IN A 192.0.2.2\n"
      "a.example. 1 IN A 192.0.2.3\na.example. 2 IN A 192.0.2.4\n", NULL },
    /* RFC 1035 section 5.1: the last stated one */
    { "ttl-last",
      "a 9 A 192.0.2.1\na A 192.0.2.2\na 8 A 192.0.2.3\nb A 192.0.2.4\n",
      "a.example. 9 IN A 192.0.2.1\na.example. 9 IN A 192.0.2.2\n"
      "a.example. 8 IN A 192.0.2.3\nb.example. 8 IN A 192.0.2.4\n",
      LAST_TTL("2") },
    { "ttl-soa", "@ 7 SOA . . 1 2 3 4 5\na A 192.0.2.1\n",
      "example. 7 IN SOA . . 1 2 3 4 5\na.example. 7 IN A 192.0.2.1\n",
      LAST_TTL("2") },
    { "ttl-too-large",
      "$TTL 2147483648\na A 192.0.2.1\na 4294967295 A 192.0.2.2\n"
      "a 2147483647 A 192.0.2.3\n",
      "a.example. 0 IN A 192.0.2.1\na.example. 0 IN A 192.0.2.2\n"
      "a.example. 2147483647 IN A 192.0.2.3\n", LONG_TTL("1") LONG_TTL("3") },
    { "generate",
      "$TTL 1\n$GENERATE 1-3 host$ A 192.0.2.$\n"
      "$GENERATE 0-10/5 $.0-127 5 IN CNAME ${-1,3,d}.x\n",
      "host1.example. 1 IN A 192.0.2.1\nhost2.example. 1 IN A 192.0.2.2\n"
      "host3.example. 1 IN A 192.0.2.3\n"
      "0.0-127.example. 5 IN CNAME -01.x.example.\n"
      "5.0-127.example. 5 IN CNAME 004.x.example.\n"
      "10.0-127.example. 5 IN CNAME 009.x.example.\n", NULL },
    { "generate-bases",
      "$TTL 1\n$GENERATE 171-171 a TXT \"${0,0,d} ${0,4,o} ${0,4,x} ${0,4,X} "
      "${0,3,n} ${0,7,N} ${5} ${1,5} $$ \\$\"\n",
      "a.example. 1 IN TXT \"171\" \"0253\" \"00ab\" \"00AB\" \"b.a\" "
      "\"B.A.0.0\" \"176\" \"00172\" \"$\" \"$\"\n", NULL },
    { "generate-data",
      "$TTL 1\n$GENERATE 1-2 @ MX \"$ mail$\"\n"
      "$GENERATE 1-1 x TXT \"\\\"a b\\\"\"\n",
      "example. 1 IN MX 1 mail1.example.\n"
      "example. 1 IN MX 2 mail2.example.\n"
      "x.example. 1 IN TXT \"a b\"\n", NULL },
    /* The owner of $GENERATE's records is not that of the next one */
    { "generate-owner",
      "$TTL 1\na A 192.0.2.1\n$GENERATE 1-1 b$ A 192.0.2.2\n A 192.0.2.3\n",
      "a.example. 1 IN A 192.0.2.1\nb1.example. 1 IN A 192.0.2.2\n"
      "a.example. 1 IN A 192.0.2.3\n", NULL },
};

static void test_readings(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(readings); i++) {
        const Reading *r = &readings[i];
        DnsTextHeard heard = dns_text_heard();

        g_test_message("%s", r->name);
        g_assert_cmpint(dns_text_parse(&heard, r->text), ==, 0);
        g_assert_cmpstr(heard.records->str, ==, r->records);
        g_assert_cmpstr(heard.errors->str, ==, r->warnings ? r->warnings : "");
        dns_text_forget(&heard);
    }
}

/* The result of record() ends the reading and is returned. */
static void test_stop(void)
{
    DnsTextHeard heard = dns_text_heard();

    heard.records_max = 2;
    g_assert_cmpint(dns_text_parse(&heard, "$TTL 1\na A 192.0.2.1\n"
                                   "a A 192.0.2.2\na A 192.0.2.3\n"), ==, 42);
    g_assert_cmpint(heard.count, ==, 2);
    g_assert_cmpstr(heard.errors->str, ==, "");
    dns_text_forget(&heard);
}

/* --- files ---------------------------------------------------------------- */

typedef struct Folder {
    char *path;
    GPtrArray *files;
} Folder;

static Folder folder_new(void)
{
    Folder f = { g_dir_make_tmp("dns-text-XXXXXX", NULL), NULL };

    g_assert_nonnull(f.path);
    f.files = g_ptr_array_new_with_free_func(g_free);
    return f;
}

static const char *put_file(Folder *f, const char *name, const char *text)
{
    char *path = g_build_filename(f->path, name, NULL);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_ptr_array_add(f->files, path);
    return path;
}

static void folder_free(Folder *f)
{
    for (unsigned i = 0; i < f->files->len; i++) {
        g_assert_cmpint(g_unlink(f->files->pdata[i]), ==, 0);
    }
    g_assert_cmpint(g_rmdir(f->path), ==, 0);
    g_ptr_array_free(f->files, true);
    g_free(f->path);
}

static int read_path(DnsTextHeard *heard, const char *path)
{
    DnsName origin = dns_text_name("example");
    DnsMasterOptions options = {
        .path = path, .origin = &origin, .rrclass = DNS_CLASS_IN,
    };

    return dns_master_read(&dns_text_ops, heard, &options);
}

static void assert_heard(const Folder *f, DnsTextHeard *heard,
                         const char *records, const char *errors)
{
    g_autofree char *dir = g_strconcat(f->path, "/", NULL);

    g_string_replace(heard->errors, dir, "", 0);
    g_assert_cmpstr(heard->records->str, ==, records);
    g_assert_cmpstr(heard->errors->str, ==, errors);
    dns_text_forget(heard);
}

/*
 * RFC 1035 section 5.1: origin and owner are restored after the file; its $TTL
 * stays in force, as with BIND.
 */
static void test_include(void)
{
    Folder f = folder_new();
    DnsTextHeard heard = dns_text_heard();
    const char *path = put_file(&f, "zone.db",
        "$TTL 1\na A 192.0.2.1\n$INCLUDE \"sub.db\" sub ; beside this file\n"
        " A 192.0.2.4\nb A x\n$INCLUDE gone.db\n$INCLUDE sub.db a..b\n"
        "c A 192.0.2.5\n");

    put_file(&f, "sub.db", " A 192.0.2.2\n$TTL 2\n@ A 192.0.2.3\n$ORIGIN x\n"
             "y A 192.0.2.9\nz A z\n");
    g_assert_cmpint(read_path(&heard, path), ==, -EINVAL);
    assert_heard(&f, &heard,
        "a.example. 1 IN A 192.0.2.1\na.example. 1 IN A 192.0.2.2\n"
        "sub.example. 2 IN A 192.0.2.3\ny.x.sub.example. 2 IN A 192.0.2.9\n"
        "a.example. 2 IN A 192.0.2.4\nc.example. 2 IN A 192.0.2.5\n",
        "sub.db:6:5: z is no IPv4 address: four numbers from 0 to 255\n"
        "zone.db:5:5: x is no IPv4 address: four numbers from 0 to 255\n"
        "zone.db:6:0: gone.db cannot be read: No such file or directory\n"
        "zone.db:7:17: a..b is no domain name: a label is empty, but only the "
        "dot at the end may have nothing before or behind it\n");
    folder_free(&f);
}

static void test_include_itself(void)
{
    Folder f = folder_new();
    DnsTextHeard heard = dns_text_heard();
    const char *path = put_file(&f, "zone.db", "$TTL 1\na A 192.0.2.1\n"
                                "$INCLUDE zone.db\n");

    g_assert_cmpint(read_path(&heard, path), ==, -EINVAL);
    g_assert_cmpint(heard.count, ==, DNS_MASTER_INCLUDES_MAX);
    g_string_truncate(heard.records, 0);
    assert_heard(&f, &heard, "", "zone.db:3:1: files include one another more "
                 "than 16 deep: does one include itself?\n");
    folder_free(&f);
}

static void test_unreadable(void)
{
    Folder f = folder_new();
    DnsTextHeard heard = dns_text_heard();
    g_autofree char *missing = g_build_filename(f.path, "no.db", NULL);
    g_autofree char *folder = g_build_filename(f.path, ".", NULL);

    g_assert_cmpint(read_path(&heard, missing), ==, -ENOENT);
    assert_heard(&f, &heard, "", "no.db:0:0: no.db cannot be read: No such "
                 "file or directory\n");
    heard = dns_text_heard();
    g_assert_cmpint(read_path(&heard, folder), ==, -EISDIR);
    assert_heard(&f, &heard, "", ".:0:0: . cannot be read: Is a directory\n");
    folder_free(&f);
}

/* --- pieces --------------------------------------------------------------- */

/* A zone of some megabytes, each record of several lines, at odd places */
static char *big_zone(bool has_ttl, unsigned records)
{
    GString *text = g_string_new(has_ttl ? "$TTL 77\n" : "");

    g_string_append(text, "@ 5 SOA a b 1 2 3 4 5\n");
    for (unsigned i = 0; i < records; i++) {
        if (i % 1000 == 500) {
            g_string_append_printf(text, "$ORIGIN s%u.example.\n", i);
        }
        g_string_append_printf(text, "n%u %s TXT ( \"a ; ( $\" ; ) \"\n", i,
                               i % 3 ? "" : "IN 1h");
        g_string_append_printf(text, "  %0*u\n\n)\n", (int)(i % 97 + 1), i);
        if (i % 7 == 0) {
            g_string_append(text, "  A 192.0.2.1 ; the same owner\n");
        }
    }
    return g_string_free(text, false);
}

/* A file is read in pieces with records cut at any place. */
static void test_windows(void)
{
    g_autofree char *text = big_zone(true, 60000);
    DnsTextHeard whole = dns_text_heard(), heard = dns_text_heard();
    Folder f = folder_new();
    const char *path = put_file(&f, "zone.db", text);

    g_assert_cmpint(strlen(text), >, 4 << 20);
    g_assert_cmpint(dns_text_parse(&whole, text), ==, 0);
    g_assert_cmpint(read_path(&heard, path), ==, 0);
    g_assert_cmpint(heard.count, >, 60000);
    assert_heard(&f, &heard, whole.records->str, "");
    dns_text_forget(&whole);
    folder_free(&f);
}

/* A record larger than a piece is read, one above the limit is not. */
static void test_long_record(void)
{
    g_autofree char *blanks = g_strnfill(3 << 20, ' ');
    g_autofree char *lines = g_strnfill(DNS_MASTER_RECORD_MAX, '\n');
    g_autofree char *text = g_strconcat("$TTL 1\na A (", blanks,
                                        "192.0.2.1 )\nb A 192.0.2.2\n", NULL);
    g_autofree char *open = g_strconcat("$TTL 1\na A (", lines, NULL);
    DnsTextHeard heard = dns_text_heard();
    Folder f = folder_new();

    g_assert_cmpint(read_path(&heard, put_file(&f, "long.db", text)), ==, 0);
    assert_heard(&f, &heard, "a.example. 1 IN A 192.0.2.1\n"
                 "b.example. 1 IN A 192.0.2.2\n", "");
    heard = dns_text_heard();
    g_assert_cmpint(read_path(&heard, put_file(&f, "open.db", open)), ==,
                    -EINVAL);
    assert_heard(&f, &heard, "", "open.db:2:0: the record that begins here has "
                 "more than 16777216 octets: is a ) missing?\n");
    folder_free(&f);
}

/* Pieces that are read independently, the last one first, give the whole. */
static void read_pieces(const char *text, const DnsMasterOptions *options,
                        DnsTextHeard *heard, size_t at_least, unsigned *pieces)
{
    DnsMasterState state, next;
    size_t len = strlen(text), at = 0;
    g_autoptr(GPtrArray) parts = g_ptr_array_new();

    dns_master_state(&state, options);
    for (; at < len; state = next) {
        DnsTextHeard part = dns_text_heard();
        size_t part_len;
        uint64_t line;

        next = state;
        part_len = dns_master_split(options, &next, text + at, len - at,
                                    at_least);
        line = next.line;
        g_assert_cmpint(part_len, >, 0);
        g_assert_cmpint(dns_master_parse(&dns_text_ops, &part, options, &state,
                                         text + at, part_len), ==, 0);
        g_assert_cmpint(state.line, ==, line);
        g_string_append(heard->records, part.records->str);
        heard->count += part.count;
        dns_text_forget(&part);
        at += part_len;
        ++*pieces;
    }
}

static void check_pieces(const char *text, unsigned pieces_min,
                         unsigned pieces_max)
{
    DnsName origin = dns_text_name("example");
    DnsMasterOptions options = {
        .path = "zone.db", .origin = &origin, .rrclass = DNS_CLASS_IN,
    };
    static const size_t at_least[] = { 1, 100, 5000, 1 << 20 };
    DnsTextHeard whole = dns_text_heard();

    g_assert_cmpint(dns_text_parse(&whole, text), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(at_least); i++) {
        DnsTextHeard heard = dns_text_heard();
        unsigned pieces = 0;

        read_pieces(text, &options, &heard, at_least[i], &pieces);
        g_assert_cmpstr(heard.records->str, ==, whole.records->str);
        if (!i) {
            g_assert_cmpint(pieces, >=, pieces_min);
            g_assert_cmpint(pieces, <=, pieces_max);
        }
        dns_text_forget(&heard);
    }
    dns_text_forget(&whole);
}

static void test_split(void)
{
    g_autofree char *with_ttl = big_zone(true, 3000);
    g_autofree char *without = big_zone(false, 3000);

    check_pieces(with_ttl, 3002, 3002);
    /* Without $TTL only a record with a TTL can begin a piece. */
    check_pieces(without, 1001, 1001);
    /* The SOA record's minimum is the default TTL. */
    check_pieces("@ SOA a b 1 2 3 4 5\na A 192.0.2.1\nb 9 A 192.0.2.2\n"
                 "c A 192.0.2.3\n", 4, 4);
    /* A piece of a file with $INCLUDE only begins after a $TTL. */
    check_pieces("$TTL 5\na A 192.0.2.1\n$GENERATE 1-2 b$ A 192.0.2.$\n"
                 "c A 192.0.2.3\n$INCLUDE /dev/null\nd A 192.0.2.4\n"
                 "e A 192.0.2.5\n$TTL 6\nf A 192.0.2.6\n", 4, 4);
    check_pieces("\xef\xbb\xbf$TTL 5\na A 192.0.2.1", 2, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-text/master/readings", test_readings);
    g_test_add_func("/dns-text/master/stop", test_stop);
    g_test_add_func("/dns-text/master/include", test_include);
    g_test_add_func("/dns-text/master/include-itself", test_include_itself);
    g_test_add_func("/dns-text/master/unreadable", test_unreadable);
    g_test_add_func("/dns-text/master/windows", test_windows);
    g_test_add_func("/dns-text/master/long-record", test_long_record);
    g_test_add_func("/dns-text/master/split", test_split);
    return g_test_run();
}
