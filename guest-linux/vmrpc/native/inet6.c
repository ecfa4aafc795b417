// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What programs of AF_INET6 get
 *
 * Unless the device takes sockets of AF_INET6 (VMRPC_F_INET6), they stay native,
 * also with IPv4-mapped addresses (::ffff:192.0.2.1), and reach only the guest
 * itself.  The settings of IPv6 mostly decide whether programs use them or
 * AF_INET.  This module cannot change that, but it reports the consequences: in
 * the kernel's log when the device appears, and in /proc/net/vmrpc_inet6 at any
 * time.
 */
#include <linux/ipv6.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "native/inet6.h"
#include "transport/device.h"

#define NAME		"vmrpc_inet6"

/**
 * struct setting - a setting of IPv6
 * @name: its name, for programs
 * @how: how to choose it
 * @sockets: consequences for sockets of AF_INET6
 * @servers: consequences for programs that listen on them
 * @clients: consequences for programs that connect with them
 */
struct setting {
	const char *name;
	const char *how;
	const char *sockets;
	const char *servers;
	const char *clients;
};

static const struct setting off = {
	.name = "off",
	.how = "ipv6.disable=1",
	.sockets = "EAFNOSUPPORT",
	.servers = "those that insist on [::] do not start, others are reached",
	.clients = "all reach the outside",
};

static const struct setting no_addresses = {
	.name = "no-addresses",
	.how = "net.ipv6.conf.all.disable_ipv6=1",
	.sockets = "of the guest alone, IPv4-mapped addresses too: ENETUNREACH",
	.servers = "those on [::] start and are not reached from outside",
	.clients = "those of AF_INET6 get ENETUNREACH; most take AF_INET",
};

static const struct setting on = {
	.name = "on",
	.how = "the default",
	.sockets = "of the guest alone, IPv4-mapped addresses too: ENETUNREACH",
	.servers = "those on [::] start and are not reached from outside",
	.clients = "those of AF_INET6, as Java's, get ENETUNREACH",
};

/* The same if sockets of AF_INET6 are ours. */
static const struct setting no_addresses_ours = {
	.name = "no-addresses",
	.how = "net.ipv6.conf.all.disable_ipv6=1",
	.sockets = "on the host for IPv4-mapped addresses; for others ENETUNREACH",
	.servers = "all are reached",
	.clients = "all reach names; IPv6 addresses get ENETUNREACH",
};

static const struct setting on_ours = {
	.name = "on",
	.how = "the default",
	.sockets = "on the host",
	.servers = "all are reached",
	.clients = "all reach the outside",
};

/* The setting of the initial network namespace, whose sockets are ours. */
static const struct setting *setting_now(const struct vmrpc_device *dev)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct ipv6_devconf *all = READ_ONCE(init_net.ipv6.devconf_all);

	if (all && READ_ONCE(all->disable_ipv6))
		return dev->inet6 ? &no_addresses_ours : &no_addresses;
	if (all)
		return dev->inet6 ? &on_ours : &on;
#endif
	return &off;
}

static int show(struct seq_file *m, void *v)
{
	const struct setting *setting =
		setting_now(pde_data(file_inode(m->file)));

	seq_printf(m, "ipv6: %s (%s)\nsockets: %s\nservers: %s\nclients: %s\n",
		   setting->name, setting->how, setting->sockets,
		   setting->servers, setting->clients);
	return 0;
}

/**
 * vmrpc_inet6_add - log the setting, and make /proc/net/vmrpc_inet6
 * @dev: the device; must stay until vmrpc_inet6_remove()
 */
void vmrpc_inet6_add(struct vmrpc_device *dev)
{
	const struct setting *setting = setting_now(dev);

	dev_info(&dev->vdev->dev,
		 "IPv6 is %s (%s); AF_INET6 sockets: %s; servers: %s; clients: %s\n",
		 setting->name, setting->how, setting->sockets,
		 setting->servers, setting->clients);
	if (!proc_create_single_data(NAME, 0444, init_net.proc_net, show, dev))
		pr_warn("vmrpc: no /proc/net/" NAME "\n");
}

/**
 * vmrpc_inet6_remove - remove the file; waits for its readers
 */
void vmrpc_inet6_remove(void)
{
	remove_proc_entry(NAME, init_net.proc_net);
}
