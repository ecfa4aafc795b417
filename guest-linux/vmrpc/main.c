// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmrpc: the module and the driver of the device
 *
 * Theory of operation
 * ===================
 *
 * The module runs the sockets of the guest's programs on the host: those of
 * AF_INET and, if the device agrees, of AF_INET6.
 * Folders, from the top; each uses only folders below it:
 *
 *   main.c       life of the module and of the device
 *   family.c     takes PF_INET and PF_INET6 over
 *   proc.c       /proc/net/vmrpc
 *   refused.c    /proc/net/vmrpc_refused
 *   ops/         the operations of sockets: TCP in stream.c; UDP and ping in
 *                dgram.c
 *   option/      setsockopt() and getsockopt(), groups
 *   host/        the host socket: open, bind, connect; tasks that wait, events
 *   data/        the data of a call: a message, buffers, kept data
 *   sock/        handles and modes, addresses, calls for a socket, readiness,
 *                options of SOL_SOCKET, other network namespaces
 *   native/      the guest's own stack: inet_create(), vmrpc0, IPv6
 *   transport/   the device, requests and queues; knows no socket
 *
 * There is one device, as there is one PF_INET.
 */
#include <linux/module.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "family.h"
#include "host/event.h"
#include "host/wait.h"
#include "native/inet6.h"
#include "native/native.h"
#include "native/netdev.h"
#include "proc.h"
#include "refused.h"
#include "sock/ready.h"
#include "transport/device.h"
#include "transport/pages.h"
#include "transport/transport.h"

static DEFINE_MUTEX(the_device_lock);
static struct vmrpc_device *the_device;

static void stop(struct vmrpc_device *dev)
{
	vmrpc_transport_stop(dev);
	/* It may have waited for a call, which has ended now. */
	vmrpc_event_stop(dev);
}

static int probe(struct virtio_device *vdev)
{
	struct vmrpc_device *dev;
	int err;

	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1))
		return -ENODEV;

	mutex_lock(&the_device_lock);
	if (the_device) {
		dev_err(&vdev->dev, "there can be only one vmrpc device\n");
		err = -EBUSY;
		goto out;
	}
	dev = vmrpc_device_new(vdev);
	if (IS_ERR(dev)) {
		err = PTR_ERR(dev);
		goto out;
	}
	vdev->priv = dev;
	vmrpc_event_init(dev);
	err = vmrpc_transport_start(dev, vmrpc_event_take);
	if (err)
		goto out_put;
	err = vmrpc_netdev_add(dev);
	if (err)
		goto out_stop;
	err = vmrpc_proc_add(dev);
	if (err)
		goto out_netdev;
	err = vmrpc_family_take(dev);
	if (err)
		goto out_proc;

	the_device = dev;
	dev_info(&vdev->dev, "IPv4 sockets run on the host as %pI4/%u\n",
		 &dev->guest4, dev->guest4_prefix);
	vmrpc_inet6_add(dev);
	vmrpc_refused_add(dev);
	goto out;

out_proc:
	vmrpc_proc_remove();
out_netdev:
	vmrpc_netdev_remove(dev);
out_stop:
	stop(dev);
out_put:
	vmrpc_device_put(dev);
out:
	mutex_unlock(&the_device_lock);
	return err;
}

static void remove(struct virtio_device *vdev)
{
	struct vmrpc_device *dev = vdev->priv;

	mutex_lock(&the_device_lock);
	vmrpc_refused_remove();
	vmrpc_inet6_remove();
	vmrpc_proc_remove();
	/*
	 * The route disappears with vmrpc0.  So from here on a native socket
	 * gets an error at once, and does not wait for an answer that never
	 * comes.
	 */
	vmrpc_netdev_remove(dev);
	vmrpc_family_give_back();
	stop(dev);
	vmrpc_ready_kill_all(dev);
	the_device = NULL;
	vmrpc_device_put(dev);
	mutex_unlock(&the_device_lock);
}

#ifdef CONFIG_PM_SLEEP
/* The sockets of the host would not survive: refuse rather than lose them. */
static int freeze(struct virtio_device *vdev)
{
	return -EBUSY;
}
#endif

static const struct virtio_device_id id_table[] = {
	{ VIRTIO_ID_VMRPC, VIRTIO_DEV_ANY_ID },
	{ 0 },
};
MODULE_DEVICE_TABLE(virtio, id_table);

/*
 * A call is on the ring only during its notification, so there is room for its
 * descriptors.  An indirect table would have to be allocated for each call.
 */
static int validate(struct virtio_device *vdev)
{
	__virtio_clear_bit(vdev, VIRTIO_RING_F_INDIRECT_DESC);
	/* Without IPv6 the device goes on hiding it from programs. */
	if (!vmrpc_native_has_inet6())
		__virtio_clear_bit(vdev, VMRPC_F_INET6);
	return 0;
}

static const unsigned int features[] = {
	VMRPC_F_TRANSLATE,
	VMRPC_F_MOMENTS,
	VMRPC_F_LONG_VALUES,
	VMRPC_F_INET6,
};

static struct virtio_driver driver = {
	.feature_table = features,
	.feature_table_size = ARRAY_SIZE(features),
	.driver.name = KBUILD_MODNAME,
	.driver.owner = THIS_MODULE,
	.id_table = id_table,
	.validate = validate,
	.probe = probe,
	.remove = remove,
#ifdef CONFIG_PM_SLEEP
	.freeze = freeze,
#endif
};

static int __init vmrpc_init(void)
{
	int err;

	err = vmrpc_transport_init();
	if (err)
		return err;
	err = vmrpc_pages_init();
	if (err)
		goto out_transport;
	vmrpc_wait_init();
	vmrpc_native_init();
	vmrpc_family_init();
	err = register_virtio_driver(&driver);
	if (err)
		goto out_pages;
	return 0;

out_pages:
	vmrpc_pages_exit();
out_transport:
	vmrpc_transport_exit();
	return err;
}

static void __exit vmrpc_exit(void)
{
	unregister_virtio_driver(&driver);
	/* device structures are freed by RCU */
	rcu_barrier();
	vmrpc_pages_exit();
	vmrpc_transport_exit();
}

module_init(vmrpc_init);
module_exit(vmrpc_exit);

MODULE_DESCRIPTION("IPv4 sockets executed on the host (virtio-vmrpc)");
MODULE_LICENSE("GPL");
