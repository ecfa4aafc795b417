// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that is scarce: what vmrpc allocates for one program fails
 *
 * Debian's kernels are built without fault injection.  While this module is
 * loaded, the functions that vmrpc asks for memory return NULL, every time or
 * every so many times, when the program `pid` is the one that asks.  Those who
 * say that it must not fail (__GFP_NOFAIL) get what they want, as in the
 * kernel's own fault injection.
 */
#include <linux/gfp.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

static int pid;
module_param(pid, int, 0644);
MODULE_PARM_DESC(pid, "the program; 0: none");

static unsigned int every = 1;
module_param(every, uint, 0644);
MODULE_PARM_DESC(every, "one in so many fails");

static unsigned int above;
module_param(above, uint, 0644);
MODULE_PARM_DESC(above, "only more bytes than this in one piece are scarce");

static unsigned int failed;
module_param(failed, uint, 0444);
MODULE_PARM_DESC(failed, "how many have failed so far (read only)");

static unsigned int asked;

/* Takes the place of an allocation: it is called with the same stack. */
static noinline void *nothing(void)
{
	return NULL;
}

static bool is_vmrpc(unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol(name, address);
	return strstr(name, "[vmrpc]");
}

/* The names of one kernel and of others; where the size comes first, the last. */
static const char *const names[] = {
	"kmem_cache_alloc", "kmem_cache_alloc_noprof",
	"kmalloc_trace", "__kmalloc_cache_noprof",
	"__kmalloc", "__kmalloc_noprof",
};

#define FIRST_SIZED	4

static struct kprobe probes[ARRAY_SIZE(names)];

/* What is not sized by the call is small. */
static bool is_spared(const struct kprobe *probe, struct pt_regs *regs)
{
	unsigned int limit = READ_ONCE(above);

	return limit && (probe < &probes[FIRST_SIZED] ||
			 regs_get_kernel_argument(regs, 0) <= limit);
}

/* All of them have the flags as the second argument. */
static int on_alloc(struct kprobe *probe, struct pt_regs *regs)
{
	gfp_t flags = regs_get_kernel_argument(regs, 1);

	if (!READ_ONCE(pid) || task_tgid_nr(current) != READ_ONCE(pid) ||
	    (flags & __GFP_NOFAIL) || is_spared(probe, regs) ||
	    !is_vmrpc(*(unsigned long *)kernel_stack_pointer(regs)))
		return 0;
	if (++asked % max(READ_ONCE(every), 1u))
		return 0;
	WRITE_ONCE(failed, failed + 1);
	instruction_pointer_set(regs, (unsigned long)nothing);
	return 1;
}

/* That there is one says that the pre_handler goes elsewhere. */
static void after_alloc(struct kprobe *probe, struct pt_regs *regs,
			unsigned long flags)
{
}

static void scarce_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (probes[i].addr)
			unregister_kprobe(&probes[i]);
}

static int __init scarce_init(void)
{
	unsigned int i, num = 0;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].symbol_name = names[i];
		probes[i].pre_handler = on_alloc;
		probes[i].post_handler = after_alloc;
		if (register_kprobe(&probes[i]))
			probes[i].addr = NULL;
		else
			num++;
	}
	/* A cache, a structure, and a size that is not known beforehand. */
	if (num == 3)
		return 0;
	scarce_exit();
	return -ENOENT;
}

module_init(scarce_init);
module_exit(scarce_exit);

MODULE_DESCRIPTION("Allocations of vmrpc fail for one program");
MODULE_LICENSE("GPL");
