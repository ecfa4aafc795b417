/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One client: requests in, answers out */
#include <arpa/inet.h>
#include <string.h>

#include "hostd/core/line.h"
#include "hostd/core/session.h"

#define ANSWER_TEXT_MAX ((int)(HOSTD_LINE_MAX - strlen("error ") - 1))

struct HostdSession {
    Hostd *hostd;
    bool root;
    const void *peer;
    char in[HOSTD_LINE_MAX];
    size_t have;                /* octets in @in */
    bool over;
    bool inside;                /* between "register" and its "end" */
    HostdVm *vm;                /* being registered; NULL: there was an error */
    GError *mistake;            /* the first error in "register" */
};

HostdSession *hostd_session_new(Hostd *h, bool root, const void *peer)
{
    HostdSession *s = g_new0(HostdSession, 1);

    s->hostd = h;
    s->root = root;
    s->peer = peer;
    return s;
}

void hostd_session_free(HostdSession *s)
{
    hostd_vm_free(s->vm);
    g_clear_error(&s->mistake);
    g_free(s);
}

/* --- answers -------------------------------------------------------------- */

static void answer(GString *out, const GError *err)
{
    if (err) {
        /*
         * The text cannot contain a newline: it is from a line or strerror().
         */
        g_string_append_printf(out, "error %.*s\n", ANSWER_TEXT_MAX,
                               err->message);
    } else {
        g_string_append(out, "ok\n");
    }
}

static bool refuse(GError **errp, const char *format, const char *what)
{
    g_autofree char *text = g_strdup_printf(format, what);

    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "%s", text);
    return false;
}

static void show(const HostdRegistry *r, GString *out)
{
    static const char *const places[] = {
        [HOSTD_AWAY] = "away", [HOSTD_LEAVING] = "leaving",
        [HOSTD_HERE] = "here",
    };
    g_autoptr(GList) list = hostd_registry_list(r);
    char addr[INET6_ADDRSTRLEN];

    for (GList *link = list; link; link = link->next) {
        const HostdVm *vm = link->data;

        g_string_append_printf(out, "vm %s %s %s\n", vm->uuid,
                               places[vm->place], vm->pid_file);
        for (guint i = 0; i < vm->addresses->len; i++) {
            const HostdAddress *a = &g_array_index(vm->addresses, HostdAddress,
                                                   i);

            inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
            g_string_append_printf(out, "address6 %s %s%s\n", addr, a->dev,
                                   a->lost ? " lost" : "");
        }
    }
}

/* --- requests of one line ------------------------------------------------- */

static HostdVm *find(const HostdSession *s, const HostdLine *line,
                     GError **errp)
{
    HostdVm *vm = hostd_registry_find(s->hostd->vms, line->uuid);

    if (!vm) {
        refuse(errp, "VM %s is not registered on this host", line->uuid);
    }
    return vm;
}

static bool must_be_root(const HostdSession *s, const HostdLine *line,
                         GError **errp)
{
    return s->root || refuse(errp, "%s: only root may do that",
                             hostd_line_verb(line->verb));
}

/* Root and the VM itself are allowed. */
static HostdVm *find_own(const HostdSession *s, const HostdLine *line,
                         GError **errp)
{
    HostdVm *vm = find(s, line, errp);
    const HostdOps *ops = s->hostd->ops;

    return vm && (s->root || ops->is_vm(s->hostd->opaque, s->peer, vm, errp))
           ? vm : NULL;
}

static bool follow(HostdSession *s, const HostdLine *line, GString *out,
                   GError **errp)
{
    HostdVm *vm;

    switch (line->verb) {
    case HOSTD_FORGET:
        vm = must_be_root(s, line, errp) ? find(s, line, errp) : NULL;
        return vm && hostd_forget(s->hostd, vm, errp);
    case HOSTD_SHOW:
        if (!must_be_root(s, line, errp)) {
            return false;
        }
        show(s->hostd->vms, out);
        return true;
    case HOSTD_TAKE:
        vm = find_own(s, line, errp);
        return vm && hostd_take(s->hostd, vm, errp);
    case HOSTD_YIELD:
        vm = find_own(s, line, errp);
        return vm && hostd_yield(s->hostd, vm, errp);
    default:
        return refuse(errp, "'%s' is allowed only between register and end",
                      hostd_line_verb(line->verb));
    }
}

/* --- register ------------------------------------------------------------- */

static void begin(HostdSession *s, const HostdLine *line, GError *mistake)
{
    s->inside = true;
    s->mistake = mistake;
    if (!mistake && must_be_root(s, line, &s->mistake)) {
        s->vm = hostd_vm_new(line->uuid, line->pid_file);
    }
}

static void end(HostdSession *s, GString *out)
{
    HostdVm *vm = g_steal_pointer(&s->vm);
    GError *err = g_steal_pointer(&s->mistake);

    s->inside = false;
    if (err) {
        hostd_vm_free(vm);
    } else {
        hostd_register(s->hostd, vm, &err);
    }
    answer(out, err);
    g_clear_error(&err);
}

static void follow_inside(HostdSession *s, const HostdLine *line,
                          GError *mistake)
{
    if (!mistake && line->verb != HOSTD_ADDRESS6) {
        refuse(&mistake, "'%s' is not allowed before the end of register",
               hostd_line_verb(line->verb));
    }
    /* The answer is the first error. */
    if (!s->mistake && !mistake) {
        hostd_vm_add(s->vm, &line->address, &s->mistake);
    } else if (!s->mistake) {
        s->mistake = g_steal_pointer(&mistake);
    }
    g_clear_error(&mistake);
}

/* --- lines ---------------------------------------------------------------- */

static void follow_line(HostdSession *s, const char *text, size_t len,
                        GString *out)
{
    g_autofree HostdLine *line = g_new(HostdLine, 1);
    GError *mistake = NULL;

    hostd_line_parse(line, text, len, &mistake);
    if (s->inside && line->verb == HOSTD_END && !mistake) {
        end(s, out);
    } else if (s->inside) {
        follow_inside(s, line, mistake);
    } else if (line->verb == HOSTD_REGISTER) {
        begin(s, line, mistake);
    } else {
        if (!mistake) {
            follow(s, line, out, &mistake);
        }
        answer(out, mistake);
        g_clear_error(&mistake);
    }
}

char *hostd_session_room(HostdSession *s, size_t *room)
{
    *room = sizeof(s->in) - s->have;
    return s->in + s->have;
}

void hostd_session_filled(HostdSession *s, size_t len)
{
    s->have += len;
}

bool hostd_session_step(HostdSession *s, GString *out)
{
    const char *stop = memchr(s->in, '\n', s->have);
    size_t len;

    if (s->over) {
        return false;
    }
    if (!stop) {
        s->over = s->have == sizeof(s->in);
        if (s->over) {
            g_string_append_printf(out, "error a line is longer than %u "
                                   "octets\n", HOSTD_LINE_MAX);
        }
        return false;
    }
    len = stop - s->in;
    follow_line(s, s->in, len, out);
    s->have -= len + 1;
    memmove(s->in, stop + 1, s->have);
    return true;
}

bool hostd_session_over(const HostdSession *s)
{
    return s->over;
}
