/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtio-vmrpc device: configuration, limits, reference count
 */
#ifndef VMRPC_DEVICE_H
#define VMRPC_DEVICE_H

#include <linux/idr.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <vmmnet/vmrpc.h>

#include "transport/clock.h"

/**
 * struct vmrpc_queue - a request queue
 * @vq: the ring; NULL after the device has gone
 * @lock: guards all fields
 * @irq_users: calls that need an interrupt for their completion; the interrupt
 *             is off while this is 0
 * @wait_credit: how often waiting on the host has helped recently
 * @wait_skipped: calls that did not wait, since the last one that did
 * @space: tasks that wait for room in the ring
 */
struct vmrpc_queue {
	struct virtqueue *vq;
	spinlock_t lock;
	unsigned int irq_users;
	int wait_credit;
	unsigned int wait_skipped;
	wait_queue_head_t space;
};

/**
 * struct vmrpc_device - the device
 * @ref: held by the driver and by every socket; sockets may outlive the device
 * @vdev: the virtio device; invalid when @dead is set
 * @netdev: vmrpc0
 * @ifindex: interface index of @netdev; stays valid after @netdev has gone
 * @dead: the device has gone; set before its queues stop
 * @socks: sockets by handle.  A handle whose CLOSE is not finished holds
 *         XA_ZERO_ENTRY.  Interrupts take xa_lock: use the _irq functions.
 * @generation: generation of the latest host socket
 * @buffer_ids: numbers of buffers on the host (data/buffer.c)
 * @takes_buffers: cleared when the device refuses a buffer
 * @event_work: requests further events from the host (host/event.c)
 * @clock: the host's clock (clock.c)
 * @event_lock: guards @event_vq
 * @event_vq: the event queue; NULL after the device has gone
 * @events: buffers of the event queue
 * @on_event: takes an event; called in interrupt context
 * @guest4: IPv4 address of the guest; 0: none
 * @guest4_prefix: prefix length of @guest4
 * @inet6: sockets of AF_INET6 are ours, too
 * @guest6: IPv6 address of the guest, with @inet6
 * @pool4: the virtual addresses: those where @pool4_mask has these bits
 * @pool4_mask: their netmask; 0: there are none
 * @mtu: MTU for vmrpc0; 0: the default
 * @translate: the host's sockets are IPv6 sockets
 * @moments: timestamps from the host are a struct vmrpc_moment
 * @getopt_max: bytes of the longest value that GETSOCKOPT returns
 * @max_sockets: handles are less than this
 * @max_sg: scatterlist entries for the data of one call
 * @max_segment: bytes in one scatterlist entry
 * @num_queues: number of request queues
 * @queue: the request queues
 *
 * From @guest4 on, the fields are constant after probe.
 */
struct vmrpc_device {
	struct kref ref;
	struct rcu_head rcu;
	struct virtio_device *vdev;
	struct net_device *netdev;
	int ifindex;
	bool dead;
	struct xarray socks;
	atomic_t generation;
	struct ida buffer_ids;
	bool takes_buffers;
	struct work_struct event_work;

	struct vmrpc_clock clock;

	spinlock_t event_lock;
	struct virtqueue *event_vq;
	struct vmrpc_event *events;
	void (*on_event)(struct vmrpc_device *dev,
			 const struct vmrpc_event *ev);

	__be32 guest4;
	u8 guest4_prefix;
	bool inet6;
	struct in6_addr guest6;
	struct socket *ipv6_watch;
	struct work_struct ipv6_work;
	__be32 pool4;
	__be32 pool4_mask;
	u16 mtu;
	bool translate;
	bool moments;
	unsigned int getopt_max;
	u32 max_sockets;
	unsigned int max_sg;
	size_t max_segment;

	unsigned int num_queues;
	struct vmrpc_queue queue[];
};

struct vmrpc_device *vmrpc_device_new(struct virtio_device *vdev);
void vmrpc_device_get(struct vmrpc_device *dev);
void vmrpc_device_put(struct vmrpc_device *dev);

#endif /* VMRPC_DEVICE_H */
