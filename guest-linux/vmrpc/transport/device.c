// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtio-vmrpc device: configuration, limits, reference count
 *
 * Sockets may outlive the device: they hold a reference to its structure.
 */
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "transport/device.h"

static void device_release(struct kref *ref)
{
	struct vmrpc_device *dev = container_of(ref, struct vmrpc_device, ref);

	xa_destroy(&dev->socks);
	ida_destroy(&dev->buffer_ids);
	kfree(dev->events);
	kfree_rcu(dev, rcu);
}

/**
 * vmrpc_device_get - take a reference; the caller has one already
 * @dev: the device
 */
void vmrpc_device_get(struct vmrpc_device *dev)
{
	kref_get(&dev->ref);
}

/**
 * vmrpc_device_put - drop a reference
 * @dev: the device
 */
void vmrpc_device_put(struct vmrpc_device *dev)
{
	kref_put(&dev->ref, device_release);
}

static int config_read(struct virtio_device *vdev, struct vmrpc_device *dev)
{
	u16 version, mtu;
	u32 max_sockets;
	u8 prefix;

	virtio_cread_le(vdev, struct vmrpc_config, version, &version);
	if (version != VMRPC_VERSION) {
		dev_err(&vdev->dev, "wire format %u, need %u\n", version,
			VMRPC_VERSION);
		return -EINVAL;
	}
	virtio_cread_le(vdev, struct vmrpc_config, max_sockets, &max_sockets);
	if (!max_sockets || max_sockets > VMRPC_SOCKETS_MAX) {
		dev_err(&vdev->dev, "max_sockets %u out of range\n",
			max_sockets);
		return -EINVAL;
	}
	dev->max_sockets = max_sockets;
	virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, guest4),
			   &dev->guest4, sizeof(dev->guest4));
	virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, guest4_prefix),
			   &dev->guest4_prefix, sizeof(dev->guest4_prefix));
	dev->guest4_prefix = min_t(u8, dev->guest4_prefix, 32);
	virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, pool4),
			   &dev->pool4, sizeof(dev->pool4));
	virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, pool4_prefix),
			   &prefix, sizeof(prefix));
	dev->pool4_mask = inet_make_mask(min_t(u8, prefix, 32));
	dev->pool4 &= dev->pool4_mask;
	virtio_cread_le(vdev, struct vmrpc_config, mtu, &mtu);
	dev->mtu = mtu;
	dev->inet6 = virtio_has_feature(vdev, VMRPC_F_INET6);
	if (dev->inet6)
		virtio_cread_bytes(vdev, offsetof(struct vmrpc_config, guest6),
				   &dev->guest6, sizeof(dev->guest6));
	dev->translate = virtio_has_feature(vdev, VMRPC_F_TRANSLATE);
	dev->moments = virtio_has_feature(vdev, VMRPC_F_MOMENTS);
	dev->getopt_max = virtio_has_feature(vdev, VMRPC_F_LONG_VALUES) ?
			  VMRPC_OPTVAL_LONG_MAX : VMRPC_OPTVAL_MAX;
	if (!dev->moments)
		dev_notice(&vdev->dev,
			   "kernel timestamps will be in the host's clock\n");
	return 0;
}

/**
 * vmrpc_device_new - the structure of a device
 * @vdev: the virtio device; its configuration is read
 *
 * Returns the device with one reference, or an ERR_PTR().
 */
struct vmrpc_device *vmrpc_device_new(struct virtio_device *vdev)
{
	struct vmrpc_device *dev;
	int err;
	u16 n;

	virtio_cread_le(vdev, struct vmrpc_config, num_queues, &n);
	n = min_t(unsigned int, n, min(nr_cpu_ids, VMRPC_QUEUES_MAX));
	if (!n) {
		dev_err(&vdev->dev, "no request queue\n");
		return ERR_PTR(-EINVAL);
	}
	dev = kzalloc(struct_size(dev, queue, n), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	kref_init(&dev->ref);
	dev->vdev = vdev;
	dev->num_queues = n;
	xa_init_flags(&dev->socks, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	atomic_set(&dev->generation, 0);
	ida_init(&dev->buffer_ids);
	vmrpc_clock_init(&dev->clock);
	dev->takes_buffers = !virtio_has_feature(vdev,
						 VIRTIO_F_ACCESS_PLATFORM);
	err = config_read(vdev, dev);
	if (err) {
		vmrpc_device_put(dev);
		return ERR_PTR(err);
	}
	return dev;
}
