// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options that are remembered for a later host socket
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>

#include "host/optlist.h"
#include "sock/ask.h"

/* All options, and as many groups as the kernel allows. */
#define OPTS_MAX		64u

struct opt {
	struct list_head list;
	int level;
	int name;
	unsigned int len;
	u8 value[];
};

/*
 * Memberships: one entry for each group, which is first in the value.  Of other
 * options 0.
 */
static size_t group_size(int level, int name)
{
	if (level == IPPROTO_IP && name == IP_ADD_MEMBERSHIP)
		return sizeof(struct in_addr);
	if (level == IPPROTO_IPV6 && name == IPV6_ADD_MEMBERSHIP)
		return sizeof(struct in6_addr);
	return 0;
}

static struct opt *find(const struct vmrpc_sock *vs, int level, int name,
			const void *value)
{
	struct opt *o;

	list_for_each_entry(o, &vs->opts, list)
		if (o->level == level && o->name == name &&
		    !memcmp(o->value, value, group_size(level, name)))
			return o;
	return NULL;
}

static void forget(struct vmrpc_sock *vs, struct opt *o)
{
	list_del(&o->list);
	vs->num_opts--;
	kfree(o);
}

/**
 * vmrpc_optlist_add - remember an option
 * @vs: caller must hold vs->lock
 * @level: any
 * @name: option
 * @value: its value
 * @len: length of @value
 *
 * Replaces an earlier value.  The list is in the order of the latest values.
 * Returns 0, -ENOBUFS or -ENOMEM.
 */
int vmrpc_optlist_add(struct vmrpc_sock *vs, int level, int name,
		      const void *value, unsigned int len)
{
	struct opt *o = find(vs, level, name, value);

	if (o)
		forget(vs, o);
	if (vs->num_opts >= OPTS_MAX)
		return -ENOBUFS;
	o = kmalloc(struct_size(o, value, len), GFP_KERNEL);
	if (!o)
		return -ENOMEM;
	o->level = level;
	o->name = name;
	o->len = len;
	memcpy(o->value, value, len);
	list_add_tail(&o->list, &vs->opts);
	vs->num_opts++;
	return 0;
}

/**
 * vmrpc_optlist_remove - forget an option
 * @vs: caller must hold vs->lock
 * @level: any
 * @name: option
 * @value: of a membership, the group
 *
 * Returns false if it was not remembered.
 */
bool vmrpc_optlist_remove(struct vmrpc_sock *vs, int level, int name,
			  const void *value)
{
	struct opt *o = find(vs, level, name, value);

	if (o)
		forget(vs, o);
	return o;
}

/**
 * vmrpc_optlist_has - is an option remembered?
 * @vs: caller must hold vs->lock
 * @level: any
 * @name: option
 * @value: of a membership, the group
 */
bool vmrpc_optlist_has(const struct vmrpc_sock *vs, int level, int name,
		       const void *value)
{
	return find(vs, level, name, value);
}

/**
 * vmrpc_optlist_replay - set the remembered options on a new host socket
 * @vs: caller must hold vs->lock
 *
 * Returns 0 or the first error.
 */
int vmrpc_optlist_replay(struct vmrpc_sock *vs)
{
	struct opt *o;
	int err;

	list_for_each_entry(o, &vs->opts, list) {
		err = vmrpc_ask_setopt(vs, o->level, o->name, o->value,
				       o->len);
		if (err)
			return err;
	}
	return 0;
}

/**
 * vmrpc_optlist_free - forget all options
 * @vs: the socket; nobody else uses it
 */
void vmrpc_optlist_free(struct vmrpc_sock *vs)
{
	struct opt *o, *next;

	list_for_each_entry_safe(o, next, &vs->opts, list)
		forget(vs, o);
}
