// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/net/vmrpc_refused: why the host has refused calls of this guest
 *
 * An errno does not tell which rule or limit of the host it comes from.  The
 * host keeps the last refusals; this file has a line for each, the latest one
 * last:
 *
 *   number   counts refusals since the device was reset
 *   ago_ms   how long ago it was
 *   proto    tcp, udp, icmp
 *   address  of the peer, as the host knows it
 *   port     of the peer
 *   errno    what the call got, a number
 *   reason   deny-rule, deny-default, metadata, limit-sockets, ...
 *   name     that the guest asked for, or said
 *
 * An unknown value is "-".  Containers do not have the file: the host does not
 * know which one has called.  An older host does not keep refusals; then there
 * is no file.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "refused.h"
#include "sock/call.h"
#include "transport/pages.h"

#define NAME		"vmrpc_refused"

/*
 * Gets the first refusal with the number @from or a later one.  Returns 0,
 * -ENOENT if there is none, or another negative errno.
 */
static int ask(struct vmrpc_device *dev, u64 from,
	       struct vmrpc_refusal *refusal)
{
	struct vmrpc_call *call = vmrpc_call_new_device(dev, VMRPC_REFUSED);
	void *buf;
	int err;

	BUILD_BUG_ON(sizeof(*refusal) > VMRPC_INLINE_MAX);
	if (!call)
		return -ENOMEM;
	call->req.u.refused.from = cpu_to_le64(from);
	buf = vmrpc_pages_inline(call, sizeof(*refusal), true);
	err = vmrpc_call_run(call);
	if (!err &&
	    call->used < vmrpc_call_answer_head(call) + sizeof(*refusal))
		err = -EIO;
	if (!err) {
		memcpy(refusal, buf, sizeof(*refusal));
		refusal->reason[sizeof(refusal->reason) - 1] = 0;
		refusal->name[sizeof(refusal->name) - 1] = 0;
	}
	vmrpc_call_free(call);
	return err;
}

/* Finds the refusal *@pos or a later one; m->private has room for it. */
static void *find(struct seq_file *m, loff_t *pos)
{
	struct vmrpc_refusal *refusal = m->private;
	int err = ask(pde_data(file_inode(m->file)), *pos, refusal);

	if (err)
		return err == -ENOENT ? NULL : ERR_PTR(err);
	*pos = le64_to_cpu(refusal->number);
	return refusal;
}

static void *start(struct seq_file *m, loff_t *pos)
{
	return *pos ? find(m, pos) : SEQ_START_TOKEN;
}

static void *next(struct seq_file *m, void *v, loff_t *pos)
{
	(*pos)++;
	return find(m, pos);
}

static void stop(struct seq_file *m, void *v)
{
}

static const char *proto_name(u8 protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_ICMP:
		return "icmp";
	default:
		return "-";
	}
}

static void show_address(struct seq_file *m, const struct vmrpc_refusal *r)
{
	const struct in6_addr *addr = (const struct in6_addr *)r->addr;

	if (!memchr_inv(r->addr, 0, sizeof(r->addr)))
		seq_puts(m, "-");
	else if (ipv6_addr_v4mapped(addr))
		seq_printf(m, "%pI4", &r->addr[12]);
	else
		seq_printf(m, "%pI6c", addr);
	if (r->port)
		seq_printf(m, " %u", ntohs(r->port));
	else
		seq_puts(m, " -");
}

/* One word: an octet that would end it is escaped. */
static void show_word(struct seq_file *m, const char *word)
{
	seq_putc(m, ' ');
	if (*word)
		seq_escape(m, word, " \t\n");
	else
		seq_putc(m, '-');
}

static int show(struct seq_file *m, void *v)
{
	const struct vmrpc_refusal *r = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "number ago_ms proto address port errno reason name\n");
		return 0;
	}
	seq_printf(m, "%llu %llu %s ", le64_to_cpu(r->number),
		   le64_to_cpu(r->ago_ms), proto_name(r->protocol));
	show_address(m, r);
	seq_printf(m, " %u", le32_to_cpu(r->error));
	show_word(m, r->reason);
	show_word(m, r->name);
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations ops = {
	.start	= start,
	.stop	= stop,
	.next	= next,
	.show	= show,
};

/**
 * vmrpc_refused_add - make /proc/net/vmrpc_refused, if the host knows refusals
 * @dev: the device; must stay until vmrpc_refused_remove()
 */
void vmrpc_refused_add(struct vmrpc_device *dev)
{
	struct vmrpc_refusal *refusal = kmalloc(sizeof(*refusal), GFP_KERNEL);
	int err;

	if (!refusal)
		return;
	err = ask(dev, U64_MAX, refusal);
	kfree(refusal);
	if (err != -ENOENT)
		return;
	if (!proc_create_seq_private(NAME, 0444, init_net.proc_net, &ops,
				     sizeof(*refusal), dev))
		pr_warn("vmrpc: no /proc/net/" NAME "\n");
}

/**
 * vmrpc_refused_remove - remove the file, if there is one; waits for its
 *	readers
 */
void vmrpc_refused_remove(void)
{
	remove_proc_subtree(NAME, init_net.proc_net);
}
