/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulated host, and the state of vmmnet-hostd */
#include <arpa/inet.h>
#include <string.h>

#include "hostd-fixture.h"
#include "hostd/core/state.h"

static const char *text_of(const HostdAddress *a)
{
    static char text[INET6_ADDRSTRLEN];

    return inet_ntop(AF_INET6, &a->addr, text, sizeof(text));
}

static void note(FakeHost *f, const char *what, const char *more)
{
    g_string_append_printf(f->done, "%s%s%s", f->done->len ? " " : "", what,
                           more);
}

static bool fail(GError **errp, const char *what)
{
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "%s", what);
    return false;
}

static bool keep(void *opaque, GError **errp)
{
    FakeHost *f = opaque;

    if (f->full) {
        return fail(errp, "no space");
    }
    note(f, "keep", "");
    g_string_truncate(f->file, 0);
    hostd_state_write(f->hostd.vms, f->file);
    return true;
}

static bool has_device(void *opaque, char dev[IF_NAMESIZE])
{
    return !strncmp(dev, "eth", 3);
}

static bool is_up(void *opaque, const char *dev)
{
    FakeHost *f = opaque;

    return !f->down;
}

static bool has(void *opaque, const HostdAddress *a)
{
    return fake_host_has(opaque, text_of(a));
}

static bool add(void *opaque, const HostdAddress *a, GError **errp)
{
    FakeHost *f = opaque;
    const char *text = text_of(a);

    if (f->stuck && !strcmp(text, f->stuck)) {
        return fail(errp, "stuck");
    }
    note(f, "+", text);
    g_hash_table_add(f->addresses, g_strdup(text));
    return true;
}

static void announce(void *opaque, const HostdAddress *a)
{
    note(opaque, "!", text_of(a));
}

static bool drop(void *opaque, const HostdAddress *a, GError **errp)
{
    FakeHost *f = opaque;
    const char *text = text_of(a);

    if (f->stuck && !strcmp(text, f->stuck)) {
        return fail(errp, "stuck");
    }
    note(f, "-", text);
    g_hash_table_remove(f->addresses, text);
    return true;
}

static bool watch(void *opaque, const HostdVm *vm, GError **errp)
{
    FakeHost *f = opaque;

    return !f->dead || fail(errp, "no process");
}

static void unwatch(void *opaque, const HostdVm *vm)
{
}

static bool is_vm(void *opaque, const void *peer, const HostdVm *vm,
                  GError **errp)
{
    return !strcmp(peer, vm->uuid) || fail(errp, "a stranger");
}

static void log_line(void *opaque, const char *text)
{
    FakeHost *f = opaque;

    g_assert_null(strchr(text, '\n'));
    g_string_append_printf(f->log, "%s\n", text);
}

static const HostdOps ops = {
    .keep = keep,
    .has_device = has_device,
    .is_up = is_up,
    .has = has,
    .add = add,
    .announce = announce,
    .remove = drop,
    .watch = watch,
    .unwatch = unwatch,
    .is_vm = is_vm,
    .log_line = log_line,
};

FakeHost *fake_host_new(void)
{
    FakeHost *f = g_new0(FakeHost, 1);

    hostd_init(&f->hostd, &ops, f);
    f->done = g_string_new(NULL);
    f->file = g_string_new(NULL);
    f->log = g_string_new(NULL);
    f->addresses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return f;
}

void fake_host_free(FakeHost *f)
{
    hostd_destroy(&f->hostd);
    g_string_free(f->done, TRUE);
    g_string_free(f->file, TRUE);
    g_string_free(f->log, TRUE);
    g_hash_table_destroy(f->addresses);
    g_free(f);
}

FakeHost *fake_host_restarted(FakeHost *before)
{
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    FakeHost *f = fake_host_new();
    bool read = hostd_state_read(f->hostd.vms, before->file->str,
                                 before->file->len, "file", damage, NULL);

    g_assert_true(read);
    g_assert_cmpuint(damage->len, ==, 0);
    g_hash_table_destroy(f->addresses);
    f->addresses = g_hash_table_ref(before->addresses);
    g_string_assign(f->file, before->file->str);
    f->dead = before->dead;
    return f;
}

bool fake_host_has(const FakeHost *f, const char *addr)
{
    return g_hash_table_contains(f->addresses, addr);
}

/* Each kind of text has its own @room. */
static const char *taken(GString *text, char *room, size_t len)
{
    g_strlcpy(room, text->str, len);
    g_string_truncate(text, 0);
    return room;
}

const char *fake_host_done(FakeHost *f)
{
    static char done[1024];

    return taken(f->done, done, sizeof(done));
}

const char *fake_host_logged(FakeHost *f)
{
    static char log[1024];

    return taken(f->log, log, sizeof(log));
}

char *fake_host_ask(FakeHost *f, const char *peer, const char *lines)
{
    HostdSession *s = hostd_session_new(&f->hostd, !peer, peer);
    GString *out = g_string_new(NULL);
    size_t left = strlen(lines);

    while (left && !hostd_session_over(s)) {
        size_t room;
        char *in = hostd_session_room(s, &room);

        room = MIN(room, left);
        memcpy(in, lines, room);
        hostd_session_filled(s, room);
        lines += room;
        left -= room;
        while (hostd_session_step(s, out)) {
            continue;
        }
    }
    hostd_session_free(s);
    return g_string_free(out, FALSE);
}

void assert_answer(FakeHost *f, const char *peer, const char *lines,
                   const char *answer)
{
    g_autofree char *got = fake_host_ask(f, peer, lines);

    g_assert_cmpstr(got, ==, answer);
}
