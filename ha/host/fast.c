/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the program of the fast path and fills its maps */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "ha/host/bpf/fast.h"
#include "ha/host/fast.h"

struct Mip6Fast {
    struct bpf_object *object;
    int program, bindings, counters, totals;
    int tun_index;              /* 0: not attached */
    unsigned cpus;
    struct mip6_fast_counters *each_cpu;        /* space for one value */
    bool warned;                /* about a full map */
    bool is_missed;             /* removed, and it cannot be attached again */
};

static GQuark error_quark(void)
{
    return g_quark_from_static_string("mip6-fast-error");
}

static bool fast_fail(GError **errp, const char *what, int error)
{
    g_set_error(errp, error_quark(), error, "%s: %s", what, strerror(error));
    return false;
}

/*
 * Before Linux 5.12, a packet that is redirected to a device's ingress is
 * dropped if it is longer than the device's MTU.
 */
static bool is_recent(GError **errp)
{
    unsigned major = 0, minor = 0;
    struct utsname name;

    uname(&name);
    sscanf(name.release, "%u.%u", &major, &minor);
    if (major > 5 || (major == 5 && minor >= 12)) {
        return true;
    }
    g_set_error(errp, error_quark(), ENOSYS, "Linux %s is older than 5.12",
                name.release);
    return false;
}

/* Messages of libbpf are debug messages. */
static int print(enum libbpf_print_level level, const char *format,
                 va_list args)
{
    g_autofree char *text = g_strdup_vprintf(format, args);

    g_debug("%s", g_strchomp(text));
    return 0;
}

/* --- the program ---------------------------------------------------------- */

static int map_of(Mip6Fast *f, const char *name)
{
    return bpf_object__find_map_fd_by_name(f->object, name);
}

static bool set_room(Mip6Fast *f, const char *name, unsigned bindings)
{
    struct bpf_map *map = bpf_object__find_map_by_name(f->object, name);

    return map && !bpf_map__set_max_entries(map, bindings);
}

static bool load(Mip6Fast *f, const void *program, size_t len,
                 unsigned bindings, GError **errp)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "mip6_fast");
    int error;

    f->object = bpf_object__open_mem(program, len, &options);
    if (!f->object || !set_room(f, "bindings", bindings) ||
        !set_room(f, "counters", bindings)) {
        return fast_fail(errp, "the program cannot be read", errno);
    }
    error = -bpf_object__load(f->object);
    if (error) {
        return fast_fail(errp, "the kernel does not take the program", error);
    }
    f->program = bpf_program__fd(
        bpf_object__find_program_by_name(f->object, "mip6_fast"));
    f->bindings = map_of(f, "bindings");
    f->counters = map_of(f, "counters");
    f->totals = map_of(f, "totals");
    return true;
}

static bool set(Mip6Fast *f, const struct in6_addr *agent, uint32_t head,
                uint32_t bulk, GError **errp)
{
    struct mip6_fast_settings settings = { .head = head, .bulk = bulk };
    const uint32_t zero = 0;
    int cpus = libbpf_num_possible_cpus();

    memcpy(&settings.agent, agent, sizeof(settings.agent));
    if (cpus < 0 ||
        bpf_map_update_elem(map_of(f, "settings"), &zero, &settings, 0)) {
        return fast_fail(errp, "the program cannot be configured",
                         cpus < 0 ? -cpus : errno);
    }
    f->cpus = cpus;
    f->each_cpu = g_new0(struct mip6_fast_counters, f->cpus);
    return true;
}

Mip6Fast *mip6_fast_load(const void *program, size_t len,
                         const struct in6_addr *agent, uint32_t head,
                         unsigned bindings, uint32_t bulk, GError **errp)
{
    Mip6Fast *f;

    if (!is_recent(errp)) {
        return NULL;
    }
    f = g_new0(Mip6Fast, 1);
    libbpf_set_print(print);
    if (!load(f, program, len, bindings, errp) ||
        !set(f, agent, head, bulk, errp)) {
        mip6_fast_free(f);
        return NULL;
    }
    return f;
}

bool mip6_fast_attach(Mip6Fast *f, int tun_index, GError **errp)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = tun_index,
                .attach_point = BPF_TC_EGRESS);
    LIBBPF_OPTS(bpf_tc_opts, options, .handle = 1, .priority = 1,
                .prog_fd = f->program);
    int error = -bpf_tc_hook_create(&hook);

    if (error) {
        return fast_fail(errp, "the TUN device has no qdisc clsact", error);
    }
    f->tun_index = tun_index;
    error = -bpf_tc_attach(&hook, &options);
    return !error ||
           fast_fail(errp, "the program cannot be attached to the TUN device",
                     error);
}

void mip6_fast_look(Mip6Fast *f)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = f->tun_index,
                .attach_point = BPF_TC_EGRESS);
    LIBBPF_OPTS(bpf_tc_opts, found, .handle = 1, .priority = 1);
    LIBBPF_OPTS(bpf_tc_opts, options, .handle = 1, .priority = 1,
                .prog_fd = f->program);
    int error;

    if (bpf_tc_query(&hook, &found) == 0) {
        return;
    }
    bpf_tc_hook_create(&hook);  /* it may be there */
    error = -bpf_tc_attach(&hook, &options);
    if (!error) {
        g_warning("the fast path's program was removed from the TUN device: "
                  "it is there again");
    } else if (!f->is_missed) {
        g_warning("the fast path's program was removed from the TUN device, "
                  "and cannot be attached: %s; the agent forwards all packets",
                  strerror(error));
    }
    f->is_missed = error;
}

static void detach(Mip6Fast *f)
{
    /*
     * Detach the program and delete the qdisc; otherwise the qdisc would stay.
     */
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = f->tun_index,
                .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
    int error = -bpf_tc_hook_destroy(&hook);

    if (error) {
        g_warning("the fast path stays until the bindings end: %s",
                  strerror(error));
    }
}

void mip6_fast_free(Mip6Fast *f)
{
    if (!f) {
        return;
    }
    if (f->tun_index) {
        detach(f);
    }
    bpf_object__close(f->object);
    g_free(f->each_cpu);
    g_free(f);
}

int mip6_fast_fd(const Mip6Fast *f)
{
    return f->program;
}

/* --- bindings ------------------------------------------------------------- */

/* Warns only once: the agent still forwards the packets. */
static void warn_of_room(Mip6Fast *f)
{
    if (!f->warned) {
        g_warning("the fast path is full, with 'bindings' as configured at "
                  "the start: the agent forwards the packets of further "
                  "bindings");
    }
    f->warned = true;
}

void mip6_fast_let_pass(Mip6Fast *f, const Mip6AgentPass *pass)
{
    struct mip6_fast_binding b = {
        .expires = pass->expires,
        .path_until = pass->path_until,
        .room = pass->room,
        .path_room = pass->path_room,
    };

    memcpy(&b.home, &pass->home, sizeof(b.home));
    memcpy(&b.care_of, &pass->care_of, sizeof(b.care_of));
    memset(f->each_cpu, 0, f->cpus * sizeof(*f->each_cpu));
    /* BPF_NOEXIST: a binding that is updated keeps its counters. */
    if ((bpf_map_update_elem(f->counters, &b.home, f->each_cpu, BPF_NOEXIST) &&
         errno != EEXIST) ||
        bpf_map_update_elem(f->bindings, &b.home, &b, BPF_ANY)) {
        warn_of_room(f);
        mip6_fast_stop(f, &pass->home);
    }
}

void mip6_fast_stop(Mip6Fast *f, const struct in6_addr *home)
{
    bpf_map_delete_elem(f->bindings, home);
    bpf_map_delete_elem(f->counters, home);
}

Mip6AgentPassed mip6_fast_passed(const Mip6Fast *f,
                                 const struct in6_addr *home)
{
    const uint32_t zero = 0;
    int error = home ? bpf_map_lookup_elem(f->counters, home, f->each_cpu)
                     : bpf_map_lookup_elem(f->totals, &zero, f->each_cpu);
    Mip6AgentPassed passed = { 0 };

    for (unsigned cpu = 0; !error && cpu < f->cpus; cpu++) {
        passed.sent += f->each_cpu[cpu].sent;
        passed.received += f->each_cpu[cpu].received;
    }
    return passed;
}
