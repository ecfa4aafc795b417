// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile device: lengths in its answers are larger than what was asked for
 *
 * Theory of operation
 * ===================
 *
 * While this module is loaded, the answers of virtio-vmrpc to one operation are
 * changed between the ring and our module: the length of the value or of the
 * data, the length of ancillary data, and the number of bytes that the device
 * claims to have written.  It knows the wire format only, not our module: the
 * answer is found when the request is put on the ring, and changed when it is
 * taken off.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <vmmnet/vmrpc.h>

#define PENDING_MAX	64

static unsigned int op;
module_param(op, uint, 0444);
MODULE_PARM_DESC(op, "the operation whose answers are changed");

static unsigned int value;
module_param(value, uint, 0444);
MODULE_PARM_DESC(value, "resp.value of its answers without an error");

static unsigned int changed;
module_param(changed, uint, 0444);
MODULE_PARM_DESC(changed, "answers that were changed");

/* Requests on the ring, by the token that the ring gives back. */
static struct {
	void *token;
	struct vmrpc_resp *resp;
} pending[PENDING_MAX];
static DEFINE_SPINLOCK(pending_lock);

static void *argument(struct pt_regs *regs, unsigned int number)
{
	return (void *)regs_get_kernel_argument(regs, number);
}

/* @resp NULL: takes the entry out.  Returns the answer, or NULL. */
static struct vmrpc_resp *keep(void *old, void *token, struct vmrpc_resp *resp)
{
	struct vmrpc_resp *was = NULL;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&pending_lock, flags);
	for (i = 0; i < PENDING_MAX; i++) {
		if (pending[i].token == old) {
			was = pending[i].resp;
			pending[i].token = token;
			pending[i].resp = resp;
			break;
		}
	}
	spin_unlock_irqrestore(&pending_lock, flags);
	return was;
}

/* virtqueue_add_sgs(vq, sgs, out_sgs, in_sgs, data, gfp) */
static int on_add(struct kprobe *probe, struct pt_regs *regs)
{
	struct virtqueue *vq = argument(regs, 0);
	struct scatterlist **sgs = argument(regs, 1);
	unsigned int out = (long)argument(regs, 2);
	const struct vmrpc_req *req;

	if (vq->vdev->id.device != VIRTIO_ID_VMRPC || !out)
		return 0;
	req = sg_virt(sgs[0]);
	if (le16_to_cpu(req->op) == op)
		keep(NULL, argument(regs, 4), sg_virt(sgs[out]));
	return 0;
}

/* virtqueue_get_buf(vq, len) */
static int on_get(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(u32 **)ri->data = argument(regs, 1);
	return 0;
}

static int on_got(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	void *token = (void *)regs_return_value(regs);
	struct vmrpc_resp *resp = token ? keep(token, NULL, NULL) : NULL;

	if (!resp || resp->error)
		return 0;
	resp->value = cpu_to_le32(value);
	resp->control_len = cpu_to_le32(U32_MAX);
	**(u32 **)ri->data = U32_MAX;
	WRITE_ONCE(changed, changed + 1);
	return 0;
}

static struct kprobe add_probe = {
	.symbol_name = "virtqueue_add_sgs",
	.pre_handler = on_add,
};

static struct kretprobe get_probe = {
	.kp.symbol_name = "virtqueue_get_buf",
	.entry_handler = on_get,
	.handler = on_got,
	.data_size = sizeof(u32 *),
	.maxactive = 64,
};

static int __init hostile_init(void)
{
	int err = register_kretprobe(&get_probe);

	if (err)
		return err;
	err = register_kprobe(&add_probe);
	if (err)
		unregister_kretprobe(&get_probe);
	return err;
}

static void __exit hostile_exit(void)
{
	unregister_kprobe(&add_probe);
	unregister_kretprobe(&get_probe);
}

module_init(hostile_init);
module_exit(hostile_exit);

MODULE_DESCRIPTION("Answers of virtio-vmrpc with lengths that are too large");
MODULE_LICENSE("GPL");
