/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients of vmmnet-hostd, and its state file
 *
 * The first octet says what the rest is: 0: a state file; else what clients
 * send, of which a form feed ends one, and the bits of its first octet say who
 * he is and what fails meanwhile.
 *
 * Whatever they send, the host has the addresses of the VMs that are here and
 * no others, what was written down is read as it is, and an answer is a line.
 */
#include <string.h>

#include "hostd/core/line.h"
#include "hostd/core/state.h"
#include "tests/fixtures/hostd-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file(const uint8_t *data, size_t size)
{
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) more = g_ptr_array_new_with_free_func(g_free);
    HostdRegistry *r = hostd_registry_new(), *same = hostd_registry_new();
    g_autoptr(GString) text = g_string_new(NULL), again = g_string_new(NULL);

    if (hostd_state_read(r, (const char *)data, size, "file", damage, NULL)) {
        hostd_state_write(r, text);
        g_assert_true(hostd_state_read(same, text->str, text->len, "file", more,
                                       NULL));
        g_assert_cmpuint(more->len, ==, 0);
        hostd_state_write(same, again);
        g_assert_cmpstr(text->str, ==, again->str);
    }
    hostd_registry_free(r);
    hostd_registry_free(same);
}

/* The host has the addresses of this state, unless a failure was injected. */
static void check_addresses(FakeHost *f)
{
    g_autoptr(GList) list = hostd_registry_list(f->hostd.vms);
    guint here = 0;

    for (GList *link = list; link; link = link->next) {
        const HostdVm *vm = link->data;

        g_assert_cmpuint(vm->addresses->len, >, 0);
        g_assert_cmpint(vm->place, !=, HOSTD_LEAVING);
        here += vm->place == HOSTD_HERE ? vm->addresses->len : 0;
    }
    g_assert_cmpuint(g_hash_table_size(f->addresses), ==, here);
}

static void check_restart(FakeHost *f)
{
    g_autoptr(FakeHost) next = fake_host_restarted(f);
    g_autoptr(GString) text = g_string_new(NULL);

    hostd_state_write(f->hostd.vms, text);
    g_assert_cmpstr(text->str, ==, f->file->str);
    hostd_settle(&next->hostd);
    check_addresses(next);
}

static void check_answer(const char *answer)
{
    g_auto(GStrv) lines = g_strsplit(answer, "\n", -1);

    for (char **line = lines; *line; line++) {
        g_assert_true(strlen(*line) < HOSTD_LINE_MAX || **line == '{');
        g_assert_true(!**line || **line == '{' || **line == '#' ||
                      g_str_has_prefix(*line, "vmmnet_hostd_") ||
                      !strcmp(*line, "ok") ||
                      g_str_has_prefix(*line, "error ") ||
                      g_str_has_prefix(*line, "vm ") ||
                      g_str_has_prefix(*line, "address6 "));
    }
}

static void follow(FakeHost *f, const char *client)
{
    static const char *const peers[] = { NULL, NULL, VM_A, VM_B };
    unsigned who = (uint8_t)client[0];
    g_autofree char *answer = NULL;

    f->dead = who & 4;
    answer = fake_host_ask(f, peers[who & 3], client + 1);
    check_answer(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(FakeHost) f = NULL;
    g_autofree char *text = NULL;
    g_auto(GStrv) clients = NULL;

    if (!size || !data[0]) {
        check_file(data + 1, size ? size - 1 : 0);
        return 0;
    }
    f = fake_host_new();
    g_string_assign(f->file, "vmmnet-hostd-state 1\n");
    text = g_strndup((const char *)data + 1, size - 1);
    clients = g_strsplit(text, "\f", 64);
    for (char **client = clients; *client; client++) {
        if (**client) {
            follow(f, *client);
        }
        check_addresses(f);
    }
    check_restart(f);
    return 0;
}
