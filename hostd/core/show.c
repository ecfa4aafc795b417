/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>

#include "base/json.h"
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

static void json_text(const char *text, GString *out)
{
    g_autofree char *string = base_json_string(text);

    g_string_append(out, string);
}

static void json_vm(const HostdVm *vm, GString *out)
{
    char addr[INET6_ADDRSTRLEN];

    g_string_append_printf(out, "{\"uuid\": \"%s\", \"state\": \"%s\", "
                           "\"pid-file\": ", vm->uuid, places[vm->place]);
    json_text(vm->pid_file, out);
    g_string_append(out, ", \"addresses\": [");
    for (guint i = 0; i < vm->addresses->len; i++) {
        const HostdAddress *a = &g_array_index(vm->addresses, HostdAddress, i);

        inet_ntop(AF_INET6, &a->addr, addr, sizeof(addr));
        g_string_append_printf(out, "%s{\"address\": \"%s\", \"interface\": ",
                               i ? ", " : "", addr);
        json_text(a->dev, out);
        g_string_append_printf(out, ", \"lost\": %s}",
                               a->lost ? "true" : "false");
    }
    g_string_append(out, "]}");
}

void hostd_show_json(const HostdRegistry *r, GString *out)
{
    g_autoptr(GList) list = hostd_registry_list(r);

    g_string_append(out, "{\"vms\": [");
    for (GList *link = list; link; link = link->next) {
        json_vm(link->data, out);
        g_string_append(out, link->next ? ", " : "");
    }
    g_string_append(out, "]}\n");
}

void hostd_show_metrics(const HostdRegistry *r, GString *out)
{
    g_autoptr(GList) list = hostd_registry_list(r);
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
    g_string_append(out, "# HELP vmmnet_hostd_vms Registered VMs.\n"
                    "# TYPE vmmnet_hostd_vms gauge\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        g_string_append_printf(out, "vmmnet_hostd_vms{state=\"%s\"} %u\n",
                               places[i], vms[i]);
    }
    g_string_append_printf(out, "# HELP vmmnet_hostd_addresses Addresses of "
                           "VMs that are here.\n"
                           "# TYPE vmmnet_hostd_addresses gauge\n"
                           "vmmnet_hostd_addresses{state=\"there\"} %u\n"
                           "vmmnet_hostd_addresses{state=\"lost\"} %u\n", there,
                           lost);
}
