/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One client: requests in, answers out */
#include <string.h>

#include "hostd/core/line.h"
#include "hostd/core/session.h"
#include "hostd/core/show.h"

#define ANSWER_TEXT_MAX ((int)(HOSTD_LINE_MAX - strlen("error ") - 1))

struct HostdSession {
    Hostd *hostd;
    bool root;
    const void *peer;
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
        (line->as_json ? hostd_show_json : hostd_show_text)(s->hostd->vms, out);
        return true;
    case HOSTD_METRICS:
        if (!must_be_root(s, line, errp)) {
            return false;
        }
        hostd_show_metrics(s->hostd->vms, out);
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

void hostd_session_line(HostdSession *s, const char *text, size_t len,
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
