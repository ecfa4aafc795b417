/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry as text, in the state file */
#include <arpa/inet.h>
#include <string.h>

#include "hostd/core/line.h"
#include "hostd/core/state.h"

#define HEAD            "vmmnet-hostd-state 1"

/* --- writing -------------------------------------------------------------- */

static void write_vm(const HostdVm *vm, GString *out)
{
    char addr[INET6_ADDRSTRLEN];

    g_string_append_printf(out, "register %s %s\n", vm->uuid, vm->pid_file);
    for (guint i = 0; i < vm->addresses->len; i++) {
        const HostdAddress *a = &g_array_index(vm->addresses, HostdAddress, i);

        inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
        g_string_append_printf(out, "address6 %s %s\n", addr, a->dev);
    }
    g_string_append(out, "end\n");
    if (vm->place != HOSTD_AWAY) {
        g_string_append_printf(out, "%s %s\n", vm->place == HOSTD_HERE
                               ? "take" : "yield", vm->uuid);
    }
}

void hostd_state_write(const HostdRegistry *r, GString *out)
{
    g_autoptr(GList) list = hostd_registry_list(r);

    g_string_append(out, HEAD "\n");
    for (GList *link = list; link; link = link->next) {
        write_vm(link->data, out);
    }
}

/* --- reading -------------------------------------------------------------- */

typedef struct Reader {
    HostdRegistry *vms;
    HostdVm *vm;                /* "end" is still missing */
} Reader;

static bool misplaced(GError **errp, const HostdLine *line)
{
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_LINE, "'%s' is misplaced",
                hostd_line_verb(line->verb));
    return false;
}

static bool begin(Reader *r, const HostdLine *line, GError **errp)
{
    bool inside = r->vm;

    hostd_vm_free(r->vm);
    r->vm = hostd_vm_new(line->uuid, line->pid_file);
    return !inside || misplaced(errp, line);
}

static bool end(Reader *r, const HostdLine *line, GError **errp)
{
    g_autoptr(HostdVm) vm = g_steal_pointer(&r->vm);

    if (!vm || !vm->addresses->len || hostd_registry_find(r->vms, vm->uuid)) {
        return misplaced(errp, line);
    }
    if (!hostd_registry_check(r->vms, vm, errp)) {
        return false;
    }
    hostd_registry_put(r->vms, g_steal_pointer(&vm));
    return true;
}

static bool place(Reader *r, const HostdLine *line, GError **errp)
{
    HostdVm *vm = hostd_registry_find(r->vms, line->uuid);

    if (!vm || r->vm) {
        return misplaced(errp, line);
    }
    vm->place = line->verb == HOSTD_TAKE ? HOSTD_HERE : HOSTD_LEAVING;
    return true;
}

static bool follow(Reader *r, const HostdLine *line, GError **errp)
{
    switch (line->verb) {
    case HOSTD_REGISTER:
        return begin(r, line, errp);
    case HOSTD_ADDRESS6:
        return r->vm ? hostd_vm_add(r->vm, &line->address, errp)
                     : misplaced(errp, line);
    case HOSTD_END:
        return end(r, line, errp);
    case HOSTD_TAKE:
    case HOSTD_YIELD:
        return place(r, line, errp);
    default:
        return misplaced(errp, line);
    }
}

/* A VM with an invalid line is incomplete. */
static bool read_line(Reader *r, const char *text, size_t len, GError **errp)
{
    g_autofree HostdLine *line = g_new(HostdLine, 1);

    bool parsed = hostd_line_parse(line, text, len, errp);

    if (parsed && follow(r, line, errp)) {
        return true;
    }
    /* The line may start the next VM although "end" is missing. */
    if (!parsed || line->verb != HOSTD_REGISTER) {
        g_clear_pointer(&r->vm, hostd_vm_free);
    }
    return false;
}

static bool is_head(const char *text, size_t len)
{
    return len > strlen(HEAD) && !memcmp(text, HEAD "\n", strlen(HEAD) + 1);
}

bool hostd_state_read(HostdRegistry *r, const char *text, size_t len,
                      const char *file, GPtrArray *damage, GError **errp)
{
    const char *end_of_text = text + len, *stop;
    Reader reader = { .vms = r };
    unsigned number = 1;

    if (!is_head(text, len)) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_LINE, "%s:1: this is not a "
                    "state file of vmmnet-hostd, which begins with '" HEAD "'",
                    file);
        return false;
    }
    text += strlen(HEAD) + 1;
    for (; text < end_of_text; text = stop + 1) {
        g_autoptr(GError) err = NULL;

        number++;
        stop = memchr(text, '\n', end_of_text - text);
        if (!stop) {
            stop = end_of_text; /* truncated */
            g_set_error(&err, HOSTD_ERROR, HOSTD_ERROR_LINE, "is truncated");
        } else {
            read_line(&reader, text, stop - text, &err);
        }
        if (err) {
            g_ptr_array_add(damage, g_strdup_printf("%s:%u: %s", file, number,
                                                    err->message));
        }
    }
    if (reader.vm) {
        g_ptr_array_add(damage, g_strdup_printf("%s:%u: 'end' is missing",
                                                file, number));
    }
    hostd_vm_free(reader.vm);
    return true;
}
