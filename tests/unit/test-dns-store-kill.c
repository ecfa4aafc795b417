/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kill -9 while a zone is changed
 *
 * A child changes the zone continually, several names at a time, and reports
 * each acknowledged change.  It is killed at a random moment.  Then all names
 * must be of the same change, and not older than the last one that was
 * reported.  New images and rotations of the journal happen all the time.
 */
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fixtures/dns-store-fixture.h"

#define KILLS           200
#define NAMES           5
#define BATCH           3       /* changes a commit */
#define LIFE_MAX_US     40000

static char *owner_of(unsigned n)
{
    return g_strdup_printf("n%u.%s.example", n, n % 2 ? "*.a" : "b");
}

static void set_all(DnsEdit *edit, uint32_t number)
{
    g_autofree char *text = g_strdup_printf("%u", number);

    for (unsigned n = 0; n < NAMES; n++) {
        g_autofree char *owner = owner_of(n);
        ZoneLine line = { owner, DNS_TYPE_TXT, text };
        DnsName name = zone_name(owner);
        uint8_t rdata[DNS_NAME_MAX];
        ZoneRecord record = store_record(&line, rdata);
        DnsNode *node = dns_node_new(&record, 1);

        /* Every third change, the half of the names goes. */
        if (number % 3 == 0 && n % 2) {
            g_free(node);
            node = NULL;
        }
        g_assert_cmpint(dns_edit_set(edit, &name, node), ==, 0);
    }
    g_assert_cmpint(dns_changes_bump(edit), ==, 0);
}

static G_NORETURN void change_for_ever(StoreBed *bed, int to)
{
    uint32_t number;

    bed->merger = dns_merger_new();
    store_bed_open(bed);
    number = dns_store_serial(bed->store);
    for (;;) {
        for (unsigned i = 0; i < BATCH; i++) {
            set_all(dns_store_begin(bed->store), number++);
            g_assert_cmpint(dns_store_end(bed->store, true), ==, 0);
        }
        g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
        g_assert_cmpint(write(to, &number, sizeof(number)), ==,
                        sizeof(number));
        dns_merger_run(bed->merger);
    }
}

/* Returns the last change that the child reported as done. */
static uint32_t live_and_die(StoreBed *bed, GRand *rand, uint32_t number)
{
    int pipes[2], status;
    uint32_t told;
    pid_t child;

    g_assert_cmpint(pipe(pipes), ==, 0);
    child = fork();
    g_assert_cmpint(child, >=, 0);
    if (!child) {
        close(pipes[0]);
        change_for_ever(bed, pipes[1]);
    }
    close(pipes[1]);
    g_usleep(g_rand_int_range(rand, 0, LIFE_MAX_US));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(pipes[0], &told, sizeof(told)) == sizeof(told)) {
        number = told;
    }
    close(pipes[0]);
    return number;
}

static void assert_whole(StoreBed *bed, uint32_t serial)
{
    g_autofree char *text = g_strdup_printf("%u", serial - 1);

    for (unsigned n = 0; n < NAMES; n++) {
        g_autofree char *owner = owner_of(n);
        ZoneLine line = { owner, DNS_TYPE_TXT, text };
        DnsName name = zone_name(owner);
        ZoneNode node;

        if ((serial - 1) % 3 == 0 && n % 2) {
            g_assert_false(zone_find_exact(bed->view, name.wire, name.len,
                                           &node));
        } else {
            g_assert_true(store_bed_has(bed, &line));
        }
    }
}

static void test_kill(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    uint32_t acknowledged = 1;
    StoreBed bed;

    store_bed_make(&bed, "example", NULL, 0);
    store_bed_close(&bed);
    dns_merger_free(bed.merger);
    bed.merger = NULL;
    bed.seal_nodes = 4;
    bed.history_max = 65536;
    for (unsigned i = 0; i < KILLS; i++) {
        uint32_t serial;

        acknowledged = live_and_die(&bed, rand, acknowledged);
        store_bed_open(&bed);
        serial = dns_store_serial(bed.store);
        g_assert_cmpuint(serial, >=, acknowledged);
        g_assert_cmpuint(serial, <=, acknowledged + BATCH);
        if (serial > 1) {
            assert_whole(&bed, serial);
        }
        store_bed_close(&bed);
        acknowledged = serial;
    }
    g_assert_cmpuint(acknowledged, >, 1);
    g_test_message("%u changes, %u kills", acknowledged - 1, KILLS);
    store_bed_free(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-store/kill", test_kill);
    return g_test_run();
}
