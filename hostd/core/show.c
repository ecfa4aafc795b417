/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>

#include "base/json.h"
#include "base/metrics.h"
#include "hostd/core/show.h"

static const char *const places[] = {
    [HOSTD_AWAY] = "away", [HOSTD_LEAVING] = "leaving", [HOSTD_HERE] = "here",
};

void hostd_show_text(const HostdRegistry *r, GString *out)
{
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

static void put(void *opaque, const char *text, size_t len)
{
    g_string_append_len(opaque, text, len);
}

static void json_vm(const HostdVm *vm, BaseJson *j)
{
    char addr[INET6_ADDRSTRLEN];

    base_json_open(j, NULL, '{');
    base_json_text(j, "uuid", vm->uuid);
    base_json_text(j, "state", places[vm->place]);
    base_json_text(j, "pid-file", vm->pid_file);
    base_json_open(j, "addresses", '[');
    for (guint i = 0; i < vm->addresses->len; i++) {
        const HostdAddress *a = &g_array_index(vm->addresses, HostdAddress, i);

        inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
        base_json_open(j, NULL, '{');
        base_json_text(j, "address", addr);
        base_json_text(j, "interface", a->dev);
        base_json_bool(j, "lost", a->lost);
        base_json_close(j, '}');
    }
    base_json_close(j, ']');
    base_json_close(j, '}');
}

void hostd_show_json(const HostdRegistry *r, GString *out)
{
    g_autoptr(GList) list = hostd_registry_list(r);
    BaseJson j = { { put, out } };

    base_json_open(&j, NULL, '{');
    base_json_open(&j, "vms", '[');
    for (GList *link = list; link; link = link->next) {
        json_vm(link->data, &j);
    }
    base_json_close(&j, ']');
    base_json_close(&j, '}');
    base_out_text(&j.out, "\n");
}

void hostd_show_metrics(const HostdRegistry *r, GString *out)
{
    g_autoptr(GList) list = hostd_registry_list(r);
    BaseMetrics m = { { put, out }, "vmmnet_hostd_" };
    unsigned vms[G_N_ELEMENTS(places)] = { 0 }, there = 0, lost = 0;

    for (GList *link = list; link; link = link->next) {
        const HostdVm *vm = link->data;

        vms[vm->place]++;
        for (guint i = 0; vm->place == HOSTD_HERE && i < vm->addresses->len;
             i++) {
            if (g_array_index(vm->addresses, HostdAddress, i).lost) {
                lost++;
            } else {
                there++;
            }
        }
    }
    base_metric(&m, "vms", "gauge", "Registered VMs.");
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        base_metric_value(&m, "vms", "state", places[i], vms[i]);
    }
    base_metric(&m, "addresses", "gauge", "Addresses of VMs that are here.");
    base_metric_value(&m, "addresses", "state", "there", there);
    base_metric_value(&m, "addresses", "state", "lost", lost);
}
